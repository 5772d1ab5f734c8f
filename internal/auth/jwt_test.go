package auth_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/fault"
)

const audience = "https://memory.example.test"

// A clock stands still until the test moves it.
type clock struct {
	began time.Time
	ahead atomic.Int64
}

func newClock() *clock { return &clock{began: time.Now()} }

func (c *clock) now() time.Time { return c.began.Add(time.Duration(c.ahead.Load())) }

func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// TestVerify checks that a valid token of each algorithm is accepted, with configured keys and with
// keys from the issuer's metadata.
func TestVerify(t *testing.T) {
	issuer := authtest.NewIssuer(t, auth.Algorithms()...)
	for _, jwks := range []string{"", issuer.JWKS} {
		v := auth.NewVerifier(auth.Options{})
		for _, alg := range auth.Algorithms() {
			claims := issuer.Claims("alice", audience)
			token := issuer.Sign(claims, authtest.With(alg))
			c, err := v.Verify(t.Context(), token, auth.Issuer{URL: issuer.URL, JWKS: jwks},
				[]string{"https://other.example.test", audience})
			require.NoError(t, err, alg)
			require.Equal(t, "alice", c.Subject)
			require.Equal(t, issuer.URL, c.Issuer)
			require.Equal(t, []string{audience}, c.Audience)
			require.Equal(t, claims["exp"], c.Expires.Unix())
			require.Equal(t, "alice", c.Text("sub"))
			require.Empty(t, c.Text("exp"))
		}
	}
}

// TestForms checks other valid forms of tokens, and the claims that are read from them.
func TestForms(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	v := auth.NewVerifier(auth.Options{})
	good := issuer.Claims("alice", audience)
	now := time.Now().Unix()
	for name, c := range map[string]struct {
		claims  map[string]any
		options []authtest.Option
	}{
		"of RFC 9068":        {good, []authtest.Option{authtest.Header("typ", "at+jwt")}},
		"typ in full":        {good, []authtest.Option{authtest.Header("typ", "application/AT+JWT")}},
		"typ in lower case":  {good, []authtest.Option{authtest.Header("typ", "jwt")}},
		"no typ":             {good, []authtest.Option{authtest.Header("typ", nil)}},
		"no kid":             {good, []authtest.Option{authtest.Header("kid", nil)}},
		"a thumbprint":       {good, []authtest.Option{authtest.Header("x5t", "abc")}},
		"several audiences":  {but(good, "aud", []any{"x", audience}), nil},
		"no iat":             {without(good, "iat"), nil},
		"nbf within leeway":  {but(good, "nbf", now+50), nil},
		"iat within leeway":  {but(good, "iat", now+50), nil},
		"exp within leeway":  {but(good, "exp", now-50), nil},
		"exp with fractions": {but(good, "exp", float64(now)+60.5), nil},
		"longest subject":    {but(good, "sub", strings.Repeat("~", 255)), nil},
	} {
		token := issuer.Sign(c.claims, c.options...)
		_, err := v.Verify(t.Context(), token, auth.Issuer{URL: issuer.URL}, []string{audience})
		require.NoError(t, err, name)
	}
}

// TestScope checks that only our own scopes limit a role, and that the highest one applies.
func TestScope(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	v := auth.NewVerifier(auth.Options{})
	for _, c := range []struct {
		name  string
		value any
		want  auth.Role
	}{
		{"scope", "openid editor reader", auth.Editor},
		{"scope", "openid profile", auth.Nobody},
		{"scope", "admins Reader", auth.Nobody},
		{"scope", "reader  admin", auth.Admin},
		{"scp", "reader", auth.Reader},
		{"scp", []any{"reader", 7, "editor"}, auth.Editor},
		{"scp", 7, auth.Nobody},
		{"roles", "admin", auth.Nobody},
	} {
		token := issuer.Sign(but(issuer.Claims("alice", audience), c.name, c.value))
		got, err := v.Verify(t.Context(), token, auth.Issuer{URL: issuer.URL}, []string{audience})
		require.NoError(t, err)
		require.Equal(t, c.want, got.Scope, c.value)
	}
}

// TestExpired checks that TOKEN_EXPIRED is returned if only the expiry is wrong, with leeway.
func TestExpired(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	clock := newClock()
	v := auth.NewVerifier(auth.Options{Now: clock.now})
	from := auth.Issuer{URL: issuer.URL}
	soon := issuer.Sign(but(issuer.Claims("alice", audience), "exp", clock.now().Unix()-30))
	_, err := v.Verify(t.Context(), soon, from, []string{audience})
	require.NoError(t, err)
	clock.pass(31 * time.Second)
	_, err = v.Verify(t.Context(), soon, from, []string{audience})
	require.Equal(t, fault.TokenExpired, fault.Of(err).Code)
	requireNothingOf(t, soon, err)

	long := issuer.Sign(but(issuer.Claims("alice", audience), "exp", clock.now().Unix()-3600))
	_, err = v.Verify(t.Context(), long, from, []string{audience})
	require.Equal(t, fault.TokenExpired, fault.Of(err).Code)
}

// TestVerifiedBefore checks that a token that was verified is checked again in every respect.
func TestVerifiedBefore(t *testing.T) {
	issuer, other := authtest.NewIssuer(t), authtest.NewIssuer(t)
	v := auth.NewVerifier(auth.Options{})
	from := auth.Issuer{URL: issuer.URL, JWKS: issuer.JWKS}
	token := issuer.Sign(issuer.Claims("alice", audience))
	_, err := v.Verify(t.Context(), token, from, []string{audience})
	require.NoError(t, err)

	pinned, elsewhere, named := from, from, from
	pinned.Algorithms = []string{"RS256"}
	elsewhere.JWKS = other.JWKS
	named.URL = other.URL
	for name, i := range map[string]auth.Issuer{
		"another algorithm is pinned": pinned, "other keys": elsewhere, "another issuer": named,
	} {
		_, err = v.Verify(t.Context(), token, i, []string{audience})
		require.Equal(t, bytesOf(t, auth.Refused()), bytesOf(t, err), name)
	}
	_, err = v.Verify(t.Context(), token, from, []string{audience + "/mcp"})
	require.Equal(t, bytesOf(t, auth.Refused()), bytesOf(t, err))
	_, err = v.Verify(t.Context(), token, from, []string{audience})
	require.NoError(t, err)
}

// TestPeek checks which claims are read from a token before verification.
func TestPeek(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	p, err := auth.Peek(issuer.Sign(issuer.Claims("alice", audience)))
	require.NoError(t, err)
	require.Equal(t, auth.Peeked{Issuer: issuer.URL, Audience: []string{audience}}, p)
	p, err = auth.Peek(issuer.Sign(but(issuer.Claims("alice", ""), "aud", []any{"x", "y"})))
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y"}, p.Audience)
	_, err = auth.Peek("eyJhbGciOiIifQ." + b64(`{"iss":"i","aud":"a"}`) + ".A")
	require.NoError(t, err)
	for _, token := range []string{
		"", "a.b.c", issuer.Sign(without(issuer.Claims("alice", audience), "iss")),
		issuer.Sign(without(issuer.Claims("alice", audience), "aud")),
		issuer.Sign(issuer.Claims("alice", audience), authtest.Header("crit", []string{"x"})),
		"eyJhbGciOiIifR." + b64(`{"iss":"i","aud":"a"}`) + ".A", // Q, and a stray bit
	} {
		_, err := auth.Peek(token)
		require.Equal(t, bytesOf(t, auth.Refused()), bytesOf(t, err))
	}
}

// BenchmarkVerify measures one call.
func BenchmarkVerify(b *testing.B) {
	issuer := authtest.NewIssuer(b, auth.Algorithms()...)
	from := auth.Issuer{URL: issuer.URL}
	for _, alg := range auth.Algorithms() {
		claims := but(issuer.Claims("alice", audience), "roles", map[string]any{"notes": "editor"})
		token := issuer.Sign(claims, authtest.With(alg))
		v := auth.NewVerifier(auth.Options{Now: newClock().now})
		b.Run(alg, func(b *testing.B) {
			for b.Loop() {
				_, err := v.Verify(b.Context(), token, from, []string{audience})
				require.NoError(b, err)
			}
		})
	}
}
