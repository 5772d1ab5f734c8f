package localapp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// TestHostedReplay checks that a caller whose access is revoked is refused at once, in the same way
// as one that never had access.
func TestHostedReplay(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	root := h.root("heronlabs")
	never := func() string {
		return h.send(h.bearing("", "never"), posted("/v1/tools/team_whoami", []byte("{}"))).comparable()
	}
	token := h.newToken(t, args{"name": "short", "role": "admin"})
	v := h.bearing("short", token)
	h.done(t, v, "team_whoami", args{})
	id, _, _ := strings.Cut(strings.TrimPrefix(token, "rk_"), ".")
	h.done(t, root, "team_token_revoke", args{"id": id})
	require.Equal(t, never(), h.invoke(t, v, "team_whoami", args{}).comparable(), "a token is revoked")

	work := h.workloads(t)[0]
	h.done(t, work, "team_whoami", args{})
	h.done(t, root, "team_issuer_remove", args{"name": "ci"})
	require.Equal(t, never(), h.invoke(t, work, "team_whoami", args{}).comparable(), "a rule is removed")

	h.done(t, root, "team_member_set", args{"subject": "bea", "role": "reader"})
	bea := h.bearing("bea", h.jwt("bea", args{}))
	read := args{"vault": "main", "path": "shared/plan.md"}
	h.done(t, bea, "raven_read", read)
	h.done(t, root, "team_member_remove", args{"subject": "bea"})
	gone := h.invoke(t, bea, "raven_read", read)
	stranger := h.invoke(t, h.bearing("", h.jwt("cy", args{})), "raven_read", read)
	require.Equal(t, http.StatusNotFound, gone.status)
	require.Equal(t, stranger.comparable(), gone.comparable(), "a member is removed")
}

// TestHostedReplayElsewhere checks that another process refuses a revoked token within a minute,
// and accepts a new one at once.
func TestHostedReplayElsewhere(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	here := *c
	c.serve(t) // a second process over the same stores
	token := here.newToken(t, args{"name": "short", "role": "reader"})
	v := c.bearing("short", token)
	require.Equal(t, http.StatusOK, c.invoke(t, v, "team_whoami", args{}).status, "a new token")
	id, _, _ := strings.Cut(strings.TrimPrefix(token, "rk_"), ".")
	here.done(t, here.root("heronlabs"), "team_token_revoke", args{"id": id})
	got := here.invoke(t, v, "team_whoami", args{})
	require.Equal(t, http.StatusUnauthorized, got.status, "at once: %s", got.body)
	c.clock.minutes(1)
	got = c.invoke(t, v, "team_whoami", args{})
	require.Equal(t, http.StatusUnauthorized, got.status, "within a minute: %s", got.body)
}

// TestHostedHugeHeader checks that a real server refuses a header that exceeds its limit before it
// is read completely, without details.
func TestHostedHugeHeader(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	client, stop := serve(t, h.app)
	defer stop()
	for size, want := range map[int]int{
		20 << 10: http.StatusUnauthorized, 200 << 10: http.StatusRequestHeaderFieldsTooLarge,
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", client.Base+"/v1/whoami", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+strings.Repeat("x", size))
		got, err := client.HTTP.Do(r)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		require.Equal(t, want, got.StatusCode, "%d bytes", size)
	}
}

// TestHostedUnicodeClaims checks that unusual claims of a valid token give no role.
func TestHostedUnicodeClaims(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	for _, claim := range []any{
		"Admin", "ADMIN", "admin ", "аdmin", []string{"admin"}, 1, true, args{"*": "Admin"},
		args{"*": 1}, args{"main\x00": "admin"}, args{"MAIN": "admin"}, args{"main/": "admin"},
	} {
		v := h.bearing("strange", h.jwt("cy", args{"roles": claim}))
		got := h.invoke(t, v, "raven_read", args{"vault": "main", "path": "shared/plan.md"})
		_, code := got.said(t)
		require.Equal(t, fault.NotFound, code, "%v: %s", claim, got.body)
	}
}
