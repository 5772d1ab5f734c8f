package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An Entry describes one call: its caller, its tool, its targets and its outcome (CONTRACT §4,
// team_audit). It is also the stored form of an entry in the refusal log. The entry of a commit is
// computed from the commit when it is listed. The texts of the tags are documentation of the tool.
type Entry struct {
	// when it was done or refused, UTC
	Time time.Time `json:"ts" title:"when"`
	// names the call in the server's log
	Request string `json:"request_id"`
	Tenant  string `json:"tenant"`
	// who called
	Principal string `json:"principal" title:"who"`
	// which agent acted under it
	Agent string `json:"agent"`
	// name of the tool
	Operation string `json:"operation"`
	// the vault it was about; absent: the tenant
	Vault string `json:"vault,omitempty"`
	// paths and ids it changed, at most 100, or named
	Targets []string `json:"targets"`
	// ok, refused or failed
	Outcome Outcome `json:"outcome"`
	// what it was answered, if not ok
	Code fault.Code `json:"code,omitempty"`
	// of the vault, or of the tenant (v41)
	Before string `json:"version_before,omitempty" title:"before"`
	// the version it made (v42)
	After string `json:"version_after,omitempty" title:"after"`
	// it was only tried
	DryRun bool `json:"dry_run,omitempty"`
	// of the API token that was shown
	Token string `json:"token_id,omitempty"`
	// of the token that was shown
	Issuer string `json:"issuer,omitempty"`
	// of the token that was shown
	Subject string `json:"subject,omitempty"`
	// how long it took; of what was done, until it was written
	Took *int64 `json:"duration_ms,omitempty"`
}

// An Outcome is the result of a call in one word.
type Outcome string

// The outcomes.
const (
	OK      Outcome = "ok"
	Refused Outcome = "refused" // not permitted for this caller, or not now
	Failed  Outcome = "failed"  // any other error
)

// okLine is the code of a successful call in its log line.
const okLine = "ok"

// line returns the attributes of a log line. From the caller's input it contains only names, ids
// and codes. It omits the name of a vault that was not found, because that is input that names no
// vault. The order and the keys of the attributes are stable, because operators rely on them.
func (e ending) line(c *tool.Call) []slog.Attr {
	who, code := c.Caller, e.code()
	line := append(make([]slog.Attr, 0, 12), // the usual maximum
		slog.String("tenant", who.Tenant), slog.String("principal", clean(who.Principal)),
		slog.String("agent", clean(who.Agent)), slog.String("tool", c.Tool.Name))
	add := func(key, value string) {
		if value != "" {
			line = append(line, slog.String(key, value))
		}
	}
	if code != fault.NotFound {
		add("vault", vaultOf(c))
	}
	add("token_id", clean(who.TokenID))
	add("issuer", clean(who.Issuer))
	line = append(line, slog.String("code", string(cmp.Or(code, okLine))),
		slog.Float64("ms", float64(e.took.Microseconds())/1000),
		slog.String("request_id", clean(who.RequestID)))
	if e.meta["replayed"] == true {
		line = append(line, slog.Bool("replayed", true))
	}
	return append(line, e.more...)
}

// endedCall returns the description of the call for Options.Measure.
func (e ending) endedCall(c *tool.Call) EndedCall {
	ended := EndedCall{Tool: c.Tool.Name, Took: e.took}
	if errors.As(e.err, &ended.Fault) || e.err == nil {
		return ended
	}
	ended.Fault = fault.New(e.code(), "the call ended with an error")
	return ended
}

// entry returns the entry of a mutation that was refused or failed. The issuer and the subject are
// left out if the principal already consists of them.
func (e ending) entry(c *tool.Call) Entry {
	who, took := c.Caller, e.took.Milliseconds()
	entry := Entry{
		Time: e.at.UTC().Round(0), Request: clean(who.RequestID), Tenant: who.Tenant,
		Principal: clean(who.Principal), Agent: clean(who.Agent), Operation: c.Tool.Name,
		Vault: vaultOf(c), Targets: targetsOf(c), Outcome: e.outcome(c), Code: e.code(),
		DryRun: c.Dry(), Token: clean(who.TokenID), Took: &took,
	}
	if who.Principal != auth.User(who.Issuer, who.Subject) {
		entry.Issuer, entry.Subject = clean(who.Issuer), clean(who.Subject)
	}
	return entry
}

// code returns the code that the caller gets, or "" if the call succeeded.
func (e ending) code() fault.Code {
	var f *fault.Fault
	switch {
	case e.err == nil:
		return ""
	case errors.As(e.err, &f):
		return f.Code
	case errors.Is(e.err, context.DeadlineExceeded), errors.Is(e.err, context.Canceled):
		return fault.Unavailable
	}
	return fault.Internal
}

// outcome returns whether a call was refused or failed. A call for a vault that the caller is not
// allowed to see was refused, although the caller is told that there is no such vault.
func (e ending) outcome(c *tool.Call) Outcome {
	code := e.code()
	switch code.Status() {
	case fault.StatusUnauthenticated, fault.StatusForbidden, fault.StatusRateLimited:
		return Refused
	}
	name := vaultOf(c)
	if code == fault.NotFound && name != "" && !c.Caller.Role(name).Allows(auth.Reader) {
		return Refused
	}
	return Failed
}

// vaultOf returns the vault of a call, or "" if there is none or its name is invalid. For a tool
// with a Subject, that argument names the vault.
func vaultOf(c *tool.Call) string {
	name := c.Text("vault")
	if c.Tool.Subject != "" {
		name = c.Text(c.Tool.Subject)
	}
	if _, ok := c.Tool.Arg("vault"); !ok && c.Tool.Subject == "" || vault.CheckName(name) != nil {
		return ""
	}
	return name
}

// An Action is a successful call that makes no commit of a log, because it changes data outside the
// logs.
type Action struct {
	Caller    auth.Caller
	Operation string // the name of the tool
	Vault     string
	Targets   []string // ids that the call names
	Version   string   // of the vault; equal before and after the call
	At        time.Time
}

// EntryOp returns the operation that writes the entry of a call without a commit. It must be part of
// the commit of the tenant's table that makes the call's change, so that there is an entry if and
// only if there is a change. These entries are in the refusal log together with those of refused
// calls. At most maxTargets targets are stored.
func EntryOp(d Action) (table.Op, error) {
	who := d.Caller
	e := Entry{
		Time: d.At.UTC().Round(0), Request: clean(who.RequestID), Tenant: who.Tenant,
		Principal: clean(who.Principal), Agent: clean(who.Agent), Operation: d.Operation, Vault: d.Vault,
		Targets: []string{}, Outcome: OK, Before: d.Version, After: d.Version, Token: clean(who.TokenID),
	}
	if who.Principal != auth.User(who.Issuer, who.Subject) {
		e.Issuer, e.Subject = clean(who.Issuer), clean(who.Subject)
	}
	for _, t := range d.Targets[:min(len(d.Targets), maxTargets)] {
		if t != "" {
			e.Targets = append(e.Targets, clean(t))
		}
	}
	if !who.Began.IsZero() {
		took := max(0, d.At.Sub(who.Began).Milliseconds())
		e.Took = &took
	}
	data, err := json.Marshal(e)
	if err != nil {
		return table.Op{}, fmt.Errorf("encode an entry: %w", err)
	}
	return table.Create(table.Item{Key: table.Key{Part: partEntries, Sort: newKey(e)}, Data: data}), nil
}
