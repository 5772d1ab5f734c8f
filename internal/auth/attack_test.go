package auth_test

import (
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/fault"
)

// bytesOf returns an error as a caller gets it.
func bytesOf(t testing.TB, err error) string {
	var f *fault.Fault
	require.ErrorAs(t, err, &f)
	text, err := json.Marshal(f)
	require.NoError(t, err)
	return string(text)
}

// without returns the claims except some.
func without(claims map[string]any, names ...string) map[string]any {
	claims = maps.Clone(claims)
	for _, name := range names {
		delete(claims, name)
	}
	return claims
}

// but returns the claims with another value of one of them.
func but(claims map[string]any, name string, value any) map[string]any {
	claims = maps.Clone(claims)
	claims[name] = value
	return claims
}

func b64(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// hmacs returns tokens that are signed with public data of an RSA key as the secret.
func hmacs(t *testing.T, k authtest.Key, claims string) map[string]string {
	public := k.Signer.Public().(*rsa.PublicKey)
	pkix, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)
	pkcs1 := x509.MarshalPKCS1PublicKey(public)
	jwk, err := json.Marshal(k.Public())
	require.NoError(t, err)
	secrets := map[string][]byte{
		"pkix": pkix, "jwk": jwk, "modulus": public.N.Bytes(), "pkcs1": pkcs1,
		"pem":          pemOf("PUBLIC KEY", pkix),
		"pkcs1 pem":    pemOf("RSA PUBLIC KEY", pkcs1),
		"modulus text": []byte(k.Public()["n"].(string)), "empty": nil,
	}
	tokens := map[string]string{}
	for name, secret := range secrets {
		text := b64(fmt.Sprintf(`{"alg":"HS256","typ":"JWT","kid":%q}`, k.ID)) + "." + b64(claims)
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		tokens["HS256 with the public key: "+name] = text + "." + b64(string(mac.Sum(nil)))
	}
	return tokens
}

// attacks returns tokens that must not be accepted for the audience, by their defect. The issuer
// has keys for RS256 and ES256; the other issuer has keys with the same ids.
func attacks(t *testing.T, issuer, other *authtest.Issuer) map[string]string {
	good := issuer.Claims("alice", audience)
	text, err := json.Marshal(good)
	require.NoError(t, err)
	claims := string(text)
	rs, es := issuer.Key("RS256"), issuer.Key("ES256")
	head := fmt.Sprintf(`{"alg":"RS256","kid":%q,"typ":"JWT"}`, rs.ID)
	token := rs.Token(head, claims)
	parts := strings.Split(token, ".")
	now := time.Now().Unix()
	all := hmacs(t, rs, claims)
	add := func(name, token string) { all[name] = token }

	for _, alg := range []string{
		"none", "None", "NONE", "", "HS256", "RS384", "PS256", "ES384", "rs256",
	} {
		add("alg "+alg, issuer.Sign(good, authtest.Header("alg", alg)))
		add("no signature, alg "+alg, b64(fmt.Sprintf(`{"alg":%q}`, alg))+"."+parts[1]+".")
	}
	add("no alg", issuer.Sign(good, authtest.Header("alg", nil)))
	add("alg no text", issuer.Sign(good, authtest.Header("alg", []string{"RS256"})))
	add("kid of another of the issuer's keys",
		rs.Token(strings.Replace(head, rs.ID, es.ID, 1), claims))
	add("ES256 signed by RSA", rs.Token(strings.Replace(head, "RS256", "ES256", 1), claims))
	add("alg that is not pinned", issuer.Sign(good, authtest.With("EdDSA")))

	add("unknown kid", issuer.Sign(good, authtest.Header("kid", "key-99")))
	add("kid of a path", issuer.Sign(good, authtest.Header("kid", "../../dev/null")))
	add("empty kid", issuer.Sign(good, authtest.Header("kid", "")))
	add("kid no text", issuer.Sign(good, authtest.Header("kid", 1)))
	add("long kid", issuer.Sign(good, authtest.Header("kid", strings.Repeat("k", 300))))
	add("key of another issuer with the same kid", issuer.Sign(good, authtest.By(other.Key("RS256"))))
	add("token of another issuer", other.Sign(other.Claims("alice", audience)))
	own := authtest.NewKey(t, "RS256", "mine")
	for name, value := range map[string]any{
		"jwk": own.Public(), "jku": other.JWKS, "x5u": other.JWKS,
	} {
		add("embedded "+name, issuer.Sign(good, authtest.By(own), authtest.Header(name, value)))
		add("embedded "+name+" beside a good key", issuer.Sign(good, authtest.Header(name, value)))
	}
	add("embedded x5c", issuer.Sign(good, authtest.By(own), authtest.Header("x5c", []string{"MIIB"})))
	add("unknown crit", issuer.Sign(good, authtest.Header("crit", []string{"exp"}),
		authtest.Header("exp", now+60)))
	add("empty crit", issuer.Sign(good, authtest.Header("crit", []string{})))
	add("unencoded payload", issuer.Sign(good, authtest.Header("b64", false)))
	add("nested", issuer.Sign(good, authtest.Header("cty", "JWT")))

	for _, typ := range []any{"dpop+jwt", "JWE", "id+jwt", "", 1, "jwt "} {
		add(fmt.Sprintf("typ %v", typ), issuer.Sign(good, authtest.Header("typ", typ)))
	}
	for _, name := range []string{"iss", "sub", "aud", "exp"} {
		add("no "+name, issuer.Sign(without(good, name)))
		for _, value := range []any{nil, "", true, []any{}, map[string]any{}, -1, 1e300} {
			add(fmt.Sprintf("%s %v", name, value), issuer.Sign(but(good, name, value)))
		}
	}
	for _, name := range []string{"nbf", "iat"} {
		for _, value := range []any{now + 120, now + 1e9, nil, "now", -1, 1e300} {
			add(fmt.Sprintf("%s %v", name, value), issuer.Sign(but(good, name, value)))
		}
	}
	add("exp as text", issuer.Sign(but(good, "exp", fmt.Sprint(now+3600))))
	add("exp beyond numbers", rs.Token(head, strings.Replace(claims, `"exp":`, `"exp":1e999,"e":`, 1)))
	add("other issuer in iss", issuer.Sign(but(good, "iss", other.URL)))
	add("iss with a slash", issuer.Sign(but(good, "iss", issuer.URL+"/")))
	for _, aud := range []any{
		"https://memory.example.tes", audience + "/", audience + "/x", strings.ToUpper(audience),
		[]any{"https://a.example.test", 1, audience}, []any{[]any{audience}}, []any{audience, ""},
	} {
		add(fmt.Sprintf("aud %v", aud), issuer.Sign(but(good, "aud", aud)))
	}
	for name, sub := range map[string]any{
		"unicode": "älice", "homoglyph": "аlice", "line break": "alice\n", "nul": "alice\x00",
		"long": strings.Repeat("a", 256), "direction": "alice\u202e", "number": 7,
	} {
		add("sub "+name, issuer.Sign(but(good, "sub", sub)))
	}
	add("expired and for another audience", issuer.Sign(but(but(good, "exp", now-120), "aud", "x")))
	add("expired and not yet good", issuer.Sign(but(but(good, "exp", now-120), "nbf", now+120)))
	add("expired with an unknown kid", issuer.Sign(but(good, "exp", now-120),
		authtest.Header("kid", "key-99")))
	add("expired by another's key", issuer.Sign(but(good, "exp", now-120),
		authtest.By(other.Key("RS256"))))

	add("claims twice", rs.Token(head, strings.Replace(claims, `{`, `{"sub":"eve",`, 1)))
	add("claims twice, escaped", rs.Token(head, strings.Replace(claims, `{`, `{"s\u0075b":"eve",`, 1)))
	add("nested claims twice", rs.Token(head,
		strings.Replace(claims, `{`, `{"roles":{"a":"reader","a":"admin"},`, 1)))
	add("header twice", rs.Token(strings.Replace(head, `{`, `{"alg":"none",`, 1), claims))
	add("claims no object", rs.Token(head, `["`+audience+`"]`))
	add("claims null", rs.Token(head, `null`))
	add("header no object", rs.Token(`"RS256"`, claims))
	add("text after the claims", rs.Token(head, claims+`{}`))
	add("text after the header", rs.Token(head+` x`, claims))
	add("no UTF-8", rs.Token(head, strings.Replace(claims, `{`, "{\"name\":\"\xff\xfe\",", 1)))
	add("nested deeply", rs.Token(head, strings.Replace(claims, `{`,
		`{"deep":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+",", 1)))
	add("huge", issuer.Sign(but(good, "groups", strings.Repeat("g", 20<<10))))
	add("huge nothing", strings.Repeat(".", 1<<20))

	add("changed claims", parts[0]+"."+b64(strings.Replace(claims, "alice", "admin", 1))+"."+parts[2])
	add("cut signature", token[:len(token)-4])
	add("no signature", parts[0]+"."+parts[1]+".")
	add("two segments", parts[0]+"."+parts[1])
	add("four segments", token+"."+parts[2])
	add("five segments", token+".a.b")
	add("trailing dot", token+".")
	add("trailing garbage", token+"!")
	add("trailing space", token+" ")
	add("leading space", " "+token)
	add("padding", parts[0]+"=="+"."+parts[1]+"."+parts[2])
	add("padded signature", token+"==")
	add("line break", parts[0]+"."+parts[1]+".\n"+parts[2])
	add("line break in the claims", parts[0]+"."+parts[1][:8]+"\r\n"+parts[1][8:]+"."+parts[2])
	add("stray bits", token[:len(token)-1]+stray(token))
	add("classic base64", strings.NewReplacer("-", "+", "_", "/").Replace(es.Token(
		strings.Replace(strings.Replace(head, "RS256", "ES256", 1), rs.ID, es.ID, 1),
		strings.Replace(claims, `{`, `{"n":"???>>> ???>>> ???>>>",`, 1))))
	add("empty", "")
	add("no token", "Bearer")
	add("an API token", auth.NewSecret("acme").Token())
	return all
}

// stray replaces the last character of a token by another one that decodes to the same bytes: 256
// bytes leave unused bits in the last character.
func stray(token string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(letters[strings.IndexByte(letters, token[len(token)-1])+1])
}

// TestAttacks checks that every invalid token is refused with the same bytes, that the logged
// reason contains no part of the token, and that such a token is refused again at a second try.
func TestAttacks(t *testing.T) {
	issuer := authtest.NewIssuer(t, "RS256", "ES256", "EdDSA")
	other := authtest.NewIssuer(t, "RS256", "ES256")
	from := auth.Issuer{URL: issuer.URL, Algorithms: []string{"RS256", "ES256"}}
	good := issuer.Sign(issuer.Claims("alice", audience))
	want := bytesOf(t, auth.Refused())
	for name, token := range attacks(t, issuer, other) {
		v := auth.NewVerifier(auth.Options{}) // with its own budget for unknown keys
		for range 2 {
			c, err := v.Verify(t.Context(), token, from, []string{audience})
			require.Error(t, err, name)
			require.Equal(t, want, bytesOf(t, err), name)
			require.Empty(t, c, name)
			requireNothingOf(t, token, err)
		}
		_, err := v.Verify(t.Context(), good, from, []string{audience})
		require.NoError(t, err, "a good token, after %s", name)
	}
}

// requireNothingOf requires that neither an error nor its causes contain a part of a token.
func requireNothingOf(t *testing.T, token string, err error) {
	for ; err != nil; err = errors.Unwrap(err) {
		for _, part := range strings.Split(token, ".") {
			if len(part) > 8 {
				require.NotContains(t, err.Error(), part)
			}
		}
		require.NotContains(t, err.Error(), "alice")
	}
}

// TestNothingExpected checks that no token is accepted if no issuer or audience is expected.
func TestNothingExpected(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	v := auth.NewVerifier(auth.Options{})
	token := issuer.Sign(issuer.Claims("alice", audience))
	from := auth.Issuer{URL: issuer.URL}
	for _, audiences := range [][]string{nil, {}, {""}, {audience, ""}} {
		_, err := v.Verify(t.Context(), token, from, audiences)
		require.Equal(t, bytesOf(t, auth.Refused()), bytesOf(t, err))
	}
	_, err := v.Verify(t.Context(), token, auth.Issuer{JWKS: issuer.JWKS}, []string{audience})
	require.Equal(t, bytesOf(t, auth.Refused()), bytesOf(t, err))
	from.Algorithms = []string{"HS256", "none"}
	_, err = v.Verify(t.Context(), token, from, []string{audience})
	require.Equal(t, bytesOf(t, auth.Refused()), bytesOf(t, err))
}
