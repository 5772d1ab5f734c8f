package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
