package memory

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A storeIn is the input of memory_store. Intent and Outcome are required; a memory can be stored
// without the other parts. Importance is from 0 to 1, by default memory.DefaultImportance; 0 is a
// value, so the argument is a pointer.
//
// Key is a text of the caller that identifies the memory among those of its principal: a second
// call with the same key updates the memory. TargetAgentID stores the memory for another agent,
// which then owns it.
type storeIn struct {
	tool.Vault
	// the goal
	Intent memory.Intent `json:"intent"`
	// the result
	Outcome memory.Outcome `json:"outcome"`
	// the observations
	Perception *memory.Perception `json:"perception,omitempty"`
	// the reasons
	Reasoning *memory.Reasoning `json:"reasoning,omitempty"`
	// the steps
	Actions []memory.Action `json:"actions,omitempty"`
	// ids of memories it belongs to
	Links *linksIn `json:"links,omitempty"`
	// words to find it by
	Tags []string `json:"tags,omitempty" size:"tag"`
	// 0 to 1; default 0.5
	Importance *float64 `json:"importance,omitempty" min:"0" max:"1" rare:"true"`
	// a key of your own: storing with it again updates the same memory
	Key string `json:"key,omitempty" max:"256" rare:"true"`

	// store it for this descendant of your agent
	TargetAgentID string `json:"target_agent_id,omitempty" max:"128" rare:"true" complete:"agent"`
	tool.Mutation
}

// linksIn are the links of a memory to store. All targets must exist. Supersedes is a single memory
// here, although a memory can get several such links with memory_link.
type linksIn struct {
	// the memories that caused it
	CausedBy []string `json:"caused_by,omitempty"`
	// the memories that it led to
	LedTo []string `json:"led_to,omitempty"`
	// related memories
	RelatedTo []string `json:"related_to,omitempty"`
	// the memories that it waits for
	BlockedBy []string `json:"blocked_by,omitempty"`
	// what it replaces
	Supersedes string `json:"supersedes,omitempty"`
}

// A storeOut is the output of memory_store. StoredAt is Unix milliseconds. Created and Times are
// set only if the call has a key: whether the memory is new, and how often it was stored. A dry run
// of a new memory has no MemoryID, because the id is not kept.
type storeOut struct {
	tool.Aside `json:"-"`
	MemoryID   string `json:"memory_id,omitempty"`
	// Unix milliseconds
	StoredAt int64 `json:"stored_at,omitempty" format:"unix-ms"`
	// files by which it is found
	IndexedFiles []string `json:"indexed_files"`
	// with a key: false if an existing memory was updated
	Created *bool `json:"created,omitempty"`
	// with a key: the number of times it was stored
	Times       int          `json:"times,omitempty"`
	DryRun      bool         `json:"dry_run,omitempty"`
	WouldCreate *wouldCreate `json:"would_create,omitempty"`
}

// wouldCreate is the effect that a dry run of memory_store would have. Updates is the id of the
// memory with the key of the call, or empty if the memory would be new. AgentID is the owner of the
// memory.
type wouldCreate struct {
	AgentID string `json:"agent_id"`
	// the memory that has the key already
	Updates string   `json:"updates,omitempty"`
	Files   []string `json:"indexed_files"`
}

// store returns the tool that stores a memory. With a key that exists, it updates the memory with
// that key.
func (f tools) store() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_store", Short: "store", Family: Family, Title: "Store a memory",
		Role: auth.Editor, Kind: tool.Write,
		Route:    tool.Route{Method: "POST", Path: "/memories"},
		Commands: []tool.Command{{Words: "memory store"}},
		Nested:   append(slices.Clone(partFlags), fileFlag),
	}, func(ctx context.Context, c auth.Caller, in storeIn) (storeOut, error) {
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation, in.run)
	})
}

// partFlags are the command-line flags for parts of a memory. They spare people the JSON of the
// arguments: each flag sets one member.
var partFlags = []tool.NestedFlag{
	{Name: "goal", Path: "intent.goal"}, {Name: "task-type", Path: "intent.task_type"},
	{Name: "context", Path: "intent.context"}, {Name: "constraint", Path: "intent.constraints"},
	{Name: "success", Path: "outcome.success"}, {Name: "summary", Path: "outcome.summary"},
	{Name: "learning", Path: "outcome.learnings"}, {Name: "failure-reason", Path: "outcome.failure_reason"},
	{Name: "failure-category", Path: "outcome.failure_category"},
	{Name: "approach", Path: "reasoning.approach_chosen"}, {Name: "why", Path: "reasoning.why_chosen"},
}

// fileFlag is the command-line flag for a file that was edited. Each value becomes an action of the
// type file_edit.
var fileFlag = tool.NestedFlag{Name: "file", Path: "actions.file_path", With: map[string]any{"type": "file_edit"}}

// run drafts the memory, with its links and the records of the agents. A key that exists updates
// the memory with that key.
//
// All checks come before the first item is staged: the owner, then the targets of the links, of
// which none may be unknown. The records of two agents can be needed: the one that stores the
// memory and the one that owns it. The index of the files is not an item; it follows from the
// memory.
func (in *storeIn) run(ctx context.Context, a author, out *storeOut) error {
	owner, err := in.owner(a)
	if err != nil {
		return err
	}
	links := in.Links.links()
	if err := checkExist(a.index(), links.Targets(), "links"); err != nil {
		return err
	}
	if old, ok := a.index().ByKey(a.Principal, in.Key); ok && in.Key != "" {
		return in.update(ctx, a, old, links, out)
	}
	m := in.memory(a, owner)
	out.IndexedFiles = paths(m)
	if in.DryRun {
		out.DryRun, out.WouldCreate = true, &wouldCreate{AgentID: owner, Files: out.IndexedFiles}
	}
	id := a.tx.ID(memory.PrefixMemory)
	if err := a.tx.PutItem(memory.KindMemory, id, m); err != nil {
		return err
	}
	if links != nil {
		links.V = memory.Format
		if err := a.tx.PutItem(memory.KindLinks, id, links); err != nil {
			return err
		}
	}
	for _, agent := range []string{a.Agent, owner} {
		if err := a.ensureAgent(agent); err != nil {
			return err
		}
	}
	if !in.DryRun {
		out.MemoryID, out.StoredAt = id, m.Created
	}
	if in.Key != "" {
		out.Created, out.Times = new(true), 1
	}
	return nil
}

// owner returns the agent for which the memory is stored: that of the caller, unless the call names
// another. It returns PERMISSION_DENIED if the caller cannot store for that agent, and NOT_FOUND if
// there is no such agent, which only an admin can learn.
func (in *storeIn) owner(a author) (string, error) {
	if err := a.checkAgent(); err != nil {
		return "", err
	}
	if in.TargetAgentID == "" || in.TargetAgentID == a.Agent {
		return a.Agent, nil
	}
	k, ok := a.index().Agent(in.TargetAgentID)
	switch {
	case !a.isAdmin() && !a.descends(in.TargetAgentID):
		return "", fault.New(fault.PermissionDenied,
			"an agent can store memories only for itself and the agents below it").
			With("argument", "target_agent_id")
	case !ok || k.Value.Principal == "":
		return "", fault.New(fault.NotFound, "there is no agent %q", in.TargetAgentID).
			With("id", in.TargetAgentID).With("argument", "target_agent_id")
	}
	return in.TargetAgentID, nil
}

// memory returns the memory to store. By is set only if the agent that stores it is not the owner.
func (in *storeIn) memory(a author, owner string) *memory.Memory {
	m := &memory.Memory{
		V: memory.Format, Agent: owner, Principal: a.Principal, Session: a.Session, Created: a.now(),
		Intent: in.Intent, Perception: in.Perception, Reasoning: in.Reasoning, Actions: in.Actions,
		Outcome: in.Outcome, Tags: withoutDuplicates(in.Tags), Importance: memory.DefaultImportance, Key: in.Key,
	}
	if in.Importance != nil {
		m.Importance = *in.Importance
	}
	if owner != a.Agent {
		m.By = a.Agent
	}
	return m
}

// update drafts the update of a memory that is stored again under its key. The given parts replace
// the old ones, and links are added.
//
// Intent and outcome are always given, so they are always replaced, as a whole and not member by
// member. Parts that the call omits stay as they are, and so do the owner, the session and the time
// of creation; target_agent_id has no effect. Each such call counts, also if it changes nothing
// else. It needs no permission for the memory, because only the same principal can use the key.
//
// The links of the call that name the memory itself are ignored: a caller that repeats a call
// cannot always know the id.
func (in *storeIn) update(
	ctx context.Context, a author, old *memory.Card, links *memory.Links, out *storeOut,
) error {
	if err := a.tx.Touch(old.Version); err != nil {
		return err
	}
	m, err := a.tx.Memory(ctx, old)
	if err != nil {
		return err
	}
	now := in.memory(a, old.Agent)
	m.Intent, m.Outcome = now.Intent, now.Outcome
	if now.Perception != nil {
		m.Perception = now.Perception
	}
	if now.Reasoning != nil {
		m.Reasoning = now.Reasoning
	}
	if now.Actions != nil {
		m.Actions = now.Actions
	}
	if now.Tags != nil {
		m.Tags = now.Tags
	}
	if in.Importance != nil {
		m.Importance = *in.Importance
	}
	m.Updated, m.Times = a.now(), max(m.Times, 1)+1
	out.IndexedFiles = paths(m)
	if in.DryRun {
		out.DryRun = true
		out.WouldCreate = &wouldCreate{AgentID: old.Agent, Updates: old.ID, Files: out.IndexedFiles}
	}
	if err := a.tx.PutItem(memory.KindMemory, old.ID, m); err != nil {
		return err
	}
	if links != nil {
		all := a.index().Links(old.ID).Links
		for _, kind := range memory.LinkKinds() {
			for _, target := range *links.Of(kind) {
				if target != old.ID {
					all.Add(kind, target)
				}
			}
		}
		if err := checkLinks(all); err != nil {
			return err
		}
		all.V = memory.Format
		if err := a.tx.PutItem(memory.KindLinks, old.ID, all); err != nil {
			return err
		}
	}
	out.MemoryID, out.StoredAt, out.Created, out.Times = old.ID, m.Updated, new(false), m.Times
	return nil
}

// links returns the given links without duplicates, or nil if there are none. A nil linksIn has
// none.
func (in *linksIn) links() *memory.Links {
	if in == nil {
		return nil
	}
	l := &memory.Links{
		CausedBy: withoutDuplicates(in.CausedBy), LedTo: withoutDuplicates(in.LedTo),
		RelatedTo: withoutDuplicates(in.RelatedTo), BlockedBy: withoutDuplicates(in.BlockedBy),
	}
	if in.Supersedes != "" {
		l.Supersedes = []string{in.Supersedes}
	}
	if len(l.Targets()) == 0 {
		return nil
	}
	return l
}

// paths returns the files of a memory without duplicates, in the order of their first occurrence.
// It is never nil, so that it is a JSON array.
func paths(m *memory.Memory) []string {
	all := []string{}
	for _, f := range m.Files() {
		if !slices.Contains(all, f.Path) {
			all = append(all, f.Path)
		}
	}
	return all
}
