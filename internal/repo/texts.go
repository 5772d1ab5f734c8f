package repo

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Texts caches texts of notes. A text in the log never changes, so it is never invalidated; the one
// that was used longest ago goes first. It is shared by the vaults of a process and bounded by
// bytes. What Sub returns holds the texts of one tenant, and cannot name another's.
//
// The texts of a frame of a run are cached as one block: to read one of them costs as much as to read all,
// and thousands of small texts would be scattered over the heap. A run of several frames is cached as it is
// stored, too, which is a fraction of its size; of its frames, those that were asked for.
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

	// The texts that others have taken the place of, oldest first, and how many bytes they have. Few of them are read
	// again, so they have a small part of the room.
	old     []oldText
	oldHeld int64

	lost map[string]int // how many times texts of a log were forgotten, by tenant and part
}

// An oldText is a text that another has taken the place of. It may have left the cache since.
type oldText struct {
	at   placed
	size int64
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

// A cached is a text, the texts of a frame, or a run of several frames as it is stored.
type cached struct {
	text  []byte
	block block
	run   packedRun
	size  int64
}

// A block is the texts of the parts of a frame: nil where a part is none.
type block struct {
	first int // part
	texts [][]byte
}

// at is the text of a part; nil if the block has none there.
func (b block) at(part int) []byte {
	if part -= b.first; part < 0 || part >= len(b.texts) {
		return nil
	}
	return b.texts[part]
}

// size is how many bytes the texts have together.
func (b block) size() (n int) {
	for _, text := range b.texts {
		n += len(text)
	}
	return n
}

// runKey is the key of the run that a text is in: as it is stored if it has several frames, else of the
// block of its only one.
func (k textKey) runKey() textKey {
	k.at.Part = -1
	return k
}

// frameKey is the key of the block of a frame of the run that a text is in.
func (k textKey) frameKey(frame int) textKey {
	k.at.Part = -2 - frame
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
	t := &texts{most: most - most/4, lost: map[string]int{}}
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
func (t *Texts) add(k textKey, state int, text []byte) {
	t.put(k, state, cached{text: text, size: int64(len(text)) + textOverhead})
}

// state tells, before something is read, what is to be said when it is added: what was forgotten meanwhile,
// because it is erased, is not added.
func (t *Texts) state(part string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost[t.tenant+"/"+part]
}

// addRun takes a run of several frames.
func (t *Texts) addRun(k textKey, state int, r packedRun) {
	if t.fits(len(r.packed)) {
		t.put(k.runKey(), state, cached{run: r, size: int64(len(r.packed)) + textOverhead})
	}
}

// addBlock takes the texts of a frame of a run. It reports whether there is room for them.
func (t *Texts) addBlock(k textKey, state int, b block) bool {
	size := b.size() + blockOverhead*len(b.texts)
	if !t.fits(size) {
		return false
	}
	t.put(k, state, cached{block: b, size: int64(size) + textOverhead})
	return true
}

// fits reports whether so many bytes are no more than half of what there is room for.
func (t *Texts) fits(size int) bool { return int64(size) <= t.most/2 }

func (t *Texts) put(k textKey, state int, c cached) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := placed{t.tenant, k}
	if t.lru.Contains(at) || t.lost[t.tenant+"/"+k.part] != state {
		return
	}
	t.lru.Add(at, c)
	t.held += c.size
	for t.held > t.most && t.lru.Len() > 1 {
		t.lru.RemoveOldest()
	}
}

// oldShare is which part of the room the texts have at most that others took the place of.
const oldShare = 16

// replaced notes that another text has taken the place of one: it is the first to go.
func (t *Texts) replaced(k textKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := placed{t.tenant, k}
	c, ok := t.lru.Peek(at)
	if !ok {
		return
	}
	t.old = append(t.old, oldText{at, c.size})
	t.oldHeld += c.size
	for t.oldHeld > t.most/oldShare {
		first := t.old[0]
		t.old = t.old[1:]
		t.oldHeld -= first.size
		t.lru.Remove(first.at)
	}
}

// drop forgets a text that is not needed any more. What holds others too, goes when it was not used for long.
func (t *Texts) drop(k textKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lru.Remove(placed{t.tenant, k})
}

// dropRuns forgets all texts of some runs of a log.
func (t *Texts) dropRuns(part string, runs map[uint64]bool) {
	t.dropWhere(part, func(k textKey) bool { return runs[k.at.Run] })
}

// dropAll forgets all texts of a log.
func (t *Texts) dropAll(part string) {
	t.dropWhere(part, func(textKey) bool { return true })
}

func (t *Texts) dropWhere(part string, those func(textKey) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost[t.tenant+"/"+part]++
	for _, k := range t.lru.Keys() {
		if k.tenant == t.tenant && k.part == part && those(k.textKey) {
			t.lru.Remove(k)
		}
	}
}

// has reports whether a text can be had without a read. It does not count as a use.
func (t *Texts) has(k textKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lru.Contains(placed{t.tenant, k}) {
		return true
	}
	c, ok := t.lru.Peek(placed{t.tenant, k.runKey()})
	return ok && (c.run.frames != nil || c.block.at(k.at.Part) != nil)
}

// get returns a text that is cached.
func (t *Texts) get(k textKey) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.lru.Get(placed{t.tenant, k}); ok {
		return c.text, true
	}
	c, _ := t.lru.Get(placed{t.tenant, k.runKey()})
	if c.run.frames != nil {
		c, _ = t.lru.Get(placed{t.tenant, k.frameKey(c.run.frameWith(k.at.Part))})
	}
	text := c.block.at(k.at.Part)
	return text, text != nil
}

// run is the run that a text is in, if it is cached as it is stored.
func (t *Texts) run(k textKey) (packedRun, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, _ := t.lru.Get(placed{t.tenant, k.runKey()})
	return c.run, c.run.frames != nil
}
