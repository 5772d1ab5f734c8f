package team

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A usageIn is the input of team_usage, which has no arguments.
type usageIn struct{}

// A usageOut is the output of team_usage. Vaults, Notes, Bytes and Memories are the sums over
// Items. Vaults that could not be read are in Items, and count as vaults, but add nothing to the
// other sums.
type usageOut struct {
	tool.Aside `json:"-"`
	// vaults that you can see and that are not in the trash
	Vaults int `json:"vaults"`
	// in all of them
	Notes int `json:"notes"`
	// of all these notes
	Bytes int64 `json:"bytes"`
	// in all of them
	Memories int `json:"memories"`
	// of the tenant; absent for callers without a role in all vaults
	Calls  *calls       `json:"calls,omitempty"`
	Limits limits       `json:"limits"`
	Items  []vaultUsage `json:"items"`
}

// calls counts the accepted calls of a tenant, approximately, by days of UTC. Several processes
// count, and add their counts from time to time.
type calls struct {
	// the day is that of UTC
	Today     callsOfDay `json:"today"`
	Yesterday callsOfDay `json:"yesterday"`
}

// A callsOfDay counts the accepted calls of one day.
type callsOfDay struct {
	Mutations int64 `json:"mutations"`
	// including changes of views
	Reads int64 `json:"reads"`
}

// A vaultUsage is the storage that one vault uses, in its newest version. Bytes are those of the
// texts of its notes; the history and the index are not counted.
type vaultUsage struct {
	Name  string `json:"name"`
	Notes int    `json:"notes"`
	// of its notes
	Bytes int64 `json:"bytes"`

	Memories int `json:"memories"`

	// headings, traits, references and tags of its notes
	Indexed int `json:"indexed"`
	// why the vault cannot be read now and is not counted: memory, it does not fit into that of the
	// server
	Refused string `json:"refused,omitempty"`

	gone bool // it was deleted in the meantime
}

// refused reports whether the vault could not be opened because of the memory limit.
func (u vaultUsage) refused() bool { return u.Refused != "" }

// usage returns the tool that reports the storage and the calls of the tenant. Every caller can use
// it, for the vaults that it can see.
func (f tools) usage() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_usage", Family: Family, Title: "Show usage and limits",
		Role: auth.Anyone, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/usage"},
		Commands: []tool.Command{{Words: "usage"}},
	}, f.listUsage)
}

// listUsage counts the vaults that the caller can see. The output has no pages, because the number
// of vaults of a tenant is limited. It opens all these vaults, several at once; see forEach. A vault
// that is deleted in the meantime is omitted, and vaults in the trash are not counted.
func (f tools) listUsage(ctx context.Context, c auth.Caller, _ usageIn) (usageOut, error) {
	out := usageOut{Limits: f.limitsOf(c), Items: []vaultUsage{}}
	t, s, seq, err := f.state(ctx, c)
	if err != nil {
		return out, err
	}
	seen := slices.DeleteFunc(visible(c, s.Vaults(), t.Now()), func(e tenant.Entry) bool {
		return e.Status != eventlog.Active
	})
	rows, err := forEach(seen, func(e tenant.Entry) (vaultUsage, error) { return f.usageOf(ctx, t, e.Name) })
	if err != nil {
		return out, err
	}
	for _, row := range rows {
		if row.gone {
			continue
		}
		out.Items = append(out.Items, row)
		out.Notes, out.Bytes = out.Notes+row.Notes, out.Bytes+row.Bytes
		out.Memories += row.Memories
	}
	out.Vaults = len(out.Items)
	versionFor(c, &out.Aside, seq)
	out.Calls, err = f.calls(ctx, c)
	return out, err
}

// usageOf returns the usage of one vault. It does not keep the vault open, so that vaults that do
// not fit into memory together can be counted.
//
// The counts are kept with the index, so nothing is counted here.
func (f tools) usageOf(ctx context.Context, t *tenant.Tenant, name string) (vaultUsage, error) {
	row := vaultUsage{Name: name}
	idx, err := newestIndex(ctx, t, name)
	switch {
	case tenant.InMemory(err):
		row.Refused = tenant.ReasonMemory
		return row, nil
	case fault.Is(err, fault.NotFound): // see rowOf
		row.gone = true
		return row, nil
	case err != nil:
		return row, err
	}
	n := idx.Totals()
	row.Notes, row.Bytes, row.Indexed = n.Notes, n.Bytes, n.Things
	row.Memories = idx.Memories().Len()
	return row, nil
}

// calls returns the number of calls of the tenant, or nil. They cover all vaults, so only a caller
// that can read all vaults gets them. It is also nil if the deployment has no Limiter, which counts
// them.
func (f tools) calls(ctx context.Context, c auth.Caller) (*calls, error) {
	if f.opt.Limiter == nil || !c.Role(auth.AllVaults).Allows(auth.Reader) {
		return nil, nil
	}
	u, err := f.opt.Limiter.Usage(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return &calls{dayOf(u.Today), dayOf(u.Yesterday)}, nil
}

// dayOf converts the counts of a day for an answer.
func dayOf(c limit.Calls) callsOfDay { return callsOfDay{c.Mutations, c.Reads} }

// A Limiter reports the rate limits of a deployment and how much a tenant used; see limit.Limiter.
// It only reports: the calls are limited before they reach a tool. Its methods must be safe for
// concurrent use.
type Limiter interface {
	// Rates returns the rate limits. A rate that is not limited is negative.
	Rates() limit.Rates
	// Usage returns the number of calls of a tenant.
	Usage(ctx context.Context, tenant string) (limit.Usage, error)
}

// limits are the limits of a caller (CONTRACT §9). A nil rate is not limited. Burst and Principal
// are nil if no rate is limited.
//
// The limits of sizes and numbers are those of the server, the same for all tenants. They are
// returned so that an agent can plan a large import instead of failing in the middle of it.
//
// The rates are of one agent. An agent can save up calls that it did not make, up to Burst minutes
// of its rate. Principal is the number of agents of a principal that can use their full rate at the
// same time.
type limits struct {
	NoteBytes int `json:"note_bytes"`
	// of the arguments of a call, and of an answer
	BodyBytes int `json:"body_bytes"`
	PageItems int `json:"page_items"`
	// in one call
	ImportFiles int `json:"import_files"`
	VaultNotes  int `json:"vault_notes"`
	// of all notes of a vault
	VaultBytes int `json:"vault_bytes"`
	// headings, traits, references and tags of a note; a note with more is not indexed
	NoteIndexed int `json:"note_indexed"`
	// of all notes of a vault
	Indexed  int `json:"vault_indexed"`
	Memories int `json:"vault_memories"`
	Vaults   int `json:"vaults"`
	// API tokens that can be used
	Tokens  int `json:"tokens"`
	Members int `json:"members"`
	Issuers int `json:"issuers"`

	// of an agent; absent: no limit
	Mutations *int `json:"mutations_per_minute,omitempty"`
	// calls per minute that only read, or change a view
	Reads *int `json:"reads_per_minute,omitempty"`
	// burst, in minutes of the rate
	Burst *int `json:"burst_minutes,omitempty"`
	// rate of all agents of a principal together, as a multiple of an agent's rate
	Principal *int `json:"agents_at_full_rate,omitempty"`
}

// limitsOf returns the limits of a caller. The local principal, and a deployment without a Limiter,
// have no rate limits.
//
// Burst and Principal are constants of package limit, and have a meaning only together with a rate.
func (f tools) limitsOf(c auth.Caller) limits {
	vault := f.teams.Limits()
	l := limits{
		NoteBytes: repo.MaxNote, BodyBytes: tool.MaxBody, PageItems: tool.MaxPage,
		ImportFiles: maxImport, VaultNotes: vault.Notes, VaultBytes: int(vault.Bytes),
		NoteIndexed: index.MaxThings, Indexed: vault.Things, Memories: vault.Memories,
		Vaults: tenant.MaxVaults, Tokens: tenant.MaxTokens, Members: tenant.MaxMembers,
		Issuers: tenant.MaxIssuers,
	}
	if f.opt.Limiter == nil || c.Principal == auth.Local {
		return l
	}
	rates := f.opt.Limiter.Rates()
	l.Mutations, l.Reads = rateOrNil(rates.MutationsPerMinute), rateOrNil(rates.ReadsPerMinute)
	if l.Mutations != nil || l.Reads != nil {
		l.Burst, l.Principal = rateOrNil(limit.Burst), rateOrNil(limit.PerPrincipal)
	}
	return l
}

// rateOrNil returns a pointer to a rate, or nil if it is negative, which means that it is not limited.
func rateOrNil(perMinute int) *int {
	if perMinute < 0 {
		return nil
	}
	return &perMinute
}

// A whoamiIn is the input of team_whoami, which has no arguments.
type whoamiIn struct{}

// A whoamiOut is the output of team_whoami: the caller as the server identified it. Roles are the
// caller's by vault, limited by Scope. Prefix, Tools and ReadOnly restrict the caller further, in
// all vaults. TokenID is set for a caller with an API token, and Issuer for one that an identity
// provider authenticated. Expires is nil if the access does not end.
type whoamiOut struct {
	Principal string `json:"principal"`
	// display name of the principal
	Name    string `json:"name"`
	Tenant  string `json:"tenant"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// by vault; * is every other vault
	Roles map[string]auth.Role `json:"roles"`
	// the highest role that the token allows; roles are limited by it
	Scope auth.Role `json:"scope,omitempty"`
	// the folder below which notes can be written; absent: everywhere
	Prefix string `json:"prefix,omitempty"`
	// the tools that can be called; absent: all that the roles allow
	Tools    []string `json:"tools,omitempty"`
	ReadOnly bool     `json:"readonly"`
	// of the API token that was shown
	TokenID string `json:"token_id,omitempty"`
	// of the token that was shown, if it is no API token
	Issuer string `json:"issuer,omitempty"`
	// of the token; absent: never
	Expires *string `json:"expires_at,omitempty" format:"date-time"`
	Limits  limits  `json:"limits"`
}

// whoami returns the tool that describes the account, the roles and the limits of the caller. It
// reads nothing from the tenant: all of it is known from the authentication and the configuration.
func (f tools) whoami() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_whoami", Family: Family, Title: "Show your account and roles",
		Role: auth.Anyone, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/whoami"},
		Commands: []tool.Command{{Words: "whoami"}},
	}, func(_ context.Context, c auth.Caller, _ whoamiIn) (whoamiOut, error) {
		return whoamiOut{
			Principal: c.Principal, Name: c.Name, Tenant: c.Tenant, Agent: c.Agent,
			Session: c.Session, Roles: c.Effective(), Scope: c.Scope, Prefix: c.Prefix,
			Tools: c.Tools, ReadOnly: c.ReadOnly, TokenID: c.TokenID, Issuer: c.Issuer,
			Expires: timeOrNil(c.Expires), Limits: f.limitsOf(c),
		}, nil
	})
}
