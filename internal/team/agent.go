package team

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/table"
)

// owners is the partition that says whose the agents are, by their ids.
const owners = "agents"

// remembered is how many agents and tokens a process remembers.
const remembered = 10_000

// agents are whose the agents of a tenant are, and when its tokens were used, as far as this process
// has asked or written.
type agents struct {
	table table.Table

	mu    sync.Mutex
	known *lru.Cache[string, owner]
	used  *lru.Cache[string, time.Time]
}

// An owner is the principal of an agent.
type owner struct {
	principal string    // empty: nobody's
	asked     time.Time // of nobody's: when that was so
}

func newAgents(t table.Table) *agents {
	known, _ := lru.New[string, owner](remembered) // the size is positive
	used, _ := lru.New[string, time.Time](remembered)
	return &agents{table: t, known: known, used: used}
}

// due reports whether the use of a token is to be written, and takes it as written.
func (a *agents) due(id string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, ok := a.used.Get(id); ok && now.Sub(at) < useLife && !now.Before(at) {
		return false
	}
	a.used.Add(id, now)
	return true
}

// addUses adds the uses that this process has noted, some of which may not be written yet.
func (a *agents) addUses(all map[string]time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range a.used.Keys() {
		if at, ok := a.used.Peek(id); ok && at.After(all[id]) {
			all[id] = at.UTC().Truncate(time.Second)
		}
	}
}

// again takes the use of a token as not written.
func (a *agents) again(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used.Remove(id)
}

// ClaimAgent is a fault if the agent is not the caller's to be: it belongs to the principal that first
// changed something as it. A call that only reads claims nothing; what nobody has claimed anybody may
// read as.
func (t *Team) ClaimAgent(ctx context.Context, c auth.Caller, writes bool) error {
	if c.Agent == c.Principal {
		return nil
	}
	if auth.Reserved(c.Agent) {
		return otherAgent()
	}
	if err := auth.CheckName(c.Agent); err != nil {
		return fault.Of(err).With("argument", "agent_id")
	}
	o, err := t.ownerOf(ctx, c.Agent)
	if err == nil && o.principal == "" && writes {
		o, err = t.claim(ctx, c)
	}
	return ownedBy(c, o, err)
}

// ClaimNewAgent is ClaimAgent for an id that the caller has just drawn at random: it does not ask first whose the
// agent is, so that it costs one write and nothing else.
func (t *Team) ClaimNewAgent(ctx context.Context, c auth.Caller) error {
	o, err := t.claim(ctx, c)
	return ownedBy(c, o, err)
}

// ownedBy is a fault if an agent is another principal's than the caller's, or whose it is cannot be read.
func ownedBy(c auth.Caller, o owner, err error) error {
	switch {
	case err != nil:
		return fault.New(fault.Unavailable, "whose the agent is cannot be read just now").
			After(time.Second).Because(err)
	case o.principal == "" || o.principal == c.Principal:
		return nil
	}
	return otherAgent()
}

func otherAgent() error {
	return fault.New(fault.PermissionDenied, "the agent id belongs to another principal").
		With("argument", "agent_id").Fix("choose another agent id, or leave it out")
}

// ownerOf is whose an agent is, as it was at most a minute ago if it is nobody's.
func (t *Team) ownerOf(ctx context.Context, agent string) (owner, error) {
	now := t.opt.Now()
	o, ok := t.agents.known.Get(agent)
	if ok && (o.principal != "" || now.Sub(o.asked) < yesLife && !now.Before(o.asked)) {
		return o, nil
	}
	it, err := t.opt.Table.Get(ctx, table.Key{Part: owners, Sort: agent})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return owner{}, fmt.Errorf("read whose an agent is: %w", err)
	}
	o = owner{string(it.Data), now}
	t.agents.known.Add(agent, o)
	return o, nil
}

// claim makes an agent the caller's, unless it is another's meanwhile.
func (t *Team) claim(ctx context.Context, c auth.Caller) (owner, error) {
	o := owner{principal: c.Principal}
	err := t.opt.Table.Commit(ctx, table.Create(table.Item{
		Key: table.Key{Part: owners, Sort: c.Agent}, Data: []byte(c.Principal),
	}))
	var conflict *table.Conflict
	switch {
	case errors.As(err, &conflict):
		o.principal = string(conflict.Item.Data)
	case err != nil:
		return owner{}, fmt.Errorf("write whose an agent is: %w", err)
	}
	t.agents.known.Add(c.Agent, o)
	return o, nil
}
