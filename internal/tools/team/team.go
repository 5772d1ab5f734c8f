// Package team contains the tools of the team family: the account of the caller, the vaults of a
// tenant, and the tokens, members and issuers with their roles (CONTRACT §4, team).
//
// Three kinds of state are behind these tools. The log of the tenant contains the list of vaults
// with their settings, and all tokens, members and issuers; package internal/tenant commits to it.
// Each vault has a log of its own, with its notes and memories. Jobs are neither: they are records
// of long work, in a table. The tools here translate arguments, make the checks that depend on the
// caller, and build answers; they decide nothing about storage.
//
// Most tools that change something have the same form. changeTool prepares the call; the tool
// validates the arguments, and then runs the change with mutation.ChangeTenant. The change gets a
// function that builds the answer, which is stored with the commit: a call that is repeated with
// the same idempotency key gets that answer again. This has two consequences. The function can run
// several times, so it must have no effects of its own. And a check that depends on the current
// state must end in refuse, not in a plain error, because the same call can have succeeded earlier,
// in another state.
//
// A caller cannot give more than it has: a role that a token, member or issuer gets must not exceed
// those of the caller; see within.
//
// The files are named after the tools, or after what several of them change. team.go also has the
// roles that a call gives.
package team

import (
	"context"
	"embed"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
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

// A change is a call that changes something of the tenant of its caller.
type change struct {
	caller auth.Caller
	tenant *tenant.Tenant
	call   eventlog.Call // as it is recorded in the log
}

// change returns the change that a call with these arguments makes. A malformed if_version is
// INVALID_PARAMETER.
func (f tools) change(ctx context.Context, c auth.Caller, m mutation.Mutation) (change, error) {
	call, err := mutation.Call(c, m, Family)
	if err != nil {
		return change{}, err
	}
	t, err := f.teams.Tenant(ctx, c.Tenant)
	return change{c, t, call}, err
}

// changeTool returns a tool that changes something of the tenant of a call with fn.
func changeTool[In, Out any, M mutationOf[In]](
	f tools, spec tool.Spec, fn func(context.Context, change, In) (Out, error),
) *tool.Tool {
	return tool.New(spec, func(ctx context.Context, c auth.Caller, in In) (Out, error) {
		w, err := f.change(ctx, c, M(&in))
		if err != nil {
			var none Out
			return none, err
		}
		return fn(ctx, w, in)
	})
}

// A mutationOf is a pointer to an input that embeds tool.Mutation.
type mutationOf[In any] interface {
	*In
	mutation.Mutation
}

// refuse refuses a call with the error why because of the current state of the tenant. A repetition
// of a call that succeeded earlier gets the answer of that call instead. The output is empty unless
// there is such an answer.
//
// A tool uses it after checks of the current state that an earlier attempt of the same call may
// have passed: the earlier attempt changed the state, or another call did. A check that depends on
// the arguments alone returns its fault directly.
func refuse[Out any](ctx context.Context, w change, why error) (Out, error) {
	var none Out
	r, err := w.tenant.Refuse(ctx, w.call, why)
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

// A grant is the part of the input of every tool that gives roles to a principal. Without Vaults,
// Role applies in all vaults. Otherwise it applies in the named ones, and an entry such as
// "notes=reader" has a role of its own; see grant.roles.
type grant struct {
	// the role
	Role auth.Role `json:"role" enum:"reader,editor,admin"`
	// vaults: NAME, or NAME=ROLE for another role there; default: all, also later ones
	Vaults []string `json:"vaults,omitempty" complete:"vault" absent:"all vaults, also later ones"`
}

// maxGrants is the maximum number of vaults in a grant. It is greater than the number of vaults
// that a tenant can have, because a grant can name vaults that do not exist yet.
const maxGrants = 2 * tenant.MaxVaults

// roles returns the roles of the grant, by vault; the key auth.AllVaults stands for all vaults. A
// vault does not have to exist yet. It returns INVALID_PARAMETER for an empty list, an invalid name
// or role, and a vault that is named twice.
//
// An entry of the list is the name of a vault, which gets Role, or "name=role". The name can be
// that of all vaults, so one grant can give a role in all vaults and another one in a single vault.
//
// A grant that names vaults does not include all vaults: the principal has no role in the others.
// The number of entries is limited because the log of the tenant stores them.
func (g grant) roles() (map[string]auth.Role, error) {
	switch {
	case g.Vaults != nil && len(g.Vaults) == 0: // an empty list must not mean all vaults
		return nil, badVaults("give at least one vault, or omit vaults for all")
	case len(g.Vaults) == 0:
		return map[string]auth.Role{auth.AllVaults: g.Role}, nil
	}
	roles := map[string]auth.Role{}
	for _, entry := range splitNames(g.Vaults) {
		name, role, named := strings.Cut(entry, "=")
		if !named {
			role = string(g.Role)
		}
		if err := checkGrant(name, auth.Role(role)); err != nil {
			return nil, err
		}
		if _, twice := roles[name]; twice {
			return nil, badVaults("the vault %s is given twice", name)
		}
		roles[name] = auth.Role(role)
	}
	if len(roles) > maxGrants {
		return nil, badVaults("at most %d vaults can be named", maxGrants)
	}
	return roles, nil
}

// splitNames splits each text of a list at its commas, because people type several names that way.
// Spaces around a name are removed. Empty names are kept, so that they are reported as invalid.
func splitNames(list []string) []string {
	var names []string
	for _, entry := range list {
		for name := range strings.SplitSeq(entry, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// badVaults returns an INVALID_PARAMETER fault about the argument vaults, with a message in the
// format of fmt.Sprintf.
func badVaults(format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidParameter, format, args...).With("argument", "vaults")
}

// checkGrant returns a fault if the name is not a valid vault name or the role does not exist. The
// fault suggests the nearest role. The name auth.AllVaults is valid.
func checkGrant(name string, role auth.Role) error {
	if name != auth.AllVaults {
		if err := vault.CheckName(name); err != nil {
			return fault.Of(err).With("argument", "vaults")
		}
	}
	if role.Valid() {
		return nil
	}
	f := badVaults("the role in %s must be one of reader, editor, admin", name).
		With("allowed", auth.Roles())
	words := []string{}
	for _, r := range auth.Roles() {
		words = append(words, string(r))
	}
	if near := fault.Nearest(string(role), words); near != "" {
		f = f.Fix("use %s=%s", name, near)
	}
	return f
}

// checkRoles returns PERMISSION_DENIED if the roles exceed those of the caller: a caller can give
// only roles that it has itself. The fault names the first vault, in the order of names, in which
// they do, and the role of the caller there.
//
// It compares vault by vault, not only the entries of the two maps: a role in all vaults also
// applies in those where the caller has an entry of its own, which can be a lower role. For the
// same reason, an admin of one vault cannot give a role in all vaults.
func checkRoles(c auth.Caller, roles map[string]auth.Role) error {
	named := maps.Clone(roles)
	if all, ok := roles[auth.AllVaults]; ok {
		// A role in all vaults includes the vaults where the caller has its own role.
		for name := range c.Roles {
			if _, own := roles[name]; !own {
				named[name] = all
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !c.Role(name).Allows(named[name]) {
			return fault.New(fault.PermissionDenied,
				"you have a lower role than %s in %s yourself", named[name], vaultPhrase(name)).
				With("vault", name).With("your_role", c.Role(name))
		}
	}
	return nil
}

// vaultPhrase returns the words for a vault in a message.
func vaultPhrase(name string) string {
	if name == auth.AllVaults {
		return "all vaults"
	}
	return "the vault " + name
}

// unknownVaults returns the names of the vaults in roles that do not exist or are in the trash,
// sorted. Grants for them are allowed; the answer reports them, because such a name can be a
// mistake.
func unknownVaults(s *tenant.State, roles map[string]auth.Role) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		e, ok := s.Vault(name)
		if name != auth.AllVaults && (!ok || e.Status != eventlog.Active) {
			names = append(names, name)
		}
	}
	return names
}

// folderOf checks the prefix under which writes are allowed and returns it as the path of a folder
// of notes, with a slash at its end. An empty prefix allows all paths and is returned as it is. A
// prefix is valid if a note can have a path below it; otherwise the fault is that of such a path.
// The slash matters: without it, "projects/mill" would also allow "projects/mills.md".
func folderOf(prefix string) (string, error) {
	if prefix == "" {
		return "", nil
	}
	folder := strings.TrimSuffix(vault.CleanPath(prefix), "/") + "/"
	if _, err := vault.NewPath(folder + "a"); err != nil {
		return "", fault.Of(err).With("argument", "prefix").
			Fix("name a folder of notes, such as projects/mill/")
	}
	return folder, nil
}
