package team

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An auditIn is the input of team_audit. Since and Until are times in one of the forms of
// vault.ParseTime, such as "2026-03" or "today"; each stands for an interval. Since begins with its
// interval, and Until ends with its interval, so Until includes it. The other fields are compared
// as a whole; empty ones select all entries.
type auditIn struct {
	// not before this time: 2 days ago, 2026-11-20, RFC 3339
	Since string `json:"since,omitempty"`
	// before this time; with a date: to the end of that day
	Until string `json:"until,omitempty"`
	// only changes by this agent
	Agent string `json:"agent,omitempty"`
	// only entries of this principal
	Principal string `json:"principal,omitempty"`
	// only entries of this tool, by its long name
	Tool string `json:"tool,omitempty"`
	// only entries with this target: a path, an id or a vault
	Target string `json:"target,omitempty"`
	// only entries with this outcome
	Outcome string `json:"outcome,omitempty" enum:"ok,refused,failed"`
	tool.Page
}

// An auditOut is the output of team_audit: one page of entries, the newest first.
type auditOut struct {
	tool.Aside `json:"-"`
	Entries    []audit.Entry `json:"entries"`
}

// audit returns the tool that lists changes and refused calls of the tenant. The changes are in the
// logs of the vaults and of the tenant, and refused calls in a log of their own; package audit
// merges them by time.
func (f tools) audit() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_audit", Family: Family, Title: "List changes and refusals",
		Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:    tool.Route{Method: "GET", Path: "/audit"},
		Commands: []tool.Command{{Words: "audit"}},
		Flags:    map[string]string{"agent": "by-agent"},
		Columns: []string{
			"ts", "principal", "agent", "operation", "vault", "version_before", "version_after",
			"outcome", "code", "targets",
		},
		Empty: []tool.Empty{
			{Of: "entries"},
		},
	}, f.listAudit)
}

// listAudit returns one page of the audit entries of the tenant, newest first. The page can be
// shorter than the limit, or even empty, although more follow: the search for matching entries ends
// after a number of entries, and the metadata then reports partial. The last page has no token.
func (f tools) listAudit(ctx context.Context, c auth.Caller, in auditIn) (auditOut, error) {
	out := auditOut{Entries: []audit.Entry{}}
	t, err := f.teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return out, err
	}
	q, err := in.query(t.Now())
	if err != nil {
		return out, err
	}
	after, err := in.after()
	if err != nil {
		return out, err
	}
	page, err := audit.List(ctx, t, q, in.Limit, after)
	if err != nil {
		return out, err
	}
	out.Entries = page.Entries
	out.Note("version", eventlog.Version(page.Version))
	out.Note("count", len(page.Entries))
	out.Note("has_more", page.More)
	if page.Partial {
		out.Note("partial", true)
	}
	if !page.More {
		return out, nil
	}
	next, err := in.token(page.Next)
	out.Note("next_page_token", next)
	return out, err
}

// query returns the filters of the call as a query. Relative times count from now, in UTC. It
// returns INVALID_PARAMETER for a time that cannot be parsed. They are resolved again for each
// page, so "today" can become another day between two pages.
func (in auditIn) query(now time.Time) (audit.Query, error) {
	q := audit.Query{
		Agent: in.Agent, Principal: in.Principal, Tool: in.Tool, Target: in.Target,
		Outcome: audit.Outcome(in.Outcome),
	}
	since, err := intervalOf("since", in.Since, now)
	if err != nil {
		return q, err
	}
	until, err := intervalOf("until", in.Until, now)
	q.Since, q.Until = since.From, until.To
	return q, err
}

// intervalOf parses the time text of an argument, in UTC. An empty text is the open interval. It
// returns INVALID_PARAMETER, with the accepted forms, for any other text that is not a time. A
// tenant has no time zone of its own, unlike a vault.
func intervalOf(argument, text string, now time.Time) (vault.Interval, error) {
	if text == "" {
		return vault.Interval{}, nil
	}
	i, err := vault.ParseTime(text, vault.Clock{Now: now, Zone: time.UTC})
	if err != nil {
		return i, fault.New(fault.InvalidParameter, "%s must be a time: one of %s", argument,
			strings.Join(vault.TimeForms(), ", ")).With("argument", argument).
			With("allowed", vault.TimeForms())
	}
	return i, nil
}

// An entryToken is the content of a page token, as JSON. The digest detects that the caller changed
// the filters between two pages, which would make the list inconsistent.
type entryToken struct {
	Filters string         `json:"f"` // digest of the filters of the call
	After   audit.Position `json:"a"`
}

// filters returns a digest of all arguments except those that select the page: 16 hexadecimal
// digits. It protects against mistakes only; a caller can compute it.
func (in auditIn) filters() string {
	in.Page = tool.Page{}
	text, _ := json.Marshal(in) // a struct of strings always marshals
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// token returns the page token for the page that begins after the entry at next.
func (in auditIn) token(next audit.Position) (string, error) {
	data, err := json.Marshal(entryToken{in.filters(), next})
	return tool.Token(string(data)), err
}

// after returns the position after which the page begins; the zero Position is the start. It
// returns INVALID_PARAMETER if the page token comes from a call with other filters.
//
// A token with a zero time is refused too: it would be the start of the list, which has no token.
func (in auditIn) after() (audit.Position, error) {
	text, err := in.After(Family)
	if err != nil || text == "" {
		return audit.Position{}, err
	}
	var t entryToken
	if json.Unmarshal([]byte(text), &t) != nil || t.Filters != in.filters() || t.After.At.IsZero() {
		return audit.Position{}, fault.New(fault.InvalidParameter,
			"page_token was returned by a call with other arguments").
			With("argument", "page_token").Fix("repeat the arguments of the previous page")
	}
	return t.After, nil
}
