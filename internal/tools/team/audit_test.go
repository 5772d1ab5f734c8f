package team_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
)

// An audited deployment has the tenant "acme", and its tools behind the interceptors audit and access.
type audited struct {
	*tool.Catalogue
	table  table.Table
	bucket blob.Bucket
	audit  *audit.Auditor
	now    time.Time
	slow   time.Duration // how long a call takes before its tool runs
}

func newAudited(t *testing.T) *audited {
	t.Helper()
	d := &audited{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return d.now }
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{Now: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	log := slog.New(slog.DiscardHandler)
	teams := tenant.NewRegistry(tenant.Options{
		Table: db, Bucket: files, Texts: repo.NewTexts(1 << 20), Log: log, Now: clock, Kinds: teamtools.Jobs,
	})
	t.Cleanup(teams.Close)
	require.NoError(t, teams.Make(t.Context(), "acme"))
	d.table, d.bucket = table.Sub(db, "acme"), blob.Sub(files, "tenants/acme")
	d.audit = audit.New(audit.Options{Tenants: teams, Log: log, Now: clock})
	t.Cleanup(d.audit.Close)
	d.Catalogue, err = tool.NewCatalogue(teamtools.Tools(teams, teamtools.Options{}), tool.Options{
		Now: clock, Log: log,
		Interceptors: []tool.Interceptor{
			d.audit.Interceptor(), access.Check(access.NewDirectory(teams)), d.wait,
		},
	})
	require.NoError(t, err)
	return d
}

// wait is an interceptor.
func (d *audited) wait(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
		d.now = d.now.Add(d.slow)
		return next(ctx, c)
	}
}

// roleIn has a role in some vaults.
func roleIn(vault string, role auth.Role) auth.Caller {
	who := auth.User("https://id.test", string(role)+"-of-"+vault)
	return auth.Caller{
		Tenant: "acme", Principal: who, Agent: who, Session: "s", RequestID: "req",
		Roles: map[string]auth.Role{vault: role},
	}
}

// An auditAnswer is what a tool of these tests answers.
type auditAnswer struct {
	Data struct {
		Entries  []audit.Entry `json:"entries"`
		Verified bool          `json:"verified"`
		Tenant   string        `json:"tenant"`
		Changes  *uint64       `json:"tenant_commit_count"`
		Refusals *int          `json:"refusal_count"`
	} `json:"data"`
	Meta struct {
		Version string `json:"version"`
		Count   int    `json:"count"`
		More    bool   `json:"has_more"`
		Next    string `json:"next_page_token"`
	} `json:"meta"`
}

// call calls a tool. The code of its error is what it returns; empty: there was none.
func (d *audited) call(
	t *testing.T, c auth.Caller, name, args string,
) (a auditAnswer, code fault.Code) {
	t.Helper()
	d.now = d.now.Add(time.Second)
	data, err := d.Invoke(auth.WithCaller(t.Context(), c), name, json.RawMessage(args))
	if err != nil {
		return a, fault.Of(err).Code
	}
	require.NoError(t, json.Unmarshal(data, &a))
	return a, ""
}

// prepare makes two vaults, and has calls refused.
func (d *audited) prepare(t *testing.T) {
	t.Helper()
	admin := roleIn("*", auth.Admin)
	for _, s := range []struct {
		who        auth.Caller
		tool, args string
		code       fault.Code
	}{
		{admin, "team_vault_create", `{"name":"notes"}`, ""},
		{admin, "team_vault_create", `{"name":"plans"}`, ""},
		{admin, "team_vault_create", `{"name":"notes"}`, fault.DuplicateID},
		{roleIn("notes", auth.Reader), "team_vault_delete", `{"name":"notes"}`, fault.PermissionDenied},
		{roleIn("notes", auth.Reader), "team_vault_delete", `{"name":"plans"}`, fault.NotFound},
		{admin, "team_vault_import", `{"vault":"notes","notes":[{"path":"a.md","text":"textword"}]}`, ""},
	} {
		_, code := d.call(t, s.who, s.tool, s.args)
		require.Equal(t, s.code, code, "%s %s", s.tool, s.args)
	}
}

// TestAudit holds what admins of the tenant are told, and that nobody else is told anything.
func TestAudit(t *testing.T) {
	d := newAudited(t)
	d.prepare(t)
	a, code := d.call(t, roleIn("*", auth.Admin), "team_audit", `{}`)
	require.Empty(t, code)
	var lines []string
	for _, e := range a.Data.Entries {
		lines = append(lines, strings.Join([]string{
			e.Operation, e.Vault, strings.Join(e.Targets, ","), string(e.Outcome), string(e.Code),
		}, " "))
	}
	require.Equal(t, []string{
		"team_vault_import notes a.md ok ",
		"team_vault_delete plans plans refused NOT_FOUND",
		"team_vault_delete notes notes refused PERMISSION_DENIED",
		"team_vault_create notes notes failed DUPLICATE_ID",
		"team_vault_create  plans ok ",
		"team_vault_create plans  ok ",
		"team_vault_create  notes ok ",
		"team_vault_create notes  ok ",
	}, lines)
	require.Equal(t, "v2", a.Meta.Version)
	require.Equal(t, 8, a.Meta.Count)
	require.False(t, a.Meta.More)
	for _, c := range []auth.Caller{
		roleIn("notes", auth.Admin), roleIn("*", auth.Editor), roleIn("*", auth.Reader),
	} {
		_, code := d.call(t, c, "team_audit", `{}`)
		require.Equal(t, fault.PermissionDenied, code)
	}
}

// TestAuditDuration holds that the entries of what changed tell how long the call took, in the tenant's own
// log and in that of the vault, as those of what failed do; and that a repetition tells nothing.
func TestAuditDuration(t *testing.T) {
	d := newAudited(t)
	admin := roleIn("*", auth.Admin)
	d.slow = 40 * time.Millisecond
	for range 2 {
		_, code := d.call(t, admin, "team_vault_create", `{"name":"notes","idempotency_key":"k"}`)
		require.Empty(t, code)
	}
	d.slow = 7 * time.Millisecond
	_, code := d.call(t, admin, "team_vault_create", `{"name":"notes"}`)
	require.Equal(t, fault.DuplicateID, code)
	_, code = d.call(t, admin, "team_vault_import", `{"vault":"notes","notes":[{"path":"a.md","text":"a"}]}`)
	require.Empty(t, code)
	a, code := d.call(t, admin, "team_audit", `{}`)
	require.Empty(t, code)
	var told []string
	for _, e := range a.Data.Entries {
		require.NotNil(t, e.Took, e.Operation)
		told = append(told, fmt.Sprint(e.Operation, " ", e.Outcome, " ", *e.Took))
	}
	require.Equal(t, []string{
		"team_vault_import ok 7", "team_vault_create failed 7", "team_vault_create ok 40",
		"team_vault_create ok 40",
	}, told)
}

// TestAuditArguments holds what the arguments do, and that a malformed one is refused.
func TestAuditArguments(t *testing.T) {
	d := newAudited(t)
	d.prepare(t)
	admin := roleIn("*", auth.Admin)
	for args, want := range map[string]int{
		`{"outcome":"ok"}`:                                 5,
		`{"outcome":"refused"}`:                            2,
		`{"outcome":"failed"}`:                             1,
		`{"tool":"team_vault_create"}`:                     5,
		`{"target":"a"}`:                                   1,
		`{"target":"plans","outcome":"ok"}`:                2,
		`{"principal":"user:reader-of-notes@id.test"}`:     2,
		`{"agent":"user:reader-of-notes@id.test"}`:         2,
		`{"since":"2026-11-21","until":"2026-11-21"}`:      8,
		`{"since":"2026-11-22"}`:                           0,
		`{"until":"yesterday"}`:                            0,
		`{"since":"1 hour ago"}`:                           8,
		`{"until":"2026-11-21T09:00:03Z"}`:                 4,
		`{"since":"2026-11-21T09:00:06+00:00","limit":10}`: 1,
	} {
		a, code := d.call(t, admin, "team_audit", args)
		require.Empty(t, code, args)
		require.Len(t, a.Data.Entries, want, args)
	}
	for _, args := range []string{
		`{"since":"whenever"}`, `{"until":"2026-13-01"}`, `{"outcome":"good"}`, `{"limit":0}`,
		`{"limit":201}`, `{"page_token":"x"}`, `{"page_token":"cDE6eHg"}`, `{"vault":"notes"}`,
	} {
		_, code := d.call(t, admin, "team_audit", args)
		require.Equal(t, fault.InvalidParameter, code, args)
	}
}

// TestAuditPages holds that a token goes on with its list, and with no other.
func TestAuditPages(t *testing.T) {
	d := newAudited(t)
	d.prepare(t)
	admin := roleIn("*", auth.Admin)
	whole, _ := d.call(t, admin, "team_audit", `{}`)
	var got []audit.Entry
	args := map[string]any{"limit": 3}
	for {
		text, err := json.Marshal(args)
		require.NoError(t, err)
		a, code := d.call(t, admin, "team_audit", string(text))
		require.Empty(t, code)
		got = append(got, a.Data.Entries...)
		if !a.Meta.More {
			require.Empty(t, a.Meta.Next)
			break
		}
		args["page_token"] = a.Meta.Next
		args["limit"] = 2 // which is another page of the same list
	}
	require.Equal(t, whole.Data.Entries, got)
	args["outcome"] = "ok"
	text, err := json.Marshal(args)
	require.NoError(t, err)
	_, code := d.call(t, admin, "team_audit", string(text))
	require.Equal(t, fault.InvalidParameter, code)
}

// TestAuditVerify holds that an admin of all vaults verifies the tenant as well, and is told of what was
// altered there, and an admin of one vault only that.
func TestAuditVerify(t *testing.T) {
	const verify, args = "team_audit_verify", `{"vault":"notes"}`
	whole, one := roleIn("*", auth.Admin), roleIn("notes", auth.Admin)
	for name, damage := range map[string]func(*testing.T, *audited){
		"nothing": nil,
		"an archive": func(t *testing.T, d *audited) {
			require.NoError(t, d.bucket.Delete(t.Context(), "refusals/000000000001.jsonl"))
		},
		"the head": func(t *testing.T, d *audited) {
			require.NoError(t, d.table.Commit(t.Context(),
				table.Remove(table.Key{Part: "refusals/archives", Sort: "~"})))
		},
		"the tenant's log": func(t *testing.T, d *audited) {
			require.NoError(t, d.table.Commit(t.Context(),
				table.Remove(table.Key{Sort: "log/000000000002"})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newAudited(t)
			d.prepare(t)
			d.now = d.now.Add(time.Hour)
			require.NoError(t, d.audit.Archive(context.Background()))
			if damage != nil {
				damage(t, d)
			}
			a, code := d.call(t, one, verify, args)
			require.Empty(t, code, "the vault is as it was")
			require.Equal(t, "none", a.Data.Tenant)
			require.Nil(t, a.Data.Changes)
			a, code = d.call(t, whole, verify, args)
			if damage != nil {
				require.Equal(t, fault.IndexError, code)
				return
			}
			require.Empty(t, code)
			require.Equal(t, "verified", a.Data.Tenant)
			require.EqualValues(t, 2, *a.Data.Changes)
			require.Equal(t, 3, *a.Data.Refusals)
		})
	}
}
