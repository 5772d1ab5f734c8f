package repo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/search"
)

// Compact makes one compaction pass over the log of the vault, which does all work that is due; see
// eventlog.Log.Compact.
func (v *Vault) Compact(ctx context.Context, f eventlog.Compaction) error {
	return v.compact(ctx, f, nil)
}

// compact is Compact with a yielder; nil: the pass does not wait for calls.
func (v *Vault) compact(ctx context.Context, f eventlog.Compaction, y *yielder) error {
	return v.log.CompactWith(ctx, f, eventlog.Pass[*index.Index]{
		Before: func(ctx context.Context) error { return errors.Join(v.noteSize(ctx), v.foldAccesses(ctx)) },
		Newest: func(ctx context.Context) (eventlog.Snapshot[*index.Index], eventlog.Sections, error) {
			return v.searchedHead(ctx, y)
		},
		Yield: y.wait, Erased: v.eraseAccesses,
		Published: func(ctx context.Context, s eventlog.Snapshot[*index.Index], i eventlog.Image) error {
			y.wait(ctx)
			return v.goOn(ctx, s, i)
		},
	})
}

// goOn replaces a large state by the one decoded from its image, if a good part of it is new. An
// index that was built commit by commit is scattered over the heap and takes twice as much memory.
// During the replacement there are two states in memory. While much is written it does nothing: the
// log would not take the second state, and the vault is compacted again when it is at rest.
func (v *Vault) goOn(ctx context.Context, s eventlog.Snapshot[*index.Index], i eventlog.Image) error {
	if s.State.Size() < manySwept {
		return nil
	}
	defer debug.FreeOSMemory() // the replaced state and the image are garbage now
	if !v.gathered.Swap(false) && !v.scattered(s.State, manyNew) {
		return nil
	}
	if v.log.Known().Weight()-s.Weight() > calmBytes {
		return nil
	}
	return v.goOnFrom(ctx, s, i)
}

// A vault counts as calm if at most calmBytes, as stored, were appended while an image was written,
// or since the last tick of a Compactor.
const calmBytes = 64 << 10

// The index in memory is replaced if one part in manyNew of the texts is new; in a vault at rest,
// where no call waits for the processor, one part in someNew.
const (
	manyNew = 4
	someNew = 8
)

// scattered reports whether at least one part in some of the bytes of the texts of a state is newer
// than the image that the index in memory was decoded from.
func (v *Vault) scattered(x *index.Index, some int) bool {
	behind := v.onePiece.Load()
	all, later := 0, 0
	for f := range x.Files() {
		all += f.Size
		if f.Body.Run > behind {
			later += f.Size
		}
	}
	return later*some >= all
}

// goOnFrom replaces the state of the log and the search indexes by those decoded from the image of
// a snapshot. The image is read again, so that the state and each search index are each in one piece of
// memory.
func (v *Vault) goOnFrom(ctx context.Context, s eventlog.Snapshot[*index.Index], i eventlog.Image) error {
	debug.FreeOSMemory() // the pieces of the image
	from, err := v.log.BaseOf(ctx, i)
	if err != nil {
		return imageUnread(err)
	}
	// The search indexes come first: then the memory of those before is free when the state is
	// decoded.
	found, err := v.searchIn(ctx, from)
	if err != nil {
		return imageUnread(err)
	}
	found.replace(s.State)
	// The previous search indexes are garbage now. Their memory is returned before the second state is
	// decoded, because two states in memory are the peak of the process.
	debug.FreeOSMemory()
	state, err := v.log.ReadState(ctx, from)
	if err != nil {
		return imageUnread(err)
	}
	renewed, err := v.log.Renew(ctx, s, state)
	if err != nil {
		return err
	}
	if renewed {
		v.onePiece.Store(s.Seq)
		found.replace(state)
		for by := range found {
			_ = v.rejoin(ctx, by) // a search tells the error
		}
	}
	if s.State.Memories().Len() == 0 {
		v.memories.unpin()
	}
	v.follow.Settled(ctx)
	return nil
}

// imageUnread returns the error of an image that was put and cannot be read; nil if it was deleted
// meanwhile, which an erasure does.
func imageUnread(err error) error {
	if errors.Is(err, blob.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("read the image that was put: %w", err)
}

// imageSearch contains the search indexes of an image, by the searchers that they belong to.
type imageSearch map[*searcher]*search.Index

// searchIn reads the search indexes in an image.
func (v *Vault) searchIn(ctx context.Context, from *eventlog.OpenImage) (imageSearch, error) {
	all := imageSearch{}
	for name, by := range v.searchers() {
		if !from.Has(name) {
			continue
		}
		data, err := v.log.ReadSection(ctx, from, name)
		if err != nil {
			return nil, err
		}
		if all[by], err = search.ReadImage(data); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// replace installs the search indexes in place of equal ones, paired with a state. A searcher that
// has advanced to a later version meanwhile keeps its own.
func (s imageSearch) replace(x *index.Index) {
	for by, found := range s {
		by.replace(Searchable{x, found})
	}
}

// rejoin pairs a searcher with the newest known state, so that it does not keep another one in
// memory.
func (v *Vault) rejoin(ctx context.Context, by *searcher) error {
	if err := by.take(ctx); err != nil {
		return err
	}
	defer by.release()
	now, ok := by.at(v.Known())
	if !ok {
		_, err := v.bringForward(ctx, by, v.Known(), nil)
		return err
	}
	by.replace(now)
	return nil
}

// searchedHead returns the newest known state and its search indexes. If a text cannot be read
// there are no search indexes; an image is written without them.
func (v *Vault) searchedHead(
	ctx context.Context, y *yielder,
) (s eventlog.Snapshot[*index.Index], all eventlog.Sections, err error) {
	// Changes are recorded before the state is read, so that none is missed.
	v.searcher.listen()
	v.memories.listen()
	if _, err := v.log.Read(ctx); err != nil {
		return s, all, err
	}
	for _, by := range []*searcher{v.searcher, v.memories} {
		if err := by.take(ctx); err != nil {
			return s, all, err
		}
		defer by.release()
	}
	s = v.log.Known()
	if all[eventlog.SearchSection], err = v.searchImageOf(ctx, v.searcher, s.State, y); err != nil {
		return s, eventlog.Sections{}, context.Cause(ctx)
	}
	if s.State.Memories().Len() == 0 {
		return s, all, nil
	}
	if all[eventlog.MemoriesSection], err = v.searchImageOf(ctx, v.memories, s.State, y); err != nil {
		return s, all, context.Cause(ctx)
	}
	return s, all, nil
}

// searchImageOf returns the image of the search index of a state. The caller holds the turn of the
// searcher. It builds the search index first if it is not that of the state, so the
// first search after a start from the image has nothing to read.
func (v *Vault) searchImageOf(
	ctx context.Context, by *searcher, idx *index.Index, y *yielder,
) (blob.Pieces, error) {
	s, ok := by.at(idx)
	if !ok {
		var err error
		if s, err = v.bringForward(ctx, by, idx, y); err != nil {
			return nil, err
		}
	}
	return s.Search.Image(), nil
}

// A Compactor runs compaction passes for a vault in the background. Passes of several processes may
// overlap; see eventlog.Log.Compact. It makes one pass at a time.
type Compactor struct {
	vault *Vault
	opt   CompactorOptions

	closing sync.Once
	stop    chan struct{}
	done    chan struct{}
}

// CompactorOptions are the options of a Compactor. Log is required.
type CompactorOptions struct {
	Folding func() eventlog.Compaction // returns the options of each pass; nil: the zero value
	Log     *slog.Logger
}

// foldEvery is how often a Compactor checks whether a pass is due. A check reads only memory.
// sweepEvery is how often it makes a pass in any case, for the work that only time makes due.
// mostYields is how many checks in a row it leaves out because a call writes to the vault: an image
// takes a processor for a second, which the call needs. A pass waits for calls as long as the checks
// that were not left out; see yielder.
const (
	foldEvery  = time.Second
	sweepEvery = time.Minute
	mostYields = 10
)

// StartCompactor starts a Compactor, which runs until its Close. Failures are logged, and retried
// by a later pass.
func (v *Vault) StartCompactor(o CompactorOptions) *Compactor {
	if o.Folding == nil {
		o.Folding = func() eventlog.Compaction { return eventlog.Compaction{} }
	}
	k := &Compactor{vault: v, opt: o, stop: make(chan struct{}), done: make(chan struct{})}
	go k.run()
	return k
}

// Close makes a last pass if one is due, and stops the Compactor. The followers of the vault must
// be closed before, so that their cursors do not move any more. A second Close does nothing.
func (k *Compactor) Close() {
	k.closing.Do(func() { close(k.stop) })
	<-k.done
}

// run makes passes until stop is closed. After a failed pass it waits for the next tick of
// sweepEvery. It makes a pass at each tick of sweepEvery, even if none is due, and may want an image
// when the vault comes to rest; see gather. When stop is closed, it makes a last pass only if
// something that was appended makes it due.
func (k *Compactor) run() {
	defer close(k.done)
	often, seldom := time.NewTicker(foldEvery), time.NewTicker(sweepEvery)
	defer often.Stop()
	defer seldom.Stop()
	failed, yields := false, 0
	var rest lull
	for {
		select {
		case <-often.C:
			if rest.begins(k.vault.log.Known().Weight()) {
				k.vault.gather()
			}
			if yields < mostYields && k.vault.Writing() {
				yields++
				continue
			}
			waited := time.Duration(yields) * foldEvery
			yields = 0
			if !failed && k.vault.compactDue(k.opt.Folding()) {
				failed = !k.fold(k.yielder(waited))
			}
		case <-seldom.C:
			failed = !k.fold(k.yielder(0))
		case <-k.stop:
			if k.vault.compactDue(k.opt.Folding()) {
				k.fold(nil)
			}
			return
		}
	}
}

// A lull finds out when a vault comes to rest after it was written to.
type lull struct {
	weight int64 // bytes of the log at the last tick
	ticks  int   // since much was appended
}

// lullTicks is how many ticks a vault must have been at rest, so that a pause between two calls does
// not count.
const lullTicks = 10

// begins is called at each tick with the bytes of the log. It reports whether the vault has just
// come to rest.
func (r *lull) begins(weight int64) bool {
	r.ticks++
	if weight-r.weight > calmBytes {
		r.ticks = 0
	}
	r.weight = weight
	return r.ticks == lullTicks
}

// gather makes an image due if the index in memory is large and scattered. The pass that writes the
// image replaces the index. It returns memory first, because that pass is the peak of the process.
func (v *Vault) gather() {
	if x := v.Known(); x.Size() >= manySwept && v.scattered(x, someNew) {
		debug.FreeOSMemory()
		v.gathered.Store(true)
		v.log.WantImage()
	}
}

// fold makes one pass, and reports whether it succeeded. A failed pass is repeated within a minute,
// not at once: a full disk stays full for a while, and each attempt writes an image first, which
// takes space from writers.
func (k *Compactor) fold(y *yielder) bool {
	ctx := context.Background()
	err := k.vault.compact(ctx, k.opt.Folding(), y)
	if err != nil {
		k.opt.Log.ErrorContext(ctx, "the log could not be compacted",
			slog.String("vault", k.vault.Name), slog.Any("cause", err))
	}
	return err == nil
}

// compactDue reports whether a pass has something to do, according to the state in memory.
func (v *Vault) compactDue(f eventlog.Compaction) bool { return v.log.DueNow(f) || v.sizeDue() }
