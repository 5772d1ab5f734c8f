// Package memory has the tools of the memory family, which store and find records of agents' work as
// spec/rum-retrieval-api.md defines them and reference/memory.md settles them. Times in answers are Unix milliseconds.
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

// Family is what the tools have in common. Failures in the bare form are those of the document.
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

// A failure is the bare form of a fault.
type failure struct {
	Code    fault.Code     `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

func bare(f *fault.Fault) any { return failure{f.Code, f.Message, f.Details} }

// Tools are the tools of the family, over these tenants.
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

// A view is the memories of a vault at one version, for a call that reads.
type view struct {
	state.View
	memories *memory.Index
}

// view is the memories of the vault of a call, as they were at the version or time that the call names.
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

// draft drafts a change of the vault; see mutate.Draft.
func draft[Out any](
	ctx context.Context, f tools, c auth.Caller, name string, m *tool.Mutation,
	fn func(context.Context, *repo.Tx, *Out) error,
) (Out, error) {
	return mutation.Draft(ctx, f.Source, mutation.Writing{Caller: c, Vault: name, Mutation: m}, fn)
}

// An author is who writes a memory in a draft: the caller's agent.
type author struct {
	auth.Caller
	vault string
	tx    *repo.Tx
}

// index is the memories as they are before the draft.
func (a author) index() *memory.Index { return a.tx.Before().Memories() }

// now is the time of the draft.
func (a author) now() int64 { return a.tx.Now().UnixMilli() }

// isAdmin reports whether the caller may write for any agent.
func (a author) isAdmin() bool { return a.Role(a.vault).Allows(auth.Admin) }

// mine is PERMISSION_DENIED unless the caller may write what an agent owns: its own agent, or one below that, or
// the caller is an admin (reference/memory.md §A7).
func (a author) mine(agent string) error {
	if a.isAdmin() || agent == a.Agent || a.descends(agent) {
		return nil
	}
	return fault.New(fault.PermissionDenied, "it belongs to another agent; only that agent, an agent above it, or an "+
		"admin can change it").With("agent_id", agent)
}

// descends reports whether an agent is below the caller's, under the same principal.
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

// acts is PERMISSION_DENIED if the caller's agent is recorded as another principal's.
func (a author) acts() error {
	k, ok := a.index().Agent(a.Agent)
	if !ok || k.Value.Principal == a.Principal {
		return nil
	}
	return fault.New(fault.PermissionDenied, "the agent id belongs to another principal").
		With("argument", "agent_id").Fix("choose another agent id, or omit it")
}

// appear records an agent that has no record yet.
func (a author) appear(agent string) error {
	if _, known := a.tx.Index().Memories().Agent(agent); known {
		return nil
	}
	return a.record(agent)
}

// record drafts the record of an agent that has none.
func (a author) record(agent string) error {
	return a.tx.PutItem(memory.KindAgent, agent, memory.Agent{
		V: memory.Format, Type: memory.AgentMain, Principal: a.Principal, Created: a.now(), Active: a.now(),
	})
}

// noMemory is the fault of an id that no memory has.
func noMemory(id, argument string) *fault.Fault {
	return fault.New(fault.NotFound, "there is no memory %q", id).With("id", id).With("argument", argument)
}

// card is the card of a memory, or NOT_FOUND.
func card(x *memory.Index, id, argument string) (*memory.Card, error) {
	c, ok := x.Card(id)
	if !ok {
		return nil, noMemory(id, argument)
	}
	return c, nil
}

// missing is NOT_FOUND if some of these memories are not there.
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

// between are the times that a call names, in Unix milliseconds; 0: none.
func between(since, before tool.Instant) (from, to int64, err error) {
	if from, err = since.Milliseconds(Family, "since"); err != nil {
		return 0, 0, err
	}
	to, err = before.Milliseconds(Family, "before")
	return from, to, err
}

// once are texts without repetitions, in the order in which they come first; nil for none.
func once(texts []string) []string {
	var all []string
	for _, text := range texts {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
