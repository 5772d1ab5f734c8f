package repo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"rookery/internal/index"
	"rookery/internal/search"
)

// Fold moves the log outward: what is due, in one pass. Every step of it is idempotent and behind a
// cursor of its own, so a pass may end anywhere, and several processes may fold at once (log.md §4).
func (v *Vault) Fold(ctx context.Context, f Folding) error {
	return v.log.makePass(ctx, f, v.passage(f))
}

// passage is what a pass over a vault has.
func (v *Vault) passage(f Folding) passage[*index.Index] {
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

// Fold moves a log outward that nobody searches; see Vault.Fold. One without Imaging stays as it is.
func (l *Log[S]) Fold(ctx context.Context, f Folding) error {
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

// FoldDue reports whether a pass has something to do, as far as is known without asking.
func (l *Log[S]) FoldDue(f Folding) bool {
	if l.opt.Imaging == nil {
		return false
	}
	l.folding.Lock()
	defer l.folding.Unlock()
	h := l.head.Load()
	return l.outwardDue(h, f) || h.control.trims(f, l.opt.Now().UTC())
}

// outwardDue reports whether a segment or an image is due. The caller holds folding.
func (l *Log[S]) outwardDue(h *head[S], f Folding) bool {
	return l.segmentsDue(h) || h.control.Waiting != nil || l.imageDue(h, f)
}

// A passage is a pass over a log, as far as logs differ.
type passage[S any] struct {
	before func(context.Context) error
	// head is the newest state, and what a search of it needs.
	head func(context.Context) (*head[S], searchSections, error)
	// goOn is told of the image that was put of a head. Nil: it is not.
	goOn func(context.Context, *head[S], *made) error
}

// makePass makes one pass.
func (l *Log[S]) makePass(ctx context.Context, f Folding, p passage[S]) error {
	l.folding.Lock()
	defer l.folding.Unlock()
	s, err := l.Read(ctx)
	if errors.Is(err, ErrNoLog) || s.Status == Sealed {
		return nil // what is being erased stays where it is until it goes
	}
	if err != nil {
		return err
	}
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

// foldImage puts an image if one is due, goes on from it, and names it when it may be named.
func (l *Log[S]) foldImage(ctx context.Context, f Folding, p passage[S]) error {
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

// putImage puts an image of the newest state, and goes on from it.
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

// goOn replaces a large state by what an image of it says, if a good part of it is new: an index that was built
// commit by commit is scattered over the heap, and takes twice as much of it. While it is replaced there are two.
func (v *Vault) goOn(ctx context.Context, h *head[*index.Index], m *made) error {
	if h.state.Size() < manySwept {
		return nil
	}
	defer debug.FreeOSMemory() // nothing holds what was replaced, or the image
	if !scattered(h.state, v.onePiece.Load()) {
		return nil
	}
	return v.goOnFrom(ctx, h, m)
}

// scattered reports whether a quarter of the bytes of a state's texts, or more, came behind a commit.
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

// goOnFrom replaces the state of the log, and what can be searched, by what an image of a head says. Where the state
// cannot be replaced, what can be searched goes with the state that it was of: nothing keeps two states in memory.
func (v *Vault) goOnFrom(ctx context.Context, h *head[*index.Index], m *made) error {
	from := *h
	var err error
	if from.state, err = index.ReadImage(m.state()); err != nil {
		return fmt.Errorf("read the image that was put: %w", err)
	}
	renewed, err := v.log.renew(ctx, from)
	if err != nil {
		return err
	}
	if renewed {
		v.onePiece.Store(h.seq)
	} else {
		from.state = h.state
	}
	if h.state.Memories().Len() == 0 {
		v.memories.unpin()
	}
	for by, data := range map[*searcher][]byte{v.searcher: m.search(), v.memories: m.memories()} {
		if len(data) == 0 {
			continue
		}
		found, err := search.ReadImage(data)
		if err != nil {
			return fmt.Errorf("read the search index that was put: %w", err)
		}
		by.replace(Searchable{from.state, found})
	}
	v.follow.Settled(ctx)
	return nil
}

// searchedHead is the newest state that is known, and what a search of it needs. Where a text cannot be read
// there is none of that, which is no reason for an image not to be.
func (v *Vault) searchedHead(ctx context.Context) (*head[*index.Index], searchSections, error) {
	all := searchSections{}
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

// searchSectionOf is what a search of a state needs. The caller has the turn of the searcher.
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

// A Keeper folds a vault in the background.
type Keeper struct {
	vault *Vault
	opt   KeeperOptions

	closing sync.Once
	stop    chan struct{}
	done    chan struct{}
}

// KeeperOptions are what a Keeper is made with. Log is required.
type KeeperOptions struct {
	Folding func() Folding // of each pass; nil: the zero value
	Log     *slog.Logger
}

// foldEvery is how often a Keeper looks whether something is due. A look costs nothing while nothing
// is, but for one a minute, which finds what only time makes due.
const (
	foldEvery  = time.Second
	sweepEvery = time.Minute
)

// Keep folds the vault in the background until Close.
func (v *Vault) Keep(o KeeperOptions) *Keeper {
	if o.Folding == nil {
		o.Folding = func() Folding { return Folding{} }
	}
	k := &Keeper{vault: v, opt: o, stop: make(chan struct{}), done: make(chan struct{})}
	go k.run()
	return k
}

// Close folds what is due, and stops. The followers of the vault must have been closed before, so that
// their cursors stand where they stay. A second Close does nothing.
func (k *Keeper) Close() {
	k.closing.Do(func() { close(k.stop) })
	<-k.done
}

func (k *Keeper) run() {
	defer close(k.done)
	often, seldom := time.NewTicker(foldEvery), time.NewTicker(sweepEvery)
	defer often.Stop()
	defer seldom.Stop()
	failed := false
	for {
		select {
		case <-often.C:
			if !failed && k.vault.foldDue(k.opt.Folding()) {
				failed = !k.fold()
			}
		case <-seldom.C:
			failed = !k.fold()
		case <-k.stop:
			if k.vault.foldDue(k.opt.Folding()) {
				k.fold()
			}
			return
		}
	}
}

// fold makes one pass, and reports whether nothing failed in it. What did is tried again within a minute,
// and not at once: a disk that is full stays so for a while, and each try makes an image first, and takes
// the last room from those who write.
func (k *Keeper) fold() bool {
	ctx := context.Background()
	err := k.vault.Fold(ctx, k.opt.Folding())
	if err != nil {
		k.opt.Log.ErrorContext(ctx, "the log could not be folded",
			slog.String("vault", k.vault.Name), slog.Any("cause", err))
	}
	return err == nil
}

// foldDue reports whether a pass has something to do, as far as is known without asking.
func (v *Vault) foldDue(f Folding) bool {
	l := v.log
	l.folding.Lock()
	defer l.folding.Unlock()
	h := l.head.Load()
	if e := h.control.Erasing; e != nil && e.Upto == 0 {
		return true
	}
	return v.sizeDue() || l.outwardDue(h, f)
}
