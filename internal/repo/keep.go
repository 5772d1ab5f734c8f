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
	l := v.log
	l.folding.Lock()
	defer l.folding.Unlock()
	s, err := l.Read(ctx)
	if errors.Is(err, ErrNoLog) || s.Status == Sealed {
		return nil // what is being erased stays where it is until it goes
	}
	if err != nil {
		return err
	}
	if l.head.Load().control.Erasing != nil {
		err = v.eraseDue(ctx, f)
	}
	err = errors.Join(err, v.noteSize(ctx), l.foldSegments(ctx, f.All), v.foldImage(ctx, f), l.trim(ctx, f),
		l.dropImages(ctx), l.sweepLeftovers(ctx))
	if errors.Is(l.orErased(ctx, err), ErrNoLog) {
		return nil
	}
	return err
}

// foldImage puts an image if one is due, goes on from it, and names it when it may be named.
func (v *Vault) foldImage(ctx context.Context, f Folding) error {
	l := v.log
	if l.publisher.waiting == nil && l.imageDue(l.head.Load(), f) {
		if err := v.putImage(ctx); err != nil {
			return err
		}
	}
	return l.name(ctx, f)
}

// putImage puts an image of the newest state. A large state is then replaced by what the image says: an
// index that was built commit by commit is scattered over the heap, and takes twice as much of it.
func (v *Vault) putImage(ctx context.Context) error {
	h, m, err := v.publishHead(ctx)
	if err != nil || h.state.Size() < manySwept {
		return err
	}
	err = v.goOnFrom(ctx, h, m)
	debug.FreeOSMemory() // nothing holds what was replaced
	return err
}

// publishHead puts an image of the newest state.
func (v *Vault) publishHead(ctx context.Context) (*head[*index.Index], *made, error) {
	h, found, err := v.searchedHead(ctx)
	if err != nil {
		return nil, nil, err
	}
	section := searchSection{}
	if found != nil {
		section = searchSection{found.ImageSize(), found.AppendImage}
	}
	m, err := v.log.publish(ctx, h, section)
	return h, m, err
}

// goOnFrom replaces the state of the log, and what can be searched, by what an image of a head says.
func (v *Vault) goOnFrom(ctx context.Context, h *head[*index.Index], m *made) error {
	state, err := index.ReadImage(m.state())
	if err != nil {
		return fmt.Errorf("read the image that was put: %w", err)
	}
	var found *search.Index
	if m.Search > 0 {
		if found, err = search.ReadImage(m.search()); err != nil {
			return fmt.Errorf("read the search index that was put: %w", err)
		}
	}
	v.searcher.replace(Searchable{state, found})
	from := *h
	from.state = state
	if err := v.log.renew(ctx, from); err != nil {
		return err
	}
	v.follow.Settled(ctx)
	return nil
}

// searchedHead is the newest state that is known, and its search index. Where a text cannot be read there
// is none of that, which is no reason for an image not to be.
func (v *Vault) searchedHead(ctx context.Context) (*head[*index.Index], *search.Index, error) {
	v.searcher.listen()
	if _, err := v.log.Read(ctx); err != nil {
		return nil, nil, err
	}
	if err := v.searcher.take(ctx); err != nil {
		return nil, nil, err
	}
	defer v.searcher.release()
	h := v.log.head.Load()
	s, ok := v.searcher.at(h.state)
	if !ok {
		var err error
		if s, err = v.bringForward(ctx, h.state); err != nil {
			return h, nil, context.Cause(ctx)
		}
	}
	return h, s.Search, nil
}

// A Keeper folds a vault in the background.
type Keeper struct {
	vault *Vault
	opt   KeeperOptions

	closing sync.Once
	stop    chan struct{}
	done    chan struct{}
}

// KeeperOptions are what a Keeper is made with.
type KeeperOptions struct {
	Folding
	Log *slog.Logger
}

// foldEvery is how often a Keeper looks whether something is due. A look costs nothing while nothing
// is, but for one a minute, which finds what only time makes due.
const (
	foldEvery  = time.Second
	sweepEvery = time.Minute
)

// Keep folds the vault in the background until Close.
func (v *Vault) Keep(o KeeperOptions) *Keeper {
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
			if !failed && k.vault.foldDue(k.opt.Folding) {
				failed = !k.fold()
			}
		case <-seldom.C:
			failed = !k.fold()
		case <-k.stop:
			if k.vault.foldDue(k.opt.Folding) {
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
	err := k.vault.Fold(ctx, k.opt.Folding)
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
	return v.sizeDue() || l.segmentsDue(h) || l.publisher.waiting != nil || l.imageDue(h, f)
}
