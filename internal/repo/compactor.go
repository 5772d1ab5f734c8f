package repo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
)

// Compact makes one compaction pass over the log of the vault, which does all work that is due. Each
// step is idempotent and has a cursor of its own, so a pass may be interrupted at any point, and
// several processes may run passes at once (log.md §4). A log that is being erased is left alone.
// Passes of one process run one after the other. The errors of all steps are joined.
func (v *Vault) Compact(ctx context.Context, f Compaction) error {
	return v.log.makePass(ctx, f, v.passage(f))
}

// passage returns the steps that are specific to vaults.
func (v *Vault) passage(f Compaction) passage[*index.Index] {
	return passage[*index.Index]{
		before: func(ctx context.Context) (err error) {
			if v.log.head.Load().control.Erasing != nil {
				err = v.eraseDue(ctx, f)
			}
			return errors.Join(err, v.noteSize(ctx), v.foldAccesses(ctx))
		},
		head: v.searchedHead, goOn: v.goOn,
	}
}

// Compact makes one compaction pass over a log without search indexes; see Vault.Compact. It does nothing
// for a log without Imaging.
func (l *Log[S]) Compact(ctx context.Context, f Compaction) error {
	if l.opt.Imaging == nil {
		return nil
	}
	return l.makePass(ctx, f, passage[S]{
		before: func(context.Context) error { return nil },
		head: func(ctx context.Context) (*head[S], searchSections, error) {
			_, err := l.Read(ctx)
			return l.head.Load(), searchSections{}, err
		},
	})
}

// CompactDue reports whether a pass has something to do, according to the state in memory. It waits
// for a running pass to end.
func (l *Log[S]) CompactDue(f Compaction) bool {
	if l.opt.Imaging == nil {
		return false
	}
	l.folding.Lock()
	defer l.folding.Unlock()
	h := l.head.Load()
	return l.outwardDue(h, f) || h.control.trims(f, l.opt.Now().UTC())
}

// outwardDue reports whether a segment or an image is due. The caller holds folding.
func (l *Log[S]) outwardDue(h *head[S], f Compaction) bool {
	return l.segmentsDue(h) || h.control.Waiting != nil || l.imageDue(h, f)
}

// A passage contains the steps of a pass that differ between kinds of logs.
type passage[S any] struct {
	before func(context.Context) error
	// head returns the newest state, and the search indexes for its image.
	head func(context.Context) (*head[S], searchSections, error)
	// goOn is called with the image that was written of a head. Nil: it is not called.
	goOn func(context.Context, *head[S], *made) error
}

// makePass makes one pass.
func (l *Log[S]) makePass(ctx context.Context, f Compaction, p passage[S]) error {
	l.folding.Lock()
	defer l.folding.Unlock()
	s, err := l.Read(ctx)
	if errors.Is(err, ErrNoLog) || s.Status == Sealed {
		return nil // a log that is being erased is not compacted
	}
	if err != nil {
		return err
	}
	// A failed step does not prevent the later ones: each has a cursor of its own.
	err = errors.Join(p.before(ctx), l.foldSegments(ctx, f.All))
	if !f.Later {
		err = errors.Join(err, l.foldImage(ctx, f, p))
	}
	if f.clocked() {
		err = errors.Join(err, l.trim(ctx, f), l.dropImages(ctx), l.sweepLeftovers(ctx))
	}
	if errors.Is(l.orErased(ctx, err), ErrNoLog) {
		return nil
	}
	return err
}

// foldImage writes an image if one is due, continues from it, and puts it in use as soon as all
// followers have passed it.
func (l *Log[S]) foldImage(ctx context.Context, f Compaction, p passage[S]) error {
	if waiting := l.head.Load().control.Waiting; waiting != nil {
		if err := l.name(ctx, f, *waiting); err != nil || l.head.Load().control.Waiting != nil {
			return err
		}
	}
	if !l.imageDue(l.head.Load(), f) {
		return nil
	}
	i, err := l.putImage(ctx, p)
	if err != nil {
		return err
	}
	return l.name(ctx, f, i)
}

// putImage writes an image of the newest state, and continues from it.
func (l *Log[S]) putImage(ctx context.Context, p passage[S]) (Image, error) {
	h, found, err := p.head(ctx)
	if err != nil {
		return Image{}, err
	}
	i, m, err := l.publish(ctx, h, found)
	if err != nil || p.goOn == nil {
		return i, err
	}
	return i, p.goOn(ctx, h, m)
}

// goOn replaces a large state by the one decoded from its image, if a good part of it is new. An
// index that was built commit by commit is scattered over the heap and takes twice as much memory.
// During the replacement there are two states in memory.
func (v *Vault) goOn(ctx context.Context, h *head[*index.Index], m *made) error {
	if h.state.Size() < manySwept {
		return nil
	}
	defer debug.FreeOSMemory() // the replaced state and the image are garbage now
	if !scattered(h.state, v.onePiece.Load()) {
		return nil
	}
	return v.goOnFrom(ctx, h, m)
}

// scattered reports whether at least a quarter of the bytes of the texts of a state came after
// commit `behind`.
func scattered(x *index.Index, behind uint64) bool {
	all, later := 0, 0
	for f := range x.Files() {
		all += f.Size
		if f.Body.Run > behind {
			later += f.Size
		}
	}
	return later*4 >= all
}

// goOnFrom replaces the state of the log and the search indexes by those decoded from the image of
// a head. If the state cannot be replaced, the new search indexes stay paired with the old state, so
// that nothing keeps two states in memory.
func (v *Vault) goOnFrom(ctx context.Context, h *head[*index.Index], m *made) error {
	// The search indexes come first: then the memory of those before is free when the state is decoded.
	found, err := v.searchIn(m)
	if err != nil {
		return err
	}
	found.replace(h.state)
	debug.FreeOSMemory() // what drawing the image needed, and the search index before, need not be there beside two states
	from := *h
	if from.state, err = index.ReadImage(m.state()); err != nil {
		return fmt.Errorf("read the image that was put: %w", err)
	}
	renewed, err := v.log.renew(ctx, from)
	if err != nil {
		return err
	}
	if renewed {
		v.onePiece.Store(h.seq)
		found.replace(from.state)
	}
	if h.state.Memories().Len() == 0 {
		v.memories.unpin()
	}
	v.follow.Settled(ctx)
	return nil
}

// imageSearch contains the search indexes of an image, by the searchers that they belong to.
type imageSearch map[*searcher]*search.Index

// searchIn decodes the search indexes in an image.
func (v *Vault) searchIn(m *made) (imageSearch, error) {
	all := imageSearch{}
	for by, data := range map[*searcher][]byte{v.searcher: m.search(), v.memories: m.memories()} {
		if len(data) == 0 {
			continue
		}
		x, err := search.ReadImage(data)
		if err != nil {
			return nil, fmt.Errorf("read the search index that was put: %w", err)
		}
		all[by] = x
	}
	return all, nil
}

// replace installs the search indexes in place of equal ones, paired with a state.
func (s imageSearch) replace(x *index.Index) {
	for by, found := range s {
		by.replace(Searchable{x, found})
	}
}

// searchedHead returns the newest known state and its search indexes. If a text cannot be read
// there are no search indexes; an image is written without them.
func (v *Vault) searchedHead(ctx context.Context) (*head[*index.Index], searchSections, error) {
	all := searchSections{}
	// Changes are recorded before the state is read, so that none is missed.
	v.searcher.listen()
	v.memories.listen()
	if _, err := v.log.Read(ctx); err != nil {
		return nil, all, err
	}
	for _, by := range []*searcher{v.searcher, v.memories} {
		if err := by.take(ctx); err != nil {
			return nil, all, err
		}
		defer by.release()
	}
	h := v.log.head.Load()
	var err error
	if all.notes, err = v.searchSectionOf(ctx, v.searcher, h.state); err != nil {
		return h, searchSections{}, context.Cause(ctx)
	}
	if h.state.Memories().Len() == 0 {
		return h, all, nil
	}
	if all.memories, err = v.searchSectionOf(ctx, v.memories, h.state); err != nil {
		return h, all, context.Cause(ctx)
	}
	return h, all, nil
}

// searchSectionOf returns the search index of a state as a section of an image. The caller holds
// the turn of the searcher.
func (v *Vault) searchSectionOf(
	ctx context.Context, by *searcher, idx *index.Index,
) (searchSection, error) {
	s, ok := by.at(idx)
	if !ok {
		var err error
		if s, err = v.bringForward(ctx, by, idx); err != nil {
			return searchSection{}, err
		}
	}
	return searchSection{s.Search.ImageSize(), s.Search.AppendImage}, nil
}

// A Compactor runs compaction passes for a vault in the background.
type Compactor struct {
	vault *Vault
	opt   CompactorOptions

	closing sync.Once
	stop    chan struct{}
	done    chan struct{}
}

// CompactorOptions are the options of a Compactor. Log is required.
type CompactorOptions struct {
	Folding func() Compaction // returns the options of each pass; nil: the zero value
	Log     *slog.Logger
}

// foldEvery is how often a Compactor checks whether a pass is due. A check reads only memory.
// sweepEvery is how often it makes a pass in any case, for the work that only time makes due.
const (
	foldEvery  = time.Second
	sweepEvery = time.Minute
)

// StartCompactor starts a Compactor, which runs until its Close. Failures are logged, and retried by a later
// pass.
func (v *Vault) StartCompactor(o CompactorOptions) *Compactor {
	if o.Folding == nil {
		o.Folding = func() Compaction { return Compaction{} }
	}
	k := &Compactor{vault: v, opt: o, stop: make(chan struct{}), done: make(chan struct{})}
	go k.run()
	return k
}

// Close makes a last pass if one is due, and stops the Compactor. The followers of the vault must be
// closed before, so that their cursors do not move any more. A second Close does nothing.
func (k *Compactor) Close() {
	k.closing.Do(func() { close(k.stop) })
	<-k.done
}

// run makes passes until stop is closed. After a failed pass it waits for the next tick of
// sweepEvery.
func (k *Compactor) run() {
	defer close(k.done)
	often, seldom := time.NewTicker(foldEvery), time.NewTicker(sweepEvery)
	defer often.Stop()
	defer seldom.Stop()
	failed := false
	for {
		select {
		case <-often.C:
			if !failed && k.vault.compactDue(k.opt.Folding()) {
				failed = !k.fold()
			}
		case <-seldom.C:
			failed = !k.fold()
		case <-k.stop:
			if k.vault.compactDue(k.opt.Folding()) {
				k.fold()
			}
			return
		}
	}
}

// fold makes one pass, and reports whether it succeeded. A failed pass is repeated within a minute,
// not at once: a full disk stays full for a while, and each attempt writes an image first, which
// takes space from writers.
func (k *Compactor) fold() bool {
	ctx := context.Background()
	err := k.vault.Compact(ctx, k.opt.Folding())
	if err != nil {
		k.opt.Log.ErrorContext(ctx, "the log could not be compacted",
			slog.String("vault", k.vault.Name), slog.Any("cause", err))
	}
	return err == nil
}

// compactDue reports whether a pass has something to do, according to the state in memory.
func (v *Vault) compactDue(f Compaction) bool {
	l := v.log
	l.folding.Lock()
	defer l.folding.Unlock()
	h := l.head.Load()
	if e := h.control.Erasing; e != nil && e.Upto == 0 {
		return true
	}
	return v.sizeDue() || l.outwardDue(h, f)
}
