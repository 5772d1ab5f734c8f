package memory

import (
	"cmp"
	"context"
	"crypto/rand"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

// The actions of memory_identity: register creates an agent, resume begins a new session of one,
// and info describes one and changes nothing.
const (
	actRegister = "register"
	actResume   = "resume"
	actInfo     = "info"
)

// An identityIn is the input of memory_identity. Type, ParentID, Specialization and Capabilities
// belong to register, AgentID to resume and info, and as_of to info only. A call of info only
// reads, although the input has the arguments of a mutation.
type identityIn struct {
	tool.Vault
	// register: a new agent; resume: continue as an agent; info: only show it
	Action string `json:"action" enum:"register,resume,info"`
	// of an agent that is registered
	Type string `json:"type,omitempty" enum:"main,subagent" default:"main"`
	// the parent agent; required for a subagent
	ParentID string `json:"parent_id,omitempty" complete:"agent"`
	// resume, info: the agent; default: your agent that was active last, or the acting agent
	AgentID string `json:"agent_id,omitempty" complete:"agent"`
	// register: its strengths
	Specialization string `json:"specialization,omitempty" size:"query"`
	// register: its capabilities
	Capabilities []string `json:"capabilities,omitempty"`
	tool.Mutation
	tool.AsOf
}

// An identityOut is the output of memory_identity: the description of one agent. Times are Unix
// milliseconds. CreatedAt is 0 for an agent without a record, and SuccessRate, from 0 to 1, is 0
// for one without memories.
type identityOut struct {
	tool.Aside `json:"-"`
	AgentID    string `json:"agent_id"`
	// main or subagent
	Type     string `json:"type"`
	ParentID string `json:"parent_id,omitempty"`
	// Unix milliseconds; 0: never active
	CreatedAt   int64 `json:"created_at" format:"unix-ms"`
	MemoryCount int   `json:"memory_count"`
	LastActive  int64 `json:"last_active" format:"unix-ms"`
	// number of times it was registered or resumed
	SessionCount int `json:"session_count"`
	// share of its memories with a successful outcome
	SuccessRate float64 `json:"success_rate"`

	Specialization string   `json:"specialization,omitempty"`
	Capabilities   []string `json:"capabilities,omitempty"`
	DryRun         bool     `json:"dry_run,omitempty"`
}

// identity returns the tool that registers, resumes and describes agents.
func (f tools) identity() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_identity", Short: "identity", Family: Family, Title: "Register or resume an agent",
		Role: auth.Editor, Kind: tool.Write,
		Reads:    &tool.When{Arg: "action", Values: []string{actInfo}},
		Route:    tool.Route{Method: "POST", Path: "/agents"},
		Commands: []tool.Command{{Words: "identity", Args: []string{"action"}}},
	}, f.runIdentity)
}

// runIdentity registers, resumes or describes an agent. Only the description can be of the past:
// as_of with another action is INVALID_QUERY. The new id of register is generated before the draft,
// because a draft can run several times and must use the same id.
func (f tools) runIdentity(ctx context.Context, c auth.Caller, in identityIn) (identityOut, error) {
	switch {
	case in.Action == actInfo:
		return f.agentInfo(ctx, c, in)
	case in.AsOf.AsOf != "":
		return identityOut{}, fault.New(fault.InvalidQuery,
			"as_of can only be used with info: the past cannot be changed").
			With("argument", "as_of")
	case in.Action == actResume:
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation, in.resume)
	}
	id, err := f.newAgent(ctx, c, in)
	if err != nil {
		return identityOut{}, err
	}
	return draft(ctx, f, c, in.Vault.Vault, &in.Mutation, in.register(id))
}

// agentInfo returns the description of an agent, by default of the one with which the caller acts.
// It returns NOT_FOUND for another id with no record and no memories. The caller's own agent is
// always known, even if it has not changed anything yet.
func (f tools) agentInfo(ctx context.Context, c auth.Caller, in identityIn) (identityOut, error) {
	v, err := f.view(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return identityOut{}, err
	}
	id := cmp.Or(in.AgentID, c.Agent)
	_, recorded := v.memories.Agent(id)
	// An import can add memories without their agent.
	known := recorded || v.memories.Tally(id).Memories > 0
	if in.AgentID != "" && !known && in.AgentID != c.Agent {
		return identityOut{}, noAgent(id)
	}
	out := agentOf(v.memories, id)
	out.Note("version", v.Version())
	return out, nil
}

// noAgent returns the NOT_FOUND fault for an id that no agent has. It suggests to register one.
func noAgent(id string) error {
	return fault.New(fault.NotFound, "there is no agent %q", id).With("id", id).With("argument", "agent_id").
		Try("memory_identity", fault.Args{"action": actRegister})
}

// agentOf returns the description of an agent. An agent without a record is described as a main
// agent, with the counts of its memories only. LastActive is the later of two times: the one in its
// record, and the last change of one of its memories.
//
// The counts are not stored in the record: the index derives them from the memories, so a deletion
// or a changed outcome is counted at once.
func agentOf(x *memory.Index, id string) identityOut {
	out := identityOut{AgentID: id, Type: memory.AgentMain}
	t := x.Tally(id)
	out.MemoryCount, out.LastActive = t.Memories, t.Last
	if t.Memories > 0 {
		out.SuccessRate = float64(t.Successes) / float64(t.Memories)
	}
	k, ok := x.Agent(id)
	if !ok {
		return out
	}
	a := k.Value
	out.Type, out.ParentID, out.CreatedAt, out.SessionCount = a.Type, a.Parent, a.Created, a.Sessions
	out.LastActive = max(out.LastActive, a.Active)
	out.Specialization, out.Capabilities = a.Specialization, a.Capabilities
	return out
}

// newAgent generates the id of a new agent and claims it for the caller. It does so before the id
// is in the log, where another principal could see it and claim it first (reference/memory-build.md
// §2.10). An id that is claimed but never used does no harm. A dry run claims nothing, and the
// local principal needs no claim: it is the only one of its server.
func (f tools) newAgent(ctx context.Context, c auth.Caller, in identityIn) (string, error) {
	id := memory.UUID(memory.PrefixAgent, rand.Text())
	if in.DryRun || c.Principal == auth.Local {
		return id, nil
	}
	t, err := f.Teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return "", err
	}
	c.Agent = id
	return id, t.ClaimNewAgent(ctx, c)
}

// register returns a function that drafts the record of a new agent. The new agent is not the agent
// of this call: the caller passes its id in later calls. Its first session counts as one.
func (in identityIn) register(id string) func(context.Context, author, *identityOut) error {
	return func(_ context.Context, a author, out *identityOut) error {
		if err := in.checkParent(a); err != nil {
			return err
		}
		now := a.now()
		err := a.tx.PutItem(memory.KindAgent, id, memory.Agent{
			V: memory.Format, Type: in.Type, Parent: in.ParentID, Principal: a.Principal, Created: now,
			Sessions: 1, Active: now, Specialization: in.Specialization,
			Capabilities: withoutDuplicates(in.Capabilities),
		})
		if err != nil {
			return err
		}
		*out = agentOf(a.tx.Index().Memories(), id)
		out.DryRun = in.DryRun
		return nil
	}
}

// checkParent returns a fault if the parent of a new agent does not exist, or belongs to another
// principal and the caller is not an admin. A subagent must have a parent. The check matters
// because an agent can change the items of the agents below it; see author.mine.
func (in identityIn) checkParent(a author) error {
	if in.ParentID == "" {
		if in.Type == memory.AgentSub {
			return fault.New(fault.InvalidQuery, "a subagent has a parent agent: give parent_id").
				With("argument", "parent_id")
		}
		return nil
	}
	k, ok := a.index().Agent(in.ParentID)
	switch {
	case !ok:
		return fault.New(fault.NotFound, "there is no parent agent %q", in.ParentID).
			With("id", in.ParentID).With("argument", "parent_id")
	case k.Value.Principal != a.Principal && !a.isAdmin():
		return fault.New(fault.PermissionDenied, "the parent agent belongs to another principal").
			With("argument", "parent_id")
	}
	return nil
}

// resume drafts a new session of an existing agent: its session count grows by one, and its time of
// activity is now.
func (in identityIn) resume(_ context.Context, a author, out *identityOut) error {
	k, err := in.resumed(a)
	if err != nil {
		return err
	}
	now := k.Value
	now.Sessions, now.Active = now.Sessions+1, a.now()
	if err := a.tx.PutItem(memory.KindAgent, k.ID, now); err != nil {
		return err
	}
	*out = agentOf(a.tx.Index().Memories(), k.ID)
	out.DryRun = in.DryRun
	return nil
}

// resumed returns the agent to resume: the one that the call names or, without a name, the
// principal's main agent that was active last. It returns NOT_FOUND if there is none, and
// PERMISSION_DENIED if the agent belongs to another principal; an admin cannot resume it either.
// Without a name it reads the records of all agents.
func (in identityIn) resumed(a author) (*memory.Item[memory.Agent], error) {
	if in.AgentID != "" {
		k, ok := a.index().Agent(in.AgentID)
		switch {
		case !ok:
			return nil, noAgent(in.AgentID)
		case k.Value.Principal != a.Principal:
			return nil, fault.New(fault.PermissionDenied, "the agent belongs to another principal").
				With("argument", "agent_id")
		}
		return k, nil
	}
	var last *memory.Item[memory.Agent]
	latest := int64(0)
	for k := range a.index().Agents() {
		active := max(k.Value.Active, a.index().Tally(k.ID).Last)
		own := k.Value.Principal == a.Principal && k.Value.Type == memory.AgentMain
		if own && (last == nil || active > latest) {
			last, latest = k, active
		}
	}
	if last == nil {
		return nil, fault.New(fault.NotFound, "none of your agents has been active in this vault").
			Try("memory_identity", fault.Args{"action": actRegister})
	}
	return last, nil
}
