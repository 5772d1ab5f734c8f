package repo

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Texts caches texts of notes. A text in the log never changes, so it is never invalidated; the one
// that was used longest ago goes first. It is shared by the vaults of a process and bounded by
// bytes. What Sub returns holds the texts of one tenant, and cannot name another's.
//
// It also holds the changes of notes in large runs, without their texts, in a quarter of the room.
type Texts struct {
	*texts
	changes *changes
	tenant  string
}

// texts is what all tenants share: the room.
type texts struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[placed, []byte]
	held int64
	most int64
}

// textKey is the place of a text in one log of a tenant.
type textKey struct {
	part string
	at   Place
}

// placed is the place of a text in a log of a deployment.
type placed struct {
	tenant string
	textKey
}

// textOverhead is about what an entry costs beside its text.
const textOverhead = 128

// NewTexts makes a cache of at most so many bytes.
func NewTexts(most int64) *Texts {
	t := &texts{most: most - most/4}
	lru, err := simplelru.NewLRU(1<<30, func(_ placed, text []byte) {
		t.held -= int64(len(text)) + textOverhead
	})
	if err != nil {
		panic(err) // never: the size is positive
	}
	t.lru = lru
	return &Texts{texts: t, changes: newChanges(most / 4)}
}

// Sub is the part of the cache that is a tenant's own; the bound is that of the whole.
func (t *Texts) Sub(tenant string) *Texts { return &Texts{t.texts, t.changes, tenant} }

// add takes a text, which must not be changed any more.
func (t *Texts) add(k textKey, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := placed{t.tenant, k}
	if t.lru.Contains(at) {
		return
	}
	t.lru.Add(at, text)
	t.held += int64(len(text)) + textOverhead
	for t.held > t.most && t.lru.Len() > 1 {
		t.lru.RemoveOldest()
	}
}

// drop forgets a text that is not needed any more.
func (t *Texts) drop(k textKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lru.Remove(placed{t.tenant, k})
}

// dropAll forgets all texts of a log.
func (t *Texts) dropAll(part string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.lru.Keys() {
		if k.tenant == t.tenant && k.part == part {
			t.lru.Remove(k)
		}
	}
}

// has reports whether a text is at hand. It does not count as a use.
func (t *Texts) has(k textKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lru.Contains(placed{t.tenant, k})
}

func (t *Texts) get(k textKey) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lru.Get(placed{t.tenant, k})
}
