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
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
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

// An auditVerifyIn is the input of team_audit_verify.
type auditVerifyIn struct {
	tool.Vault
}

// An auditVerifyOut is the output of team_audit_verify: the result, or the job if it takes longer
// than the call. A verification that found problems is not an output but a fault, which lists them.
type auditVerifyOut struct {
	tool.Aside       `json:"-"`
	*VerifiedHistory // nil while the job runs

	// the job that verifies; the only member while it runs
	Job *job.Brief `json:"job,omitempty"`
}

// VerifiedHistory is the result of a verification that found no problem. Commits is the version of
// the vault up to which its log was read. AuditLog and Tenant are verified, or none if there was
// nothing to verify or no permission to do so; Changes and Refusals are nil then.
type VerifiedHistory struct {
	// always true: a failed verification is an error
	Verified bool `json:"verified"`
	// of the log, all of which were read
	Commits uint64 `json:"commit_count"`
	// verified, or none if the vault has no folder
	AuditLog string `json:"audit_log"`

	// verified, or none if the caller is not an admin of all vaults
	Tenant string `json:"tenant"`
	// of the tenant's own log, all of which were read
	Changes *uint64 `json:"tenant_commit_count,omitempty"`
	// archived entries of refused calls, all of which were read
	Refusals *int `json:"refusal_count,omitempty"`
}

// The values of AuditLog and Tenant of a VerifiedHistory.
const (
	verified = "verified"
	none     = "none"
)

// auditVerify returns the tool that verifies the history of a vault: the digests and the chain of
// the commits of its log, and the audit log among its files.
//
// It reads the whole log, so for a large vault it takes longer than a call may. It changes nothing.
func (f tools) auditVerify() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_audit_verify", Family: Family, Title: "Verify the history",
		Role: auth.Admin, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/audit/verify"},
		Commands: []tool.Command{{Words: "audit verify"}}, Job: mutation.JobTool,
	}, f.verifyAudit)
}

// verifyAudit starts the job that verifies the history of the vault, and returns its result if the
// job ends within the call. Otherwise it returns the job. The log of the tenant is verified too if
// the caller is an admin of all vaults. That the vault exists is checked first, so that a wrong
// name creates no job.
func (f tools) verifyAudit(
	ctx context.Context, c auth.Caller, in auditVerifyIn,
) (auditVerifyOut, error) {
	t, err := f.teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return auditVerifyOut{}, err
	}
	if _, err := t.Vault(ctx, in.Vault.Vault); err != nil {
		return auditVerifyOut{}, err
	}
	it, err := t.Jobs().Start(ctx, job.Request{
		Kind: auditVerify, Target: job.Target{Vault: in.Vault.Vault}, By: tenant.JobBy(mutation.Who(c)),
		Input: verifyInput{Tenant: c.Role(auth.AllVaults).Allows(auth.Admin)},
	}, nil)
	if err != nil {
		return auditVerifyOut{}, err
	}
	var out auditVerifyOut
	if out.VerifiedHistory, out.Job, err = mutation.JobResult[VerifiedHistory](it); out.VerifiedHistory != nil {
		out.Note("version", eventlog.Version(out.Commits))
	}
	return out, err
}

// auditVerify is the kind of the job that verifies a history.
const auditVerify = "audit_verify"

// A verifyInput is the input of the job, in addition to its target. It records the permission that
// the caller had when it started the job.
type verifyInput struct {
	Tenant bool `json:"tenant"` // verify the tenant's own log and its refused calls too
}

// A verifyState is the stored state of the job between its steps: the result so far, and the problems
// found so far.
type verifyState struct {
	VerifiedHistory
	Problems []*fault.Fault `json:"problems,omitempty"`
}

// Jobs returns the kinds of jobs of this family, for one tenant. Each step reads the state of the
// job before it and stores its own. A step that is repeated after a crash computes the same again.
// The job changes nothing, so it can be cancelled at any time.
func Jobs(t *tenant.Tenant) []job.Kind {
	step := func(
		name string, do func(*verifyState, context.Context, *tenant.Tenant, *job.Run) error,
	) job.Step {
		return job.Step{Name: name, Do: func(ctx context.Context, r *job.Run) error {
			var v verifyState
			if err := r.Result(&v); err != nil {
				return err
			}
			if err := do(&v, ctx, t, r); err != nil {
				return err
			}
			return r.Set(v)
		}}
	}
	return []job.Kind{{
		Name: auditVerify, Stops: job.Anytime,
		Steps: []job.Step{
			step("vault", (*verifyState).vault), step("tenant", (*verifyState).tenant),
		},
	}}
}

// vault verifies the log of the vault and, if the vault has files, the audit log among them. It is
// the first step, so it replaces the whole state.
func (v *verifyState) vault(ctx context.Context, t *tenant.Tenant, r *job.Run) error {
	name := r.Item.Target.Vault
	log, err := t.Vault(ctx, name)
	if err != nil {
		return err
	}
	file, err := t.AuditFile(ctx, name)
	if err != nil {
		return err
	}
	done, err := log.Verify(ctx, file)
	v.VerifiedHistory = VerifiedHistory{Verified: true, Commits: done.Version, AuditLog: none, Tenant: none}
	if file != nil {
		v.AuditLog = verified
	}
	return v.note(err)
}

// tenant verifies the tenant's own log and the log of refused calls, if the input requests it. As
// the last step, it returns all problems found as one INDEX_ERROR fault. A problem of the tenant's
// own log is marked with log: tenant, because the message alone does not distinguish the logs.
//
// A failed verification does not end the step before its end, so that one job reports the problems
// of all logs. The job then fails, with these problems as its fault.
func (v *verifyState) tenant(ctx context.Context, t *tenant.Tenant, r *job.Run) error {
	var in verifyInput
	if err := r.Input(&in); err != nil {
		return err
	}
	if in.Tenant {
		changes, err := t.VerifyLog(ctx)
		if fault.Is(err, fault.IndexError) {
			err = fault.Of(err).With("log", "tenant")
		}
		if err := v.note(err); err != nil {
			return err
		}
		refusals, err := audit.RefusalsOf(t).Verify(ctx)
		if err := v.note(err); err != nil {
			return err
		}
		v.Tenant, v.Changes, v.Refusals = verified, &changes, &refusals
	}
	return fault.Join(fault.IndexError, v.Problems).Err()
}

// note records err as a problem if it reports a failed verification (INDEX_ERROR or FILE_ERROR). It
// returns every other error, because then the verification could not be done.
func (v *verifyState) note(err error) error {
	switch {
	case err == nil:
	case fault.Is(err, fault.IndexError), fault.Is(err, fault.FileError):
		v.Problems = append(v.Problems, fault.Of(err))
	default:
		return err
	}
	return nil
}
