package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"rookery/internal/fault"
)

// keyLife is how long an idempotency key is remembered, and maxKeys how many there may be in a log
// in that time where its options say nothing else (log.md §2.6).
const (
	keyLife = 24 * time.Hour
	maxKeys = 1_000_000
)

// hashKey is what a log keeps of an idempotency key: nobody's key is another principal's.
func hashKey(principal, key string) []byte {
	sum := sha256.Sum256([]byte(principal + "\x00" + key))
	return sum[:]
}

// A keyring knows the idempotency keys of the last day, and where their answers are.
type keyring struct {
	mu     sync.Mutex
	byHash map[string]usedKey
	order  []keyTime

	// earlier gives the keys of the commits that an image stands for, oldest first. They are asked for
	// when a call with a key comes. Nil: all are known.
	earlier func(context.Context) ([]keyEntry, error)
	epoch   int // counts such images
}

// A keyEntry is a key and what it was used for.
type keyEntry struct {
	hash []byte
	usedKey
}

type keyTime struct {
	hash string
	time time.Time
}

// A usedKey is one key, and what it was used for.
type usedKey struct {
	seq     uint64
	time    time.Time
	request []byte
	answer  Place // of the answer's own part
}

// add takes the key of a commit, which has one; answer is the place of its answer. What is forgotten
// then is forgotten by our clock, if that is behind the log's time: a process whose clock is a day ahead
// must not undo the keys of all.
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

// keyOf is the key of a commit that has one, of which the first part is at a place.
func keyOf(c *Commit, at Place) keyEntry {
	at.Part += c.answerPart()
	return keyEntry{c.Key.Hash, usedKey{c.Seq, c.Time, c.Key.Request, at}}
}

// begin forgets all keys. Those of the commits that come first are had from earlier, when they are needed.
func (k *keyring) begin(earlier func(context.Context) ([]keyEntry, error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byHash, k.order, k.earlier = map[string]usedKey{}, nil, earlier
	k.epoch++
}

// need makes all keys of the last day known.
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

// take makes the keys of an image known, if it is still the one that the state goes on from.
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

// dayBefore is when the day began that ends with a commit made at a time, or now if that is earlier: what
// one process puts down for all must not lack keys because its clock is a day ahead.
func dayBefore(made, now time.Time) time.Time {
	if now.Before(made) {
		made = now
	}
	return made.Add(-keyLife)
}

// entries are the keys used after a time, of the commits up to one, oldest first.
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

// forget drops what was used before this time. The caller holds mu.
func (k *keyring) forget(before time.Time) {
	n := 0
	for ; n < len(k.order) && k.order[n].time.Before(before); n++ {
		if old := k.order[n]; k.byHash[old.hash].time.Equal(old.time) {
			delete(k.byHash, old.hash)
		}
	}
	k.order = k.order[n:]
}

// find is what a key was used for within the last day, if it was.
func (k *keyring) find(hash []byte, now time.Time) (usedKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u, ok := k.byHash[string(hash)]
	return u, ok && now.Sub(u.time) < keyLife
}

// room is a fault if there are as many keys as may be used in a day.
func (k *keyring) room(now time.Time, most int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(now.Add(-keyLife))
	if len(k.byHash) < most {
		return nil
	}
	return fault.New(fault.QuotaExceeded,
		"%d idempotency keys were used here within 24 h: there may be no more", most).
		After(time.Hour)
}

// sameRequest is a fault if a key that is bound to one request comes with another.
func sameRequest(bound, request []byte) error {
	if bytes.Equal(bound, request) {
		return nil
	}
	return KeyReused()
}

// KeyReused is the fault of an idempotency key that was used for another request.
func KeyReused() error {
	return fault.New(fault.KeyReused,
		"the idempotency key was used for another request within 24 h").
		Fix("use a new key for a new request")
}

// answerErased is the fault of a call that was made before, and whose answer was erased since.
func answerErased(seq uint64) error {
	return fault.New(fault.KeyReused, "the call was made, as %s; its answer was erased together with "+
		"the history of a note", Version(seq)).With("version", Version(seq)).
		Fix("use a new key for a new request")
}
