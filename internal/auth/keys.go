package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long keys are used.
//
// A set of keys is fetched again when it is needed and an hour old, and when a token names a key
// that is not in it. Anyone can send such tokens, so fetches for unknown keys are limited: three at
// once, and then one every ten seconds. Beyond the limit such a token gets UNAVAILABLE, unless its
// key was looked for within the last ten seconds. All waiting requests share a fetch.
//
// A key that the issuer no longer serves is valid for an hour after it was last served, so that
// tokens from before a key rotation stay valid. If an issuer does not respond, the last set is
// valid for a day, so that existing callers are not locked out; unknown keys stay unknown.
const (
	refreshAfter = time.Hour
	keepFor      = 24 * time.Hour
	unknownPause = 10 * time.Second // interval of fetches for unknown keys
	unknownBurst = 3                // such fetches at once
	maxAbsent    = 64               // unknown keys that are remembered
	failurePause = 10 * time.Second // pause after an issuer did not respond
	fetchTime    = 10 * time.Second // time limit of a fetch
	waitLimit    = 2 * time.Second  // how long a call waits if there is a usable set
)

// Limits of calls that wait for keys. A waiting call is not authenticated yet and takes a slot that
// others need, so a slow issuer must not block the server.
const (
	maxWaiting = 64 // for the keys of one issuer
	maxQueue   = 96 // for those of all issuers of the server, and separately of all tenants
)

// A source identifies a set of keys.
type source struct {
	issuer, jwks string
	public       bool
}

// sourceOf returns the source of an issuer's keys.
func sourceOf(i Issuer) source { return source{i.URL, i.JWKS, i.Public} }

// A key is a public key of an issuer.
type key struct {
	id     string // kid; empty: none
	alg    string // the only algorithm that it is used for
	public crypto.PublicKey
	served bool      // in the last set of the issuer
	seen   time.Time // when the issuer last served it
}

// Reasons why no key was found, for the log.
var (
	errUnknownKey   = errors.New("its key is not one of the issuer's")
	errAmbiguousKey = errors.New("it does not say which of the issuer's keys is meant")
)

// A keyring caches the keys of one issuer. It is safe for concurrent use; callers share a fetch. A
// fetch runs in a goroutine of its own and is not cancelled when the calls that wait for it end, so
// that a caller cannot prevent it by disconnecting.
type keyring struct {
	source
	now   func() time.Time
	fetch func(context.Context, source) ([]key, error)
	queue chan struct{} // a slot for each waiting call, shared with other issuers

	mu      sync.Mutex
	waiting int // number of waiting calls
	keys    []key
	fetched time.Time              // time of the last successful fetch
	failed  time.Time              // time of the last failed fetch; zero: none since fetched
	cause   error                  // error of the last failed fetch
	budget  budget                 // of fetches for unknown keys
	absent  map[keyQuery]time.Time // unknown keys, and when they were looked for
	flight  chan struct{}          // closed when the current fetch ends; nil: none
}

// A keyQuery identifies the key that a token names.
type keyQuery struct{ alg, kid string }

// A budget limits fetches for unknown keys to unknownBurst at once and one for each unknownPause
// after that. The zero value is full. The keyring's mutex guards it.
type budget struct {
	spent int
	since time.Time // start of the current interval
}

// spend takes one fetch from the budget, and reports whether there was one.
func (b *budget) spend(now time.Time) bool {
	if back := int(now.Sub(b.since) / unknownPause); back > 0 {
		b.spent = max(0, b.spent-back)
		b.since = b.since.Add(time.Duration(back) * unknownPause)
	}
	if b.spent == 0 {
		b.since = now
	}
	if b.spent == unknownBurst {
		return false
	}
	b.spent++
	return true
}

// find returns the key for a token with these header parameters. A token needs a kid only if the
// issuer serves several keys for the algorithm: many issuers with one key give it no id, and OpenID
// Connect requires an id only if there is a choice (Core §10.1).
//
// It fetches the keys at most once: if they are old or missing, or otherwise if the key is not
// among them. The errors are errUnknownKey and errAmbiguousKey, which blame the token, and UNAVAILABLE,
// which blames the issuer or the limits.
func (r *keyring) find(ctx context.Context, alg, kid string) (crypto.PublicKey, error) {
	asked := r.refreshIfOld(ctx)
	k, err := r.pick(alg, kid)
	if errors.Is(err, errUnknownKey) && !asked && r.mayAsk(keyQuery{alg, kid}) {
		asked = true
		r.wait(ctx, fetchTime)
		k, err = r.pick(alg, kid)
	}
	if errors.Is(err, errUnknownKey) {
		return nil, r.notFoundError(keyQuery{alg, kid}, asked)
	}
	return k, err
}

// pick returns the matching key among the cached ones.
func (r *keyring) pick(alg, kid string) (crypto.PublicKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []key
	for _, k := range r.keys {
		named := k.id == kid || kid == "" && k.served
		if k.alg == alg && named && r.isValid(k) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return nil, errUnknownKey
	case 1:
		return found[0].public, nil
	}
	return nil, errAmbiguousKey
}

// isValid reports whether a key is still valid.
func (r *keyring) isValid(k key) bool {
	age := r.now().Sub(k.seen)
	return age < refreshAfter || age < keepFor && k.served
}

// notFoundError returns the error of a key that was not found. It blames the token only if the last fetch
// succeeded and was made for this key, now or a moment ago; otherwise the error is UNAVAILABLE.
func (r *keyring) notFoundError(s keyQuery, asked bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.usable() {
		return keysUnavailable(failurePause).Because(r.cause)
	}
	if !r.failed.IsZero() || r.flight != nil {
		return keysUnavailable(unknownPause).Because(r.cause)
	}
	now := r.now()
	switch {
	case asked:
		r.recordAbsent(s, now)
	case !r.isAbsent(s, now):
		return keysUnavailable(unknownPause).Because(errUnknownKey)
	}
	return errUnknownKey
}

// recordAbsent records that the issuer does not serve a key. It records at most maxAbsent keys; the tokens
// of others get UNAVAILABLE in place of a refusal, until a record expires. The caller holds mu.
func (r *keyring) recordAbsent(s keyQuery, now time.Time) {
	maps.DeleteFunc(r.absent, func(s keyQuery, _ time.Time) bool { return !r.isAbsent(s, now) })
	if r.absent == nil {
		r.absent = map[keyQuery]time.Time{}
	}
	if len(r.absent) < maxAbsent {
		r.absent[s] = now
	}
}

// isAbsent reports whether a key was recorded by miss within unknownPause. The caller holds mu.
func (r *keyring) isAbsent(s keyQuery, now time.Time) bool {
	at, is := r.absent[s]
	return is && now.Sub(at) < unknownPause
}

// usable reports whether there is a set that is less than a day old. The caller holds mu.
func (r *keyring) usable() bool {
	return !r.fetched.IsZero() && r.now().Sub(r.fetched) < keepFor
}

// refreshIfOld fetches the keys if there are none or they are old, and reports whether it did. If
// there is a usable set it waits only for waitLimit, or not at all after a failure.
func (r *keyring) refreshIfOld(ctx context.Context) bool {
	r.mu.Lock()
	old := r.fetched.IsZero() || r.now().Sub(r.fetched) >= refreshAfter
	pause := !r.failed.IsZero() && r.now().Sub(r.failed) < failurePause
	long := fetchTime
	if r.usable() {
		long = waitLimit
		if !r.failed.IsZero() {
			long = 0
		}
	}
	r.mu.Unlock()
	if !old || pause {
		return false
	}
	r.wait(ctx, long)
	return true
}

// mayAsk reports whether an unknown key justifies a fetch, or waiting for the current one: if there
// is a usable set, the issuer responds, the key was not looked for a moment ago, and the budget is
// not used up.
func (r *keyring) mayAsk(s keyQuery) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	failing := !r.failed.IsZero() && now.Sub(r.failed) < failurePause
	if !r.usable() || failing || r.isAbsent(s, now) {
		return false
	}
	return r.flight != nil || r.budget.spend(now)
}

// wait starts a fetch if there is none, and waits for its end, for at most long. It does not wait
// if too many calls wait already, for this issuer or for all; the fetch goes on all the same, and
// serves later calls.
func (r *keyring) wait(ctx context.Context, long time.Duration) {
	r.mu.Lock()
	if r.flight == nil {
		r.flight = make(chan struct{})
		go r.load(context.WithoutCancel(ctx), r.flight)
	}
	done := r.flight
	full := r.waiting >= maxWaiting
	if !full {
		r.waiting++
	}
	r.mu.Unlock()
	if full {
		return
	}
	defer r.leave()
	select {
	case r.queue <- struct{}{}:
		defer func() { <-r.queue }()
	default:
		return
	}
	late := time.NewTimer(long)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// leave ends the wait of a call.
func (r *keyring) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
}

// load fetches the keys, and replaces the set on success. It does not end with the call that
// started it. A failure keeps the set that there is.
func (r *keyring) load(ctx context.Context, done chan struct{}) {
	ctx, stop := context.WithTimeout(ctx, fetchTime)
	defer stop()
	served, err := r.try(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flight = nil
	close(done)
	if err != nil {
		r.failed, r.cause = r.now(), err
		return
	}
	r.fetched, r.failed, r.cause = r.now(), time.Time{}, nil
	for i := range served {
		served[i].served, served[i].seen = true, r.fetched
	}
	r.keys = slices.Concat(served, r.overlap(served))
}

// try is a fetch in which a panic becomes an error.
func (r *keyring) try(ctx context.Context) (served []key, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read the keys of an issuer: %v", p)
		}
	}()
	return r.fetch(ctx, r.source)
}

// overlap returns the keys that are no longer served but still valid. A key without an id is
// dropped at once, because it cannot be distinguished from its successor.
func (r *keyring) overlap(served []key) []key {
	var old []key
	for _, k := range r.keys {
		replaced := slices.ContainsFunc(served, func(s key) bool { return s.id == k.id })
		recent := r.now().Sub(k.seen) < refreshAfter
		if k.id != "" && recent && !replaced && len(served)+len(old) < maxKeys {
			k.served = false
			old = append(old, k)
		}
	}
	return old
}

// Limits of RSA keys. RFC 7518 §3.3 requires at least 2048 bits; verification with very large keys
// is slow.
const (
	minRSA = 2048 // bits
	maxRSA = 8192 // bits
)

// keysIn decodes a JSON Web Key Set (RFC 7517 §5). It skips keys that cannot be used or are not for
// signatures, without an error.
func keysIn(body []byte) ([]key, error) {
	var set struct {
		Keys *[]json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		return nil, errors.New("the answer is not a key set")
	}
	if len(*set.Keys) > maxKeys {
		return nil, fmt.Errorf("the set has more than %d keys", maxKeys)
	}
	var all []key
	for _, raw := range *set.Keys {
		if k, ok := keyIn(raw); ok {
			all = append(all, k)
		}
	}
	return all, nil
}

// keyIn decodes one key; false if it cannot be used. A key is valid for one algorithm only, that of
// its type, whatever a token says.
func keyIn(raw json.RawMessage) (key, bool) {
	var k jose.JSONWebKey
	var more struct {
		Ops []string `json:"key_ops"`
	}
	if json.Unmarshal(raw, &more) != nil || k.UnmarshalJSON(raw) != nil {
		return key{}, false
	}
	alg, ok := algorithmOf(k.Key)
	meant := (k.Use == "" || k.Use == "sig") && (k.Algorithm == "" || k.Algorithm == alg) &&
		(more.Ops == nil || slices.Contains(more.Ops, "verify"))
	if !ok || !meant || len(k.KeyID) > maxKeyID {
		return key{}, false
	}
	return key{id: k.KeyID, alg: alg, public: k.Key}, true
}

// algorithmOf returns the algorithm of a public key; false for unusable keys. Private and symmetric
// keys are never used: in a published set they are no longer secret.
func algorithmOf(public crypto.PublicKey) (string, bool) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		bits := k.N.BitLen()
		return "RS256", bits >= minRSA && bits <= maxRSA
	case *ecdsa.PublicKey:
		return "ES256", k.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return "EdDSA", true
	}
	return "", false
}
