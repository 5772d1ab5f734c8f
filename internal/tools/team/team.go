// Package team contains the tools of the team family: the account of the caller, the vaults of a
// tenant, and the tokens, members and issuers with their roles (CONTRACT §4, team).
//
// Three kinds of state are behind these tools. The log of the tenant contains the list of vaults
// with their settings, and all tokens, members and issuers; package internal/tenant commits to it.
// Each vault has a log of its own, with its notes and memories. Jobs are neither: they are records
// of long work, in a table. The tools here translate arguments, make the checks that depend on the
// caller, and build answers; they decide nothing about storage.
//
// Most tools that change something have the same form. They prepare the call with tools.mutation,
// validate the arguments, and then run the change with mutation.ChangeTenant. The change gets a
// function that builds the answer, which is stored with the commit: a call that is repeated with
// the same idempotency key gets that answer again. This has two consequences. The function can run
// several times, so it must have no effects of its own. And a check that depends on the current
// state must end in refuse, not in a plain error, because the same call can have succeeded earlier,
// in another state.
//
// A caller cannot give more than it has: a role that a token, member or issuer gets must not exceed
// those of the caller; see within.
//
// The files are named after the tools, or after what several of them change. In addition, grant.go
// has the roles that a call gives.
package team

import (
	"context"
	"embed"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// Family is the family of these tools.
var Family = &tool.Family{
	Name: "team", Base: "/v1", Docs: docs,
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter,
	Several: fault.InvalidParameter,
	Groups: map[string]string{
		"job":    "List, follow and cancel long work (admins)",
		"issuer": "Trust identity providers for people and CI jobs (admins)",
		"member": "Give people roles in vaults (admins)",
		"tenant": "Export everything of a tenant (admins)",
		"token":  "Create and revoke API tokens (admins)",
		"vault":  "Create, list, import, export, delete and erase vaults",
	},
}

// docs contains the documentation of the tools, each in a file that is named after the tool.
//
//go:embed *.md
var docs embed.FS

// Options are the dependencies of the tools, in addition to the tenants. All are optional. They are
// not changed after Tools.
type Options struct {
	// All returns all tools of the product: those that a token can be limited to. It is not called
	// before the first call of a tool. Nil: there are none.
	All func() []*tool.Tool

	// Limiter reports the rate limits. Nil: there are none.
	Limiter Limiter
}

// Tools returns the tools of the family for these tenants, with the dependencies in o. They are the
// same for every tenant: a tool finds the tenant of a call by its caller.
func Tools(t *tenant.Registry, o Options) []*tool.Tool {
	f := tools{teams: t, opt: o}
	return []*tool.Tool{
		f.whoami(), f.usage(), f.vaultList(), f.vaultCreate(), f.vaultSet(), f.vaultDelete(),
		f.vaultRestore(), f.vaultErase(), f.jobList(), f.jobGet(), f.jobCancel(), f.tenantExport(),
		f.tenantErase(),
		f.vaultImport(), f.vaultExport(), f.tokenCreate(), f.tokenList(),
		f.tokenRevoke(), f.memberSet(), f.memberList(), f.memberRemove(), f.issuerSet(),
		f.issuerList(), f.issuerRemove(), f.audit(), f.auditVerify(), f.complete(),
		f.completeAccess(),
	}
}

// tools are the tools of the family, bound to the tenants of a server and to their options. They
// are safe for concurrent use.
type tools struct {
	teams *tenant.Registry
	opt   Options
}

// vault returns the vault of a call, by its name. It returns NOT_FOUND if the tenant has no such
// vault, or if it is in the trash.
func (f tools) vault(ctx context.Context, c auth.Caller, name string) (*repo.Vault, error) {
	t, err := f.teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Vault(ctx, name)
}

// state returns the tenant of a call, its current state, and the version of that state. The state
// is a snapshot: later commits do not change it.
func (f tools) state(ctx context.Context, c auth.Caller) (*tenant.Tenant, *tenant.State, uint64, error) {
	t, err := f.teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return nil, nil, 0, err
	}
	s, seq, err := t.State(ctx)
	return t, s, seq, err
}

// versionFor adds the version of the tenant to an answer if the caller is an admin of all vaults.
// The version changes with every change to any vault, token and member, so other callers do not get
// it: it would show them the activity of others.
func versionFor(c auth.Caller, out *tool.Aside, seq uint64) {
	if c.Role(auth.AllVaults).Allows(auth.Admin) {
		out.Note("version", eventlog.Version(seq))
	}
}

// mutation returns the tenant of a call that changes something, and the call as it is recorded in
// the log. A malformed if_version is INVALID_PARAMETER.
func (f tools) mutation(
	ctx context.Context, c auth.Caller, m *tool.Mutation,
) (*tenant.Tenant, eventlog.Call, error) {
	call, err := mutation.Call(c, m, Family)
	if err != nil {
		return nil, call, err
	}
	t, err := f.teams.Tenant(ctx, c.Tenant)
	return t, call, err
}

// refuse refuses a call with the error why because of the current state of the tenant. A repetition
// of a call that succeeded earlier gets the answer of that call instead. The output is empty unless
// there is such an answer.
//
// A tool uses it after checks of the current state that an earlier attempt of the same call may
// have passed: the earlier attempt changed the state, or another call did. A check that depends on
// the arguments alone returns its fault directly.
func refuse[Out any](
	ctx context.Context, t *tenant.Tenant, call eventlog.Call, why error,
) (Out, error) {
	var none Out
	r, err := t.Refuse(ctx, call, why)
	return mutation.Finish(repo.Receipt{Receipt: r}, none, err)
}

// A listIn is the input of a list without filters: the limit of the page and its token.
type listIn struct {
	tool.Page
}

// A listOut is the output of a list: one page. Items is never nil, so that it is a JSON array.
type listOut[Row any] struct {
	tool.Aside `json:"-"`
	Items      []Row `json:"items"`
}

// listTool returns a tool that lists entries of the tenant of a call. The answer contains the
// version of the tenant, so these tools require the role of an admin of all vaults. entries returns
// the listing for a state of the tenant; it is called once for each call of the tool.
//
// The tools that list issuers and members use it. Lists with arguments of their own, or whose rows
// need more than the state, use listing directly.
func listTool[T, Row any](
	f tools, spec tool.Spec, entries func(*tenant.Tenant, *tenant.State) listing[T, Row],
) *tool.Tool {
	return tool.New(spec, func(ctx context.Context, c auth.Caller, in listIn) (listOut[Row], error) {
		out := listOut[Row]{Items: []Row{}}
		t, s, seq, err := f.state(ctx, c)
		if err != nil {
			return out, err
		}
		out.Items, err = entries(t, s).page(&out.Aside, in.Page)
		out.Note("version", eventlog.Version(seq))
		return out, err
	})
}

// A listing is a sequence of entries, sorted by key, that is returned in pages. The key of the last
// entry of a page is the content of the page token. So an entry that is added or removed between
// two pages neither repeats nor hides others.
type listing[T, Row any] struct {
	all []T // sorted by key
	key func(T) string
	row func(T) Row // returns the entry as a page shows it
}

// page returns one page of a listing, and writes the metadata of a list into the aside (CONTRACT
// §1). row is called only for the entries of the page. The total is the number of all entries.
func (l listing[T, Row]) page(a *tool.Aside, p tool.Page) ([]Row, error) {
	rows := []Row{}
	after, err := p.After(Family)
	if err != nil {
		return rows, err
	}
	last, more := "", false
	for _, entry := range l.all {
		key := l.key(entry)
		if key <= after {
			continue
		}
		if more = len(rows) == p.Limit; more {
			break
		}
		rows, last = append(rows, l.row(entry)), key
	}
	a.Paged(len(rows), len(l.all), more, last)
	return rows, nil
}
