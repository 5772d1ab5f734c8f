package repo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
)

// A Searchable is an index and a search index of the same version of a vault.
type Searchable struct {
	// Index and Search are immutable: updates replace them.
	Index  *index.Index
	Search *search.Index
}

// A searcher keeps a search index up to date. Commits cost almost nothing: the searcher records the
// keys that they changed, and the next search updates the index for all of them at once. It is safe
// for concurrent use.
//
// A search index is built from the newest base that there is: the current one; else that of the
// image from which the state was read; else all texts. The holder of the turn builds it without a
// lock, from the keys changed until then, and forward installs it. Keys of later commits stay
// recorded. begin, drop and erased count up epoch, so that a result which is based on older
// documents is returned to its caller, but not installed.
type searcher struct {
	of   searched
	turn chan struct{} // full while a caller updates the index

	waiters atomic.Int32 // callers that wait for the turn

	mu      sync.Mutex
	now     Searchable        // its Search is nil until the first search
	changed map[string]uint64 // by key, the last commit that changed it; nil: not recorded yet

	// image reads the search index of the image that the state was read from; changed contains all
	// changes after it. Nil: there is no such image, or now is newer.
	image    func(context.Context) (*search.Index, error)
	language string // of the search index of the image
	epoch    int    // counts resets; results computed before one are discarded
	purge    bool   // now contains words of erased texts
}

// newSearcher returns a searcher that records no changes yet.
func newSearcher(of searched) *searcher { return &searcher{of: of, turn: make(chan struct{}, 1)} }

// Searchable returns the index at the end of the log, and the search index of its notes at the same
// version. It updates the search index first; concurrent callers share that work. The first call
// reads all notes. If the update fails, because a text cannot be read or the context ends, the next
// call tries again. Other errors are those of Read.
func (v *Vault) Searchable(ctx context.Context) (Searchable, error) {
	return v.searchable(ctx, v.searcher)
}

// SearchableMemories is Searchable for the memories of the vault. The documents of its search index
// are named by memory ids.
func (v *Vault) SearchableMemories(ctx context.Context) (Searchable, error) {
	return v.searchable(ctx, v.memories)
}

// searchable returns the newest Searchable of a searcher, and updates it if necessary.
func (v *Vault) searchable(ctx context.Context, by *searcher) (Searchable, error) {
	by.listen()
	idx, err := v.Read(ctx)
	if err != nil {
		return Searchable{}, err
	}
	if s, ok := by.at(idx); ok {
		return s, nil
	}
	if err := by.take(ctx); err != nil {
		return Searchable{}, err
	}
	defer by.release()
	if s, ok := by.at(idx); ok {
		return s, nil
	}
	// The newest known state may be newer than idx, because another caller may have read the log
	// while this one waited.
	return v.bringForward(ctx, by, v.Known(), nil)
}

// take waits for the turn to update the search index. It returns an error if the context ends
// first. Call release afterwards.
func (s *searcher) take(ctx context.Context) error {
	s.waiters.Add(1)
	defer s.waiters.Add(-1)
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives the turn back.
func (s *searcher) release() { <-s.turn }

// listen makes the searcher record changes. It must be called before the first Read: earlier
// changes are in the index that Read returns.
func (s *searcher) listen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = map[string]uint64{}
	}
}

// begin makes the next search start from the search index of an image, and record the changes after
// it.
func (s *searcher) begin(
	language string, image func(context.Context) (*search.Index, error),
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.changed = Searchable{}, map[string]uint64{}
	s.image, s.language, s.purge = image, language, false
	s.epoch++
}

// applied records the keys that a commit changed.
func (s *searcher) applied(c *eventlog.Commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		return
	}
	for key := range s.of.changed(c) {
		s.changed[key] = c.Seq
	}
}

// at returns the current Searchable, if it is not older than an index.
func (s *searcher) at(idx *index.Index) (Searchable, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.now.Search == nil || s.now.Index.Version() < idx.Version():
		return Searchable{}, false
	case s.now.Index.Version() == idx.Version():
		return Searchable{idx, s.now.Search}, true
	}
	return s.now, true
}

// A due describes how to build a search index: from an older one and the keys that changed since.
// epoch is that of the searcher when the due was made, and is passed to forward.
type due struct {
	from  *search.Index
	keys  []string
	epoch int
	purge bool // purge removes erased words from the result
}

// due returns how to build the search index of an index. If there is no older search index, or it
// is for another language, all keys are returned. The same applies to a search index of version 0,
// because applied is not called for the commits that a log is begun with.
func (s *searcher) due(ctx context.Context, idx *index.Index) due {
	s.mu.Lock()
	now, image, epoch, purge := s.now, s.image, s.epoch, s.purge
	keys := slices.Collect(maps.Keys(s.changed))
	// Stemming depends on the language, so a search index for another one is of no use.
	language := idx.Config().Language
	if s.language != language {
		image = nil
	}
	s.mu.Unlock()
	switch {
	case now.Search != nil && now.Index.Version() > 0 && now.Index.Config().Language == language:
		return due{now.Search, keys, epoch, purge}
	case image != nil:
		if from, err := image(ctx); err == nil {
			return due{from, keys, epoch, purge}
		}
	}
	return due{search.New(s.of.profile, language), s.of.all(idx), epoch, false}
}

// pathsOf returns the paths of all notes, including files that are excluded from the notes by the
// configuration.
func pathsOf(idx *index.Index) []string {
	var paths []string
	for n := range idx.Notes("") {
		paths = append(paths, n.Path)
	}
	return slices.AppendSeq(paths, idx.HiddenPaths())
}

// forward installs a new Searchable, and drops the recorded changes that it includes. It does
// nothing if the searcher was reset since epoch, because the changes in between are not known.
func (s *searcher) forward(to Searchable, epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch {
		return
	}
	s.now, s.image, s.purge = to, nil, false
	for key, seq := range s.changed {
		if seq <= to.Index.Version() {
			delete(s.changed, key)
		}
	}
}

// replace installs an equal Searchable of the same version in place of the current one.
func (s *searcher) replace(same Searchable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Search != nil && same.Search != nil && s.now.Index.Version() == same.Index.Version() {
		s.now = same
	}
}

// unpin drops the Searchable of a state without documents, which would otherwise keep the state in
// memory.
func (s *searcher) unpin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = Searchable{}
}

// forget makes the next search read all documents again. It waits for the turn.
func (s *searcher) forget(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.image = Searchable{}, nil
	return nil
}

// drop makes the next search read all documents again. It does not wait for the turn; an update
// that is running is discarded.
func (s *searcher) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.image, s.purge = Searchable{}, nil, false
	s.epoch++
}

// erased makes the next search purge the search index, which may contain words of erased notes.
// Their paths are among the recorded changes.
func (s *searcher) erased() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge = true
	s.epoch++
}

// manySwept is how many bytes of text must have been read to return memory to the operating system
// at once: the texts are garbage then, and the next garbage collection may be hours later.
const manySwept = 8 << 20

// bringForward builds the Searchable of a state that is not older than the current one, and
// installs it. The caller holds the turn. y is the yielder of the pass that needs it, nil if a call
// does.
func (v *Vault) bringForward(
	ctx context.Context, by *searcher, idx *index.Index, y *yielder,
) (Searchable, error) {
	d := by.due(ctx, idx)
	x, err := v.searchWith(ctx, d.from, by.of.inLogOrder(idx, d.keys), y)
	if err != nil {
		return Searchable{}, err
	}
	if d.purge {
		x = x.Purged()
	}
	now := Searchable{idx, x}
	by.forward(now, d.epoch)
	return now, nil
}

// searchWith returns a search index with some changes applied; from stays as it is. It reads the
// texts of the changed documents. It returns the error of the first text that cannot be read. y is as
// for bringForward.
func (v *Vault) searchWith(
	ctx context.Context, from *search.Index, list []searchChange, y *yielder,
) (*search.Index, error) {
	s := sweep{v: v, most: manySwept, yielder: y}
	x := from.WithAll(s.changes(ctx, list))
	s.run = nil
	if s.read > manySwept {
		debug.FreeOSMemory()
	}
	return x, s.err
}

// inLogOrder returns the changes for some keys, in the order of their texts in the log, so that
// each run is read once. Documents that no longer exist come first. Equal inputs have equal
// results, whatever the order of keys.
func (of searched) inLogOrder(idx *index.Index, keys []string) []searchChange {
	list := make([]searchChange, len(keys))
	for i, key := range keys {
		c, there := of.find(idx, key)
		c.key, c.gone = key, !there
		list[i] = c
	}
	slices.SortFunc(list, func(a, b searchChange) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key))
	})
	return list
}

// A sweep reads many texts in the order of the log. It reads each run at most once, and does not
// fill the cache, because most of the texts will not be read again soon.
type sweep struct {
	v     *Vault
	run   *eventlog.Run
	ahead map[uint64]*eventlog.Run // runs that were read in advance, by their first commits
	read  int                      // bytes of text
	most  int                      // bytes of text after which garbage is collected next
	err   error                    // why not all was read

	yielder *yielder // waits before each text; nil: nothing does
}

// collect returns garbage to the operating system after each s.most bytes of text. Otherwise many
// texts are read while one collection runs, and all of them are in memory until the next one ends.
func (s *sweep) collect() {
	if s.read < s.most {
		return
	}
	// In proportion to the live heap, so that the number of collections does not grow with the
	// vault.
	s.most = s.read + max(manySwept, int(s.v.log.Known().State.Size()/8))
	debug.FreeOSMemory()
}

// changes yields the changes of the search index, up to the first text that cannot be read.
func (s *sweep) changes(ctx context.Context, list []searchChange) iter.Seq[search.Change] {
	return func(yield func(search.Change) bool) {
		ahead := 0 // number of changes whose runs were read ahead
		for i, c := range list {
			s.yielder.wait(ctx)
			if i == ahead {
				s.ahead, s.run = nil, nil // these texts are garbage now
				s.collect()
				ahead += s.readAhead(ctx, list[i:])
			}
			change, err := s.change(ctx, c)
			if err != nil {
				s.err = err
				return
			}
			if !yield(change) {
				return
			}
		}
	}
}

// change reads the text of one document, and returns its change.
func (s *sweep) change(ctx context.Context, c searchChange) (search.Change, error) {
	if c.gone {
		return search.Change{Doc: c.key, Deleted: true}, nil
	}
	if ctx.Err() != nil {
		return search.Change{}, context.Cause(ctx)
	}
	text, err := s.text(ctx, c.at)
	if err != nil {
		return search.Change{}, fmt.Errorf("read the texts to search: %w", err)
	}
	s.read += len(text)
	note, err := c.note(text)
	return search.Change{Doc: c.key, Note: note}, err
}

// text returns a text. The caller must neither change nor keep it, because it may share memory with
// others.
func (s *sweep) text(ctx context.Context, at eventlog.PartRef) ([]byte, error) {
	if text, ok := s.v.texts.get(textKey{s.v.part, at}); ok {
		return text, nil
	}
	if r := s.ahead[at.Run]; r != nil {
		s.run = r
	}
	if s.run == nil || s.run.First != at.Run {
		r, err := s.v.log.RunAt(ctx, at.Run)
		if err != nil {
			return nil, err
		}
		s.run = r
	}
	p, err := s.run.Part(at)
	if err != nil {
		return nil, err
	}
	return eventlog.TextOf(p, at)
}
