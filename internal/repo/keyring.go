package repo

import (
	"bytes"
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

// add takes the key of a commit, which has one. What is forgotten then is forgotten by our clock, if
// that is behind the log's time: a process whose clock is a day ahead must not undo the keys of all.
func (k *keyring) add(c *Commit, at Place, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byHash == nil {
		k.byHash = map[string]usedKey{}
	}
	at.Part += c.answerPart()
	hash := string(c.Key.Hash)
	k.byHash[hash] = usedKey{c.Seq, c.Time, c.Key.Request, at}
	k.order = append(k.order, keyTime{hash, c.Time})
	if c.Time.Before(now) {
		now = c.Time
	}
	k.forget(now.Add(-keyLife))
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
	return fault.New(fault.KeyReused,
		"the idempotency key was used for another request within 24 h").
		Fix("use a new key for a new request")
}
