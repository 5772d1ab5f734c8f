package team_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
)

// jobs are those of the tenant "acme".
func (p *place) jobs(t testing.TB) *job.Jobs {
	t.Helper()
	own, err := p.teams.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	return own.Jobs()
}

// queued makes a job that no process has taken yet.
func (p *place) queued(t testing.TB, kind, vault string) string {
	t.Helper()
	it, err := p.jobs(t).Add(t.Context(), job.Request{
		Kind: kind, Target: job.Target{Vault: vault}, By: job.By{Principal: "p"},
		Input: map[string]any{"tenant": true},
	})
	require.NoError(t, err)
	return it.ID
}

// TestJobsOfATenant holds that jobs are listed newest first, to an admin of their vault and to nobody of another
// tenant, and told with what they came to.
func TestJobsOfATenant(t *testing.T) {
	p := open(t, publicURL)
	for _, name := range []string{"v", "w"} {
		p.must(t, admin(), "team_vault_create", args{"name": name}, "")
		p.clock.pass(time.Second)
		p.must(t, admin(), "team_audit_verify", args{"vault": name}, `{"verified":true,"job":{"state":"done"}}`)
	}
	a := p.must(t, admin(), "team_job_list", nil,
		`{"items":[{"kind":"audit_verify","state":"done","target":{"vault":"w"}},{"target":{"vault":"v"}}]}`)
	require.Equal(t, 2, a.Meta.Count)
	var list struct{ Items []struct{ ID string } }
	require.NoError(t, json.Unmarshal(a.Data, &list))
	p.must(t, admin(), "team_job_get", args{"id": list.Items[0].ID},
		`{"job":{"state":"done","progress":{"done":2,"total":2},"result":{"verified":true,"tenant":"verified"}}}`)
	page := p.must(t, admin(), "team_job_list", args{"limit": 1}, `{"items":[{"target":{"vault":"w"}}]}`)
	p.must(t, admin(), "team_job_list", args{"limit": 1, "page_token": page.Meta.Next},
		`{"items":[{"target":{"vault":"v"}}]}`)
	p.must(t, admin(), "team_job_list", args{"state": "failed"}, `{"items":[]}`)
	p.must(t, admin(), "team_job_list", args{"kind": "reindex_full"}, `{"items":[]}`)
	p.refused(t, fault.InvalidParameter, admin(), "team_job_list", args{"state": "odd"})

	ofV := person("vera", map[string]auth.Role{"v": auth.Admin, "w": auth.Editor})
	p.must(t, ofV, "team_job_list", nil, `{"items":[{"target":{"vault":"v"}}]}`)
	seen := p.must(t, ofV, "team_job_list", nil, "")
	require.Equal(t, 1, seen.Meta.Count)
	p.refused(t, fault.NotFound, ofV, "team_job_get", args{"id": list.Items[0].ID})
	p.refused(t, fault.NotFound, ofV, "team_job_cancel", args{"id": list.Items[0].ID})
	p.refused(t, fault.PermissionDenied, person("ed", map[string]auth.Role{"*": auth.Editor}),
		"team_job_list", nil)
	stranger := admin()
	stranger.Tenant = "other"
	p.must(t, stranger, "team_job_list", nil, `{"items":[]}`)
	p.refused(t, fault.NotFound, stranger, "team_job_get", args{"id": list.Items[0].ID})
	p.refused(t, fault.NotFound, stranger, "team_job_cancel", args{"id": list.Items[0].ID})
	p.refused(t, fault.NotFound, admin(), "team_job_get", args{"id": "none"})
}

// TestCancelAJob holds that a job is cancelled once, by a call and its repetition, and not when it has ended.
func TestCancelAJob(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "v"}, "")
	id := p.queued(t, "audit_verify", "v")
	f := p.refused(t, fault.InProgress, admin(), "team_audit_verify", args{"vault": "v"})
	require.Contains(t, f.Details, "job")
	cancel := args{"id": id, "idempotency_key": "k"}
	p.must(t, admin(), "team_job_cancel", with(cancel, "dry_run", true),
		`{"dry_run":true,"would_update":{"state":"queued"}}`)
	p.must(t, admin(), "team_job_get", args{"id": id}, `{"job":{"state":"queued"}}`)
	for range 2 {
		p.must(t, admin(), "team_job_cancel", cancel, `{"action":"updated","job":{"state":"cancelled"}}`)
	}
	p.must(t, admin(), "team_job_cancel", args{"id": id}, `{"job":{"state":"cancelled"}}`)
	done := p.must(t, admin(), "team_audit_verify", args{"vault": "v"}, `{"verified":true}`)
	var ended struct{ Job struct{ ID string } }
	require.NoError(t, json.Unmarshal(done.Data, &ended))
	p.refused(t, fault.Conflict, admin(), "team_job_cancel", args{"id": ended.Job.ID})
	reader := admin()
	reader.ReadOnly = true
	p.refused(t, fault.ReadOnly, reader, "team_job_cancel", args{"id": id})
}

// TestEraseAVault holds what a caller of team_vault_erase sees from the plan to the next vault of the name.
func TestEraseAVault(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "v"}, "")
	p.must(t, admin(), "team_vault_import", args{"vault": "v", "notes": notes("x", "y")}, "")
	p.must(t, admin(), "team_vault_set", args{"name": "v", "secrets": "off"}, "")
	erase := args{"name": "v", "confirm": "v"}
	p.refused(t, fault.InvalidParameter, admin(), "team_vault_erase", args{"name": "v"})
	p.refused(t, fault.InvalidParameter, admin(), "team_vault_erase", args{"name": "v", "confirm": "V"})
	p.refused(t, fault.NotFound, admin(), "team_vault_erase", args{"name": "no", "confirm": "no"})
	p.refused(t, fault.PermissionDenied, person("vera", map[string]auth.Role{"v": auth.Admin}),
		"team_vault_erase", erase)
	p.refused(t, fault.Conflict, admin(), "team_vault_erase", with(erase, "if_version", "v1"))
	plan := p.must(t, admin(), "team_vault_erase", with(erase, "dry_run", true), `{"dry_run":true}`)
	require.Contains(t, string(plan.Data), `"would_delete":{"items":`)
	p.must(t, admin(), "team_vault_list", nil, `{"items":[{"name":"v","notes":2}]}`)

	keyed := with(erase, "idempotency_key", "k")
	first := p.must(t, admin(), "team_vault_erase", keyed,
		`{"action":"deleted","name":"v","receipt":{"left":0},"job":{"state":"waiting"}}`)
	require.Contains(t, string(first.Data), `"expires":[{"what":"tombstones","until":"2026-11-22T09:00:00Z"}]`)
	again := p.must(t, admin(), "team_vault_erase", keyed, "")
	require.True(t, again.Meta.Replayed)
	require.JSONEq(t, string(first.Data), string(again.Data))
	p.must(t, admin(), "team_vault_erase", erase, `{"action":"deleted"}`)
	p.must(t, admin(), "team_vault_list", nil, `{"items":[]}`)
	p.refused(t, fault.NotFound, admin(), "team_vault_restore", args{"name": "v"})
	p.refused(t, fault.DuplicateID, admin(), "team_vault_create", args{"name": "v"})
	var done struct{ Job struct{ ID string } }
	require.NoError(t, json.Unmarshal(first.Data, &done))
	p.must(t, admin(), "team_job_get", args{"id": done.Job.ID},
		`{"job":{"kind":"vault_erase","state":"waiting","target":{"vault":"v"},"progress":{"step":"sweep","done":4,"total":5}}}`)
	p.refused(t, fault.Conflict, admin(), "team_job_cancel", args{"id": done.Job.ID})

	p.clock.pass(eventlog.SweepAgain)
	own, err := p.teams.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	_, err = own.Work(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	p.must(t, admin(), "team_job_get", args{"id": done.Job.ID}, `{"job":{"state":"done"}}`)
	p.refused(t, fault.NotFound, admin(), "team_vault_erase", erase)
	p.must(t, admin(), "team_vault_create", args{"name": "v"}, "")
	p.must(t, admin(), "team_vault_export", args{"vault": "v"}, `{"notes":[]}`)
	old := p.must(t, admin(), "team_vault_erase", keyed, `{"action":"deleted","name":"v","job":{"state":"done"}}`)
	require.True(t, old.Meta.Replayed, "the key still means the vault that is gone")
	p.must(t, admin(), "team_vault_list", nil, `{"items":[{"name":"v"}]}`)
}
