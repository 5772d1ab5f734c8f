package auth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
)

// seeds returns valid and invalid tokens of an issuer.
func seeds(issuer *authtest.Issuer) []string {
	claims := issuer.Claims("alice", audience)
	token := issuer.Sign(claims)
	parts := strings.Split(token, ".")
	return []string{
		token, "", "..", "a.b.c", token + ".", parts[0] + "." + parts[1] + ".", token[:len(token)-1],
		b64(`{"alg":"none"}`) + "." + parts[1] + ".", token + "\n", token + "=",
		issuer.Sign(claims, authtest.Header("kid", nil)),
		issuer.Key("ES256").Token(`{"alg":"ES256","alg":"none"}`, `{"aud":[[[{"a":1}]]]}`),
		issuer.Sign(without(claims, "exp")), issuer.Sign(but(claims, "exp", 1)),
	}
}

// FuzzPeek checks that Peek refuses a token or returns its issuer.
func FuzzPeek(f *testing.F) {
	for _, token := range seeds(authtest.NewIssuer(f)) {
		f.Add(token)
	}
	want := bytesOf(f, auth.Refused())
	f.Fuzz(func(t *testing.T, token string) {
		p, err := auth.Peek(token)
		if err != nil {
			require.Equal(t, want, bytesOf(t, err))
			require.Empty(t, p)
			return
		}
		require.NotEmpty(t, p.Issuer)
	})
}

// FuzzVerify checks that only tokens signed by the issuer are accepted, however similar others are,
// and that all others are refused with the same error.
func FuzzVerify(f *testing.F) {
	f.Add(uint(1<<16), uint(0), ".")
	f.Add(uint(0), uint(1<<16), b64(`{"alg":"none"}`)+"."+b64(`{"sub":"alice"}`)+".")
	f.Add(uint(0), uint(0), "\n")
	f.Add(uint(20), uint(1), "A")
	f.Add(uint(1<<16), uint(0), "=")
	issuer := authtest.NewIssuer(f)
	good := issuer.Sign(issuer.Claims("alice", audience))
	v := auth.NewVerifier(auth.Options{})
	from := auth.Issuer{URL: issuer.URL, JWKS: issuer.JWKS}
	_, err := v.Verify(f.Context(), good, from, []string{audience})
	require.NoError(f, err)
	want := bytesOf(f, auth.Refused())
	f.Fuzz(func(t *testing.T, at, cut uint, put string) {
		at = min(at, uint(len(good)))
		cut = min(cut, uint(len(good))-at)
		token := good[:at] + put + good[at+cut:]
		_, err := v.Verify(t.Context(), token, from, []string{audience})
		if token == good {
			require.NoError(t, err)
			return
		}
		require.Error(t, err, token)
		require.Equal(t, want, bytesOf(t, err))
	})
}
