// Package raven has the tools of the raven family: typed objects in Markdown notes, as
// spec/raven-agent-improvements.md promises them and reference/raven.md §6 settles them.
package raven

import (
	"context"
	"time"

	"rookery/internal/auth"
	"rookery/internal/checkout"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/team"
	"rookery/internal/tool"
	"rookery/internal/tools/mutate"
	"rookery/internal/vault"
)

// Family is what the tools have in common.
var Family = &tool.Family{
	Name: "raven", Base: "/v1/vaults/{vault}",
	Missing: fault.MissingRequired, Malformed: fault.InvalidValue,
	Several: fault.ValidationFailed,
	Groups: map[string]string{
		"object": "Create, list, search and change objects: notes and sections with a type",
		"prompt": "Print instructions for an agent: start work, record, summarize",
	},
}

// Tools are the tools of the family, over these tenants. all lists every tool of the product, for
// the one that tells what commands there are.
func Tools(t *team.Teams, all func() []*tool.Tool) []*tool.Tool {
	f := tools{t, all}
	return []*tool.Tool{
		f.schema(), f.schemaTypes(), f.schemaType(), f.schemaTraits(), f.schemaTrait(),
		f.schemaCommands(), f.schemaValidate(),
		f.objectList(), f.objectGet(), f.search(), f.read(),
		f.backlinks(), f.outlinks(), f.resolve(),
		f.ofType(), f.tagged(), f.date(), f.untyped(),
		f.traitList(), f.traitGet(), f.traitCreate(), f.traitUpdate(), f.traitDelete(),
		f.create(), f.upsert(), f.set(), f.unset(), f.remove(), f.add(), f.edit(),
		f.stats(), f.history(), f.undo(), f.reindex(),
		f.complete(), f.startWork(), f.recordLearnt(), f.weeklySummary(),
	}
}

type tools struct {
	teams *team.Teams
	all   func() []*tool.Tool
}

// vault is the vault of a call.
func (f tools) vault(ctx context.Context, c auth.Caller, name string) (*repo.Vault, error) {
	t, err := f.teams.Team(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Vault(ctx, name)
}

// folder is the folder of a vault; nil where there are none.
func (f tools) folder(
	ctx context.Context, c auth.Caller, name string,
) (*checkout.Checkout, error) {
	t, err := f.teams.Team(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Folder(ctx, name)
}

// A writing is the part of a call that every mutation of a vault has.
type writing struct {
	caller   auth.Caller
	vault    string
	mutation *tool.Mutation
	slim     bool       // the answer leaves out the whole object or trait
	about    aboutFiles // the files that if_version is compared with first
}

// A shortener is an output that can leave out the whole of what a call changed.
type shortener interface{ shorten() }

// draft runs a function that drafts a change of the vault and fills its output; see mutate.Vault. The
// log keeps the whole output for a repeated call, whichever form this call asks for.
func draft[Out any](
	ctx context.Context, f tools, w writing, fn func(context.Context, *repo.Tx, *Out) error,
) (Out, error) {
	var none Out
	call, err := mutate.Call(w.caller, w.mutation, Family)
	if err != nil {
		return none, err
	}
	v, err := f.vault(ctx, w.caller, w.vault)
	if err != nil {
		return none, err
	}
	out, err := mutate.Vault(ctx, v, call, mutate.Change[Out]{About: w.about, Draft: fn})
	if s, ok := any(&out).(shortener); ok && w.slim {
		s.shorten()
	}
	return out, err
}

// A view is a vault at its newest version, for a call that reads.
type view struct {
	vault *repo.Vault
	idx   *index.Index
	clock vault.Clock // what words such as today mean to this call

	control repo.Control // as it came with the newest version
}

// view is the newest state of the vault of a call.
func (f tools) view(ctx context.Context, c auth.Caller, name string) (view, error) {
	v, err := f.vault(ctx, c, name)
	if err != nil {
		return view{}, err
	}
	idx, control, err := v.ReadControl(ctx)
	if err != nil {
		return view{}, err
	}
	return view{v, idx, clock(idx, v.Now()), control}, nil
}

// viewAt is the vault of a call as it was at the version or time that the call names; without one, its
// newest state. What words such as today mean is up to the call, also there.
func (f tools) viewAt(
	ctx context.Context, c auth.Caller, name string, at tool.AsOf,
) (view, error) {
	v, err := f.view(ctx, c, name)
	if err != nil || at.AsOf == "" {
		return v, err
	}
	version, err := v.versionAt(ctx, at.AsOf)
	if err != nil {
		return view{}, err
	}
	idx, err := v.vault.At(ctx, version)
	if err != nil {
		return view{}, inArgument(err, "as_of")
	}
	return view{v.vault, idx, clock(idx, v.clock.Now), v.control}, nil
}

// version is the version that an answer is true of.
func (v view) version() string { return repo.Version(v.idx.Version()) }

// clock is the time of a commit as the vault's people see it.
func clock(idx *index.Index, now time.Time) vault.Clock { return idx.Config().Clock(now) }

// schemaOf is the schema of the vault. A schema.yaml that does not load fails every call that needs
// to know what a type is.
func schemaOf(idx *index.Index) (*vault.Schema, error) {
	if err := idx.SchemaErr(); err != nil {
		return nil, err
	}
	return idx.Schema(), nil
}

// local is the time of a clock in its own zone.
func local(c vault.Clock) time.Time {
	if c.Zone == nil {
		return c.Now.UTC()
	}
	return c.Now.In(c.Zone)
}
