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
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
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

// viewTool returns a tool that calls fn with the state of the vault of the call, at its as_of, and
// records the version of that state in the meta. An input that embeds detail selects the depth of
// the state, and an invalid depth is refused before the vault is read. For a timed input, the meta
// has the time zone and the first day of the week of the vault too.
func viewTool[In state.Input, Out any, O state.Noted[Out]](
	f tools, spec tool.Spec, fn func(context.Context, view, In) (Out, error),
) *tool.Tool {
	return tool.New(spec, func(ctx context.Context, c auth.Caller, in In) (Out, error) {
		var none Out
		depth, err := depthOf(in)
		if err != nil {
			return none, err
		}
		v, err := f.viewAt(ctx, c, in.VaultName(), in.State())
		if err != nil {
			return none, err
		}
		v.depth = depth
		out, err := fn(ctx, v, in)
		O(&out).Note("version", v.Version())
		if _, is := any(in).(timed); is {
			noteTimeZone(O(&out), v.Index)
		}
		return out, err
	})
}

// depthOf returns the depth that the input of a call selects: that of its detail, or rich if it has
// none.
func depthOf(in any) (int, error) {
	if d, ok := in.(interface{ level() (int, error) }); ok {
		return d.level()
	}
	return rich, nil
}

// A timed is an input whose arguments contain words such as today, so that the answer depends on
// the time zone of the vault.
type timed interface{ timed() }

// A listIn is the input of a tool that lists things in pages: one that embeds tool.Vault, tool.AsOf
// and tool.Page.
type listIn interface {
	state.Input
	Requested() tool.Page
}

// A stateIn is the input of a tool that takes only a vault and the state in which it is read.
type stateIn struct {
	tool.Vault
	tool.AsOf
}

// A pageIn is the input of a tool that lists things in pages, without filters.
type pageIn struct {
	tool.Vault
	tool.AsOf
	tool.Page
}

// A listOut is a pointer to an output with a page of a list. page returns the part for the meta of
// the page, and the slice for its items.
type listOut[Out, Item any] interface {
	state.Noted[Out]
	page() (*tool.Aside, *[]Item)
}

// An itemsOut is the output of a tool that lists items and returns nothing else.
type itemsOut[Item any] struct {
	tool.Aside `json:"-"`
	Items      []Item `json:"items"`
}

// page implements listOut.
func (o *itemsOut[Item]) page() (*tool.Aside, *[]Item) { return &o.Aside, &o.Items }

// A listing is the list of a call before it is paged. It returns the page that p requests, records
// the meta of the page in p.Aside, and warns with NO_RESULTS if the whole list is empty.
type listing[Item any] func(ctx context.Context, p state.Pager) ([]Item, error)

// listTool returns a tool that answers with a page of a list; see viewTool. read returns the list,
// and fills the members of the output other than its items.
func listTool[In listIn, Out, Item any, O listOut[Out, Item]](
	f tools, spec tool.Spec, read func(context.Context, view, In, O) (listing[Item], error),
) *tool.Tool {
	return viewTool[In, Out, O](f, spec, func(ctx context.Context, v view, in In) (Out, error) {
		var out Out
		list, err := read(ctx, v, in, &out)
		if err != nil {
			return out, err
		}
		aside, items := O(&out).page()
		*items, err = list(ctx, pager(aside, in.Requested()))
		return out, err
	})
}

// pager returns the requested page of a list, whose meta and warnings go into a.
func pager(a *tool.Aside, in tool.Page) state.Pager {
	return state.Pager{Aside: a, Family: Family, Page: in}
}

// located returns a list in the order of locations, each item converted by show.
func located[T, Item any](l state.Listing[T], show func(T) Item) listing[Item] {
	return func(ctx context.Context, p state.Pager) ([]Item, error) { return state.Page(ctx, p, l, show) }
}

// whole returns a list that is small enough to be built completely. key returns the key of an item
// for the page token, which must be unique; the next page begins after the item with the key.
func whole[Item any](all []Item, key func(Item) string) listing[Item] {
	return func(_ context.Context, p state.Pager) ([]Item, error) {
		return state.PageOf(p, all, key, func(last string) (int, bool) {
			i := slices.IndexFunc(all, func(item Item) bool { return key(item) == last })
			return i + 1, i >= 0
		})
	}
}

// matching returns the list of what a branch finds in a state, each item converted by show. It is
// paged as by raven_query. A list tool makes the branch of its arguments.
func matching[Item any](v view, b query.Branch, show func(query.Item) Item) listing[Item] {
	return func(ctx context.Context, p state.Pager) ([]Item, error) {
		after, err := p.Page.After(p.Family)
		if err != nil {
			return []Item{}, err
		}
		a, err := query.List(query.Query{Branches: []query.Branch{b}},
			query.State{Index: v.Index, Clock: v.Clock, Canceled: ctx.Err},
			query.Page{Limit: p.Page.Limit, After: after})
		if err != nil {
			return []Item{}, err
		}
		items := fitting(p.Aside, a, show)
		return items, ctx.Err()
	}
}

// fitting returns the items of a page of a query, converted by show, as far as they fit into the
// answer, and records the meta of the page. At least one item is returned if there is one, however
// large it is, so that each page makes progress.
func fitting[Item any](out *tool.Aside, a query.Answer, show func(query.Item) Item) []Item {
	items, mark := []Item{}, ""
	for _, i := range a.Items {
		item := show(i)
		if !out.Fits(item) && len(items) > 0 {
			break
		}
		items = append(items, item)
	}
	if n := len(items); n > 0 {
		mark = a.Mark(a.Items[n-1])
	}
	out.Paged(len(items), a.Total, a.More || len(items) < len(a.Items), mark)
	if a.Total == 0 {
		out.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return items
}

// noteResource is a note as a resource. Its text is the content that raven_read returns.
var noteResource = tool.Resource{
	URI: "rookery://{vault}/notes/{+path}", Name: "notes", Title: "Note",
	Doc:  "The text of a note or, with #slug, of one of its sections. The path can be given without .md.",
	MIME: "text/markdown", Key: "content",
}

// schemaResource is the schema of a vault as a resource, in the form that raven_schema returns.
var schemaResource = tool.Resource{
	URI: "rookery://{vault}/schema", Name: "schema", Title: "Schema",
	Doc:  "The types, traits, saved queries and settings of the vault.",
	MIME: "application/json", Each: true,
}

// codeKey is the detail of a fault with Raven's name for the error.
const codeKey = "raven_code"

// ofFile is the detail of a codeRow that stands for the file in the fault's location.
const ofFile = "(file)"

// A codeRow maps a fault code in a context to Raven's name for the error.
//
// The detail narrows a row to the errors that Raven distinguishes and Rookery does not: the fault
// code NOT_FOUND, for example, is QUERY_NOT_FOUND if the details contain a query.
type codeRow struct {
	code   fault.Code
	tool   string // name of the called tool, or a prefix of it that ends in _; empty: any
	detail string // a detail that the fault must have, as key or key=value; empty: any
	name   string // empty: Raven has no name for it
}

// codes maps faults to Raven's names (reference/raven.md §1.17). The first matching row applies.
// Raven has no name for a fault that matches no row.
//
// The order matters: rows with a detail or a tool come before the general row of the same code.
// Adding a fault code to the product needs a row here if Raven has a name for it.
var codes = []codeRow{
	{fault.NotFound, "", "query", "QUERY_NOT_FOUND"},
	{fault.NotFound, "", ofFile, "FILE_NOT_FOUND"},
	{fault.NotFound, "raven_check", "", "FILE_NOT_FOUND"},
	{fault.NotFound, "raven_undo", "", ""},
	{fault.NotFound, "", "", "REF_NOT_FOUND"},

	{fault.InvalidQuery, "", "reason=cost", "QUERY_FAILED"},
	{fault.InvalidQuery, "", "", "QUERY_INVALID"},
	{fault.InvalidRef, "", "", "REF_NOT_FOUND"},
	{fault.AmbiguousRef, "", "", "REF_AMBIGUOUS"},
	{fault.InvalidType, "", "column", "QUERY_INVALID"},
	{fault.InvalidType, "", "pointer", "QUERY_INVALID"},
	{fault.InvalidTrait, "", "column", "QUERY_INVALID"},
	{fault.InvalidTrait, "", "pointer", "QUERY_INVALID"},
	{fault.InvalidField, "", "column", "QUERY_INVALID"},
	{fault.InvalidField, "", "pointer", "QUERY_INVALID"},
	{fault.InvalidValue, "", "column", "QUERY_INVALID"},
	{fault.InvalidValue, "", "pointer", "QUERY_INVALID"},

	{fault.InvalidType, "", "available_types", "TYPE_NOT_FOUND"},
	{fault.InvalidType, "", "", "INVALID_INPUT"},
	{fault.InvalidTrait, "", "available_traits", "TRAIT_NOT_FOUND"},
	{fault.InvalidTrait, "", "", "INVALID_INPUT"},
	{fault.InvalidField, "raven_schema_", "argument=name", "FIELD_NOT_FOUND"},
	{fault.InvalidField, "raven_schema_", "argument", "INVALID_INPUT"},
	{fault.InvalidField, "", "constraint", "VALIDATION_FAILED"},
	{fault.InvalidField, "", "target", "VALIDATION_FAILED"},
	{fault.InvalidField, "", "allowed", "UNKNOWN_FIELD"},
	{fault.InvalidField, "", "", "VALIDATION_FAILED"},

	{fault.InvalidValue, "", "matches=0", "STRING_NOT_FOUND"},
	{fault.InvalidValue, "", "matches", "MULTIPLE_MATCHES"},
	{fault.InvalidValue, "", "field", "VALIDATION_FAILED"},
	{fault.InvalidValue, "", "available", "INVALID_ARGS"},
	{fault.InvalidValue, "", "", "INVALID_INPUT"},
	{fault.InvalidPath, "", "", "INVALID_INPUT"},

	{fault.MissingRequired, "", "argument=plan_token", "CONFIRMATION_REQUIRED"},
	{fault.MissingRequired, "", "missing", "INVALID_INPUT"},
	{fault.MissingRequired, "", "argument", "MISSING_ARGUMENT"},
	{fault.MissingRequired, "", "", "REQUIRED_FIELD_MISSING"},

	{fault.DuplicateID, "raven_schema_", "", "OBJECT_EXISTS"},
	{fault.DuplicateID, "", "", "FILE_EXISTS"},
	{fault.ValidationFailed, "raven_schema_remove", "total", "CONFIRMATION_REQUIRED"},
	{fault.ValidationFailed, "raven_schema_", "total", "DATA_INTEGRITY_BLOCK"},
	{fault.ValidationFailed, "", "", "VALIDATION_FAILED"},

	{fault.SchemaError, "", ofFile + "=raven.yaml", "CONFIG_INVALID"},
	{fault.SchemaError, "", "", "SCHEMA_INVALID"},
	{fault.FileError, "raven_schema_", "", "FILE_WRITE_ERROR"},
	{fault.FileError, "raven_query_", "", "FILE_WRITE_ERROR"},
	{fault.FileError, "", "", "FILE_READ_ERROR"},
	{fault.IndexError, "", "", "DATABASE_ERROR"},
	{fault.InvalidParameter, "", "argument=vault", "VAULT_AMBIGUOUS"},
	{fault.Internal, "", "", "INTERNAL_ERROR"},
}

// fits reports whether the row matches a fault of a tool.
func (r codeRow) fits(tool string, f *fault.Fault) bool {
	ofTool := r.tool == "" || r.tool == tool || strings.HasSuffix(r.tool, "_") && strings.HasPrefix(tool, r.tool)
	if r.code != f.Code || !ofTool {
		return false
	}
	key, value, one := strings.Cut(r.detail, "=")
	if key == "" {
		return true
	}
	has, ok := f.Details[key]
	if key == ofFile && f.Location != nil {
		has, ok = f.Location.File, true
	}
	return ok && (!one || fmt.Sprint(has) == value)
}

// ravenCode returns Raven's name for a fault of a tool, or "" if it has none.
func ravenCode(tool string, f *fault.Fault) string {
	if f.Code == fault.NotFound && fault.LacksVault(f) {
		return "VAULT_NOT_FOUND"
	}
	for _, r := range codes {
		if r.fits(tool, f) {
			return r.name
		}
	}
	return ""
}

// withCodes returns a fault with Raven's name, in its details, for the fault itself and for each of
// its problems. It does not replace existing names, and does not modify f.
//
// It is the Told function of Family, so every fault of the family passes through it before a
// projection encodes it.
func withCodes(tool string, f *fault.Fault) *fault.Fault {
	if name := ravenCode(tool, f); name != "" && f.Details[codeKey] == nil {
		f = f.With(codeKey, name)
	}
	if len(f.Errors) == 0 {
		return f
	}
	coded := *f
	coded.Errors = make([]*fault.Fault, len(f.Errors))
	for i, one := range f.Errors {
		coded.Errors[i] = withCodes(tool, one)
	}
	return &coded
}
