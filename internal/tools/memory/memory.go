// Package memory contains the tools of the memory family, which store and find records of agents'
// work. spec/rum-retrieval-api.md defines them, and reference/memory.md settles what it leaves
// open. Times in answers are Unix milliseconds.
package memory

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is the family of these tools. In the bare form, failures have the format of the
// specification.
var Family = &tool.Family{
	Name: "memory", Base: "/v1/vaults/{vault}",
	Missing: fault.InvalidQuery, Malformed: fault.InvalidQuery, Several: fault.InvalidQuery,
	Crowded: fault.InvalidQuery, // reference/memory-build.md §2.15
	Bare:    bare,
	Groups: map[string]string{
		"memory":  "Store, find, link and delete memories of work",
		"chapter": "Create, list and delete chapters: groups of related memories",
		"wisdom":  "Create, find and delete wisdom: lessons that chapters have in common",
	},
}

// A failure is a fault in the bare form.
type failure struct {
	Code    fault.Code     `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// bare converts a fault to the bare form.
func bare(f *fault.Fault) any { return failure{f.Code, f.Message, f.Details} }

// Tools returns the tools of the family for these tenants.
func Tools(t *team.Teams) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}}
	return []*tool.Tool{
		f.identity(), f.store(), f.update(), f.recall(), f.trace(), f.list(), f.link(), f.checkFile(),
		f.createChapter(), f.listChapters(), f.synthesize(), f.recallWisdom(),
		f.deleteMemory(), f.deleteChapter(), f.deleteWisdom(),
		f.history(), f.export(), f.importAll(), f.complete(), f.afterFailure(),
	}
}

type tools struct{ state.Source }

// A view contains the memories of a vault at one version, for a call that reads.
type view struct {
	state.View
	memories *memory.Index
}

// view returns the memories of a vault at the version or time that the call names.
func (f tools) view(ctx context.Context, c auth.Caller, name string, at tool.AsOf) (view, error) {
	v, err := f.ViewAt(ctx, c, name, at)
	if err != nil {
		return view{}, err
	}
	return view{View: v, memories: v.Index.Memories()}, nil
}

// viewTool returns a tool that reads the memories of a vault; see state.Reads.
func viewTool[In state.Input, Out any, O state.Noted[Out]](
	f tools, spec tool.Spec, fn func(context.Context, view, In) (Out, error),
) *tool.Tool {
	return state.Reads[In, Out, O](f.Source, spec,
		func(ctx context.Context, v state.View, in In) (Out, error) {
			return fn(ctx, view{View: v, memories: v.Index.Memories()}, in)
		})
}

// draft drafts a change of a vault; see mutation.Draft.
func draft[Out any](
	ctx context.Context, f tools, c auth.Caller, name string, m *tool.Mutation,
	fn func(context.Context, *repo.Tx, *Out) error,
) (Out, error) {
	return mutation.Draft(ctx, f.Source, mutation.Writing{Caller: c, Vault: name, Mutation: m}, fn)
}

// An author is the caller of a draft, with the vault and the transaction.
type author struct {
	auth.Caller
	vault string // name of the vault
	tx    *repo.Tx
}

// index returns the memories before the draft.
func (a author) index() *memory.Index { return a.tx.Before().Memories() }

// now returns the time of the draft in Unix milliseconds.
func (a author) now() int64 { return a.tx.Now().UnixMilli() }

// isAdmin reports whether the caller can write for any agent.
func (a author) isAdmin() bool { return a.Role(a.vault).Allows(auth.Admin) }

// mine returns PERMISSION_DENIED if the caller cannot change the items of an agent. It can change
// those of its own agent and of the agents below it, and as an admin those of all agents
// (reference/memory.md §A7).
func (a author) mine(agent string) error {
	if a.isAdmin() || agent == a.Agent || a.descends(agent) {
		return nil
	}
	return fault.New(fault.PermissionDenied, "it belongs to another agent; only that agent, an agent above it, or an "+
		"admin can change it").With("agent_id", agent)
}

// descends reports whether an agent is below the caller's agent, through parents that all belong to
// the caller's principal.
func (a author) descends(agent string) bool {
	for seen := map[string]bool{}; agent != "" && !seen[agent]; {
		seen[agent] = true
		k, ok := a.index().Agent(agent)
		if !ok || k.Value.Principal != a.Principal {
			return false
		}
		if agent = k.Value.Parent; agent == a.Agent {
			return true
		}
	}
	return false
}

// acts returns PERMISSION_DENIED if the caller's agent is recorded for another principal.
func (a author) acts() error {
	k, ok := a.index().Agent(a.Agent)
	if !ok || k.Value.Principal == a.Principal {
		return nil
	}
	return fault.New(fault.PermissionDenied, "the agent id belongs to another principal").
		With("argument", "agent_id").Fix("choose another agent id, or omit it")
}

// appear drafts the record of an agent if neither the vault nor the draft has one.
func (a author) appear(agent string) error {
	if _, known := a.tx.Index().Memories().Agent(agent); known {
		return nil
	}
	return a.record(agent)
}

// record drafts a record for an agent: a main agent of the caller's principal.
func (a author) record(agent string) error {
	return a.tx.PutItem(memory.KindAgent, agent, memory.Agent{
		V: memory.Format, Type: memory.AgentMain, Principal: a.Principal, Created: a.now(), Active: a.now(),
	})
}

// noMemory returns the NOT_FOUND fault for an id that no memory has.
func noMemory(id, argument string) *fault.Fault {
	return fault.New(fault.NotFound, "there is no memory %q", id).With("id", id).With("argument", argument)
}

// card returns the card of a memory, or NOT_FOUND.
func card(x *memory.Index, id, argument string) (*memory.Card, error) {
	c, ok := x.Card(id)
	if !ok {
		return nil, noMemory(id, argument)
	}
	return c, nil
}

// missing returns NOT_FOUND, with the list of ids, if any of the memories does not exist.
func missing(x *memory.Index, ids []string, argument string) error {
	var gone []string
	for _, id := range ids {
		if _, ok := x.Card(id); !ok && !slices.Contains(gone, id) {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return noMemory(gone[0], argument).With("missing", gone)
}

// between returns the times of a call in Unix milliseconds. A time that is not given is 0.
func between(since, before tool.Instant) (from, to int64, err error) {
	if from, err = since.Milliseconds(Family, "since"); err != nil {
		return 0, 0, err
	}
	to, err = before.Milliseconds(Family, "before")
	return from, to, err
}

// once returns the texts without duplicates, in the order of their first occurrence, or nil if
// there are none.
func once(texts []string) []string {
	var all []string
	for _, text := range texts {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
