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

	"rookery/internal/index"
	"rookery/internal/search"
)

// A Searchable is a vault as it can be searched: two values that are true of the same version.
type Searchable struct {
	Index  *index.Index
	Search *search.Index
}

// A searcher keeps what can be searched of a vault. Commits pay next to nothing for it: they leave
// the keys of what they changed, and the next search brings the search index forward by all of them at
// once.
type searcher struct {
	of   searched
	turn chan struct{} // held by the one who brings the index forward

	mu      sync.Mutex
	now     Searchable        // its Search is nil until somebody has searched
	changed map[string]uint64 // the last commit that changed what goes by a key; nil: nobody asks for it yet

	// image gives the search index of an image that the index goes on from, behind which changed knows
	// all; nil: there is none, or more is known by now.
	image    func(context.Context) (*search.Index, error)
	language string // of that search index
	epoch    int    // counts such images
	purge    bool   // what can be searched has words of what was erased
}

func newSearcher(of searched) *searcher { return &searcher{of: of, turn: make(chan struct{}, 1)} }

// Searchable is the index at the head of the log, and the search index of its notes of the same version. It is
// brought forward first, which the callers of one time share; the first one waits until all notes
// are read. If that fails, because a text cannot be read or the context ends, the next call tries
// again.
func (v *Vault) Searchable(ctx context.Context) (Searchable, error) {
	return v.searchable(ctx, v.searcher)
}

// SearchableMemories is Searchable for the memories of the vault, which go by their ids.
func (v *Vault) SearchableMemories(ctx context.Context) (Searchable, error) {
	return v.searchable(ctx, v.memories)
}

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
	return v.bringForward(ctx, by, v.Known())
}

// take waits for the turn to change what can be searched.
func (s *searcher) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *searcher) release() { <-s.turn }

// listen makes the searcher remember what changes. It comes before the first Read: what was applied
// earlier is in the index that this gives.
func (s *searcher) listen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = map[string]uint64{}
	}
}

// begin makes the next search go on from that of an image, and remember what changes behind it.
func (s *searcher) begin(
	language string, image func(context.Context) (*search.Index, error),
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.changed = Searchable{}, map[string]uint64{}
	s.image, s.language, s.purge = image, language, false
	s.epoch++
}

// applied remembers what a commit changed.
func (s *searcher) applied(c *Commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		return
	}
	for key := range s.of.changed(c) {
		s.changed[key] = c.Seq
	}
}

// at is what can be searched, if it is not older than an index.
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

// A due is what a search index is made from: an older one, and the keys of what has changed since.
type due struct {
	from  *search.Index
	keys  []string
	epoch int
	purge bool // nothing may be left of what is not there
}

// due is what the search index of an index is made from. Where there is none, and where the language is
// another, that is everything. So it is at version 0, for nobody is told of the commits that the log is
// begun with.
func (s *searcher) due(ctx context.Context, idx *index.Index) due {
	s.mu.Lock()
	now, image, epoch, purge := s.now, s.image, s.epoch, s.purge
	keys := slices.Collect(maps.Keys(s.changed))
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

// pathsOf are the paths of all notes, and of the files that exclude makes no notes.
func pathsOf(idx *index.Index) []string {
	var paths []string
	for n := range idx.Notes("") {
		paths = append(paths, n.Path)
	}
	return slices.AppendSeq(paths, idx.HiddenPaths())
}

// forward replaces what can be searched, and forgets the changes that are in it. If the index has
// leapt to an image meanwhile, what came between is not known, and nothing is replaced.
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

// replace puts another value that is true of the same version in the place of what can be searched.
func (s *searcher) replace(same Searchable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Search != nil && same.Search != nil && s.now.Index.Version() == same.Index.Version() {
		s.now = same
	}
}

// unpin forgets what can be searched of a state that has nothing to be searched: it would keep the state in memory.
func (s *searcher) unpin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = Searchable{}
}

// forget makes the next search read all notes again.
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

// drop makes the next search read all notes again, whoever has the turn.
func (s *searcher) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.image, s.purge = Searchable{}, nil, false
	s.epoch++
}

// erased makes the next search purge what can be searched: a search index remembers words of notes that are gone. The
// paths of the notes are among those that changed.
func (s *searcher) erased() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge = true
	s.epoch++
}

// manySwept is how many bytes of text must have been read for what they took to be given back at once:
// they are garbage when the search index is made, and the next ones may come hours later.
const manySwept = 8 << 20

// bringForward makes a state searchable, which is not older than what is. The caller has the turn.
func (v *Vault) bringForward(ctx context.Context, by *searcher, idx *index.Index) (Searchable, error) {
	d := by.due(ctx, idx)
	x, err := v.searchWith(ctx, d.from, by.of.inLogOrder(idx, d.keys))
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

// searchWith is a search index with some changes.
func (v *Vault) searchWith(
	ctx context.Context, from *search.Index, list []searchChange,
) (*search.Index, error) {
	s := sweep{v: v}
	x := from.WithAll(s.changes(ctx, list))
	s.run = nil
	if s.read > manySwept {
		debug.FreeOSMemory()
	}
	return x, s.err
}

// inLogOrder are the things of some keys in the order in which the log has their texts.
func (of searched) inLogOrder(idx *index.Index, keys []string) []searchChange {
	list := make([]searchChange, len(keys))
	for i, key := range keys {
		c, there := of.find(idx, key)
		c.key, c.gone = key, !there
		list[i] = c
	}
	slices.SortFunc(list, func(a, b searchChange) int {
		return cmp.Or(a.at.compare(b.at), cmp.Compare(a.key, b.key))
	})
	return list
}

// A sweep reads many texts in the order of the log: each run once at most, and past the cache, for
// most of them nobody will read again soon.
type sweep struct {
	v     *Vault
	run   *run
	ahead map[uint64]*run // read before they are needed, by their first commits
	read  int             // bytes of text
	err   error           // why not all was read
}

// changes yields what there is to be searched anew, up to the first text that cannot be read.
func (s *sweep) changes(ctx context.Context, list []searchChange) iter.Seq[search.Change] {
	return func(yield func(search.Change) bool) {
		ahead := 0 // changes whose texts were read ahead
		for i, c := range list {
			if i == ahead {
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

// change reads the text of one thing.
func (s *sweep) change(ctx context.Context, c searchChange) (search.Change, error) {
	if c.gone {
		return search.Change{Doc: c.key, Deleted: true}, nil
	}
	if ctx.Err() != nil {
		return search.Change{}, context.Cause(ctx)
	}
	text, err := s.text(ctx, c.at)
	if err != nil {
		return search.Change{}, fmt.Errorf("read what is to be searched: %w", err)
	}
	s.read += len(text)
	note, err := c.note(text)
	return search.Change{Doc: c.key, Note: note}, err
}

// text is a text that is not to be changed, nor kept: others may lie in the same memory.
func (s *sweep) text(ctx context.Context, at Place) ([]byte, error) {
	if text, ok := s.v.texts.get(textKey{s.v.part, at}); ok {
		return text, nil
	}
	if r := s.ahead[at.Run]; r != nil {
		s.run = r
	}
	if s.run == nil || s.run.First != at.Run {
		r, err := s.v.log.runAt(ctx, at.Run)
		if err != nil {
			return nil, err
		}
		s.run = r
	}
	if at.Part < 0 || at.Part >= len(s.run.parts) {
		return nil, fmt.Errorf("run %d has no part %d", at.Run, at.Part)
	}
	return textOf(s.run.parts[at.Part].data, at)
}
