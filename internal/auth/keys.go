package auth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// How long keys are believed.
//
// A set is fetched again when it is needed and an hour old, and when a token names a key that is not in it: three
// times at once, and then every ten seconds, for anyone can make such a token. While that budget is used up such a
// token is to come again, unless its key was looked for in the last ten seconds. Each fetch is for all requests
// that wait. A key that the issuer no longer serves is good until an hour after it was last seen there, so that
// tokens made before a change of keys stay good, and never longer. An issuer that does not answer changes nothing:
// the last set is good for a day, so that callers who were let in are not locked out, and an unknown key stays
// unknown.
const (
	refreshAfter = time.Hour
	keepFor      = 24 * time.Hour
	unknownPause = 10 * time.Second // until one more fetch for the sake of unknown keys
	unknownBurst = 3                // of such fetches at once
	maxAbsent    = 64               // keys that are remembered as unknown
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
	fetched time.Time // when keys last came
	failed  time.Time // when they last did not come; zero: they came since
	cause   error     // why they did not
	budget  budget    // of fetches for the sake of unknown keys
	absent  map[sought]time.Time
	flight  chan struct{} // closed at the end of the fetch under way; nil: there is none
}

// A sought is what a token says of its key.
type sought struct{ alg, kid string }

// A budget is how many fetches may be made. The zero value is a full one.
type budget struct {
	spent int
	since time.Time // from when on it fills up
}

// spend reports whether one more fetch may be made, and takes it from the budget.
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

// find is the key for a token with these header parameters. A token needs a kid only if the issuer
// serves several keys for the algorithm: many that have one key give it no id, and OpenID Connect asks
// for one only where there is a choice (Core §10.1).
func (r *keyring) find(ctx context.Context, alg, kid string) (crypto.PublicKey, error) {
	asked := r.refreshIfOld(ctx)
	k, err := r.pick(alg, kid)
	if errors.Is(err, errUnknownKey) && !asked && r.mayAsk(sought{alg, kid}) {
		asked = true
		r.wait(ctx, fetchTime)
		k, err = r.pick(alg, kid)
	}
	if errors.Is(err, errUnknownKey) {
		return nil, r.doubt(sought{alg, kid}, asked)
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
// asked, and was asked for the sake of this key, now or a moment ago.
func (r *keyring) doubt(s sought, asked bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.usable() {
		return unknowable(failurePause).Because(r.cause)
	}
	if !r.failed.IsZero() || r.flight != nil {
		return unknowable(unknownPause).Because(r.cause)
	}
	now := r.now()
	switch {
	case asked:
		r.miss(s, now)
	case !r.missed(s, now):
		return unknowable(unknownPause).Because(errUnknownKey)
	}
	return errUnknownKey
}

// miss remembers that the issuer does not serve a key. Of too many it remembers some. The caller has the
// lock.
func (r *keyring) miss(s sought, now time.Time) {
	maps.DeleteFunc(r.absent, func(s sought, _ time.Time) bool { return !r.missed(s, now) })
	if r.absent == nil {
		r.absent = map[sought]time.Time{}
	}
	if len(r.absent) < maxAbsent {
		r.absent[s] = now
	}
}

// missed reports whether the issuer did not serve a key a moment ago. The caller has the lock.
func (r *keyring) missed(s sought, now time.Time) bool {
	at, is := r.absent[s]
	return is && now.Sub(at) < unknownPause
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

// mayAsk reports whether an unknown key is reason enough to fetch, or to wait for the fetch under way: if there
// are others, the issuer answers, and the budget allows it. A key that was looked for a moment ago is not.
func (r *keyring) mayAsk(s sought) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	failing := !r.failed.IsZero() && now.Sub(r.failed) < failurePause
	if !r.usable() || failing || r.missed(s, now) {
		return false
	}
	return r.flight != nil || r.budget.spend(now)
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
