package tenant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// owners is the partition that maps the ids of agents to their principals. An item's sort key is
// the id, and its data the name of the principal. Items are created once and never changed.
const owners = "agents"

// maxCached is the number of agents, and of tokens, that a process caches.
const maxCached = 10_000

// An agents is a cache of the principals of a tenant's agents and of the last recorded uses of its
// tokens. It bounds the reads and writes of the table: a call with a known agent and a token that
// was used in the last hour costs none. It is safe for concurrent use.
type agents struct {
	table table.Table

	mu    sync.Mutex
	known *lru.Cache[string, owner]
	used  *lru.Cache[string, time.Time]
}

// An owner is the principal to which an agent belongs. It is cached for ever once there is one,
// because an agent never changes its principal.
type owner struct {
	principal string    // empty: no principal has claimed the agent
	asked     time.Time // if unclaimed: when the table was read
}

// newAgents returns an empty cache for the agents in a table.
func newAgents(t table.Table) *agents {
	known, _ := lru.New[string, owner](maxCached) // the size is positive
	used, _ := lru.New[string, time.Time](maxCached)
	return &agents{table: t, known: known, used: used}
}

// due reports whether the use of a token must be written, because the last write is older than
// useLife. It then records the use as written, so that concurrent calls write it once; see forgetUse.
func (a *agents) due(id string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, ok := a.used.Get(id); ok && now.Sub(at) < useLife && !now.Before(at) {
		return false
	}
	a.used.Add(id, now)
	return true
}

// addUses adds to all the uses that this process has recorded, in whole seconds. Some may not be
// written yet.
func (a *agents) addUses(all map[string]time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range a.used.Keys() {
		if at, ok := a.used.Peek(id); ok && at.After(all[id]) {
			all[id] = at.UTC().Truncate(time.Second)
		}
	}
}

// forgetUse forgets the recorded use of a token after its write has failed.
func (a *agents) forgetUse(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used.Remove(id)
}

// ClaimAgent returns a fault if the caller is not allowed to act as its agent. An agent belongs to
// the first principal that changes something as that agent. A call with writes == false claims
// nothing: any principal is allowed to read as an unclaimed agent. The agent with the name of the
// principal itself needs no claim.
//
// The faults are PERMISSION_DENIED for an agent of another principal or a reserved name,
// INVALID_PARAMETER for an invalid one, and UNAVAILABLE if the owner cannot be read.
func (t *Tenant) ClaimAgent(ctx context.Context, c auth.Caller, writes bool) error {
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
	return checkOwner(c, o, err)
}

// ClaimNewAgent is ClaimAgent for an id that the caller has just generated at random. It does not
// look the agent up first, so it costs a single write. If the id belongs to another principal after
// all, the write fails and the call is refused.
func (t *Tenant) ClaimNewAgent(ctx context.Context, c auth.Caller) error {
	o, err := t.claim(ctx, c)
	return checkOwner(c, o, err)
}

// checkOwner returns a fault if o is not the caller's principal, or if err reports that it could not
// be read.
func checkOwner(c auth.Caller, o owner, err error) error {
	switch {
	case err != nil:
		return fault.New(fault.Unavailable, "the owner of the agent cannot be read now").
			After(time.Second).Because(err)
	case o.principal == "" || o.principal == c.Principal:
		return nil
	}
	return otherAgent()
}

// otherAgent returns the fault of an agent that belongs to another principal.
func otherAgent() error {
	return fault.New(fault.PermissionDenied, "the agent id belongs to another principal").
		With("argument", "agent_id").Fix("choose another agent id, or leave it out")
}

// ownerOf returns the owner of an agent. For an unclaimed agent the result may be up to a minute
// old, so that reads as an unclaimed agent cost one read of the table a minute; the claim itself is
// decided by the table.
func (t *Tenant) ownerOf(ctx context.Context, agent string) (owner, error) {
	now := t.opt.Now()
	o, ok := t.agents.known.Get(agent)
	if ok && (o.principal != "" || now.Sub(o.asked) < maxGrantAge && !now.Before(o.asked)) {
		return o, nil
	}
	it, err := t.opt.Table.Get(ctx, table.Key{Part: owners, Sort: agent})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return owner{}, fmt.Errorf("read the owner of an agent: %w", err)
	}
	o = owner{string(it.Data), now}
	t.agents.known.Add(agent, o)
	return o, nil
}

// claim makes the caller's principal the owner of its agent. If another principal was faster, or
// the agent was claimed before, it returns that owner: the table creates the item only if there is
// none.
func (t *Tenant) claim(ctx context.Context, c auth.Caller) (owner, error) {
	o := owner{principal: c.Principal}
	err := t.opt.Table.Commit(ctx, table.Create(table.Item{
		Key: table.Key{Part: owners, Sort: c.Agent}, Data: []byte(c.Principal),
	}))
	var conflict *table.Conflict
	switch {
	case errors.As(err, &conflict):
		o.principal = string(conflict.Item.Data)
	case err != nil:
		return owner{}, fmt.Errorf("write the owner of an agent: %w", err)
	}
	t.agents.known.Add(c.Agent, o)
	return o, nil
}
