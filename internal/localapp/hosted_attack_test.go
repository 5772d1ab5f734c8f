package localapp_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/mcptool"
)

// An attacked is an issuer that the server trusts, a key with the same id that it does not trust,
// and the claims of a valid token.
type attacked struct {
	issuer *authtest.Issuer
	mine   authtest.Key
	good   args
}

func base64url(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// with returns the valid claims with another value of one of them; nil removes it.
func (a attacked) with(name string, value any) args {
	claims := maps.Clone(a.good)
	if claims[name] = value; value == nil {
		delete(claims, name)
	}
	return claims
}

// tokens returns the attacks, by name.
func (a attacked) tokens(t testing.TB) map[string]string {
	t.Helper()
	sign, now := a.issuer.Sign, time.Now().Unix()
	rs := a.issuer.Key("RS256")
	claims := string(marshalled(t, a.good))
	header := fmt.Sprintf(`{"alg":"RS256","kid":%q}`, rs.ID)
	all := map[string]string{
		"alg none":       base64url(`{"alg":"none"}`) + "." + base64url(claims) + ".",
		"alg none, kept": sign(a.good, authtest.With("RS256"), authtest.Header("alg", "none")),
		"no signature":   strings.Join(strings.Split(rs.Token(header, claims), ".")[:2], ".") + ".",
		"alg RS384":      sign(a.good, authtest.With("RS256"), authtest.Header("alg", "RS384")),
		"wrong kid":      sign(a.good, authtest.Header("kid", "key-99")),
		"kid of a path":  sign(a.good, authtest.Header("kid", "../../../dev/null")),
		"key of another": sign(a.good, authtest.By(a.mine)),
		"unknown crit":   sign(a.good, authtest.Header("crit", []string{"exp"})),
		"no exp":         sign(a.with("exp", nil)),
		"far nbf":        sign(a.with("nbf", now+1e9)),
		"iat to come":    sign(a.with("iat", now+600)),
		"no sub":         sign(a.with("sub", nil)),
		"unicode sub":    sign(a.with("sub", "rööt")),
		"look-alike sub": sign(a.with("sub", "r\u043e\u043et")),
		"sub with a nul": sign(a.with("sub", "root\x00")),
		"long sub":       sign(a.with("sub", strings.Repeat("r", 256))),
		"other aud":      sign(a.with("aud", "https://other.example.test")),
		"longer aud":     sign(a.with("aud", fmt.Sprint(a.good["aud"], "x"))),
		"other iss":      sign(a.with("iss", "https://evil.example.test")),
		"huge":           sign(a.with("groups", strings.Repeat("g", 20<<10))),
		"sub twice":      rs.Token(header, strings.Replace(claims, "{", `{"sub":"root",`, 1)),
		"alg twice":      rs.Token(strings.Replace(header, "{", `{"alg":"none",`, 1), claims),
		"exp twice":      rs.Token(header, strings.Replace(claims, "{", `{"exp":1,`, 1)),
		"cut":            rs.Token(header, claims)[:100],
		"JSON":           `{"payload":"` + base64url(claims) + `"}`,
		"rubbish":        "rubbish",
		"dots":           "..",
	}
	for _, name := range []string{"jwk", "jku", "x5u"} {
		value := map[string]any{
			"jwk": a.mine.Public(), "jku": a.issuer.JWKS, "x5u": a.issuer.JWKS,
		}[name]
		all["embedded "+name] = sign(a.good, authtest.By(a.mine), authtest.Header(name, value))
		all[name+" beside a good key"] = sign(a.good, authtest.Header(name, value))
	}
	maps.Copy(all, a.confused(t, claims))
	return all
}

// confused returns tokens that are signed with the public key of the issuer as a secret.
func (a attacked) confused(t testing.TB, claims string) map[string]string {
	t.Helper()
	key := a.issuer.Key("RS256")
	der, err := x509.MarshalPKIXPublicKey(key.Signer.Public())
	require.NoError(t, err)
	all := map[string]string{}
	for name, secret := range map[string][]byte{
		"DER": der, "PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"JWK": marshalled(t, key.Public()), "nothing": nil,
	} {
		text := base64url(fmt.Sprintf(`{"alg":"HS256","kid":%q}`, key.ID)) + "." + base64url(claims)
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		all["HS256 with the public key as "+name] = text + "." + base64url(string(mac.Sum(nil)))
	}
	return all
}

// apiTokens returns texts that are similar to a valid API token of the server, and are not valid.
func apiTokens(good string) map[string]string {
	id, secret, _ := strings.Cut(good, ".")
	elsewhere := auth.NewSecret("lynxworks").Token()
	nowhere := auth.NewSecret("initech").Token()
	_, random, _ := strings.Cut(id, "_")
	last := secret[len(secret)-1:]
	return map[string]string{
		"truncated": good[:len(good)-1], "truncated by half": good[:len(good)/2],
		"without a secret": id + ".", "longer": good + "a", "upper case": strings.ToUpper(good),
		"upper secret": id + "." + strings.ToUpper(secret), "blank inside": id + ". " + secret,
		"last letter":       id + "." + secret[:len(secret)-1] + other(last),
		"first letter":      id + "." + other(secret[:1]) + secret[1:],
		"all other":         id + "." + strings.Repeat(other(last), len(secret)),
		"secret of nobody":  id + "." + strings.SplitN(elsewhere, ".", 2)[1],
		"id of nobody":      strings.SplitN(auth.NewSecret("heronlabs").Token(), ".", 2)[0] + "." + secret,
		"in another tenant": "rk_lynxworks_" + strings.SplitN(random, ".", 2)[0] + "." + secret,
		"of another tenant": elsewhere, "of no tenant": nowhere,
		"the digest": id + "." + fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))[:len(secret)],
	}
}

// attacked returns the issuers that the server trusts: that of its file, and one of a tenant.
func (h *hosted) attacked(t testing.TB) map[string]attacked {
	t.Helper()
	h.workloads(t)
	file := h.issuer.Claims("root", hostedURL)
	file["tenant"] = "heronlabs"
	own := h.public.Claims("repo:heronlabs/site", hostedURL+"/t/heronlabs")
	own["repository"] = "heronlabs/site"
	return map[string]attacked{
		"file": {h.issuer, authtest.NewKey(t, "RS256", h.issuer.Key("RS256").ID), file},
		"own":  {h.public, authtest.NewKey(t, "RS256", h.public.Key("RS256").ID), own},
	}
}

// attacks returns all tokens that must be refused, by name.
func (h *hosted) attacks(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for of, a := range h.attacked(t) {
		v := h.bearing(of, a.issuer.Sign(a.good))
		h.done(t, v, "team_whoami", args{})
		for name, token := range a.tokens(t) {
			all[name+" ("+of+")"] = token
		}
	}
	all["token of the file's issuer, key of the tenant's"] = h.public.Sign(h.attackedBy(h.issuer.URL))
	maps.Copy(all, apiTokens(h.newToken(t, args{"name": "good", "role": "admin"})))
	return all
}

// attackedBy returns the claims of a valid token, in the name of an issuer.
func (h *hosted) attackedBy(issuer string) args {
	claims := h.public.Claims("root", hostedURL)
	claims["iss"], claims["tenant"] = issuer, "heronlabs"
	return claims
}

// asks returns the requests for which a token is tried: over both protocols, reads and writes,
// about vaults that exist and that do not.
func asks(t testing.TB) map[string]func() *http.Request {
	t.Helper()
	return map[string]func() *http.Request{
		"whoami": func() *http.Request { return posted("/v1/tools/team_whoami", []byte("{}")) },
		"a write": func() *http.Request {
			return posted("/v1/tools/team_vault_create", []byte(`{"name":"taken"}`))
		},
		"an absent tool": func() *http.Request { return posted("/v1/tools/nothing", []byte("{}")) },
		"a route": func() *http.Request {
			return httptest.NewRequest("GET", hostedURL+"/v1/vaults", nil)
		},
		"mcp": func() *http.Request {
			r := message(t, "tools/call", args{"name": "team_whoami", "arguments": args{}})
			r.Header.Set("Mcp-Name", "team_whoami")
			return r
		},
		"mcp list": func() *http.Request { return message(t, "tools/list", args{}) },
		"mcp 2025": func() *http.Request {
			return posted(mcptool.Path,
				[]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
		},
	}
}

// TestHostedAttacks checks that every invalid token is refused in the same way: over each way in
// with the same 401, to the byte and to the header, whatever its defect.
func TestHostedAttacks(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	attacks := h.attacks(t)
	before := filesIn(t, h.dir)
	for way, ask := range asks(t) {
		want := h.send(h.bearing("", "no-token-at-all"), ask())
		require.Equal(t, http.StatusUnauthorized, want.status, want.body)
		require.Contains(t, want.header.Get("WWW-Authenticate"), `error="invalid_token"`)
		for name, token := range attacks {
			got := h.send(h.bearing(name, token), ask())
			require.Equal(t, http.StatusUnauthorized, got.status, "%s, %s: %s", name, way, got.body)
			require.Equal(t, want.comparable(), got.comparable(), "%s, %s", name, way)
		}
	}
	require.Equal(t, before, filesIn(t, h.dir))
	for name, token := range attacks {
		if len(token) > 20 {
			require.NotContains(t, h.logs.String(), token, name)
		}
	}
	t.Logf("%d tokens", len(attacks))
}

// TestHostedAttacksCost checks the cost of an invalid token: one of an issuer in the server's file
// costs no call of the stores; one for a tenant, or an API token, at most one read of that tenant,
// wherever its secret is wrong, and many in one second no more than a few; and none causes a write.
func TestHostedAttacksCost(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	jwts := map[string]string{}
	for of, a := range c.attacked(t) {
		for name, token := range a.tokens(t) {
			jwts[name+" ("+of+")"] = token
		}
	}
	for name, token := range jwts {
		c.reset()
		got := c.invoke(t, c.bearing(name, token), "team_whoami", args{})
		require.Equal(t, http.StatusUnauthorized, got.status, name)
		if strings.HasSuffix(name, "(file)") {
			require.Equal(t, none, c.calls(), name)
		}
		n := c.table.Counts()
		require.LessOrEqual(t, n.Gets+n.Queries, 1, name)
		require.Zero(t, n.Commits, name)
	}
	good := c.newToken(t, args{"name": "good", "role": "admin"})
	costs := map[string]string{}
	for name, token := range apiTokens(good) {
		c.clock.minutes(2)
		c.invoke(t, c.bearing("good", good), "team_whoami", args{})
		c.invoke(t, c.root("lynxworks"), "team_whoami", args{})
		c.reset()
		got := c.invoke(t, c.bearing(name, token), "team_whoami", args{})
		require.Equal(t, http.StatusUnauthorized, got.status, name)
		n := c.table.Counts()
		require.LessOrEqual(t, n.Gets+n.Queries, 1, name)
		require.Zero(t, n.Commits, name)
		costs[name] = c.calls()
	}
	for _, name := range []string{"first letter", "all other", "secret of nobody", "id of nobody"} {
		require.Equal(t, costs["last letter"], costs[name], name)
	}
	c.reset()
	for range 100 {
		c.invoke(t, c.bearing("", apiTokens(good)["last letter"]), "team_whoami", args{})
	}
	require.LessOrEqual(t, c.table.Counts().Queries, 20)
}
