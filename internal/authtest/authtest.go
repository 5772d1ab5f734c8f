// Package authtest runs issuers of JSON Web Tokens for tests: on loopback, with keys of their own.
//
// It signs and writes by itself what internal/auth reads with the help of modules, so that the two agree
// because both are right.
package authtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An Issuer makes tokens, and serves the keys to verify them with at URL+"/jwks.json" and, so that it is
// found, both kinds of metadata. It may be used by many at once.
type Issuer struct {
	URL  string // the iss of its tokens
	JWKS string // where its keys are

	server  *httptest.Server
	tb      testing.TB
	fetches atomic.Int64

	mu    sync.Mutex
	algs  []string // it signs with the first
	keys  []Key    // those that are served; the newest of an algorithm signs
	fail  bool
	gate  chan struct{} // while it is there, answers wait until it is closed
	count int           // of the keys made
}

// NewIssuer starts an issuer at http on loopback, as the server's file may name one. It has a key for
// each algorithm, ES256 if none is named, and signs with the first.
func NewIssuer(tb testing.TB, algorithms ...string) *Issuer {
	i := &Issuer{tb: tb, algs: algorithms}
	i.server = httptest.NewServer(i.handler())
	return i.start(i.server.URL)
}

// NewPublicIssuer starts an issuer at an https URL that looks public, as a tenant may set one. Only the
// client of Client reaches it, and trusts it.
func NewPublicIssuer(tb testing.TB, algorithms ...string) *Issuer {
	i := &Issuer{tb: tb, algs: algorithms}
	i.server = httptest.NewTLSServer(i.handler())
	return i.start("https://login.example.com")
}

func (i *Issuer) start(url string) *Issuer {
	i.tb.Cleanup(i.server.Close)
	if len(i.algs) == 0 {
		i.algs = []string{"ES256"}
	}
	i.URL, i.JWKS = url, url+"/jwks.json"
	i.Rotate()
	return i
}

// Client is a client that leads every request for example.com and its subdomains to the issuer.
func (i *Issuer) Client() *http.Client { return i.server.Client() }

// Rotate makes new keys, which sign from now on. The old ones go on being served until Forget.
func (i *Issuer) Rotate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, alg := range i.algs {
		i.count++
		i.keys = append(i.keys, NewKey(i.tb, alg, fmt.Sprintf("key-%d", i.count)))
	}
}

// Forget stops serving all keys but the newest.
func (i *Issuer) Forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = i.keys[len(i.keys)-len(i.algs):]
}

// Serve replaces all keys: what it serves from now on, and signs with.
func (i *Issuer) Serve(keys ...Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// Key is the newest key for the algorithm.
func (i *Issuer) Key(alg string) Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := len(i.keys) - 1; n >= 0; n-- {
		if i.keys[n].Alg == alg {
			return i.keys[n]
		}
	}
	i.tb.Fatalf("the issuer has no key for %s", alg)
	return Key{}
}

// Fail makes every answer a 500, or lets it be again what it was.
func (i *Issuer) Fail(fail bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fail = fail
}

// Hold lets answers wait until release is called, which may be called twice.
func (i *Issuer) Hold() (release func()) {
	gate := make(chan struct{})
	i.mu.Lock()
	i.gate = gate
	i.mu.Unlock()
	release = sync.OnceFunc(func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.gate = nil
		close(gate)
	})
	i.tb.Cleanup(release) // before the server is closed, which waits for its answers
	return release
}

// Fetches counts how often the keys were asked for.
func (i *Issuer) Fetches() int { return int(i.fetches.Load()) }

// Claims are those of a good token for the audience: of the subject, an hour from now.
func (i *Issuer) Claims(subject, audience string) map[string]any {
	now := time.Now().Unix()
	return map[string]any{
		"iss": i.URL, "sub": subject, "aud": audience, "iat": now, "exp": now + 3600,
	}
}

// Sign makes a token of the claims, exactly as they are. Options change how.
func (i *Issuer) Sign(claims map[string]any, options ...Option) string {
	s := signing{header: map[string]any{"typ": "JWT"}, alg: i.algs[0]}
	for _, o := range options {
		o(&s)
	}
	if s.key.Signer == nil {
		s.key = i.Key(s.alg)
	}
	set := map[string]any{"alg": s.key.Alg, "kid": s.key.ID}
	for name, value := range s.header {
		set[name] = value
	}
	for name, value := range set {
		if value == nil {
			delete(set, name)
		}
	}
	return s.key.Token(text(i.tb, set), text(i.tb, claims))
}

type signing struct {
	header map[string]any
	key    Key
	alg    string
}

// An Option changes how a token is made.
type Option func(*signing)

// With signs with the issuer's key for another algorithm.
func With(alg string) Option { return func(s *signing) { s.alg = alg } }

// By signs with this key.
func By(k Key) Option { return func(s *signing) { s.key = k } }

// Header sets a parameter of the token's header; nil leaves it out.
func Header(name string, value any) Option { return func(s *signing) { s.header[name] = value } }

func text(tb testing.TB, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		tb.Fatalf("write the token: %v", err)
	}
	return string(data)
}

func (i *Issuer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jwks.json", func(w http.ResponseWriter, r *http.Request) {
		i.fetches.Add(1)
		i.answer(w, r, func() any { return i.set() })
	})
	metadata := func(w http.ResponseWriter, r *http.Request) {
		i.answer(w, r, func() any {
			return map[string]any{
				"issuer": i.URL, "jwks_uri": i.JWKS,
				"authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			}
		})
	}
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", metadata)
	mux.HandleFunc("GET /.well-known/openid-configuration", metadata)
	return mux
}

// answer waits and fails as the test wants it, else answers with the value.
func (i *Issuer) answer(w http.ResponseWriter, r *http.Request, value func() any) {
	i.mu.Lock()
	gate := i.gate
	i.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fail {
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value())
}

func (i *Issuer) set() any {
	keys := []any{}
	for _, k := range i.keys {
		keys = append(keys, k.Public())
	}
	return map[string]any{"keys": keys}
}

// segment is base64url without padding, as in a token.
func segment(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
