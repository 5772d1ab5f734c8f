package eventlog

import (
	"context"
	"errors"
)

// A Pass contains the steps of a compaction pass that depend on the user of the log.
type Pass[S any] struct {
	// Before is called first. Its error does not prevent the later steps. Nil: nothing.
	Before func(context.Context) error

	// Newest returns the newest state, and the sections for its image. With an error nothing is
	// written. Nil: Log.Read, without sections.
	Newest func(context.Context) (Snapshot[S], Sections, error)

	// Yield is called between the steps of writing an image, and may wait while calls need the
	// processor. Nil: nothing.
	Yield func(context.Context)

	// Erased is called after the parts that a commit erases were emptied, to erase what is stored
	// beside the log. With an error the erasure is repeated by the next pass. Nil: nothing.
	Erased func(context.Context) error

	// Published is called with the image that was written of a snapshot, before the image is in
	// use. The image is no longer in memory. Nil: it is not called.
	Published func(context.Context, Snapshot[S], Image) error
}

// Compact makes one compaction pass, which does all work that is due. Each step is idempotent and
// has a cursor of its own, so a pass may be interrupted at any point, and several processes may run
// passes at once (log.md §4). A log that is being erased, and one without Imaging, is left alone.
// Passes of one process run one after the other. The errors of all steps are joined.
func (l *Log[S]) Compact(ctx context.Context, f Compaction) error {
	return l.CompactWith(ctx, f, Pass[S]{})
}

// CompactWith is Compact with the steps of p.
func (l *Log[S]) CompactWith(ctx context.Context, f Compaction, p Pass[S]) error {
	if l.opt.Imaging == nil {
		return nil
	}
	return l.makePass(ctx, f, p.orDefault(l))
}

// orDefault returns the pass with functions for those that are nil, except Published.
func (p Pass[S]) orDefault(l *Log[S]) Pass[S] {
	nothing := func(context.Context) error { return nil }
	if p.Before == nil {
		p.Before = nothing
	}
	if p.Yield == nil {
		p.Yield = func(context.Context) {}
	}
	if p.Erased == nil {
		p.Erased = nothing
	}
	if p.Newest == nil {
		p.Newest = func(ctx context.Context) (Snapshot[S], Sections, error) {
			_, err := l.Read(ctx)
			return l.Known(), Sections{}, err
		}
	}
	return p
}

// CompactDue reports whether a pass has something to do, according to the state in memory. It waits
// for a running pass to end.
func (l *Log[S]) CompactDue(f Compaction) bool {
	if l.opt.Imaging == nil {
		return false
	}
	l.lockPasses()
	defer l.folding.Unlock()
	h := l.head.Load()
	return l.outwardDue(h, f) || h.control.trims(f, l.opt.Now().UTC())
}

// DueNow reports whether a pass is due because of what was appended: an erasure, a segment or an
// image. Other than CompactDue it does not count what the passing of time makes due. It waits for a
// running pass to end.
func (l *Log[S]) DueNow(f Compaction) bool {
	l.lockPasses()
	defer l.folding.Unlock()
	h := l.head.Load()
	return h.control.ErasurePending(0) || l.outwardDue(h, f)
}

// lockPasses locks folding, and counts the callers that wait for it; see PassAwaited.
func (l *Log[S]) lockPasses() {
	l.passWaiters.Add(1)
	defer l.passWaiters.Add(-1)
	l.folding.Lock()
}

// PassAwaited reports whether something waits for the running pass to end, so that it must not wait
// itself.
func (l *Log[S]) PassAwaited() bool {
	return l.passWaiters.Load() > 0 || l.urgent.waiting.Load() > 0
}

// outwardDue reports whether a segment or an image is due. The caller holds folding.
func (l *Log[S]) outwardDue(h *head[S], f Compaction) bool {
	return l.segmentsDue(h) || h.control.Waiting != nil || l.imageDue(h, f)
}

// makePass makes one pass. The order of its steps: erasures first, because an image or a segment
// that is written after them does not contain the erased parts; segments before images, because an
// image names the segments; the removal of items last, because it needs both. A step that fails
// does not stop the later ones. Steps that delete by age are skipped while the clock is not known
// to be right.
func (l *Log[S]) makePass(ctx context.Context, f Compaction, p Pass[S]) error {
	if f.Later {
		l.urgent.await(&l.folding)
	} else {
		l.lockPasses()
	}
	defer l.folding.Unlock()
	s, err := l.Read(ctx)
	if errors.Is(err, ErrNoLog) || s.Status == Sealed {
		return nil // a log that is being erased is not compacted
	}
	if err != nil {
		return err
	}
	// A failed step does not prevent the later ones: each has a cursor of its own.
	if l.head.Load().control.Erasing != nil {
		err = l.eraseDue(ctx, f, p)
	}
	err = errors.Join(err, p.Before(ctx), l.foldSegments(ctx, f.All))
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
func (l *Log[S]) foldImage(ctx context.Context, f Compaction, p Pass[S]) error {
	if waiting := l.head.Load().control.Waiting; waiting != nil {
		if err := l.name(ctx, f, *waiting); err != nil || l.head.Load().control.Waiting != nil {
			return err
		}
	}
	if !l.imageDue(l.head.Load(), f) {
		return nil
	}
	i, err := l.putImage(ctx, p)
	if errors.Is(err, errUrgent) {
		l.WantImage()
		return nil
	}
	if err != nil {
		return err
	}
	return l.name(ctx, f, i)
}

// putImage writes an image of the newest state, and continues from it. It returns errUrgent, and
// writes none, if another pass is urgent.
func (l *Log[S]) putImage(ctx context.Context, p Pass[S]) (Image, error) {
	var s Snapshot[S]
	var i Image
	err := l.urgent.unless(ctx, func(ctx context.Context) (err error) {
		var sections Sections
		if s, sections, err = p.Newest(ctx); err != nil {
			return err
		}
		i, err = l.publish(ctx, s.head, sections, p.Yield)
		return err
	})
	if err != nil || p.Published == nil {
		return i, err
	}
	return i, p.Published(ctx, s, i)
}
