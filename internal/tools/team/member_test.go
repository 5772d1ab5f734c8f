package team_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// TestMembers follows the members of a tenant: set, changed, listed, removed; a dry run changes nothing.
func TestMembers(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_vault_create", args{"name": "notes"}, "")
	ada := args{"subject": "ada", "role": "admin"}
	p.must(t, admin(), "team_member_set", with(ada, "dry_run", true),
		`{"dry_run":true,"would_create":{"subject":"ada","roles":{"*":"admin"}}}`)
	require.Empty(t, p.keys(t, "team_member_list", nil, "subject"))
	p.must(t, admin(), "team_member_set", ada, `{"action":"created","member":{"subject":"ada",
		"issuer":"https://login.example.test","principal":"user:ada@login.example.test",
		"roles":{"*":"admin"},"by":"user:ada@login.example.test","set":"2026-11-21T09:00:00Z"}}`)
	p.must(t, admin(), "team_member_set", ada, `{"action":"unchanged"}`)
	a := p.must(t, admin(), "team_member_set", args{"subject": "bo|1 x/..", "role": "reader",
		"vaults": []string{"notes", "gone=editor"}, "prefix": "inbox"},
		`{"action":"created","member":{"roles":{"gone":"editor","notes":"reader"},"prefix":"inbox/"},
		"unknown_vaults":["gone"]}`)
	require.NotContains(t, string(a.raw), `"*"`)
	bo := args{"subject": "bo|1 x/..", "role": "editor"}
	p.must(t, admin(), "team_member_set", with(bo, "dry_run", true),
		`{"would_update":{"roles":{"*":"editor"}}}`)
	a = p.must(t, admin(), "team_member_set", bo, `{"action":"updated","member":{"roles":{"*":"editor"}}}`)
	require.NotContains(t, string(a.raw), "prefix", "an entry is set as a whole")
	require.Equal(t, []string{"ada", "bo|1 x/.."}, p.keys(t, "team_member_list", nil, "subject"))

	p.refused(t, fault.Conflict, admin(), "team_member_set", with(bo, "if_version", "v1"))
	p.must(t, admin(), "team_member_remove", args{"subject": "bo|1 x/..", "dry_run": true},
		`{"would_delete":{"subject":"bo|1 x/.."}}`)
	p.must(t, admin(), "team_member_remove", args{"subject": "bo|1 x/..", "idempotency_key": "k"},
		`{"action":"removed","member":{"subject":"bo|1 x/.."}}`)
	again := p.must(t, admin(), "team_member_remove",
		args{"subject": "bo|1 x/..", "idempotency_key": "k"}, `{"action":"removed"}`)
	require.True(t, again.Meta.Replayed)
	p.refused(t, fault.NotFound, admin(), "team_member_remove", args{"subject": "bo|1 x/.."})
	require.Equal(t, []string{"ada"}, p.keys(t, "team_member_list", nil, "subject"))
}

// with are the arguments and one more.
func with(in args, name string, value any) args {
	all := args{name: value}
	for k, v := range in {
		if k != name {
			all[k] = v
		}
	}
	return all
}

// TestLastAdminStays holds that a tenant that has an admin of all vaults keeps one, who can say of every
// vault who has access.
func TestLastAdminStays(t *testing.T) {
	p := open(t, publicURL)
	for _, name := range []string{"ada", "bea"} {
		p.must(t, admin(), "team_member_set", args{"subject": name, "role": "admin"}, "")
	}
	p.must(t, admin(), "team_member_set", args{"subject": "cy", "role": "admin", "vaults": []string{"v"}}, "")
	p.must(t, admin(), "team_member_remove", args{"subject": "ada"}, "")
	f := p.refused(t, fault.Conflict, admin(), "team_member_remove", args{"subject": "bea"})
	require.NotEmpty(t, f.Fixes)
	p.refused(t, fault.Conflict, admin(), "team_member_remove", args{"subject": "bea", "dry_run": true})
	p.refused(t, fault.Conflict, admin(), "team_member_set", args{"subject": "bea", "role": "editor"})
	p.refused(t, fault.Conflict, admin(), "team_member_set",
		args{"subject": "bea", "role": "admin", "vaults": []string{"v"}})
	p.refused(t, fault.Conflict, admin(), "team_member_set",
		args{"subject": "bea", "role": "admin", "prefix": "a/"})
	p.refused(t, fault.Conflict, admin(), "team_member_set",
		args{"subject": "bea", "role": "admin", "vaults": []string{"*=admin", "n1=reader"}})
	p.must(t, admin(), "team_member_set",
		args{"subject": "ada", "role": "admin", "vaults": []string{"*=admin", "n1=reader"}}, "")
	p.refused(t, fault.Conflict, admin(), "team_member_remove", args{"subject": "bea"})
	p.must(t, admin(), "team_member_set", args{"subject": "ada", "role": "admin"}, "")
	p.must(t, admin(), "team_member_set", args{"subject": "bea", "role": "admin", "prefix": "a/"}, "")
}

// TestIssuerOfAMember holds that the issuer is found where there is one, asked for where there are more,
// that one of workloads is none, and that a member of an issuer that is gone can still be removed.
func TestIssuerOfAMember(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_issuer_set", workload(), "")
	p.refused(t, fault.InvalidParameter, admin(), "team_member_set",
		args{"subject": "sol", "role": "reader", "issuer": "github"})
	p.must(t, admin(), "team_member_set", args{"subject": "sol", "role": "reader"}, "")
	p.must(t, admin(), "team_issuer_set", args{"name": "idp", "issuer": "https://idp.example.test",
		"role": "reader", "client_id": "rookery"}, "")
	f := p.refused(t, fault.InvalidParameter, admin(), "team_member_set",
		args{"subject": "sol", "role": "reader"})
	require.Equal(t, []any{"https://idp.example.test", login}, f.Details["available"])
	p.refused(t, fault.InvalidParameter, admin(), "team_member_set",
		args{"subject": "sol", "role": "reader", "issuer": "https://other.example.test"})
	p.must(t, admin(), "team_member_set", args{"subject": "sol", "role": "reader", "issuer": "idp"},
		`{"action":"created","member":{"issuer":"https://idp.example.test"}}`)
	p.must(t, admin(), "team_member_set",
		args{"subject": "sol", "role": "editor", "issuer": "https://idp.example.test"}, `{"action":"updated"}`)
	f = p.refused(t, fault.InvalidParameter, admin(), "team_member_remove", args{"subject": "sol"})
	require.Equal(t, []any{"https://idp.example.test", login}, f.Details["available"])
	p.must(t, admin(), "team_issuer_remove", args{"name": "idp"}, "")
	p.must(t, admin(), "team_member_remove", args{"subject": "sol", "issuer": "https://idp.example.test"}, "")
	p.must(t, admin(), "team_member_remove", args{"subject": "sol"}, `{"member":{"issuer":"`+login+`"}}`)
}

// TestBadMembers holds what no member can be, and that nobody gives what he has not.
func TestBadMembers(t *testing.T) {
	p := open(t, publicURL)
	for _, subject := range []string{"é", "a\x00", "a\x7f", "\n", "a\tb"} {
		for _, name := range []string{"team_member_set", "team_member_remove"} {
			in := args{"subject": subject}
			if name == "team_member_set" {
				in["role"] = "reader"
			}
			f := p.refused(t, fault.InvalidParameter, admin(), name, in)
			require.Equal(t, "subject", f.Details["argument"])
		}
	}
	p.refused(t, fault.InvalidParameter, admin(), "team_member_set",
		args{"subject": strings.Repeat("a", 256), "role": "reader"})
	p.must(t, admin(), "team_member_set", args{"subject": strings.Repeat("a", 255), "role": "reader"}, "")
	p.refused(t, fault.InvalidPath, admin(), "team_member_set",
		args{"subject": "a", "role": "reader", "prefix": "../"})
	low := admin()
	low.Roles = map[string]auth.Role{"*": auth.Admin, "dark": auth.Reader}
	p.refused(t, fault.PermissionDenied, low, "team_member_set", args{"subject": "ada", "role": "admin"})
	for _, subject := range []string{"low", "nobody"} { // without the entry a token may give more than it
		f := p.refused(t, fault.PermissionDenied, low, "team_member_remove", args{"subject": subject})
		require.Equal(t, "dark", f.Details["vault"])
	}
}

// TestToolsOfTheTenant holds that who gives access, or sees who has it, is an admin of all vaults.
func TestToolsOfTheTenant(t *testing.T) {
	p := open(t, publicURL)
	for _, c := range []auth.Caller{
		person("bea", map[string]auth.Role{"v": auth.Admin}),
		person("cy", map[string]auth.Role{"*": auth.Editor, "v": auth.Admin}), person("di", nil),
	} {
		for _, made := range p.catalogue.Tools() {
			if !made.Tenant {
				continue
			}
			in := args{}
			for _, a := range made.Args {
				if a.Required && len(a.Schema().Enum) > 0 {
					in[a.Name] = a.Schema().Enum[0]
				} else if a.Required {
					in[a.Name] = "x"
				}
			}
			p.refused(t, fault.PermissionDenied, c, made.Name, in)
		}
	}
}

// TestCompletionsOfAccess holds what completes for an admin.
func TestCompletionsOfAccess(t *testing.T) {
	p := open(t, publicURL)
	id := p.create(t, admin(), args{}).ID
	ended := p.create(t, admin(), args{}).ID
	p.must(t, admin(), "team_token_revoke", args{"id": ended}, "")
	p.must(t, admin(), "team_member_set", args{"subject": "ada", "role": "reader"}, "")
	p.must(t, admin(), "team_issuer_set", args{"name": "idp", "issuer": "https://idp.example.test",
		"role": "reader", "client_id": "rookery"}, "")
	p.must(t, admin(), "team_member_set", args{"subject": "ada", "role": "reader", "issuer": "idp"}, "")
	for kind, want := range map[string][]string{
		"token": {id}, "member": {"ada"}, "issuer": {"idp"},
	} {
		require.Equal(t, want, into[struct{ Items []string }](t,
			p.must(t, admin(), "team_complete_access", args{"kind": kind}, "")).Items)
	}
	p.must(t, admin(), "team_complete_access", args{"kind": "tool", "prefix": "team_token_", "limit": 1},
		`{"items":["team_token_create"]}`)
	p.must(t, admin(), "team_complete_access", args{"kind": "tool", "prefix": "none"}, `{"items":[]}`)
}
