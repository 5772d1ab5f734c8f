package auth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// How long keys are believed.
//
// A set is fetched again when somebody needs it and it is an hour old, and when a token names a key
// that is not in it, at most once a minute. A key that the issuer no longer serves is good until an
// hour after it was last seen there, so that tokens made before a change of keys stay good, and never
// longer. An issuer that does not answer changes nothing: the last set is good for a day, so that
// nobody who was let in is locked out, and an unknown key stays unknown.
const (
	refreshAfter = time.Hour
	keepFor      = 24 * time.Hour
	unknownPause = time.Minute      // between two fetches for the sake of unknown keys
	failurePause = 10 * time.Second // after an issuer did not answer
	fetchTime    = 10 * time.Second // for all that one fetch takes
	patience     = 2 * time.Second  // of a call that could do with the keys we have
)

// How many calls wait for keys at a time. Who waits has not been let in yet, and holds a place that others
// need: an issuer that is slow, perhaps for that very reason, must not keep everybody out.
const (
	maxWaiting = 64 // for those of one issuer
	maxQueue   = 96 // for those of all issuers of the server's file, and again of all that tenants set
)

// source names a set of keys.
type source struct {
	issuer, jwks string
	public       bool
}

func sourceOf(i Issuer) source { return source{i.URL, i.JWKS, i.Public} }

// A key is one that the issuer signs with.
type key struct {
	id     string // empty: it has none
	alg    string // the one algorithm that it is for
	public crypto.PublicKey
	served bool      // when the issuer last answered
	seen   time.Time // when the issuer last served it
}

var (
	errUnknownKey = errors.New("its key is not one of the issuer's")
	errWhichKey   = errors.New("it does not say which of the issuer's keys is meant")
)

// A keyring keeps the keys of one issuer. Many may use it at once; they share one fetch.
type keyring struct {
	source
	now   func() time.Time
	fetch func(context.Context, source) ([]key, error)
	queue chan struct{} // holds a value for each call that waits, also for other issuers' keys

	mu      sync.Mutex
	waiting int // calls
	keys    []key
	fetched time.Time     // when keys last came
	failed  time.Time     // when they last did not come; zero: they came since
	cause   error         // why they did not
	asked   time.Time     // when they were last fetched for the sake of an unknown key
	flight  chan struct{} // closed at the end of the fetch under way; nil: there is none
}

// find is the key for a token with these header parameters. A token needs a kid only if the issuer
// serves several keys for the algorithm: many that have one key give it no id, and OpenID Connect asks
// for one only where there is a choice (Core §10.1).
func (r *keyring) find(ctx context.Context, alg, kid string) (crypto.PublicKey, error) {
	tried := r.refreshIfOld(ctx)
	k, err := r.pick(alg, kid)
	if errors.Is(err, errUnknownKey) && !tried && r.mayAsk() {
		r.wait(ctx, fetchTime)
		k, err = r.pick(alg, kid)
	}
	if errors.Is(err, errUnknownKey) {
		return nil, r.doubt(err)
	}
	return k, err
}

// pick chooses among the keys that we have.
func (r *keyring) pick(alg, kid string) (crypto.PublicKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []key
	for _, k := range r.keys {
		named := k.id == kid || kid == "" && k.served
		if k.alg == alg && named && r.good(k) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return nil, errUnknownKey
	case 1:
		return found[0].public, nil
	}
	return nil, errWhichKey
}

// good reports whether a key is still believed.
func (r *keyring) good(k key) bool {
	age := r.now().Sub(k.seen)
	return age < refreshAfter || age < keepFor && k.served
}

// doubt is why no key was found: it is the token's fault only if the issuer answered when it was last
// asked.
func (r *keyring) doubt(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.usable() {
		return unknowable(failurePause).Because(r.cause)
	}
	if !r.failed.IsZero() || r.flight != nil {
		return unknowable(unknownPause).Because(r.cause)
	}
	return err
}

// usable reports whether there is a set that is good for something.
func (r *keyring) usable() bool {
	return !r.fetched.IsZero() && r.now().Sub(r.fetched) < keepFor
}

// refreshIfOld fetches the keys if there are none, or old ones, and reports whether it did. It waits
// no longer than the keys that we have allow.
func (r *keyring) refreshIfOld(ctx context.Context) bool {
	r.mu.Lock()
	old := r.fetched.IsZero() || r.now().Sub(r.fetched) >= refreshAfter
	pause := !r.failed.IsZero() && r.now().Sub(r.failed) < failurePause
	long := fetchTime
	if r.usable() {
		long = patience
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

// mayAsk reports whether an unknown key is reason enough to fetch: if there are others, and the last
// such fetch is long ago, or is under way.
func (r *keyring) mayAsk() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.usable() {
		return false
	}
	if !r.asked.IsZero() && r.now().Sub(r.asked) < unknownPause {
		return r.flight != nil
	}
	r.asked = r.now()
	return true
}

// wait starts a fetch if there is none, and waits for its end, but no longer than that; and not at all
// where so many wait already.
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

func (r *keyring) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
}

// load is a fetch. It belongs to nobody: who started it may go.
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

// try is a fetch that cannot take the program down, whatever an issuer answers.
func (r *keyring) try(ctx context.Context) (served []key, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read the keys of an issuer: %v", p)
		}
	}()
	return r.fetch(ctx, r.source)
}

// overlap are the keys that are no longer served, and still good for a while. A key without an id cannot
// be told from its successor: it goes at once.
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
