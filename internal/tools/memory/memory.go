// Package memory contains the tools of the memory family, which store and find records of agents'
// work. spec/rum-retrieval-api.md defines them, and reference/memory.md settles what it leaves
// open. Times in answers are Unix milliseconds.
//
// A vault contains items of five kinds, beside its notes: memories, their outgoing links, records
// of agents, chapters (summaries of related memories) and wisdom (lessons of several chapters).
// Package internal/memory defines their values, the index over them and all rules that need no
// caller: how matches are ranked, how a chapter is composed, and so on. This package adds the
// arguments and answers of the tools, and the checks that depend on the caller.
//
// A tool that reads gets a view: the memories of the vault at one version. A tool that changes
// something runs in draft, as an author, and stages items in a transaction. Its function can run
// several times, if another call commits first, so it must depend only on its arguments and on the
// transaction. Each call is one commit: all its items are stored, or none.
//
// The files are named after the tools. In addition:
//
//   - memory.go: views, authors and permissions, and the faults that several tools return
//   - recallmatch.go: how memory_recall finds memories
//   - importing.go: the checks of memory_import on single lines, and the same import for tools of
//     other families
//
// Ids of memories, chapters and wisdom are derived from the call, so that each run of a draft uses
// the same ids. Ids of agents are random, because they must be claimed before the commit; see
// newAgent. An agent, and with it the memories that it stores, belongs to one principal. Everybody
// with a role in the vault can read all memories; only the right to change them depends on the
// agent.
//
// Lists have no fixed order of pages in common: a page token contains the sort key of the last
// entry (memory_list), a version (memory_history), or a count of items together with a version
// (memory_export). Chapters and wisdom are few, so their lists have a limit and no pages.
package memory

import (
	"context"
	"embed"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is the family of these tools. In the bare form, failures have the format of the
// specification: a code, a message and details, without the fields that other families add. All
// malformed, missing or contradictory arguments are INVALID_QUERY.
var Family = &tool.Family{
	Name: "memory", Base: "/v1/vaults/{vault}", Docs: docs,
	Missing: fault.InvalidQuery, Malformed: fault.InvalidQuery, Several: fault.InvalidQuery,
	Crowded: fault.InvalidQuery, // reference/memory-build.md §2.15
	Bare:    bare,
	Groups: map[string]string{
		"memory":  "Store, find, link and delete memories of work",
		"chapter": "Create, list and delete chapters: groups of related memories",
		"wisdom":  "Create, find and delete wisdom: lessons that chapters have in common",
	},
}

// docs contains the documentation of the tools, each in a file that is named after the tool.
//
//go:embed *.md
var docs embed.FS

// A failure is a fault in the bare form.
type failure struct {
	Code    fault.Code     `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// bare converts a fault to the bare form.
func bare(f *fault.Fault) any { return failure{f.Code, f.Message, f.Details} }

// Tools returns the tools of the family for these tenants.
func Tools(t *tenant.Registry) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}}
	return []*tool.Tool{
		f.identity(), f.store(), f.update(), f.recall(), f.trace(), f.list(), f.link(), f.checkFile(),
		f.createChapter(), f.listChapters(), f.synthesize(), f.recallWisdom(),
		f.deleteMemory(), f.deleteChapter(), f.deleteWisdom(),
		f.history(), f.export(), f.importAll(), f.complete(), f.afterFailure(),
	}
}

// tools are the tools of the family, bound to the tenants of a server.
type tools struct{ state.Source }

// A view contains the memories of a vault at one version, for a call that reads. It does not change
// while the call runs, whatever other calls commit.
type view struct {
	state.View
	memories *memory.Index
}

// view returns the memories of a vault at the version or time that the call names, by default at
// the newest version. It returns NOT_FOUND for a vault that does not exist.
func (f tools) view(ctx context.Context, c auth.Caller, name string, at tool.AsOf) (view, error) {
	v, err := f.ViewAt(ctx, c, name, at)
	if err != nil {
		return view{}, err
	}
	return view{View: v, memories: v.Index.Memories()}, nil
}

// viewTool returns a tool that reads the memories of a vault; see state.NewTool. Tools that need
// more than the view, such as their caller, use tool.New and tools.view instead.
func viewTool[In state.Input, Out any, O state.Noted[Out]](
	f tools, spec tool.Spec, fn func(context.Context, view, In) (Out, error),
) *tool.Tool {
	return state.NewTool[In, Out, O](f.Source, spec,
		func(ctx context.Context, v state.View, in In) (Out, error) {
			return fn(ctx, view{View: v, memories: v.Index.Memories()}, in)
		})
}

// draft drafts a change of a vault; see mutation.Draft. fn stages the change in the transaction of
// the author and fills the output. It can run several times, each time with a new transaction and an
// empty output.
func draft[Out any](
	ctx context.Context, f tools, c auth.Caller, name string, m *tool.Mutation,
	fn func(context.Context, author, *Out) error,
) (Out, error) {
	w := mutation.Request{Caller: c, Vault: name, Mutation: m}
	return mutation.Draft(ctx, f.Source, w, func(ctx context.Context, tx *repo.Tx, out *Out) error {
		return fn(ctx, author{c, name, tx}, out)
	})
}

// An author is the caller of a draft, with the vault and the transaction. Its methods answer the
// questions that depend on all three: whether the caller is allowed to change an item, and which
// records a change needs.
type author struct {
	auth.Caller
	vault string // name of the vault
	tx    *repo.Tx
}

// index returns the memories before the draft. Items that the draft staged are not in it; for those
// see Tx.Index, which costs more.
func (a author) index() *memory.Index { return a.tx.Before().Memories() }

// now returns the time of the draft in Unix milliseconds.
func (a author) now() int64 { return a.tx.Now().UnixMilli() }

// isAdmin reports whether the caller can write for any agent.
func (a author) isAdmin() bool { return a.Role(a.vault).Allows(auth.Admin) }

// checkOwner returns PERMISSION_DENIED if the caller cannot change the items of an agent. It can
// change those of its own agent and of the agents below it, and as an admin those of all agents
// (reference/memory.md §A7).
//
// It compares agent ids only. That an id is the caller's own was checked before the call began,
// when the id was claimed for the principal (see team.ClaimAgent).
func (a author) checkOwner(agent string) error {
	if a.isAdmin() || agent == a.Agent || a.descends(agent) {
		return nil
	}
	return fault.New(fault.PermissionDenied, "it belongs to another agent; only that agent, an agent above it, or an "+
		"admin can change it").With("agent_id", agent)
}

// descends reports whether an agent is below the caller's agent, through parents that all belong to
// the caller's principal. An agent of another principal ends the search, also if an agent of the
// caller is above it. Records that form a cycle, which only an import can create, end it too.
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

// checkAgent returns PERMISSION_DENIED if the caller's agent is recorded for another principal. An
// agent without a record is not an obstacle: its first change creates the record; see appear.
func (a author) checkAgent() error {
	k, ok := a.index().Agent(a.Agent)
	if !ok || k.Value.Principal == a.Principal {
		return nil
	}
	return fault.New(fault.PermissionDenied, "the agent id belongs to another principal").
		With("argument", "agent_id").Fix("choose another agent id, or omit it")
}

// ensureAgent drafts the record of an agent if neither the vault nor the draft has one. So an agent
// needs no registration: it exists from its first change on. The check applies the draft to the
// index, which costs time in proportion to the staged changes.
func (a author) ensureAgent(agent string) error {
	if _, known := a.tx.Index().Memories().Agent(agent); known {
		return nil
	}
	return a.record(agent)
}

// record drafts a record for an agent: a main agent of the caller's principal, without a parent.
// Its session count is 0, because only memory_identity counts sessions.
func (a author) record(agent string) error {
	return a.tx.PutItem(memory.KindAgent, agent, memory.Agent{
		V: memory.Format, Type: memory.AgentMain, Principal: a.Principal, Created: a.now(), Active: a.now(),
	})
}

// noMemory returns the NOT_FOUND fault for an id that no memory has.
func noMemory(id, argument string) *fault.Fault {
	return fault.New(fault.NotFound, "there is no memory %q", id).With("id", id).With("argument", argument)
}

// card returns the card of a memory, or NOT_FOUND. A card contains the fields by which memories are
// found and listed; the whole value is read separately.
func card(x *memory.Index, id, argument string) (*memory.Card, error) {
	c, ok := x.Card(id)
	if !ok {
		return nil, noMemory(id, argument)
	}
	return c, nil
}

// checkExist returns NOT_FOUND if any of the memories does not exist. The fault names the first of
// them and lists all their ids, each once, in the order of ids.
func checkExist(x *memory.Index, ids []string, argument string) error {
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

// timeRange returns the times of a call in Unix milliseconds. A time that is not given is 0. A
// malformed time is INVALID_QUERY and names its argument.
func timeRange(since, before tool.Instant) (from, to int64, err error) {
	if from, err = since.Milliseconds(Family, "since"); err != nil {
		return 0, 0, err
	}
	to, err = before.Milliseconds(Family, "before")
	return from, to, err
}

// withoutDuplicates returns the texts without duplicates, in the order of their first occurrence,
// or nil if there are none.
func withoutDuplicates(texts []string) []string {
	var all []string
	for _, text := range texts {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// The kinds of values that can be completed. The tag `complete` of an argument names one.
const (
	kindMemory  = "memory"
	kindAgent   = "agent"
	kindChapter = "chapter"
	kindWisdom  = "wisdom"
)

// A completeIn is the input of the tool that completes ids. Kind is one of the kinds above.
type completeIn struct {
	tool.Vault
	// the kind of suggestions
	Kind string `json:"kind" enum:"memory,agent,chapter,wisdom"`
	tool.CompletionIn
}

// complete returns the tool that completes the ids of memories, agents, chapters and wisdom.
func (f tools) complete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_complete", Short: "complete", Family: Family, Title: "Complete an id of a memory",
		Role: auth.Reader, Kind: tool.Read,
		Route:     tool.Route{Method: "GET", Path: "/memory-complete"},
		Commands:  []tool.Command{{Words: "complete memory", Args: []string{"kind", "prefix?"}}},
		Completes: []string{kindMemory, kindAgent, kindChapter, kindWisdom},
	}, f.completeID)
}

// completeID lists the ids that begin with the typed prefix, sorted, at the newest version of the
// vault.
func (f tools) completeID(ctx context.Context, c auth.Caller, in completeIn) (tool.Values, error) {
	return f.Complete(ctx, c, in.Vault.Vault, in.CompletionIn, func(v state.View) iter.Seq2[string, string] {
		return idsOfKind(v.Index.Memories(), in.Kind)
	})
}

// idsOfKind yields the ids of a kind, in order, each with a short description: the goal of a
// memory, the specialization of an agent, the title of a chapter, the summary of wisdom. It yields
// nothing for another kind. An agent without a record is not listed.
func idsOfKind(x *memory.Index, kind string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		switch kind {
		case kindMemory:
			for c := range x.Cards("") {
				if !yield(c.ID, c.Goal) {
					return
				}
			}
		case kindAgent:
			pairs(yield, x.Agents(), func(a *memory.Agent) string { return a.Specialization })
		case kindChapter:
			pairs(yield, x.Chapters(), func(c *memory.Chapter) string { return c.Title })
		case kindWisdom:
			pairs(yield, x.AllWisdom(), func(w *memory.Wisdom) string { return w.Summary })
		}
	}
}

// pairs yields the id of each value, with its description from about, until yield returns false.
func pairs[T any](yield func(string, string) bool, all iter.Seq[*memory.Item[T]], about func(*T) string) {
	for k := range all {
		if !yield(k.ID, about(&k.Value)) {
			return
		}
	}
}

// afterFailureText is the text of the prompt, with the names in braces as its parameters.
//
//go:embed prompt_after_failure.text.md
var afterFailureText string

// An afterFailureIn is the input of the prompt. File is the file for which the work failed; it is
// optional.
type afterFailureIn struct {
	tool.Vault
	// the file for which the work failed
	File string `json:"file,omitempty" size:"id"`
}

// A promptOut is the output of the prompt: the text for the model.
type promptOut struct {
	tool.Aside `json:"-"`
	// the instructions, for a model
	Text string `json:"text"`
}

// afterFailure returns the prompt that asks a model to recall earlier work after a failure. It
// reads no memories: it only contains the call with which the model does so, by file or, without a
// file, by words. It opens the vault, so that a name with no vault is NOT_FOUND here and not in the
// call that the model makes.
func (f tools) afterFailure() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_prompt_after_failure", Short: "after_failure", Family: Family, Title: "Learn from a failure",
		Role: auth.Reader, Kind: tool.Read, Prompt: true,
		Route:    tool.Route{Method: "GET", Path: "/memory-prompts/after-failure"},
		Commands: []tool.Command{{Words: "prompt after-failure", Args: []string{"file?"}}},
		Uses:     []string{"memory_recall", "memory_store"},
	}, func(ctx context.Context, c auth.Caller, in afterFailureIn) (promptOut, error) {
		v, err := f.View(ctx, c, in.Vault.Vault)
		if err != nil {
			return promptOut{}, err
		}
		what, ask := "your task", `"query": "what you did"`
		hint := ", with the goal and the message of the error as `query`"
		if in.File != "" {
			file := strconv.Quote(in.File)
			what, ask, hint = file, `"file": `+file, ""
		}
		out := promptOut{Text: strings.NewReplacer(
			"{vault}", strconv.Quote(in.Vault.Vault), "{what}", what, "{ask}", ask, "{hint}", hint,
		).Replace(afterFailureText)}
		out.Note("version", v.Version())
		return out, nil
	})
}
