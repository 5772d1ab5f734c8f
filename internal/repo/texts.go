package repo

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Texts caches texts of notes. A text in the log never changes, so it is never invalidated; the one
// that was used longest ago goes first. It is shared by the vaults of a process and bounded by
// bytes. What Sub returns holds the texts of one tenant, and cannot name another's.
//
// The texts of a large run are cached as one block, as the run unpacks to: to read one of them costs as
// much as to read all, and thousands of small texts would be scattered over the heap.
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
	lru  *simplelru.LRU[placed, cached]
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

// A cached is a text, or the texts of a run, by part: nil where a part is none.
type cached struct {
	text  []byte
	block [][]byte
	size  int64
}

// blockKey is the key of the block of the run that a text is in.
func (k textKey) blockKey() textKey {
	k.at.Part = -1
	return k
}

// textOverhead is about what an entry costs beside its text, and blockOverhead what each text of a block
// does.
const (
	textOverhead  = 256
	blockOverhead = 24
)

// NewTexts makes a cache of at most so many bytes.
func NewTexts(most int64) *Texts {
	t := &texts{most: most - most/4}
	lru, err := simplelru.NewLRU(1<<30, func(_ placed, c cached) { t.held -= c.size })
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
	t.put(k, cached{text: text, size: int64(len(text)) + textOverhead})
}

// addBlock takes the texts of a run, which are parts of so many bytes of memory.
func (t *Texts) addBlock(part string, run uint64, block [][]byte, size int) {
	k := textKey{part, Place{Run: run}}.blockKey()
	t.put(k, cached{block: block, size: int64(size+blockOverhead*len(block)) + textOverhead})
}

// fitsBlock reports whether so many bytes are cached as one block.
func (t *Texts) fitsBlock(size int) bool { return size >= largeRun && int64(size) <= t.most/2 }

func (t *Texts) put(k textKey, c cached) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := placed{t.tenant, k}
	if t.lru.Contains(at) {
		return
	}
	t.lru.Add(at, c)
	t.held += c.size
	for t.held > t.most && t.lru.Len() > 1 {
		t.lru.RemoveOldest()
	}
}

// drop forgets a text that is not needed any more, and the block that it is in.
func (t *Texts) drop(k textKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lru.Remove(placed{t.tenant, k})
	t.lru.Remove(placed{t.tenant, k.blockKey()})
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
	if t.lru.Contains(placed{t.tenant, k}) {
		return true
	}
	c, ok := t.lru.Peek(placed{t.tenant, k.blockKey()})
	return ok && c.at(k.at.Part) != nil
}

// get returns a text that is cached.
func (t *Texts) get(k textKey) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.lru.Get(placed{t.tenant, k}); ok {
		return c.text, true
	}
	c, _ := t.lru.Get(placed{t.tenant, k.blockKey()})
	text := c.at(k.at.Part)
	return text, text != nil
}

// at is a text of a block; nil if the block has none there.
func (c cached) at(part int) []byte {
	if part < 0 || part >= len(c.block) {
		return nil
	}
	return c.block[part]
}
