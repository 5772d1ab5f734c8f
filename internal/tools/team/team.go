// Package team has the tools of the team family: who calls, the vaults of a tenant, and who may do what in
// them (CONTRACT §4, team).
package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// Family is what the tools have in common.
var Family = &tool.Family{
	Name: "team", Base: "/v1",
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

// Options are what the tools tell of, beside the tenants. All may be missing.
type Options struct {
	// All are all tools of the product: those that a token can be bound to. It is not called before a
	// tool is. Nil: there are none.
	All func() []*tool.Tool

	// Limiter keeps the rates. Nil: there are none.
	Limiter Limiter
}

// Tools are the tools of the family, over these tenants.
func Tools(t *team.Teams, o Options) []*tool.Tool {
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

type tools struct {
	teams *team.Teams
	opt   Options
}

// vault is the vault of a call.
func (f tools) vault(ctx context.Context, c auth.Caller, name string) (*repo.Vault, error) {
	t, err := f.teams.Team(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Vault(ctx, name)
}

// state is the tenant of a call as it is now, and the version of that.
func (f tools) state(ctx context.Context, c auth.Caller) (*team.Team, *team.State, uint64, error) {
	t, err := f.teams.Team(ctx, c.Tenant)
	if err != nil {
		return nil, nil, 0, err
	}
	s, seq, err := t.State(ctx)
	return t, s, seq, err
}

// versionFor is the version of a tenant in the answer to somebody: it tells of every change to any vault, token
// and member, so it is for who administers all of them, and others are told none.
func versionFor(c auth.Caller, out *tool.Aside, seq uint64) {
	if c.Role(auth.AllVaults).Allows(auth.Admin) {
		out.Note("version", repo.Version(seq))
	}
}

// mutation is the tenant of a call that changes something, and the call as the log knows it.
func (f tools) mutation(
	ctx context.Context, c auth.Caller, m *tool.Mutation,
) (*team.Team, repo.Call, error) {
	call, err := mutation.Call(c, m, Family)
	if err != nil {
		return nil, call, err
	}
	t, err := f.teams.Team(ctx, c.Tenant)
	return t, call, err
}

// refuse refuses a call because of what there is now. One that was let through before, when that was other,
// gets its first answer.
func refuse[Out any](
	ctx context.Context, t *team.Team, call repo.Call, why error,
) (Out, error) {
	var none Out
	r, err := t.Refuse(ctx, call, why)
	return mutation.Finish(r, none, err)
}

// A listIn is the input of a list without filters.
type listIn struct {
	tool.Page
}

// A listOut is a page of a list.
type listOut[Row any] struct {
	tool.Aside `json:"-"`
	Items      []Row `json:"items"`
}

// lists returns a tool that lists entries of the tenant of a call. The answer contains the version
// of the tenant.
func lists[T, Row any](
	f tools, spec tool.Spec, entries func(*team.Team, *team.State) listing[T, Row],
) *tool.Tool {
	return tool.New(spec, func(ctx context.Context, c auth.Caller, in listIn) (listOut[Row], error) {
		out := listOut[Row]{Items: []Row{}}
		t, s, seq, err := f.state(ctx, c)
		if err != nil {
			return out, err
		}
		out.Items, err = entries(t, s).page(&out.Aside, in.Page)
		out.Note("version", repo.Version(seq))
		return out, err
	})
}

// A listing is what is answered in pages, in the order of its keys.
type listing[T, Row any] struct {
	all []T
	key func(T) string
	row func(T) Row
}

// page takes one page of a listing, and notes in the meta what CONTRACT §1 wants of a list.
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
