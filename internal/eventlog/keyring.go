package eventlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// keyLife is how long an idempotency key is remembered. maxKeys is the default limit of keys that a
// log accepts within that time (log.md §2.6).
const (
	keyLife = 24 * time.Hour
	maxKeys = 1_000_000
)

// hashKey returns the hash of an idempotency key that the log stores. It includes the principal, so
// that equal keys of two principals are different.
func hashKey(principal, key string) []byte {
	sum := sha256.Sum256([]byte(principal + "\x00" + key))
	return sum[:]
}

// A keyring contains the idempotency keys of the last day, and the places of their answers. It is
// safe for concurrent use.
//
// It is filled from the commits as they become known. After a start from an image, the keys of the
// commits before the image are missing until need reads them, because a process that only reads the
// log does not need them. A key may be used again after a day; order then has an entry for each
// use, and byHash contains the newest one.
type keyring struct {
	mu     sync.Mutex
	byHash map[string]usedKey
	order  []keyTime

	// earlier returns the keys of the commits before the image that the state was read from, oldest
	// first. It is called when the first call with a key arrives. Nil: all keys are known.
	earlier func(context.Context) ([]keyEntry, error)
	epoch   int // counts the calls of begin
}

// A keyEntry is an idempotency key and its use.
type keyEntry struct {
	hash []byte
	usedKey
}

// A keyTime is the use of a key at a time, in the order of the log.
type keyTime struct {
	hash string
	time time.Time
}

// A usedKey is the use of an idempotency key.
type usedKey struct {
	seq     uint64
	time    time.Time
	request []byte
	answer  PartRef // of the part with the answer
}

// add adds the key of a commit. Keys that are older than keyLife are dropped, by now or the time of
// the commit, whichever is earlier: a process whose clock is a day ahead must not invalidate the
// keys of all.
func (k *keyring) add(e keyEntry, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byHash == nil {
		k.byHash = map[string]usedKey{}
	}
	hash := string(e.hash)
	k.byHash[hash] = e.usedKey
	k.order = append(k.order, keyTime{hash, e.time})
	if e.time.Before(now) {
		now = e.time
	}
	k.forget(now.Add(-keyLife))
}

// keyOf returns the key of a commit that has one. at is the place of the first part of the commit.
func keyOf(c *Commit, at PartRef) keyEntry {
	at.Part += c.AnswerPart()
	return keyEntry{c.Key.Hash, usedKey{c.Seq, c.Time, c.Key.Request, at}}
}

// begin drops all keys. The keys of earlier commits are read with earlier when they are needed.
func (k *keyring) begin(earlier func(context.Context) ([]keyEntry, error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byHash, k.order, k.earlier = map[string]usedKey{}, nil, earlier
	k.epoch++
}

// need makes all keys of the last day known. It reads those of the image if that was not done yet.
func (k *keyring) need(ctx context.Context) error {
	for {
		k.mu.Lock()
		earlier, epoch := k.earlier, k.epoch
		k.mu.Unlock()
		if earlier == nil {
			return nil
		}
		entries, err := earlier(ctx)
		if err != nil {
			return err
		}
		k.take(entries, epoch)
	}
}

// take adds the keys of an image, unless begin was called since epoch. Newer uses of a key take
// precedence.
func (k *keyring) take(entries []keyEntry, epoch int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.earlier == nil || k.epoch != epoch {
		return
	}
	order := make([]keyTime, 0, len(entries)+len(k.order))
	for _, e := range entries {
		hash := string(e.hash)
		if _, newer := k.byHash[hash]; !newer {
			k.byHash[hash] = e.usedKey
		}
		order = append(order, keyTime{hash, e.time})
	}
	k.order, k.earlier = append(order, k.order...), nil
}

// dayBefore returns the time keyLife before made, or before now if now is earlier. Keys that one
// process stores for all must not be incomplete because its clock is a day ahead.
func dayBefore(made, now time.Time) time.Time {
	if now.Before(made) {
		made = now
	}
	return made.Add(-keyLife)
}

// entries returns the keys used after a time in the commits up to upTo, oldest first.
func (k *keyring) entries(upTo uint64, after time.Time) []keyEntry {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []keyEntry
	for _, o := range k.order {
		u := k.byHash[o.hash]
		if u.seq <= upTo && u.time.Equal(o.time) && u.time.After(after) {
			all = append(all, keyEntry{[]byte(o.hash), u})
		}
	}
	return all
}

// forget drops the keys used before a time. The caller holds mu.
func (k *keyring) forget(before time.Time) {
	n := 0
	for ; n < len(k.order) && k.order[n].time.Before(before); n++ {
		// The key may have been used again later; then the newer use stays.
		if old := k.order[n]; k.byHash[old.hash].time.Equal(old.time) {
			delete(k.byHash, old.hash)
		}
	}
	k.order = k.order[n:]
}

// find returns the use of a key within the last day; false if there is none.
func (k *keyring) find(hash []byte, now time.Time) (usedKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u, ok := k.byHash[string(hash)]
	return u, ok && now.Sub(u.time) < keyLife
}

// room returns QUOTA_EXCEEDED if `most` keys were used within the last day.
func (k *keyring) room(now time.Time, most int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(now.Add(-keyLife))
	if len(k.byHash) < most {
		return nil
	}
	return fault.New(fault.QuotaExceeded,
		"%d idempotency keys were used here within 24 h, which is the limit", most).
		After(time.Hour)
}

// sameRequest returns IDEMPOTENCY_KEY_REUSED if the digests of the two requests differ.
func sameRequest(bound, request []byte) error {
	if bytes.Equal(bound, request) {
		return nil
	}
	return KeyReused()
}

// KeyReused returns the IDEMPOTENCY_KEY_REUSED error of an idempotency key that was used for
// another request.
func KeyReused() error {
	return fault.New(fault.KeyReused,
		"the idempotency key was used for another request within 24 h").
		Fix("use a new key for a new request")
}

// answerErased returns the error of a repeated call whose answer was erased.
func answerErased(seq uint64) error {
	return fault.New(fault.KeyReused, "the call was made, as %s; its answer was erased together with "+
		"the history of a note", Version(seq)).With("version", Version(seq)).
		Fix("use a new key for a new request")
}
