package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A desk is a verifier with a clock, and an issuer that it trusts.
type desk struct {
	*authtest.Issuer
	*clock
	t *testing.T
	v *auth.Verifier
}

func newDesk(t *testing.T) desk {
	d := desk{Issuer: authtest.NewIssuer(t), clock: newClock(), t: t}
	d.v = auth.NewVerifier(auth.Options{Now: d.now})
	return d
}

// token returns a new token that is valid for days.
func (d desk) token(options ...authtest.Option) string {
	claims := but(d.Claims("alice", audience), "exp", d.now().Unix()+1e6)
	claims["jti"] = rand.Text()
	return d.Sign(claims, options...)
}

func (d desk) verify(token string) error {
	from := auth.Issuer{URL: d.URL, JWKS: d.JWKS}
	_, err := d.v.Verify(d.t.Context(), token, from, []string{audience})
	return err
}

func (d desk) requireCode(code fault.Code, err error) {
	d.t.Helper()
	require.Error(d.t, err)
	require.Equal(d.t, code, fault.Of(err).Code)
}

// TestRotation checks that new keys are found at once, that old ones overlap, and that a key that
// is no longer served is valid for an hour after it was last served, however often keys are fetched
// meanwhile.
func TestRotation(t *testing.T) {
	d := newDesk(t)
	first := d.Key("ES256")
	require.NoError(t, d.verify(d.token()))
	require.Equal(t, 1, d.Fetches())
	d.pass(10 * time.Minute)
	d.Rotate()
	require.NoError(t, d.verify(d.token()))
	require.Equal(t, 2, d.Fetches())
	require.NoError(t, d.verify(d.token(authtest.By(first))), "still served")

	d.pass(10 * time.Minute)
	d.Rotate()
	d.Forget()
	require.NoError(t, d.verify(d.token()))
	require.Equal(t, 3, d.Fetches())
	require.NoError(t, d.verify(d.token(authtest.By(first))), "no longer served, and recent")
	d.pass(49 * time.Minute)
	require.NoError(t, d.verify(d.token(authtest.By(first))), "59 minutes after it was seen")
	require.Equal(t, 3, d.Fetches())
	d.pass(2 * time.Minute)
	d.requireCode(fault.Unauthenticated, d.verify(d.token(authtest.By(first))))
	require.NoError(t, d.verify(d.token()))
}

// TestReplacedKey checks that a key is replaced at once by another with the same id, and one
// without an id by the next set.
func TestReplacedKey(t *testing.T) {
	for _, id := range []string{"key", ""} {
		d := newDesk(t)
		old, fresh := authtest.NewKey(t, "ES256", id), authtest.NewKey(t, "ES256", id)
		var kid any
		if id != "" {
			kid = id
		}
		d.Serve(old)
		require.NoError(t, d.verify(d.token(authtest.By(old), authtest.Header("kid", kid))))
		d.Serve(fresh)
		d.requireCode(fault.Unauthenticated, d.verify(d.token(authtest.Header("kid", "other"))))
		require.NoError(t, d.verify(d.token(authtest.Header("kid", kid))))
		d.requireCode(fault.Unauthenticated,
			d.verify(d.token(authtest.By(old), authtest.Header("kid", kid))))
	}
}

// TestWithoutKid checks that a token needs no kid if the issuer serves one key for its algorithm,
// and needs one if it serves two.
func TestWithoutKid(t *testing.T) {
	d := newDesk(t)
	none := authtest.Header("kid", nil)
	require.NoError(t, d.verify(d.token(none)))
	d.Serve(d.Key("ES256"), authtest.NewKey(t, "EdDSA", "ed"))
	d.pass(2 * time.Hour)
	require.NoError(t, d.verify(d.token(none)))
	d.Rotate()
	d.pass(2 * time.Hour)
	d.requireCode(fault.Unauthenticated, d.verify(d.token(none)))
	require.NoError(t, d.verify(d.token()))

	old := d.Key("ES256")
	d.Rotate()
	d.Forget()
	require.NoError(t, d.verify(d.token()))
	require.NoError(t, d.verify(d.token(authtest.By(old))), "which is not served any more")
	require.NoError(t, d.verify(d.token(none)), "the only one that is served")
	d.requireCode(fault.Unauthenticated, d.verify(d.token(none, authtest.By(old))))

	nameless := authtest.NewKey(t, "ES256", "")
	d.Serve(nameless)
	d.pass(2 * time.Hour)
	require.NoError(t, d.verify(d.token(none)))
	d.Rotate()
	d.Forget()
	require.NoError(t, d.verify(d.token()))
	d.requireCode(fault.Unauthenticated, d.verify(d.token(none, authtest.By(nameless))))
	require.NoError(t, d.verify(d.token(none)))
}

// TestForgedKid checks that a token with a forged kid does not block tokens with a new key that the
// issuer serves a moment later. A flood of forged tokens, each with its own kid or all with the
// next one, delays them by at most ten seconds, during which they get UNAVAILABLE.
func TestForgedKid(t *testing.T) {
	d := newDesk(t)
	require.NoError(t, d.verify(d.token()))
	d.requireCode(fault.Unauthenticated, d.verify(d.token(authtest.Header("kid", "forged"))))
	d.Rotate()
	require.NoError(t, d.verify(d.token()), "the budget is not used up by one")

	for n := range 50 {
		require.Error(t, d.verify(d.token(authtest.Header("kid", fmt.Sprint(n)))))
	}
	d.Rotate()
	err := d.verify(d.token())
	d.requireCode(fault.Unavailable, err)
	require.LessOrEqual(t, fault.Of(err).RetryAfter, 10*time.Second)
	d.pass(10 * time.Second)
	require.Error(t, d.verify(d.token(authtest.Header("kid", "first again"))))
	require.NoError(t, d.verify(d.token()), "a fetch is for all, whoever began it")

	next := authtest.NewKey(t, "ES256", "2027-01")
	for range 30 {
		require.Error(t, d.verify(d.token(authtest.By(next))))
		d.pass(time.Second)
	}
	d.Serve(next)
	d.pass(10 * time.Second)
	require.NoError(t, d.verify(d.token(authtest.By(next))))
}

// TestForgedAgain checks that the same forged kid causes no fetch for ten seconds, and is refused.
func TestForgedAgain(t *testing.T) {
	d := newDesk(t)
	require.NoError(t, d.verify(d.token()))
	for range 9 {
		d.requireCode(fault.Unauthenticated, d.verify(d.token(authtest.Header("kid", "forged"))))
		d.pass(time.Second)
	}
	require.Equal(t, 2, d.Fetches())
}

// TestUnknownKeys checks that any number of tokens with unknown keys, concurrent or not, causes
// three fetches and then one every ten seconds, and that other tokens are verified meanwhile.
func TestUnknownKeys(t *testing.T) {
	d := newDesk(t)
	require.NoError(t, d.verify(d.token()))
	flood := func() {
		var all sync.WaitGroup
		for n := range 60 {
			unknown := d.token(authtest.Header("kid", fmt.Sprintf("x%d", n)))
			good := d.token()
			all.Go(func() {
				if err := d.verify(unknown); !fault.Is(err, fault.Unauthenticated) && !fault.Is(err, fault.Unavailable) {
					t.Errorf("an unknown key: %v", err)
				}
				if err := d.verify(good); err != nil {
					t.Errorf("a good token: %v", err)
				}
			})
		}
		all.Wait()
	}
	for second := range 60 {
		flood()
		require.LessOrEqual(t, d.Fetches(), 1+3+second/10)
		d.pass(time.Second)
	}
	require.GreaterOrEqual(t, d.Fetches(), 1+3+5)
}

// TestOneFetch checks that calls that need the same keys share one fetch.
func TestOneFetch(t *testing.T) {
	d := newDesk(t)
	release := d.Hold()
	var all sync.WaitGroup
	for range 30 {
		token := d.token()
		all.Go(func() {
			if err := d.verify(token); err != nil {
				t.Errorf("a good token: %v", err)
			}
		})
	}
	release()
	all.Wait()
	require.Equal(t, 1, d.Fetches())
}

// TestFailingIssuer checks that no new keys of an issuer that does not respond are accepted, that
// known keys stay valid for a day, and that the issuer is not asked at every call.
func TestFailingIssuer(t *testing.T) {
	d := newDesk(t)
	d.Fail(true)
	d.requireCode(fault.Unavailable, d.verify(d.token()))
	require.Positive(t, fault.Of(d.verify(d.token())).RetryAfter)
	require.Equal(t, 1, d.Fetches())
	d.Fail(false)
	d.requireCode(fault.Unavailable, d.verify(d.token()))
	d.pass(11 * time.Second)
	require.NoError(t, d.verify(d.token()))
	require.Equal(t, 2, d.Fetches())

	d.Fail(true)
	stranger := authtest.NewKey(t, "ES256", d.Key("ES256").ID)
	for range 23 {
		d.pass(time.Hour)
		require.NoError(t, d.verify(d.token()))
		d.requireCode(fault.Unauthenticated, d.verify(d.token(authtest.By(stranger))))
	}
	require.LessOrEqual(t, d.Fetches(), 2+23, "once an hour, while nobody waits for it")
	unknown := d.token(authtest.Header("kid", "unknown"))
	d.requireCode(fault.Unavailable, d.verify(unknown))
	d.pass(2 * time.Hour)
	d.requireCode(fault.Unavailable, d.verify(d.token()))
	d.Fail(false)
	d.pass(time.Minute)
	require.NoError(t, d.verify(d.token()))
	d.requireCode(fault.Unauthenticated, d.verify(unknown))
}

// TestUnknowable checks that a token with an unknown key is not refused while the issuer does not
// respond, and that this causes no further fetches.
func TestUnknowable(t *testing.T) {
	d := newDesk(t)
	d.requireCode(fault.Unauthenticated, d.verify(d.token(authtest.Header("kid", "unknown"))))
	require.Equal(t, 1, d.Fetches(), "the keys are new")
	require.NoError(t, d.verify(d.token()))
	d.Fail(true)
	for range 3 {
		err := d.verify(d.token(authtest.Header("kid", "another")))
		d.requireCode(fault.Unavailable, err)
		require.Positive(t, fault.Of(err).RetryAfter)
		require.NoError(t, d.verify(d.token()))
	}
	require.Equal(t, 2, d.Fetches())
}

// TestSlowIssuer checks that a call waits for a slow issuer only as long as necessary: until its
// own deadline without keys, and only for a moment, once, with old keys.
func TestSlowIssuer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	release := d.Hold()
	short, stop := context.WithCancel(t.Context())
	stop()
	from := auth.Issuer{URL: d.URL, JWKS: d.JWKS}
	_, err := d.v.Verify(short, d.token(), from, []string{audience})
	d.requireCode(fault.Unavailable, err)
	release()
	require.NoError(t, d.verify(d.token()), "the fetch of a call that went away serves the next")
	require.Equal(t, 1, d.Fetches())

	d.Hold()
	d.pass(2 * time.Hour)
	require.NoError(t, d.verify(d.token()), "with old keys")
}

// TestCrowd checks that only a limited number of calls wait for issuers that do not respond, for
// one issuer and in total, and that the others are refused at once with UNAVAILABLE.
func TestCrowd(t *testing.T) {
	for issuers, waiting := range map[int]int{1: 64, 3: 96} {
		v := auth.NewVerifier(auth.Options{})
		ends := make(chan error, 80*issuers)
		var releases []func()
		for range issuers {
			i := authtest.NewIssuer(t)
			releases = append(releases, i.Hold())
			from, token := auth.Issuer{URL: i.URL, JWKS: i.JWKS}, i.Sign(i.Claims("alice", audience))
			for range 80 {
				go func() {
					_, err := v.Verify(context.Background(), token, from, []string{audience})
					ends <- err
				}()
			}
		}
		for range 80*issuers - waiting {
			require.Equal(t, fault.Unavailable, fault.Of(<-ends).Code)
		}
		for _, release := range releases {
			release()
		}
		for range waiting {
			require.NoError(t, <-ends)
		}
	}
}

// TestOddSets checks that a key that is not for signatures, or is malformed, is not used, and that
// the valid keys of its set are.
func TestOddSets(t *testing.T) {
	t.Setenv("GODEBUG", "rsa1024min=0")
	extra := func(k authtest.Key, name string, value any) authtest.Key {
		k.Extra = map[string]any{name: value}
		return k
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	rs, es := authtest.NewKey(t, "RS256", "odd"), authtest.NewKey(t, "ES256", "odd")
	short := rs
	short.Signer = weak
	wide := es
	wide.Signer = p384
	for name, odd := range map[string]authtest.Key{
		"for encryption":        extra(es, "use", "enc"),
		"for another algorithm": extra(rs, "alg", "RS512"),
		"for signing only":      extra(es, "key_ops", []string{"sign"}),
		"operations no list":    extra(es, "key_ops", "verify"),
		"short":                 short,
		"of another curve":      extra(wide, "alg", nil),
		"off the curve":         extra(es, "x", es.Public()["y"]),
		"private":               extra(es, "d", es.Public()["x"]),
		"symmetric":             extra(es, "kty", "oct"),
		"of an unknown type":    extra(es, "kty", "XYZ"),
		"of a long id":          extra(es, "kid", strings.Repeat("k", 300)),
		"of a number for an id": extra(es, "kid", 1),
	} {
		d := newDesk(t)
		good := authtest.NewKey(t, "EdDSA", "good")
		d.Serve(odd, good)
		require.NoError(t, d.verify(d.token(authtest.By(good))), name)
		if odd.Signer != p384 { // which the issuer cannot sign ES256 with
			d.requireCode(fault.Unauthenticated, d.verify(d.token(authtest.By(odd))))
		}
	}
	d := newDesk(t)
	d.Serve(extra(es, "key_ops", []string{"verify"}), extra(wide, "alg", nil))
	require.NoError(t, d.verify(d.token(authtest.By(es), authtest.Header("kid", nil))))
}

// TestBadAnswers checks that malformed and too large sets of keys are errors.
func TestBadAnswers(t *testing.T) {
	key := authtest.NewKey(t, "ES256", "key")
	elsewhere := authtest.NewIssuer(t)
	for name, answer := range map[string]http.HandlerFunc{
		"no JSON":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"no keys":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") },
		"null":      func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":null}`) },
		"not found": http.NotFound,
		"long": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"keys":[]}`, strings.Repeat(" ", 1<<20))
		},
		"many keys": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"keys":[{}`, strings.Repeat(`,{}`, 100), `]}`)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.JWKS, http.StatusFound)
		},
	} {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		v := auth.NewVerifier(auth.Options{})
		claims := but(elsewhere.Claims("alice", audience), "iss", server.URL)
		token := elsewhere.Sign(claims, authtest.By(key))
		_, err := v.Verify(t.Context(), token,
			auth.Issuer{URL: server.URL, JWKS: server.URL + "/keys"}, []string{audience})
		require.Equal(t, fault.Unavailable, fault.Of(err).Code, name)
		require.Positive(t, fault.Of(err).RetryAfter, name)
	}
	require.Zero(t, elsewhere.Fetches(), "a redirect is not followed")
}

// TestMetadata checks where the metadata of an issuer is fetched, and that it must be the issuer's
// own.
func TestMetadata(t *testing.T) {
	keys := authtest.NewIssuer(t)
	for _, c := range []struct {
		place, issuer, jwks string
		want                fault.Code
	}{
		{"/.well-known/oauth-authorization-server/team/a", "/team/a", keys.JWKS, ""},
		{"/team/a/.well-known/openid-configuration", "/team/a", keys.JWKS, ""},
		{"/.well-known/openid-configuration", "/team/a", keys.JWKS, fault.Unavailable},
		{"/team/a/.well-known/openid-configuration", "/team/a/", keys.JWKS, fault.Unavailable},
		{"/team/a/.well-known/openid-configuration", "/team/b", keys.JWKS, fault.Unavailable},
		{"/team/a/.well-known/openid-configuration", "/team/a", "", fault.Unavailable},
		{"/team/a/.well-known/openid-configuration", "/team/a", "file:///etc/passwd", fault.Unavailable},
		{"/team/a/.well-known/openid-configuration", "/team/a", "http://192.0.2.1/keys", fault.Unavailable},
	} {
		mux := http.NewServeMux()
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		mux.HandleFunc("GET "+c.place, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, server.URL+c.issuer, c.jwks)
		})
		from := auth.Issuer{URL: server.URL + "/team/a"}
		token := keys.Sign(but(keys.Claims("alice", audience), "iss", from.URL))
		_, err := auth.NewVerifier(auth.Options{}).Verify(t.Context(), token, from, []string{audience})
		if c.want == "" {
			require.NoError(t, err, c)
			continue
		}
		require.Equal(t, c.want, fault.Of(err).Code, c)
	}
}

// TestPublicIssuer checks that the issuer of a tenant is verified like any other, over https.
func TestPublicIssuer(t *testing.T) {
	issuer := authtest.NewPublicIssuer(t)
	v := auth.NewVerifier(auth.Options{Public: issuer.Client()})
	token := issuer.Sign(issuer.Claims("alice", audience))
	for _, jwks := range []string{"", issuer.JWKS} {
		from := auth.Issuer{URL: issuer.URL, JWKS: jwks, Public: true}
		_, err := v.Verify(t.Context(), token, from, []string{audience})
		require.NoError(t, err)
	}
}

// TestPublicOnly checks that a tenant's issuer is not contacted if its name resolves to an internal
// address, nor over http.
func TestPublicOnly(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	var reached atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { reached.Add(1) }
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	v := auth.NewVerifier(auth.Options{})
	token := issuer.Sign(issuer.Claims("alice", audience))
	for _, jwks := range []string{
		"https://LOCALHOST:" + port + "/keys", "https://127.0.0.1:" + port, issuer.JWKS,
	} {
		from := auth.Issuer{URL: issuer.URL, JWKS: jwks, Public: true}
		_, err = v.Verify(t.Context(), token, from, []string{audience})
		require.Equal(t, fault.Unavailable, fault.Of(err).Code, jwks)
		require.NotContains(t, fault.Of(err).Message, "127.0.0.1")
	}
	require.Zero(t, reached.Load())
	require.Zero(t, issuer.Fetches())
	from := auth.Issuer{URL: issuer.URL, JWKS: "https://LOCALHOST:" + port + "/keys", Public: true}
	_, err = v.Verify(t.Context(), token, from, []string{audience})
	require.ErrorContains(t, errors.Unwrap(fault.Of(err)), "public internet")
}

// TestCheckURL checks the valid URLs of issuers.
func TestCheckURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://login.example.test":            "both",
		"https://login.example.test:8443/a?b=c": "both",
		"https://93.184.215.14/keys":            "both",
		"https://[2606:4700::1111]/keys":        "both",
		"https://[::ffff:93.184.215.14]/keys":   "both",
		"https://localhost/keys":                "file",
		"https://10.0.0.1":                      "file",
		"https://[::ffff:10.0.0.1]":             "file",
		"https://[64:ff9b::a00:1]":              "file",
		"https://[2002:a00:1::]":                "file",
		"https://[fd00:ec2::254]":               "file",
		"https://[fe80::1%25eth0]":              "file",
		"https://169.254.169.254/latest":        "file",
		"https://100.100.100.200":               "file",
		"https://168.63.129.16":                 "file",
		"https://0.0.0.0":                       "file",
		"https://255.255.255.255":               "file",
		"https://[ff02::1]":                     "file",
		"http://127.0.0.1:8080/keys":            "file",
		"http://[::1]:8080":                     "file",
		"http://localhost:8080":                 "file",
		"http://login.example.test":             "none",
		"http://127.0.0.1.example.test":         "none",
		"http://10.0.0.1":                       "none",
		"https://user@login.example.test":       "none",
		"https://a:b@login.example.test":        "none",
		"https://login.example.test/@x":         "none",
		"https://login.example.test/#x":         "none",
		"https://login.example.test\\@x":        "none",
		"ftp://login.example.test":              "none",
		"file:///keys":                          "none",
		"//login.example.test":                  "none",
		"login.example.test":                    "none",
		"https://":                              "none",
		"":                                      "none",
		"https://%zz":                           "none",
	} {
		require.Equal(t, want != "none", auth.CheckURL(text, false) == nil, text)
		require.Equal(t, want == "both", auth.CheckURL(text, true) == nil, text)
	}
}
