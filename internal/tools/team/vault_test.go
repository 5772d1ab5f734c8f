package team_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// notes are files as an import takes them.
func notes(texts ...string) []args {
	var all []args
	for i, text := range texts {
		all = append(all, args{"path": string(rune('a'+i)) + ".md", "text": text})
	}
	return all
}

// TestSettingsOfAVault holds that a read-only vault takes no write and all reads, through trash and
// restore, until it is none; and that a setting that is left out stays.
func TestSettingsOfAVault(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "v"},
		`{"vault":{"readonly":false,"secrets":"flag"}}`)
	write := args{"vault": "v", "notes": notes("x"), "mode": "replace"}
	p.must(t, admin(), "team_vault_import", write, "")
	p.refused(t, fault.InvalidParameter, admin(), "team_vault_set", args{"name": "v"})
	p.must(t, admin(), "team_vault_set", args{"name": "v", "readonly": true, "dry_run": true},
		`{"dry_run":true,"would_update":{"readonly":true,"secrets":"flag"}}`)
	p.must(t, admin(), "team_vault_import", with(write, "notes", notes("y")), `{"replaced":1}`)
	p.must(t, admin(), "team_vault_set", args{"name": "v", "secrets": "refuse"},
		`{"action":"updated","vault":{"readonly":false,"secrets":"refuse"}}`)
	p.must(t, admin(), "team_vault_set", args{"name": "v", "readonly": true},
		`{"action":"updated","vault":{"readonly":true,"secrets":"refuse"}}`)
	p.must(t, admin(), "team_vault_set", args{"name": "v", "readonly": true}, `{"action":"unchanged"}`)

	f := p.refused(t, fault.ReadOnly, admin(), "team_vault_import", with(write, "notes", notes("z")))
	require.NotEmpty(t, f.Fixes)
	p.refused(t, fault.ReadOnly, admin(), "team_vault_import",
		with(with(write, "notes", notes("z")), "dry_run", true))
	p.must(t, admin(), "team_vault_export", args{"vault": "v"}, `{"notes":[{"path":"a.md","text":"y"}]}`)
	const row = `{"items":[{"name":"v","readonly":true,"secrets":"refuse","state":"active","notes":1}]}`
	p.must(t, admin(), "team_vault_list", nil, row)
	p.must(t, admin(), "team_vault_delete", args{"name": "v"}, `{"vault":{"readonly":true}}`)
	p.refused(t, fault.NotFound, admin(), "team_vault_set", args{"name": "v", "readonly": false})
	p.must(t, admin(), "team_vault_restore", args{"name": "v"}, `{"vault":{"readonly":true}}`)
	p.refused(t, fault.ReadOnly, admin(), "team_vault_import", with(write, "notes", notes("z")))
	p.must(t, admin(), "team_vault_list", nil, row)

	p.must(t, admin(), "team_vault_set", args{"name": "v", "readonly": false},
		`{"vault":{"readonly":false,"secrets":"refuse"}}`)
	p.must(t, admin(), "team_vault_import", with(write, "notes", notes("z")), `{"replaced":1}`)
	p.refused(t, fault.NotFound, admin(), "team_vault_set", args{"name": "none", "readonly": true})
	p.refused(t, fault.Conflict, admin(), "team_vault_set",
		args{"name": "v", "readonly": true, "if_version": "v1"})
	p.refused(t, fault.PermissionDenied, person("bo", map[string]auth.Role{"v": auth.Editor}),
		"team_vault_set", args{"name": "v", "readonly": true})
	p.must(t, person("bea", map[string]auth.Role{"v": auth.Admin}), "team_vault_set",
		args{"name": "v", "secrets": "off"}, `{"vault":{"secrets":"off"}}`)
}

// TestTrashTellsItsEnd holds that the deletion and the list say until when a vault can be restored, and
// that one whose time is over is listed no more.
func TestTrashTellsItsEnd(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "v"}, "")
	const end = "2026-12-21T09:00:00Z"
	p.must(t, admin(), "team_vault_delete", args{"name": "v", "dry_run": true},
		`{"would_delete":{"restorable_until":"`+end+`"}}`)
	p.must(t, admin(), "team_vault_delete", args{"name": "v"},
		`{"action":"deleted","vault":{"state":"trashed","restorable_until":"`+end+`"}}`)
	p.clock.pass(tenant.TrashLife - time.Second)
	p.must(t, admin(), "team_vault_list", nil,
		`{"items":[{"name":"v","state":"trashed","restorable_until":"`+end+`"}]}`)
	a := p.must(t, admin(), "team_vault_restore", args{"name": "v", "dry_run": true}, "")
	require.NotContains(t, string(a.raw), "restorable_until")
	p.clock.pass(time.Second)
	require.Empty(t, p.keys(t, "team_vault_list", nil, "name"))
}

// TestUsage holds that everybody is told what the vaults hold that it sees, and no other; and the calls
// of the tenant only where rates are kept, and to who sees all vaults.
func TestUsage(t *testing.T) {
	p := open(t, publicURL)
	for _, name := range []string{"light", "dark", "gone"} {
		p.must(t, admin(), "team_vault_create", args{"name": name}, "")
		p.must(t, admin(), "team_vault_import", args{"vault": name, "notes": notes("12345", "é")}, "")
	}
	p.must(t, admin(), "team_vault_delete", args{"name": "gone"}, "")
	p.must(t, admin(), "team_usage", nil, `{"vaults":2,"notes":4,"bytes":14,
		"items":[{"name":"dark","notes":2,"bytes":7},{"name":"light","notes":2,"bytes":7}],
		"calls":{"today":{"mutations":7,"reads":1},"yesterday":{"mutations":0,"reads":0}},
		"limits":{"vaults":100,"vault_notes":100000,"tokens":20000,"mutations_per_minute":60,
		"reads_per_minute":600,"burst_minutes":2}}`)
	one := p.must(t, person("bo", map[string]auth.Role{"light": auth.Reader}), "team_usage", nil,
		`{"vaults":1,"notes":2,"bytes":7,"items":[{"name":"light"}]}`)
	require.NotContains(t, string(one.raw), "dark")
	require.NotContains(t, string(one.raw), `"calls"`)
	for _, name := range []string{"team_usage", "team_vault_list"} { // the version tells of all vaults
		require.Equal(t, "v4", p.must(t, admin(), name, nil, "").Meta.Version)
		bo := person("bo", map[string]auth.Role{"light": auth.Admin})
		require.Empty(t, p.must(t, bo, name, nil, "").Meta.Version)
	}
	p.must(t, person("di", nil), "team_usage", nil, `{"vaults":0,"notes":0,"bytes":0,"items":[]}`)
	p.clock.pass(24 * time.Hour)
	p.must(t, admin(), "team_usage", nil, `{"calls":{"today":{"mutations":0,"reads":1},
		"yesterday":{"mutations":7}}}`)

	p.compose(t, nil)
	a := p.must(t, admin(), "team_usage", nil, `{"vaults":2}`)
	require.NotContains(t, string(a.raw), "calls")
	require.NotContains(t, string(a.raw), "per_minute")
	p.compose(t, limit.New(limit.Options{Rates: limit.Rates{MutationsPerMinute: -1, ReadsPerMinute: 5}}))
	a = p.must(t, admin(), "team_whoami", nil, `{"limits":{"reads_per_minute":5}}`)
	require.NotContains(t, string(a.raw), "mutations_per_minute")
	p.compose(t, broken{})
	p.refused(t, fault.Unavailable, admin(), "team_usage", nil)
}

// broken is a limiter whose counts cannot be read.
type broken struct{}

func (broken) Rates() limit.Rates { return limit.Rates{MutationsPerMinute: 1, ReadsPerMinute: 1} }

func (broken) Usage(context.Context, string) (limit.Usage, error) {
	return limit.Usage{}, fault.New(fault.Unavailable, "not now")
}

// TestWhoami holds that everybody is told who it is, and what narrows it.
func TestWhoami(t *testing.T) {
	p := open(t, publicURL)
	ada := admin()
	ada.Scope, ada.Expires = auth.Editor, p.clock.time().Add(time.Hour)
	a := p.must(t, ada, "team_whoami", nil, `{"principal":"user:ada@login.example.test","name":"ada",
		"tenant":"acme","agent":"user:ada@login.example.test","session":"default","roles":{"*":"editor"},
		"scope":"editor","readonly":false,"issuer":"https://login.example.test",
		"expires_at":"2026-11-21T10:00:00Z","limits":{"mutations_per_minute":60}}`)
	require.NotContains(t, string(a.raw), "token_id")
	p.must(t, auth.Caller{
		Tenant: "acme", Principal: auth.APIToken("acme_x"), Name: "ci", Agent: "planner", TokenID: "acme_x",
		Session: "s", Roles: map[string]auth.Role{"v": auth.Reader}, Prefix: "ci/", ReadOnly: true,
		Tools: []string{"team_whoami"},
	}, "team_whoami", nil, `{"principal":"token:acme_x","name":"ci","agent":"planner","session":"s",
		"roles":{"v":"reader"},"prefix":"ci/","tools":["team_whoami"],"readonly":true,
		"token_id":"acme_x"}`)
	local := auth.LocalCaller()
	local.Tenant = "acme"
	a = p.must(t, local, "team_whoami", nil, `{"principal":"local","roles":{"*":"admin"}}`)
	require.NotContains(t, string(a.raw), "per_minute", "on loopback there are no rates")
}

// TestCreateByWhoMayNot holds that who may not make a vault is told that, as of any other tool of the tenant,
// in the same words whether there is a vault of the name or not, and is not offered the tool; and that an
// admin of a name may make it.
func TestCreateByWhoMayNot(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "there"}, "")
	made, ok := p.catalogue.Find("team_vault_create")
	require.True(t, ok)
	for _, roles := range []map[string]auth.Role{
		nil, {"other": auth.Reader}, {"other": auth.Admin}, {"*": auth.Editor}, {"there": auth.Nobody},
	} {
		var told []string
		for _, name := range []string{"there", "gone"} {
			f := p.refused(t, fault.PermissionDenied, person("eve", roles), "team_vault_create",
				args{"name": name})
			require.NotContains(t, f.Message, "no vault")
			told = append(told, f.Message)
		}
		require.Equal(t, told[0], told[1])
		f := p.refused(t, fault.PermissionDenied, person("eve", roles), "team_token_create",
			args{"name": "t", "role": "reader"})
		require.NotEmpty(t, f.Message)
	}
	require.False(t, made.Usable(person("eve", nil)))
	own := person("eve", map[string]auth.Role{"mine": auth.Admin})
	require.True(t, made.Usable(own))
	p.must(t, own, "team_vault_create", args{"name": "mine"}, `{"action":"created"}`)
	p.refused(t, fault.PermissionDenied, own, "team_vault_create", args{"name": "there"})
}

// TestHalfDeletedVault holds that a vault which is in the trash for its own log, and not yet for the tenant, as
// a process leaves it that is killed between the two, keeps no list from being answered, and that the call can
// be repeated.
func TestHalfDeletedVault(t *testing.T) {
	p := open(t, "")
	for _, name := range []string{"one", "two"} {
		p.must(t, admin(), "team_vault_create", args{"name": name}, "")
	}
	acme, err := p.teams.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	v, err := acme.Vault(t.Context(), "one")
	require.NoError(t, err)
	require.NoError(t, v.SetStatus(t.Context(), eventlog.Call{Tool: "team_vault_delete"}, eventlog.Trashed))
	p.must(t, admin(), "team_vault_list", nil,
		`{"items":[{"name":"one","state":"trashed"},{"name":"two","state":"active"}]}`)
	p.must(t, admin(), "team_usage", nil, `{"items":[{"name":"two"}]}`)
	p.must(t, admin(), "team_vault_delete", args{"name": "one"}, `{"action":"deleted"}`)
	p.must(t, admin(), "team_vault_restore", args{"name": "one"}, `{"action":"restored"}`)
	p.must(t, admin(), "team_vault_list", nil, `{"items":[{"name":"one","state":"active"},{"name":"two"}]}`)
}
