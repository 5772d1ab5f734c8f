// Package raven contains the tools of the raven family: typed objects in Markdown notes, as defined
// in spec/raven-agent-improvements.md and detailed in reference/raven.md §6.
//
// A file has a tool, or some related ones, each with its input (xIn), its output (xOut, or an
// adjective such as moved) and a method of tools that returns the tool. The input of a tool that
// changes the vault has up to three more methods: validate checks the arguments without the vault,
// targets returns the files that if_version is compared with first, and run drafts the change on a
// repo.Tx. run may be called several times, and must change nothing but the draft and its output.
// Batches and raven_validate call the same methods.
package raven

import (
	"context"
	"embed"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family describes the common properties of the tools.
//
// The groups are the words that group several commands, with a description of each group.
var Family = &tool.Family{
	Name: "raven", Base: "/v1/vaults/{vault}", Docs: docs,
	Missing: fault.MissingRequired, Malformed: fault.InvalidValue,
	Several: fault.ValidationFailed, AddDetails: withCodes,
	Groups: map[string]string{
		"section": "Create, move, rename and delete sections of a note",
		"trash":   "List deleted notes and sections",
		"object":  "Create, list, search and change objects: notes and sections with a type",
		"prompt":  "Print instructions for an agent: start work, record, summarize",
	},
}

// docs contains the documentation of the tools, each in a file that is named after the tool.
//
//go:embed *.md
var docs embed.FS

// Tools returns the tools of the family for these tenants. all returns all tools of the product,
// for raven_schema_commands, which lists the commands. It is called with each call of that tool.
func Tools(t *tenant.Registry, all func() []*tool.Tool) []*tool.Tool {
	f := tools{Source: state.Source{Teams: t, Family: Family}, all: all}
	f.kinds = f.operations()
	f.batchTool = f.batch()
	return []*tool.Tool{
		f.schema(), f.schemaTypes(), f.schemaType(), f.schemaTraits(), f.schemaTrait(),
		f.schemaCommands(), f.schemaValidate(), f.schemaInit(),
		f.schemaAdd(), f.schemaUpdate(), f.schemaRemove(),
		f.objectList(), f.objectGet(), f.search(), f.read(),
		f.backlinks(), f.outlinks(), f.resolve(),
		f.ofType(), f.tagged(), f.date(), f.untyped(),
		f.traitList(), f.traitGet(), f.traitCreate(), f.traitUpdate(), f.traitDelete(),
		f.create(), f.upsert(), f.set(), f.unset(), f.remove(), f.add(), f.edit(), f.move(), f.section(),
		f.reclassify(), f.trashList(), f.restore(),
		f.batchTool, f.validate(), f.checkTool(), f.checkFix(), f.log(),
		f.query(), f.queryList(), f.querySave(), f.queryRemove(),
		f.stats(), f.history(), f.undo(), f.reindex(),
		f.complete(), f.startWork(), f.recordLearnt(), f.weeklySummary(),
	}
}

// A tools contains the dependencies of the tools of the family. It is safe for concurrent use.
//
// kinds and batchTool are set once by Tools and never change.
type tools struct {
	state.Source
	all func() []*tool.Tool

	kinds     map[string]operation // of operations in a batch, by op and entity
	batchTool *tool.Tool
}

// A request is the common part of the calls of all mutations of a vault.
//
// It is the form of mutation.Request for this family, with a concrete mutation.
type request struct {
	caller   auth.Caller
	vault    string
	mutation *tool.Mutation
	slim     bool        // the answer omits the full object or trait
	targets  targetFiles // the files whose versions are compared with if_version first
}

// An answerOf is a pointer to an output that implements answer.
type answerOf[Out any] interface {
	*Out
	answer
}

// draft drafts a change of the vault and, if the output is an answer, settles it; see
// mutation.Draft. run may be called several times, each time with an empty output.
//
// The answer is settled inside the transaction, after run: it needs the staged files, and a plan
// token that does not match must prevent the commit.
func draft[Out any](
	ctx context.Context, f tools, w request, run func(context.Context, *repo.Tx, *Out) error,
) (Out, error) {
	return mutation.Draft(ctx, f.Source, mutation.Request{
		Caller: w.caller, Vault: w.vault, Mutation: w.mutation, Slim: w.slim, Targets: w.targets,
	}, func(ctx context.Context, tx *repo.Tx, out *Out) error {
		if err := run(ctx, tx, out); err != nil {
			return err
		}
		if a, ok := any(out).(answer); ok {
			return a.finish(ctx, tx)
		}
		return nil
	})
}

// A view is one state of a vault, for a call that reads.
//
// It adds the methods of this family to state.View. The state does not change while the call runs,
// whatever is committed meanwhile.
type view struct {
	state.View
	caller auth.Caller
	depth  int // of the objects and traits in the answer: slim, rich or deep
}

// viewOf returns a state of a vault for a call that shows objects and traits at the default depth.
func viewOf(v state.View, c auth.Caller) view { return view{v, c, rich} }

// renderer returns a renderer for lists at the depth of the call; see newRenderer.
func (v view) renderer() renderer { return newRenderer(v.Index, v.depth) }

// view returns the newest state of a vault.
func (f tools) view(ctx context.Context, c auth.Caller, name string) (view, error) {
	v, err := f.View(ctx, c, name)
	return viewOf(v, c), err
}

// viewAt returns the state of a vault at the version or time of the as_of argument or, without one,
// its newest state.
func (f tools) viewAt(
	ctx context.Context, c auth.Caller, name string, at tool.AsOf,
) (view, error) {
	v, err := f.ViewAt(ctx, c, name, at)
	return viewOf(v, c), err
}
