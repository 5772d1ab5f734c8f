// Package raven has the tools of the raven family: typed objects in Markdown notes, as
// spec/raven-agent-improvements.md promises them and reference/raven.md §6 settles them.
package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is what the tools have in common.
var Family = &tool.Family{
	Name: "raven", Base: "/v1/vaults/{vault}",
	Missing: fault.MissingRequired, Malformed: fault.InvalidValue,
	Several: fault.ValidationFailed, Told: withCodes,
	Groups: map[string]string{
		"section": "Create, move, rename and delete sections of a note",
		"trash":   "List deleted notes and sections",
		"object":  "Create, list, search and change objects: notes and sections with a type",
		"prompt":  "Print instructions for an agent: start work, record, summarize",
	},
}

// Tools are the tools of the family, over these tenants. all lists every tool of the product, for
// the one that tells what commands there are.
func Tools(t *team.Teams, all func() []*tool.Tool) []*tool.Tool {
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

type tools struct {
	state.Source
	all func() []*tool.Tool

	kinds     map[string]operation // that a batch may have, by op and entity
	batchTool *tool.Tool
}

// A writing is the part of a call that every mutation of a vault has.
type writing struct {
	caller   auth.Caller
	vault    string
	mutation *tool.Mutation
	slim     bool       // the answer leaves out the whole object or trait
	about    aboutFiles // the files that if_version is compared with first
}

// answerOf is a pointer to the output of a tool that is an answer.
type answerOf[Out any] interface {
	*Out
	answer
}

// draft drafts a change of the vault, and ends its answer if it is one; see mutate.Draft.
func draft[Out any](
	ctx context.Context, f tools, w writing, run func(context.Context, *repo.Tx, *Out) error,
) (Out, error) {
	return mutation.Draft(ctx, f.Source, mutation.Writing{
		Caller: w.caller, Vault: w.vault, Mutation: w.mutation, Slim: w.slim, About: w.about,
	}, func(ctx context.Context, tx *repo.Tx, out *Out) error {
		if err := run(ctx, tx, out); err != nil {
			return err
		}
		if a, ok := any(out).(answer); ok {
			return a.settle(ctx, tx)
		}
		return nil
	})
}

// A view is a vault at one version, for a call that reads.
type view struct{ state.View }

// view is the newest state of the vault of a call.
func (f tools) view(ctx context.Context, c auth.Caller, name string) (view, error) {
	v, err := f.View(ctx, c, name)
	return view{v}, err
}

// viewAt is the vault of a call as it was at the version or time that the call names; without one, its
// newest state.
func (f tools) viewAt(
	ctx context.Context, c auth.Caller, name string, at tool.AsOf,
) (view, error) {
	v, err := f.ViewAt(ctx, c, name, at)
	return view{v}, err
}

// viewTool returns a tool that reads a state of a vault; see state.Reads.
func viewTool[In state.Input, Out any, O state.Noted[Out]](
	f tools, spec tool.Spec, fn func(context.Context, view, In) (Out, error),
) *tool.Tool {
	return state.Reads[In, Out, O](f.Source, spec,
		func(ctx context.Context, v state.View, in In) (Out, error) { return fn(ctx, view{v}, in) })
}

// pager is one page of a list that a call asks for.
func pager(a *tool.Aside, in tool.Page) state.Pager {
	return state.Pager{Aside: a, Family: Family, Page: in}
}
