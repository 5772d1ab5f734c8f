package localapp_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// as returns the call with the token of another caller.
func (c lostCall) as(token string) lostCall {
	c.token = token
	return c
}

// TestLostKeyIsSpentByEffects checks that a dry run, a refused call and a failed call use no key:
// the later call that takes effect is no replay.
func TestLostKeyIsSpentByEffects(t *testing.T) {
	t.Parallel()
	s := newPrepared(t, noon).stage(t)
	for _, name := range s.tools() {
		call := s.lost(name)
		tried := s.must(t, call.with("dry_run", true))
		require.False(t, replayed(tried.body), "%s: %s", name, tried.body)
		for what, refused := range map[string]lostCall{
			"a version that is not there": call.with("if_version", "v999999"),
			"no version":                  call.with("if_version", "x"),
			"no argument":                 call.with("surely_no_argument", 1),
			"nobody":                      call.as("rk_local_nobody.nothing"),
		} {
			a := s.ask(t, refused)
			require.False(t, a.ok(), "%s, %s: %s", name, what, a.body)
		}
		first := s.must(t, call)
		require.False(t, replayed(first.body), "%s: %s", name, first.body)
		s.requireAgain(t, call, first)
		dry := s.ask(t, call.with("dry_run", true))
		require.False(t, replayed(dry.body), "what is tried is no repetition: %s", dry.body)
	}
}

// TestLostKeyIsOnesOwn checks that equal keys of two callers are different keys.
func TestLostKeyIsOnesOwn(t *testing.T) {
	t.Parallel()
	s := newPrepared(t, noon).stage(t)
	for _, name := range s.tools() {
		first := s.must(t, s.lost(name))
		a := s.ask(t, s.lost(name).as(s.other))
		require.False(t, replayed(a.body), "%s: %s", name, a.body)
		require.NotEqual(t, fault.KeyReused, tooltest.CodeOf(t, a.body), name)
		other := s.ask(t, s.lost(name).as(s.other).with("if_version", "v1"))
		code := tooltest.CodeOf(t, other.body)
		require.Equal(t, a.ok(), code == fault.KeyReused, "%s: %s", name, other.body)
		s.requireAgain(t, s.lost(name), first)
	}
}

// TestLostAnswerIsToldToWhoMayCall checks that a repetition is answered even if the vault accepts
// no more changes, or the target of the call no longer exists, but not if the caller no longer has
// the permission.
func TestLostAnswerIsToldToWhoMayCall(t *testing.T) {
	t.Parallel()
	s := newPrepared(t, noon).stage(t)
	s.calls["team_token_create"]["expires_in"] = "90 days" // as long as its maker is good
	firsts := map[string]lineAnswer{}
	for _, name := range s.tools() {
		firsts[name] = s.must(t, s.lost(name))
	}
	for _, id := range []string{"people/alice", "inbox", "projects/mill", "meetings/plan"} {
		done(t, s.own(), "raven_delete", args{"vault": "main", "id": id})
	}
	for _, vault := range []string{"main", "old", "fresh"} {
		done(t, s.own(), "team_vault_set", args{"name": vault, "readonly": true})
	}
	done(t, s.own(), "team_member_set", args{"subject": "cleo", "issuer": "people", "role": "reader"})
	done(t, s.own(), "team_issuer_remove", args{"name": "people"})
	done(t, s.own(), "team_vault_delete", args{"name": "fresh"})
	s.clock.pass(1) // one that is made now for as many days would outlive it
	for _, name := range s.tools() {
		s.requireAgain(t, s.lost(name), firsts[name])
		s.requireDenied(t, s.lost(name))
	}
	done(t, s.own(), "team_token_revoke", args{"id": tokenIDs.FindString(s.admin)})
	for _, name := range s.tools() {
		a := s.ask(t, s.lost(name))
		require.Equal(t, http.StatusUnauthorized, a.status, "%s: %s", name, a.body)
	}
}

// requireDenied requires that a call is refused to the same principal with a role that is too low.
func (s *stage) requireDenied(t testing.TB, c lostCall) {
	t.Helper()
	id := tokenIDs.FindString(c.token)
	who := auth.Caller{
		Tenant: auth.Local, Principal: auth.APIToken(id), Agent: auth.APIToken(id), TokenID: id,
		Session: auth.DefaultSession, Roles: map[string]auth.Role{auth.AllVaults: auth.Reader},
	}
	raw, err := json.Marshal(c.with("idempotency_key", c.key).args)
	require.NoError(t, err)
	_, err = s.app.Catalogue.Invoke(auth.WithCaller(t.Context(), who), c.tool, raw)
	require.True(t, fault.Is(err, fault.PermissionDenied), "%s: %v", c.tool, err)
}
