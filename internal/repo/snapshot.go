package repo

import (
	"context"
	"errors"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
)

const (
	// defaultPasts is the limit, in bytes, of the SnapshotCache of a vault that does not share one.
	defaultPasts = 64 << 20

	// pastLife is how long an unused past state is kept.
	pastLife = 2 * time.Minute

	// largeState is the size in bytes from which the memory of a past state is returned to the
	// operating system when it is dropped.
	largeState = 32 << 20

	// pastPatience is the time limit for building a past state.
	pastPatience = 5 * time.Minute
)

// A SnapshotCache caches recently used states of vaults at earlier versions. A state is built by
// applying the log to the image before it. Only one state is built at a time; callers that ask for
// the same one share it. A state is built to the end even if no caller waits any more, because that
// may take longer than a call for a large vault. A SnapshotCache is shared by the vaults of a
// process, bounded in bytes, and drops states that are not used. It is safe for concurrent use.
type SnapshotCache struct {
	most int64         // limit in bytes
	turn chan struct{} // full while a state is built

	mu    sync.Mutex
	kept  []*snapshot // most recently used first
	drops int         // how often dropAll was called; see state
}

// A snapshot is the state of a vault at one version.
type snapshot struct {
	snapshotKey
	state Searchable // its Search is nil until the first search; changed only by the holder of the turn
	size  int64
	timer *time.Timer

	memories *search.Index // search index of the memories; nil until the first search of them
}

// A snapshotKey identifies a state. The vault is one incarnation, so that a later one does not get
// its states.
type snapshotKey struct {
	vault   *Vault
	version uint64
}

// NewSnapshotCache returns an empty SnapshotCache with a limit in bytes. The state that was built
// last may exceed the limit, and is kept until the next one is built. While a state is built, one
// more is in memory, because states share no data.
func NewSnapshotCache(most int64) *SnapshotCache {
	return &SnapshotCache{most: most, turn: make(chan struct{}, 1)}
}

// get returns a cached state, with its search index if searched is set; false if it is not cached.
func (p *SnapshotCache) get(k snapshotKey, searched bool) (Searchable, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.kept, func(s *snapshot) bool { return s.snapshotKey == k })
	if i < 0 || searched && p.kept[i].state.Search == nil {
		return Searchable{}, false
	}
	s := p.kept[i]
	s.timer.Reset(pastLife)
	p.kept = slices.Insert(slices.Delete(p.kept, i, i+1), 0, s)
	return s.state, true
}

// state returns a counter that dropAll increments. It must be read before a state is built; put and
// keepMemories then refuse one that was built from data that were erased meanwhile.
func (p *SnapshotCache) state() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drops
}

// put caches a state, and evicts the least recently used ones that exceed the limit. It does nothing
// if dropAll was called since the counter was since.
func (p *SnapshotCache) put(k snapshotKey, state Searchable, since int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drops != since {
		return
	}
	now := &snapshot{snapshotKey: k, state: state, size: state.size()}
	now.timer = time.AfterFunc(pastLife, func() { p.forget(now) })
	kept, held := []*snapshot{now}, now.size
	for _, s := range p.kept {
		if s.snapshotKey == k || held+s.size > p.most {
			s.timer.Stop()
			continue
		}
		kept, held = append(kept, s), held+s.size
	}
	p.kept = kept
}

// size returns about how many bytes of memory a state takes.
func (s Searchable) size() int64 {
	size := s.Index.Size()
	if s.Search != nil {
		size += s.Search.Size()
	}
	return size
}

// forget drops an unused state. It returns the memory of a large one to the operating system,
// because the garbage collector may not run for a long time.
func (p *SnapshotCache) forget(gone *snapshot) {
	p.mu.Lock()
	p.kept = slices.DeleteFunc(p.kept, func(s *snapshot) bool { return s == gone })
	p.mu.Unlock()
	if gone.size > largeState {
		debug.FreeOSMemory()
	}
}

// dropAll drops all states of a vault, because they may contain erased data. A state that is being
// built at that time, of any vault, is not cached.
func (p *SnapshotCache) dropAll(v *Vault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops++
	p.kept = slices.DeleteFunc(p.kept, func(s *snapshot) bool {
		if s.vault == v {
			s.timer.Stop()
		}
		return s.vault == v
	})
}

// snapshot returns a state of the vault, with its search index if searched is set. If the context
// ends before the state is built it returns UNAVAILABLE, and building continues.
//
// The turn belongs to the goroutine that builds, not to the caller, so it is released when the
// state is cached, whether the caller still waits or not. A caller that gets the turn looks into
// the cache again first: it may have waited for the very state that it needs.
func (v *Vault) snapshot(ctx context.Context, version uint64, searched bool) (Searchable, error) {
	p, k := v.pasts, snapshotKey{v, version}
	if s, ok := p.get(k, searched); ok {
		return s, nil
	}
	if ctx.Err() != nil {
		return Searchable{}, context.Cause(ctx)
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return Searchable{}, notYetMade(ctx, version)
	}
	if s, ok := p.get(k, searched); ok {
		<-p.turn
		return s, nil
	}
	made := make(chan error, 1)
	var s Searchable
	go func() {
		defer func() { <-p.turn }()
		var err error
		s, err = v.makePast(context.WithoutCancel(ctx), version, searched)
		made <- err
	}()
	select {
	case err := <-made:
		return s, err
	case <-ctx.Done(): // building continues, for a later call
		return Searchable{}, notYetMade(ctx, version)
	}
}

// notYetMade returns the error of a call that ended before its state was built: UNAVAILABLE, with
// the cause of the context, to be repeated after a few seconds.
func notYetMade(ctx context.Context, version uint64) error {
	return fault.New(fault.Unavailable, "the vault as of %s is still being read from the log",
		eventlog.Version(version)).After(5 * time.Second).Because(context.Cause(ctx))
}

// makePast builds and caches a state. If only its search index is missing, it builds that. The
// caller holds the turn. After pastPatience it gives up with the error of the context, so that a
// store that does not answer does not block the cache.
func (v *Vault) makePast(ctx context.Context, version uint64, searched bool) (Searchable, error) {
	ctx, cancel := context.WithTimeout(ctx, pastPatience)
	defer cancel()
	k, since := snapshotKey{v, version}, v.pasts.state()
	s, known := v.pasts.get(k, false)
	var err error
	if !known {
		if s.Index, err = v.buildUpTo(ctx, version); err != nil {
			return s, err
		}
	}
	if searched {
		if s, err = v.searchableOf(ctx, s.Index); err != nil {
			return s, err
		}
	}
	v.pasts.put(k, s, since)
	return s, nil
}

// At returns the index at a version, as Read returned it when it was the newest. It costs reading
// the image before it and the log after that image, unless the version is the newest one or cached.
// It returns NOT_FOUND for a version that does not exist yet. If the context ends before the state
// is built, it returns UNAVAILABLE.
func (v *Vault) At(ctx context.Context, version uint64) (*index.Index, error) {
	head, err := v.Read(ctx)
	if err != nil || head.Version() == version {
		return head, err
	}
	if version > head.Version() {
		return nil, notYet(version, head.Version())
	}
	s, err := v.snapshot(ctx, version, false)
	return s.Index, err
}

// SearchableAt returns the result that Searchable had when the version was the newest. The first
// search of a version waits until the notes are read that changed since the image before it, or all
// notes if there is no usable image. Its errors are those of At.
func (v *Vault) SearchableAt(ctx context.Context, version uint64) (Searchable, error) {
	head, err := v.Read(ctx)
	switch {
	case err != nil:
		return Searchable{}, err
	case version > head.Version():
		return Searchable{}, notYet(version, head.Version())
	case version == head.Version():
		s, err := v.Searchable(ctx)
		if err != nil || s.Index.Version() == version {
			return s, err
		}
	}
	return v.snapshot(ctx, version, true)
}

// SearchableMemoriesAt returns the result that SearchableMemories had when the version was the
// newest. The first search of a version waits until all memories of it are read. Its errors are
// those of At.
func (v *Vault) SearchableMemoriesAt(ctx context.Context, version uint64) (Searchable, error) {
	head, err := v.Read(ctx)
	if err != nil {
		return Searchable{}, err
	}
	if version == head.Version() {
		s, err := v.SearchableMemories(ctx)
		if err != nil || s.Index.Version() == version {
			return s, err
		}
	}
	idx, err := v.At(ctx, version)
	if err != nil {
		return Searchable{}, err
	}
	k := snapshotKey{v, version}
	if x := v.pasts.memoriesOf(k); x != nil {
		return Searchable{idx, x}, nil
	}
	of, since := v.memories.of, v.pasts.state()
	x, err := v.searchWith(ctx, search.New(of.profile, idx.Config().Language), of.inLogOrder(idx, of.all(idx)), nil)
	if err != nil {
		return Searchable{}, err
	}
	v.pasts.keepMemories(k, x, since)
	return Searchable{idx, x}, nil
}

// memoriesOf returns the search index of the memories of a cached state; nil if there is none.
func (p *SnapshotCache) memoriesOf(k snapshotKey) *search.Index {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.kept {
		if s.snapshotKey == k {
			return s.memories
		}
	}
	return nil
}

// keepMemories stores the search index of the memories of a state, if that state is cached. It does
// nothing if dropAll was called since the counter was since.
func (p *SnapshotCache) keepMemories(k snapshotKey, x *search.Index, since int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drops != since {
		return
	}
	for _, s := range p.kept {
		if s.snapshotKey == k && s.memories == nil {
			s.memories = x
			s.size += x.Size()
		}
	}
}

// notYet returns the NOT_FOUND error of a version that does not exist yet.
func notYet(version, latest uint64) error {
	return fault.New(fault.NotFound, "there is no %s yet: the latest version is %s",
		eventlog.Version(version), eventlog.Version(latest)).With("latest_version", eventlog.Version(latest))
}

// buildUpTo builds the index at a version from the newest image before it and the commits after
// that image.
func (v *Vault) buildUpTo(ctx context.Context, version uint64) (*index.Index, error) {
	build := func(from *index.Index, commits iter.Seq2[*eventlog.Commit, eventlog.PartRef]) *index.Index {
		b := index.NewBuilder(from)
		for c, at := range commits {
			b = add(b, c, at)
		}
		return b.Index()
	}
	return v.log.StateAt(ctx, version, build)
}

// searchableOf returns an index of an earlier version with its search index. It reads the texts of
// the notes that changed since the image before that version, or of all notes if there is no usable
// image.
func (v *Vault) searchableOf(ctx context.Context, idx *index.Index) (Searchable, error) {
	from, paths := v.searchBefore(ctx, idx)
	x, err := v.searchWith(ctx, from, v.searcher.of.inLogOrder(idx, paths), nil)
	return Searchable{idx, x}, err
}

// searchBefore returns the inputs for the search index of an earlier version: the search index of
// the newest image before it, and the paths that changed since. If there is no usable one, it
// returns an empty search index and all paths.
func (v *Vault) searchBefore(
	ctx context.Context, idx *index.Index,
) (*search.Index, []string) {
	language := idx.Config().Language
	from, seq, err := v.searchImage(ctx, idx.Version())
	if err != nil || from.Language() != language {
		return search.Empty(language), pathsOf(idx)
	}
	changed := map[string]bool{}
	for c, err := range v.log.Commits(ctx, seq+1) {
		if err != nil {
			return search.Empty(language), pathsOf(idx)
		}
		if c.Seq > idx.Version() {
			break
		}
		for _, n := range c.Notes {
			changed[n.Path] = true
		}
	}
	return from, slices.Collect(maps.Keys(changed))
}

// searchImage returns the search index of the newest image that is not after a version, and the
// commit of that image.
func (v *Vault) searchImage(
	ctx context.Context, version uint64,
) (*search.Index, uint64, error) {
	from, err := v.log.ImageBefore(ctx, version)
	if err == nil && !from.Has(eventlog.SearchSection) {
		err = errors.New("the image has no search index")
	}
	if err != nil {
		return nil, 0, err
	}
	x, err := v.searchOf(ctx, from, eventlog.SearchSection)
	return x, from.Seq(), err
}
