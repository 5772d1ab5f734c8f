package team_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

const github = "https://token.actions.githubusercontent.com"

// workload is a rule for a workflow.
func workload() args {
	return args{"name": "github", "issuer": github, "role": "editor", "vaults": []string{"learnings"},
		"claims": args{"repository": "acme/*", "run_number": 5, "private": true}}
}

// TestIssuers follows the rules of a tenant: set, changed as a whole, listed, removed.
func TestIssuers(t *testing.T) {
	p := open(t, publicURL)
	p.must(t, admin(), "team_issuer_set", with(workload(), "dry_run", true),
		`{"dry_run":true,"would_create":{"name":"github"}}`)
	require.Empty(t, p.keys(t, "team_issuer_list", nil, "name"))
	p.must(t, admin(), "team_issuer_set", workload(), `{"action":"created","issuer":{"name":"github",
		"issuer":"https://token.actions.githubusercontent.com",
		"audience":"https://memory.example.test/t/acme",
		"claims":{"repository":"acme/*","run_number":"5","private":"true"},
		"roles":{"learnings":"editor"},"principal":"workload:github"},"unknown_vaults":["learnings"]}`)
	p.must(t, admin(), "team_issuer_set", workload(), `{"action":"unchanged"}`)
	p.must(t, admin(), "team_issuer_set",
		with(with(workload(), "claims", []string{"repository=acme/app"}), "dry_run", true),
		`{"would_update":{"claims":{"repository":"acme/app"}}}`)
	a := p.must(t, admin(), "team_issuer_set", with(workload(), "claims", "repository=acme/app"),
		`{"action":"updated","issuer":{"claims":{"repository":"acme/app"}}}`)
	require.NotContains(t, string(a.raw), "run_number", "a rule is set as a whole")
	people := args{"name": "people", "issuer": "https://idp.example.test/realm/", "role": "reader",
		"jwks_url": "https://idp.example.test/keys?v=1", "client_id": "rookery", "roles_claim": "roles",
		"audience": publicURL + "/t/acme"}
	a = p.must(t, admin(), "team_issuer_set", people, `{"action":"created","issuer":{"client_id":"rookery",
		"roles_claim":"roles","jwks_url":"https://idp.example.test/keys?v=1","roles":{"*":"reader"}}}`)
	require.NotContains(t, string(a.raw), "principal", "each person is a principal")
	require.Equal(t, []string{"github", "people"}, p.keys(t, "team_issuer_list", nil, "name"))

	p.refused(t, fault.Conflict, admin(), "team_issuer_remove", args{"name": "github", "if_version": "v1"})
	p.must(t, admin(), "team_issuer_remove", args{"name": "github", "dry_run": true},
		`{"would_delete":{"name":"github"}}`)
	p.must(t, admin(), "team_issuer_remove", args{"name": "github"}, `{"action":"removed"}`)
	p.refused(t, fault.NotFound, admin(), "team_issuer_remove", args{"name": "github"})
	require.Equal(t, []string{"people"}, p.keys(t, "team_issuer_list", nil, "name"))
}

// TestURLsOfIssuers holds that a tenant can name no server that is not on the public internet.
func TestURLsOfIssuers(t *testing.T) {
	p := open(t, publicURL)
	for _, url := range []string{
		"http://idp.example.test", "ftp://idp.example.test", "idp.example.test", "https://", "https:///x",
		"https://user@idp.example.test", "https://u:p@idp.example.test", "https://idp.example.test#x",
		"https://idp.example.test/\nx", "https://idp.example.test/ x", `https://idp.example.test\@evil`,
		"https://localhost", "https://LOCALHOST", "https://localhost.", "https://a.localhost",
		"https://idp", "https://idp.", "https://printer.local", "https://vault.internal", "https://x.lan",
		"https://metadata.google.internal/", "https://1.0.0.127.in-addr.arpa",
		"https://127.0.0.1", "https://10.0.0.1:8443", "https://192.168.1.1", "https://172.16.0.1",
		"https://169.254.169.254/latest", "https://100.64.0.1", "https://0.0.0.0", "https://224.0.0.1",
		"https://[::1]", "https://[fe80::1%25eth0]", "https://[fd00::1]", "https://[::ffff:127.0.0.1]",
		"https://[64:ff9b::a00:1]", "https://127.1", "https://2130706433", "https://0x7f000001",
		"https://0177.0.0.1", "https://127.0.0.1.", "https://idp.example.tést",
	} {
		for _, argument := range []string{"issuer", "jwks_url"} {
			f := p.refused(t, fault.InvalidParameter, admin(), "team_issuer_set",
				with(workload(), argument, url))
			require.Equal(t, argument, f.Details["argument"], url)
		}
	}
	for i, url := range []string{
		"https://idp.example.test:8443/a/b", "https://8.8.8.8/x", "https://[2606:4700::1111]/",
		"https://xn--bcher-kva.example",
	} {
		p.must(t, admin(), "team_issuer_set",
			with(with(workload(), "issuer", url), "name", fmt.Sprint("i", i)), `{"action":"created"}`)
	}
}

// TestBadIssuers holds what no rule can be.
func TestBadIssuers(t *testing.T) {
	p := open(t, publicURL)
	many := args{}
	for i := range 21 {
		many[fmt.Sprint("c", i)] = "x"
	}
	for _, c := range []struct {
		argument string
		value    any
	}{
		{"name", "GitHub"}, {"name", "a b"}, {"name", "-a"},
		{"audience", publicURL}, {"audience", publicURL + "/t/other"}, {"audience", publicURL + "/t/acme/"},
		{"claims", args{}}, {"claims", args{"repository": "*"}}, {"claims", args{"repository": "*/*"}},
		{"claims", args{"iss": github}}, {"claims", args{"aud": publicURL + "/t/acme"}},
		{"claims", args{"repository": []string{"a", "b"}}}, {"claims", args{"repository": args{"a": "b"}}},
		{"claims", args{"repository": ""}}, {"claims", args{"repository": nil}}, {"claims", args{"": "x"}},
		{"claims", args{"é": "x"}}, {"claims", args{"a": strings.Repeat("x", 256)}}, {"claims", many},
		{"claims", []string{"repository=a", "repository=b"}},
		{"roles_claim", "é"}, {"client_id", "a\nb"},
		{"vaults", []string{"A"}}, {"vaults", []string{"a=b"}},
	} {
		f := p.refused(t, fault.InvalidParameter, admin(), "team_issuer_set",
			with(workload(), c.argument, c.value))
		require.Equal(t, c.argument, f.Details["argument"], "%v", c.value)
	}
	f := p.refused(t, fault.InvalidParameter, admin(), "team_issuer_set",
		with(with(workload(), "name", "A"), "issuer", "http://x.test"))
	require.Len(t, f.Errors, 2, "all problems come together")
	in := workload()
	delete(in, "claims")
	p.refused(t, fault.InvalidParameter, admin(), "team_issuer_set", in)
	p.must(t, admin(), "team_issuer_set", with(in, "roles_claim", "roles"), "")
	require.Equal(t, []string{"github"}, p.keys(t, "team_issuer_list", nil, "name"))

	low := admin()
	low.Roles = map[string]auth.Role{"*": auth.Admin, "dark": auth.Reader}
	p.must(t, low, "team_issuer_set", workload(), "")
	p.refused(t, fault.PermissionDenied, low, "team_issuer_set", args{"name": "x", "issuer": github, "role": "editor", "claims": args{"repository": "a/b"}})
	p.refused(t, fault.PermissionDenied, low, "team_issuer_set", with(workload(), "roles_claim", "roles"))
}

// TestKeysOfTheDeployment holds that a tenant may let people of an issuer of the deployment in, and cannot
// say with which keys they are signed for: an admin would sign for others.
func TestKeysOfTheDeployment(t *testing.T) {
	p := open(t, publicURL)
	people := args{"name": "people", "issuer": login, "role": "reader", "client_id": "rookery"}
	f := p.refused(t, fault.InvalidParameter, admin(), "team_issuer_set",
		with(people, "jwks_url", "https://keys.example.test/mine.json"))
	require.Equal(t, "jwks_url", f.Details["argument"])
	p.must(t, admin(), "team_issuer_set", people, `{"action":"created"}`)
}

// TestDisabledIssuer holds that a list tells which rules let nobody in, since the operator has their issuer
// in the server's file, and that such a rule can be removed or set again.
func TestDisabledIssuer(t *testing.T) {
	p := open(t, publicURL)
	people := args{"name": "people", "issuer": "https://idp.example.test", "role": "reader",
		"jwks_url": "https://keys.example.test/mine.json", "client_id": "rookery"}
	p.must(t, admin(), "team_issuer_set", people, `{"action":"created"}`)
	a := p.must(t, admin(), "team_issuer_list", nil, `{"items":[{"name":"people"}]}`)
	require.NotContains(t, string(a.raw), "disabled")

	p.issuers = []string{"https://idp.example.test"}
	p.serve(t, publicURL)
	p.must(t, admin(), "team_issuer_list", nil, `{"items":[{"name":"people",
		"disabled":"the issuer is in the configuration of the server, and the rule has other keys"}]}`)
	f := p.refused(t, fault.InvalidParameter, admin(), "team_issuer_set", people)
	require.Equal(t, "jwks_url", f.Details["argument"])
	delete(people, "jwks_url")
	p.must(t, admin(), "team_issuer_set", people, `{"action":"updated"}`)
	a = p.must(t, admin(), "team_issuer_list", nil, "")
	require.NotContains(t, string(a.raw), "disabled")
}

// TestIssuerReplayed holds that a call that is repeated with its key gets its first answer, also where the
// deployment has another public URL by then, or none, and another call is refused as before.
func TestIssuerReplayed(t *testing.T) {
	p := open(t, publicURL)
	in := with(with(workload(), "audience", publicURL+"/t/acme"), "idempotency_key", "k")
	first := p.must(t, admin(), "team_issuer_set", in, `{"action":"created"}`)
	for _, url := range []string{"https://moved.example.test", "", publicURL} {
		p.serve(t, url)
		again := p.must(t, admin(), "team_issuer_set", in, "")
		require.True(t, again.Meta.Replayed, url)
		require.Equal(t, string(first.Data), string(again.Data), url)
		if url == publicURL {
			continue
		}
		p.refused(t, fault.InvalidParameter, admin(), "team_issuer_set", with(in, "idempotency_key", "other"))
		p.refused(t, fault.KeyReused, admin(), "team_issuer_set", with(in, "role", "reader"))
	}
	require.Equal(t, []string{"github"}, p.keys(t, "team_issuer_list", nil, "name"))
}

// TestIssuersNeedAPublicURL holds that a deployment without one says what to configure.
func TestIssuersNeedAPublicURL(t *testing.T) {
	p := open(t, "")
	f := p.refused(t, fault.InvalidParameter, admin(), "team_issuer_set", workload())
	require.Contains(t, f.Fixes[0], "public_url")
	p.must(t, admin(), "team_issuer_list", nil, `{"items":[]}`)
}
