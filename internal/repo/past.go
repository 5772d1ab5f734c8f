package repo

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/search"
)

const (
	// defaultPasts bounds the past states of a vault that shares none with others.
	defaultPasts = 64 << 20

	// pastLife is how long a past state is kept that nobody asks for.
	pastLife = 2 * time.Minute

	// pastPatience is how long the making of one may take, whoever waits for it.
	pastPatience = 5 * time.Minute
)

// Pasts keeps the states of vaults at earlier versions that were asked for last. A state is made by
// folding the log behind the image before it, of which there is one at a time; who asks for the same
// one meanwhile shares it, and it is made to the end though nobody waits any more: a state of a large
// vault may take longer than a call. It is shared by the vaults of a process, bounded by bytes,
// and forgets what nobody asks for.
type Pasts struct {
	most int64         // bytes
	turn chan struct{} // held by the one who makes a state

	mu   sync.Mutex
	kept []*past // who was asked for last stands first
}

// A past is a vault at one version.
type past struct {
	pastKey
	state Searchable // its Search is nil until somebody has searched; it is changed by who has the turn
	size  int64
	timer *time.Timer

	memories *search.Index // of its memories; nil until somebody has searched them
}

// pastKey names a state. The vault is that of one incarnation: no later one meets what it was.
type pastKey struct {
	vault   *Vault
	version uint64
}

// NewPasts makes a Pasts that keeps nothing yet, and never more than so many bytes: but for the
// state that was made last, which may be larger and is kept until the next one is made. One more is
// in memory while it is made, for a state shares nothing with others.
func NewPasts(most int64) *Pasts { return &Pasts{most: most, turn: make(chan struct{}, 1)} }

// get is a state that is kept, together with its search index if that is wanted.
func (p *Pasts) get(k pastKey, searched bool) (Searchable, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.kept, func(s *past) bool { return s.pastKey == k })
	if i < 0 || searched && p.kept[i].state.Search == nil {
		return Searchable{}, false
	}
	s := p.kept[i]
	s.timer.Reset(pastLife)
	p.kept = slices.Insert(slices.Delete(p.kept, i, i+1), 0, s)
	return s.state, true
}

// put keeps a state, and of the others those that were asked for last, as far as there is room.
func (p *Pasts) put(k pastKey, state Searchable) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := &past{pastKey: k, state: state, size: state.size()}
	now.timer = time.AfterFunc(pastLife, func() { p.forget(now) })
	kept, held := []*past{now}, now.size
	for _, s := range p.kept {
		if s.pastKey == k || held+s.size > p.most {
			s.timer.Stop()
			continue
		}
		kept, held = append(kept, s), held+s.size
	}
	p.kept = kept
}

// size is about how many bytes of memory a state holds.
func (s Searchable) size() int64 {
	size := s.Index.Size()
	if s.Search != nil {
		size += s.Search.Size()
	}
	return size
}

// forget drops a state that nobody asked for, and gives back what a large one held: the collector may
// not look for a long time.
func (p *Pasts) forget(gone *past) {
	p.mu.Lock()
	p.kept = slices.DeleteFunc(p.kept, func(s *past) bool { return s == gone })
	p.mu.Unlock()
	if gone.size > manyRead {
		debug.FreeOSMemory()
	}
}

// dropAll forgets all states of a vault.
func (p *Pasts) dropAll(v *Vault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(s *past) bool {
		if s.vault == v {
			s.timer.Stop()
		}
		return s.vault == v
	})
}

// past is a state of the vault, with its search index if that is wanted.
func (v *Vault) past(ctx context.Context, version uint64, searched bool) (Searchable, error) {
	p, k := v.pasts, pastKey{v, version}
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
	case <-ctx.Done(): // it is made all the same, for who asks again
		return Searchable{}, notYetMade(ctx, version)
	}
}

// notYetMade is the fault of a call that ended before its state was made.
func notYetMade(ctx context.Context, version uint64) error {
	return fault.New(fault.Unavailable, "the vault as of %s is still being read from the log",
		Version(version)).After(5 * time.Second).Because(context.Cause(ctx))
}

// makePast makes a state, or its search index if only that is missing, and keeps it.
func (v *Vault) makePast(ctx context.Context, version uint64, searched bool) (Searchable, error) {
	ctx, cancel := context.WithTimeout(ctx, pastPatience)
	defer cancel()
	k := pastKey{v, version}
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
	v.pasts.put(k, s)
	return s, nil
}

// At is the index at a version: what Read gave when it was the newest. It costs as much as reading
// the image before it and the log behind that, unless the version is the newest one or was asked for a
// moment ago. A version
// that is not there yet is NOT_FOUND.
func (v *Vault) At(ctx context.Context, version uint64) (*index.Index, error) {
	head, err := v.Read(ctx)
	if err != nil || head.Version() == version {
		return head, err
	}
	if version > head.Version() {
		return nil, notYet(version, head.Version())
	}
	s, err := v.past(ctx, version, false)
	return s.Index, err
}

// SearchableAt is what Searchable gave when a version was the newest. The first one who searches in
// it waits until the notes are read that have changed since the image before it, or all of them.
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
	return v.past(ctx, version, true)
}

// SearchableMemoriesAt is what SearchableMemories gave when a version was the newest. The first one who searches in it
// waits until all memories of then are read.
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
	k := pastKey{v, version}
	if x := v.pasts.memoriesOf(k); x != nil {
		return Searchable{idx, x}, nil
	}
	of := v.memories.of
	x, err := v.searchWith(ctx, search.New(of.profile, idx.Config().Language), of.inLogOrder(idx, of.all(idx)))
	if err != nil {
		return Searchable{}, err
	}
	v.pasts.keepMemories(k, x)
	return Searchable{idx, x}, nil
}

// memoriesOf is the search index of the memories of a state that is kept; nil if there is none.
func (p *Pasts) memoriesOf(k pastKey) *search.Index {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.kept {
		if s.pastKey == k {
			return s.memories
		}
	}
	return nil
}

// keepMemories keeps the search index of the memories of a state, if that is kept.
func (p *Pasts) keepMemories(k pastKey, x *search.Index) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.kept {
		if s.pastKey == k && s.memories == nil {
			s.memories = x
			s.size += x.Size()
		}
	}
}

// notYet is the fault of a version that is not there yet.
func notYet(version, latest uint64) error {
	return fault.New(fault.NotFound, "there is no %s yet: the latest version is %s",
		Version(version), Version(latest)).With("latest_version", Version(latest))
}

// buildUpTo is the index after the commits up to a version: those behind the newest image before it.
func (v *Vault) buildUpTo(ctx context.Context, version uint64) (*index.Index, error) {
	c, err := v.log.Control(ctx)
	if err != nil {
		return nil, err
	}
	r := replay[*index.Index]{log: v.log, upTo: maxSeq}
	r.head, _, _ = v.log.newestImage(ctx, c, version)
	r.head.control = c
	b := index.NewBuilder(r.head.state)
	last := r.head.seq
	if last < version {
		r.each(ctx, func(c *Commit, at Place) bool {
			last = c.Seq
			b = add(b, c, at)
			return c.Seq < version
		})
	}
	if r.read > manyRead {
		debug.FreeOSMemory()
	}
	switch {
	case last == version:
		return b.Index(), nil
	case r.err != nil:
		return nil, v.log.orErased(ctx, r.err)
	}
	return nil, damaged(last+1, errors.New("the log ends before its head"))
}

// searchableOf is an index of an earlier version with its search index.
func (v *Vault) searchableOf(ctx context.Context, idx *index.Index) (Searchable, error) {
	from, paths := v.searchBefore(ctx, idx)
	x, err := v.searchWith(ctx, from, v.searcher.of.inLogOrder(idx, paths))
	return Searchable{idx, x}, err
}

// searchBefore is what the search index of an earlier version is made from: that of the newest image
// before it, and the paths that changed since. Where there is none that can be used, that is all notes.
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

// searchImage is the search index of the newest image that is not beyond a version, and the commit that
// it is of.
func (v *Vault) searchImage(
	ctx context.Context, version uint64,
) (*search.Index, uint64, error) {
	c, err := v.log.Control(ctx)
	if err != nil {
		return nil, 0, err
	}
	i, ok := c.nearest(version)
	if !ok {
		return nil, 0, errImage
	}
	from, err := v.log.baseOf(ctx, i)
	if err == nil && from.head.Search == 0 {
		err = errImage
	}
	if err != nil {
		return nil, 0, err
	}
	x, err := v.searchOf(ctx, from, from.notes())
	return x, i.Seq, err
}
