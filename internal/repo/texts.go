package repo

import (
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/rookeryhq/rookery/internal/eventlog"
)

// A Texts caches texts of notes and values of items. A text in the log never changes, so entries
// are never invalidated, except by an erasure. The least recently used entries are evicted first.
// It is shared by the vaults of a process, bounded in bytes, and safe for concurrent use. Sub
// returns a view of the entries of one tenant, which cannot reach those of others.
//
// The texts of a frame of a run are cached as one block, because reading one of them costs as much
// as reading all, and because thousands of small texts would be scattered over the heap. For a run
// of several frames, the packed run is cached too, which is much smaller, and of its frames those
// that were read.
//
// It also contains the changes cache of large runs, which has a quarter of the limit.
type Texts struct {
	*texts
	changes *changes
	tenant  string
}

// A texts is the cache that all tenants share.
type texts struct {
	mu   sync.Mutex
	lru  *simplelru.LRU[placed, cached]
	held int64 // bytes in use
	most int64 // bytes allowed

	// Texts that were replaced by newer ones, oldest first, and their total size in bytes. Few of
	// them are read again, so they get only a small part of the cache.
	old     []oldText
	oldHeld int64

	lost map[string]int // by tenant and part: how often texts were dropped because of an erasure
}

// An oldText is a cached text that was replaced by a newer one. It may have been evicted since.
type oldText struct {
	at   placed
	size int64
}

// A textKey identifies a text in one log of a tenant. The part of at says which kind of entry it
// is: a number from 0 is that of a single text, -1 stands for the run (see runKey), and -2-n for
// frame n of a run of several frames (see frameKey).
type textKey struct {
	part string
	at   eventlog.PartRef
}

// A placed identifies a text in a log of the deployment.
type placed struct {
	tenant string
	textKey
}

// A cached is a text, the texts of a frame, or a packed run of several frames.
type cached struct {
	text  []byte
	block block
	run   eventlog.PackedRun
	size  int64
}

// A block contains the texts of the parts of a frame; nil for parts without a text. All texts share
// one piece of memory.
type block struct {
	first int // number of the first part
	texts [][]byte
	idle  int // bytes of the memory that no text uses
}

// at returns the text of a part; nil if the block does not contain it.
func (b block) at(part int) []byte {
	if part -= b.first; part < 0 || part >= len(b.texts) {
		return nil
	}
	return b.texts[part]
}

// size returns the total length of the texts.
func (b block) size() (n int) {
	for _, text := range b.texts {
		n += len(text)
	}
	return n
}

// mostIdle is the share of the memory of a block, one in so many, that no text uses at most. The copies
// of a block whose texts are all replaced one by one have five times its size together.
const mostIdle = 6

// without returns the block without the text of a part. If too much of the memory is unused then, the
// texts are copied into a smaller piece.
func (b block) without(part int) block {
	b.texts = slices.Clone(b.texts) // others may be reading them
	text := &b.texts[part-b.first]
	b.idle += len(*text)
	if *text = nil; mostIdle*b.idle > b.size()+b.idle {
		b.texts, b.idle = inOnePiece(b.texts), 0
	}
	return b
}

// inOnePiece copies texts into one piece of memory of their size. A nil text stays nil.
func inOnePiece(texts [][]byte) [][]byte {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	all, copies := make([]byte, 0, size), make([][]byte, len(texts))
	for i, text := range texts {
		if text != nil {
			begin := len(all)
			all = append(all, text...)
			copies[i] = all[begin:len(all):len(all)]
		}
	}
	return copies
}

// runKey returns the key under which the run of a text is cached: the packed run if it has several
// frames, otherwise the block of its only frame.
func (k textKey) runKey() textKey {
	k.at.Part = -1
	return k
}

// frameKey returns the key of the block of a frame in the run of a text.
func (k textKey) frameKey(frame int) textKey {
	k.at.Part = -2 - frame
	return k
}

// textOverhead is about how many bytes an entry takes in addition to its text, and blockOverhead
// about how many each text of a block does.
const (
	textOverhead  = 256
	blockOverhead = 24
)

// NewTexts returns a cache with a limit of most bytes.
func NewTexts(most int64) *Texts {
	t := &texts{most: most - most/4, lost: map[string]int{}}
	lru, err := simplelru.NewLRU(1<<30, func(_ placed, c cached) { t.held -= c.size })
	if err != nil {
		panic(err) // never: the size is positive
	}
	t.lru = lru
	return &Texts{texts: t, changes: newChanges(most / 4)}
}

// Sub returns a view of the entries of a tenant. The limit applies to the whole cache.
func (t *Texts) Sub(tenant string) *Texts { return &Texts{t.texts, t.changes, tenant} }

// add caches a text, which must not be changed afterwards. state is the result of Texts.state
// before the text was read.
func (t *Texts) add(k textKey, state int, text []byte) {
	t.put(k, state, cached{text: text, size: int64(len(text)) + textOverhead})
}

// state returns a counter of the erasures in a log. A caller gets it before it reads a text, and
// passes it to add: if something was erased in between, the text is not cached.
func (t *Texts) state(part string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost[t.tenant+"/"+part]
}

// addRun caches a packed run of several frames, if it fits.
func (t *Texts) addRun(k textKey, state int, r eventlog.PackedRun) {
	if t.fits(r.Size()) {
		t.put(k.runKey(), state, cached{run: r, size: int64(r.Size()) + textOverhead})
	}
}

// addBlock caches the texts of a frame. It returns false, and caches nothing, if they do not fit.
func (t *Texts) addBlock(k textKey, state int, b block) bool {
	c := cachedBlock(b)
	if !t.fits(int(c.size)) {
		return false
	}
	t.put(k, state, c)
	return true
}

// cachedBlock returns the entry of a block.
func cachedBlock(b block) cached {
	return cached{block: b, size: int64(b.size()+b.idle+blockOverhead*len(b.texts)) + textOverhead}
}

// fits reports whether size bytes are at most half of the cache.
func (t *Texts) fits(size int) bool { return int64(size) <= t.most/2 }

// put caches an entry, unless its key is cached already or something was erased since state.
func (t *Texts) put(k textKey, state int, c cached) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := placed{t.tenant, k}
	// The text may have been erased after it was read.
	if t.lru.Contains(at) || t.lost[t.tenant+"/"+k.part] != state {
		return
	}
	t.lru.Add(at, c)
	t.held += c.size
	for t.held > t.most && t.lru.Len() > 1 {
		t.lru.RemoveOldest()
	}
}

// oldShare is the divisor of the cache size that limits the replaced texts.
const oldShare = 16

// replaced records that a commit has replaced some texts by newer ones. If the texts that earlier
// commits replaced exceed their share, the oldest are evicted. Without that, a note that is edited
// often would fill the cache with its own earlier texts, and the block of an import would keep the
// texts of all its notes that were replaced. The texts of this commit stay: the files of the notes
// are compared with them soon.
func (t *Texts) replaced(all []textKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.oldHeld > t.most/oldShare {
		first := t.old[0]
		t.old = t.old[1:]
		t.oldHeld -= first.size
		t.evict(first.at)
	}
	for _, k := range all {
		at := placed{t.tenant, k}
		if size := t.sizeOf(at); size > 0 {
			t.old = append(t.old, oldText{at, size})
			t.oldHeld += size
		}
	}
}

// sizeOf returns about how many bytes a text takes in the cache; 0 if it is not cached. The caller
// holds mu.
func (t *texts) sizeOf(at placed) int64 {
	if c, ok := t.lru.Peek(at); ok {
		return c.size
	}
	if _, c, ok := t.blockWith(at); ok {
		return int64(len(c.block.at(at.at.Part)))
	}
	return 0
}

// evict removes a text from the cache, or from its block. The caller holds mu.
func (t *texts) evict(at placed) {
	if t.lru.Remove(at) {
		return
	}
	if in, c, ok := t.blockWith(at); ok {
		next := cachedBlock(c.block.without(at.at.Part))
		t.held += next.size - c.size
		t.lru.Add(in, next)
	}
}

// blockWith returns the key and the entry of the block that contains a text; ok is false if none is
// cached. It does not count as a use. The caller holds mu.
func (t *texts) blockWith(at placed) (in placed, c cached, ok bool) {
	in = placed{at.tenant, at.runKey()}
	c, _ = t.lru.Peek(in)
	if c.run.Frames() > 0 {
		in.textKey = at.frameKey(c.run.FrameOf(at.at.Part))
		c, _ = t.lru.Peek(in)
	}
	return in, c, c.block.at(at.at.Part) != nil
}

// drop evicts the entry of a text. A text in a block stays until the block is evicted.
func (t *Texts) drop(k textKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lru.Remove(placed{t.tenant, k})
}

// dropRuns removes all texts of some runs of a log after an erasure, including those of parts that
// are not erased: they are in the same blocks.
func (t *Texts) dropRuns(part string, runs map[uint64]bool) {
	t.dropWhere(part, func(k textKey) bool { return runs[k.at.Run] })
}

// dropAll removes all texts of a log.
func (t *Texts) dropAll(part string) {
	t.dropWhere(part, func(textKey) bool { return true })
}

// dropWhere removes the entries of a log for which those returns true, and increments the counter
// of state.
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

// has reports whether a text can be returned without I/O. It does not count as a use.
func (t *Texts) has(k textKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lru.Contains(placed{t.tenant, k}) {
		return true
	}
	c, ok := t.lru.Peek(placed{t.tenant, k.runKey()})
	return ok && (c.run.Frames() > 0 || c.block.at(k.at.Part) != nil)
}

// get returns the text with a key, if it is cached.
func (t *Texts) get(k textKey) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.lru.Get(placed{t.tenant, k}); ok {
		return c.text, true
	}
	c, _ := t.lru.Get(placed{t.tenant, k.runKey()})
	if c.run.Frames() > 0 {
		c, _ = t.lru.Get(placed{t.tenant, k.frameKey(c.run.FrameOf(k.at.Part))})
	}
	text := c.block.at(k.at.Part)
	return text, text != nil
}

// run returns the packed run of a text, if it is cached.
func (t *Texts) run(k textKey) (eventlog.PackedRun, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, _ := t.lru.Get(placed{t.tenant, k.runKey()})
	return c.run, c.run.Frames() > 0
}
