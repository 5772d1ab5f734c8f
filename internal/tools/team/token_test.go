package team_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A made is the answer of a token's creation.
type made struct {
	Token     *string
	Expires   *string `json:"expires_at"`
	ID, State string
}

// create makes a token.
func (p *place) create(t testing.TB, c auth.Caller, in args) made {
	t.Helper()
	for k, v := range map[string]any{"name": "ci", "role": "editor"} {
		if _, ok := in[k]; !ok {
			in[k] = v
		}
	}
	return into[made](t, p.must(t, c, "team_token_create", in, `{"action":"created"}`))
}

// TestTokenIsShownOnce holds that the answer has the token, that a replay has all but the token and makes
// no second one, and that nothing else ever tells it.
func TestTokenIsShownOnce(t *testing.T) {
	p := open(t, publicURL)
	in := args{
		"name": " ci of the mill ", "role": "editor", "vaults": []string{"notes", "archive=reader"},
		"tools": []string{"team_whoami", "team_vault_list", "team_whoami"}, "prefix": "ci/runs",
		"readonly": true, "expires_in": "90 days", "idempotency_key": "once",
	}
	const want = `{"action":"created","name":"ci of the mill","roles":{"notes":"editor","archive":"reader"},
		"tools":["team_vault_list","team_whoami"],"prefix":"ci/runs/","readonly":true,
		"by":"user:ada@login.example.test","created":"2026-11-21T09:00:00Z",
		"expires_at":"2027-02-19T09:00:00Z","state":"valid","unknown_vaults":["archive","notes"]}`
	first := p.must(t, admin(), "team_token_create", in, want)
	shown := into[made](t, first)
	require.NotNil(t, shown.Token)
	secret, ok := auth.ParseAPIToken(*shown.Token)
	require.True(t, ok)
	require.Equal(t, shown.ID, secret.ID)
	require.Equal(t, "acme", secret.Tenant)
	require.False(t, first.Meta.Replayed)

	p.clock.pass(time.Hour)
	again := p.must(t, admin(), "team_token_create", in, want)
	require.True(t, again.Meta.Replayed)
	require.Equal(t, made{nil, shown.Expires, shown.ID, "valid"}, into[made](t, again))
	require.Contains(t, string(again.raw), `"token":null`)

	list := p.must(t, admin(), "team_token_list", nil, `{"items":[{"name":"ci of the mill"}]}`)
	require.Equal(t, 1, list.Meta.Total)
	_, text, _ := strings.Cut(*shown.Token, ".")
	revoked := p.must(t, admin(), "team_token_revoke", args{"id": shown.ID}, "")
	for _, a := range []answer{again, list, revoked} {
		require.NotContains(t, string(a.raw), text)
	}
}

// TestTokenOfADryRun holds that a plan makes no token, and shows neither a token nor an id.
func TestTokenOfADryRun(t *testing.T) {
	p := open(t, publicURL)
	a := p.must(t, admin(), "team_token_create", args{
		"name": "x", "role": "reader", "expires_in": "12h", "dry_run": true,
	}, `{"dry_run":true,"token":null,"would_create":{"name":"x","roles":{"*":"reader"},"readonly":false,
		"expires_at":"2026-11-21T21:00:00Z"}}`)
	require.NotContains(t, string(a.raw), `"id"`)
	require.Empty(t, p.keys(t, "team_token_list", nil, "id"))
}

// TestLifeOfAToken holds how long a token is good, and the words that say so.
func TestLifeOfAToken(t *testing.T) {
	p := open(t, publicURL)
	for text, want := range map[string]string{
		"":           "null",
		"1m":         `"2026-11-21T09:01:00Z"`,
		"90 minutes": `"2026-11-21T10:30:00Z"`,
		"1 hour":     `"2026-11-21T10:00:00Z"`,
		"12h":        `"2026-11-21T21:00:00Z"`,
		"1 day":      `"2026-11-22T09:00:00Z"`,
		"2w":         `"2026-12-05T09:00:00Z"`,
		"3650 days":  `"2036-11-18T09:00:00Z"`,
	} {
		in := args{"name": "x", "role": "reader", "dry_run": true, "expires_in": text}
		p.must(t, admin(), "team_token_create", in,
			fmt.Sprintf(`{"would_create":{"expires_at":%s}}`, want))
	}
	for _, text := range []string{
		"0m", "0 days", "3651 days", "9999999w", "10000000m", "99999999999d", "-1d", "1.5h", "1y", "d",
		"1  day", "1 day ago", " 1d", "1d ", "1D", "one day", "١ day",
	} {
		f := p.refused(t, fault.InvalidParameter, admin(), "team_token_create",
			args{"name": "x", "role": "reader", "expires_in": text})
		require.Equal(t, "expires_in", f.Details["argument"], text)
		require.NotEmpty(t, f.Message)
	}
}

// TestTokensOfATenant holds what is listed: the tokens that can be used, or all; whose they are and when
// they were used last.
func TestTokensOfATenant(t *testing.T) {
	p := open(t, publicURL)
	var ids []string
	for range 5 {
		ids = append(ids, p.create(t, admin(), args{"expires_in": "2h"}).ID)
	}
	short := p.create(t, admin(), args{"expires_in": "1m"})
	require.Len(t, p.keys(t, "team_token_list", nil, "id"), 6)
	p.must(t, admin(), "team_token_revoke", args{"id": ids[4]}, `{"action":"revoked","state":"revoked"}`)
	p.must(t, admin(), "team_token_revoke", args{"id": ids[4]}, `{"action":"unchanged","state":"revoked"}`)
	p.must(t, admin(), "team_token_revoke", args{"id": ids[0], "dry_run": true},
		`{"dry_run":true,"would_update":{"state":"revoked"}}`)
	acme, err := p.teams.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	p.clock.pass(time.Minute)
	acme.Used(t.Context(), ids[0])

	require.ElementsMatch(t, ids[:4], p.keys(t, "team_token_list", nil, "id"))
	require.ElementsMatch(t, append(ids, short.ID), p.keys(t, "team_token_list", args{"all": true}, "id"))
	all := p.must(t, admin(), "team_token_list", args{"all": true}, "")
	for _, row := range into[struct{ Items []map[string]any }](t, all).Items {
		want := "valid"
		switch row["id"] {
		case ids[4]:
			want = "revoked"
		case short.ID:
			want = "expired"
		case ids[0]:
			require.Equal(t, "2026-11-21T09:01:00Z", row["last_used"])
		}
		require.Equal(t, want, row["state"])
	}
	stranger := admin()
	stranger.Tenant = "other"
	p.refused(t, fault.NotFound, stranger, "team_token_revoke", args{"id": ids[0]})
	require.Empty(t, into[struct{ Items []any }](t,
		p.must(t, stranger, "team_token_list", args{"all": true}, "")).Items)
	p.refused(t, fault.NotFound, admin(), "team_token_revoke", args{"id": "acme_none"})
	p.refused(t, fault.Conflict, admin(), "team_token_revoke", args{"id": ids[1], "if_version": "v1"})
	p.refused(t, fault.InvalidParameter, admin(), "team_token_list", args{"page_token": "x"})
}

// TestTokenIsAtMostItsMaker holds that nobody gives more than it has: no higher role in any vault, also
// where its scope takes one away, and no longer life than that of its own token.
func TestTokenIsAtMostItsMaker(t *testing.T) {
	p := open(t, publicURL)
	maker := admin()
	maker.Roles = map[string]auth.Role{"*": auth.Admin, "dark": auth.Reader}
	p.refused(t, fault.PermissionDenied, maker, "team_token_create", args{"name": "x", "role": "editor"})
	p.refused(t, fault.PermissionDenied, maker, "team_token_create",
		args{"name": "x", "role": "reader", "vaults": []string{"dark=editor"}})
	p.create(t, maker, args{"role": "admin", "vaults": []string{"*", "dark=reader"}})
	p.create(t, maker, args{"role": "reader"})
	p.create(t, maker, args{"role": "admin", "vaults": []string{"light"}})

	scoped := admin()
	scoped.Scope = auth.Editor
	p.refused(t, fault.PermissionDenied, scoped, "team_token_create", args{"name": "x", "role": "reader"})

	token := admin()
	token.TokenID, token.Expires = "acme_x", p.clock.time().Add(24*time.Hour)
	require.Equal(t, "2026-11-22T09:00:00Z", *p.create(t, token, args{}).Expires)
	require.Equal(t, "2026-11-22T09:00:00Z", *p.create(t, token, args{"expires_in": "24h"}).Expires)
	f := p.refused(t, fault.InvalidParameter, token, "team_token_create",
		args{"name": "x", "role": "reader", "expires_in": "25 hours"})
	require.Equal(t, "expires_in", f.Details["argument"])
	session := admin()
	session.Expires = p.clock.time().Add(time.Hour) // of a JWT, which is meant to be short
	require.Nil(t, p.create(t, session, args{}).Expires)

	for name, narrowed := range map[string]auth.Caller{
		"prefix": {Prefix: "a/"}, "tools": {Tools: []string{"team_token_create"}},
	} {
		c := admin()
		c.Prefix, c.Tools = narrowed.Prefix, narrowed.Tools
		f := p.refused(t, fault.PermissionDenied, c, "team_token_create", args{"name": "x", "role": "reader"})
		require.NotEmpty(t, f.Message, name)
	}
}

// TestBadTokens holds what no token can have.
func TestBadTokens(t *testing.T) {
	p := open(t, publicURL)
	for _, c := range []struct {
		argument string
		value    any
		code     fault.Code
	}{
		{"name", " ", fault.InvalidParameter},
		{"name", "a\nb", fault.InvalidParameter},
		{"name", "a\u202eb", fault.InvalidParameter},
		{"vaults", []string{"Notes"}, fault.InvalidParameter},
		{"vaults", []string{}, fault.InvalidParameter}, {"tools", []string{}, fault.InvalidParameter},
		{"vaults", []string{"notes="}, fault.InvalidParameter},
		{"vaults", []string{"notes=owner"}, fault.InvalidParameter},
		{"vaults", []string{"notes=anyone"}, fault.InvalidParameter},
		{"vaults", []string{"=reader"}, fault.InvalidParameter},
		{"vaults", []string{"notes", "notes=reader"}, fault.InvalidParameter},
		{"vaults", []string{"**"}, fault.InvalidParameter},
		{"tools", []string{"team_whoam"}, fault.InvalidParameter},
		{"tools", []string{"*"}, fault.InvalidParameter},
		{"tools", []string{""}, fault.InvalidParameter},
		{"prefix", "/etc", fault.InvalidPath},
		{"prefix", "../up", fault.InvalidPath},
		{"prefix", "a//b", fault.InvalidPath},
		{"prefix", "/", fault.InvalidPath},
		{"prefix", ".raven", fault.InvalidPath},
		{"prefix", ".trash/", fault.InvalidPath},
		{"prefix", "a/.rookery/", fault.InvalidPath},
		{"prefix", "a/con/", fault.InvalidPath},
	} {
		in := args{"name": "x", "role": "reader"}
		in[c.argument] = c.value
		f := p.refused(t, c.code, admin(), "team_token_create", in)
		require.Equal(t, c.argument, f.Details["argument"], "%v", c.value)
	}
	f := p.refused(t, fault.InvalidParameter, admin(), "team_token_create",
		args{"name": "x", "role": "reader", "tools": []string{"team_whoam"}})
	require.Contains(t, f.Fixes, "use team_whoami")
	f = p.refused(t, fault.InvalidParameter, admin(), "team_token_create",
		args{"name": "x", "role": "reader", "vaults": []string{"notes=raeder"}})
	require.Contains(t, f.Fixes, "use notes=reader")
	require.Empty(t, p.keys(t, "team_token_list", nil, "id"))
}

// TestTokenKeyOfAnotherRequest holds that a key is bound to what it was used for first.
func TestTokenKeyOfAnotherRequest(t *testing.T) {
	p := open(t, publicURL)
	p.create(t, admin(), args{"idempotency_key": "k"})
	p.refused(t, fault.KeyReused, admin(), "team_token_create",
		args{"name": "ci", "role": "reader", "idempotency_key": "k"})
	other := person("bea", map[string]auth.Role{"*": auth.Admin})
	p.create(t, other, args{"idempotency_key": "k"})
	require.Len(t, p.keys(t, "team_token_list", nil, "id"), 2)
}

// TestTokenEndsWithItsMaker holds that the list tells a token revoked, and since when, whose maker was, and
// its maker; and that it makes none any more.
func TestTokenEndsWithItsMaker(t *testing.T) {
	p := open(t, publicURL)
	as := func(id string) auth.Caller {
		c := admin()
		c.Principal, c.Agent, c.TokenID = auth.APIToken(id), auth.APIToken(id), id
		return c
	}
	first := p.create(t, admin(), args{"role": "admin"}).ID
	second := p.create(t, as(first), args{"role": "admin"}).ID
	third := p.create(t, as(second), args{}).ID
	other := p.create(t, admin(), args{}).ID
	p.clock.pass(time.Hour)
	p.must(t, admin(), "team_token_revoke", args{"id": first}, `{"revoked_at":"2026-11-21T10:00:00Z"}`)
	p.clock.pass(time.Hour)
	require.Equal(t, []string{other}, p.keys(t, "team_token_list", nil, "id"))
	all := p.must(t, admin(), "team_token_list", args{"all": true}, "")
	for _, row := range into[struct{ Items []map[string]any }](t, all).Items {
		if row["id"] == other {
			require.Equal(t, "valid", row["state"])
			require.NotContains(t, row, "revoked_at")
			continue
		}
		require.Equal(t, "revoked", row["state"])
		require.Equal(t, "2026-11-21T10:00:00Z", row["revoked_at"])
	}
	p.must(t, admin(), "team_token_revoke", args{"id": third}, `{"action":"unchanged","state":"revoked"}`)
	p.refused(t, fault.Unauthenticated, as(third), "team_token_create", args{"name": "x", "role": "reader"})
	p.refused(t, fault.Unauthenticated, as(first), "team_token_create",
		args{"name": "x", "role": "reader", "dry_run": true})
}
