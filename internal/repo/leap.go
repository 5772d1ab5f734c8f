package repo

import "context"

// A base is the image that a head goes on from.
type base struct {
	image Image
	head  imageHead
	rest  *packedImage // of an image in items; nil: it is an object
}

// imaged is the head of the newest image that can be used, of those that are not beyond a commit; an
// empty one if there is none.
func (l *Log[S]) imaged(ctx context.Context, upTo uint64) head[S] {
	if l.opt.Imaging == nil {
		return l.empty()
	}
	c, err := l.firstControl(ctx)
	if err != nil {
		return l.empty() // who reads the log next is told why
	}
	h, from, ok := l.newestImage(ctx, c, upTo)
	if h.control = c; !ok {
		return h
	}
	l.base.Store(from)
	l.goOn(from)
	l.opt.Imaged(h.state)
	return h
}

// goOn takes what an image tells beside the state.
func (l *Log[S]) goOn(from *base) {
	l.keys.begin(l.keysOf(from))
	l.segments.know(from.head.Segments, from.head.Folded)
}

// newestImage opens the newest image that can be used, of those that are not beyond a commit. Where
// there is none, the head is empty.
func (l *Log[S]) newestImage(ctx context.Context, c Control, upTo uint64) (head[S], *base, bool) {
	for ctx.Err() == nil {
		i, ok := c.nearest(upTo)
		if !ok {
			break
		}
		h, from, err := l.open(ctx, i)
		if err == nil {
			return h, from, true
		}
		if c.Image != nil && i.Seq == c.Image.Seq {
			l.unusable.Store(i.Seq) // so that folding makes another
		}
		upTo = i.Seq - 1
	}
	return l.empty(), nil, false
}

// leap brings a head that is far behind a tail, or before a gap in it, forward. It reports whether the tail
// is of no use any more, because the head has gone on, or the runs between have left the table.
func (l *Log[S]) leap(ctx context.Context, after uint64, t *tail) (bool, error) {
	if l.opt.Imaging == nil {
		return false, nil
	}
	missing, gap := t.gap(after)
	if t.ended && t.control.Low <= after && !gap {
		return false, nil
	}
	c := t.control
	if !t.ended { // a tail counts only with a control item that was read after it
		var err error
		if c, err = l.Control(ctx); err != nil {
			return false, err
		}
	}
	long := !t.ended && t.size >= longTail && l.opt.Untold != nil
	joins := c.Low <= after
	if joins && !gap && !long {
		return false, nil
	}
	beyond := after
	switch {
	case joins && gap:
		beyond = missing - 1
	case joins:
		beyond = max(after, t.last())
	}
	if l.toImage(ctx, c, beyond) {
		return true, nil
	}
	if joins {
		return false, nil
	}
	return true, l.throughSegments(ctx, after, c.Low)
}

// last is the last commit of the tail, 0 of none.
func (t *tail) last() uint64 {
	if len(t.runs) == 0 {
		return 0
	}
	return t.runs[len(t.runs)-1].Last
}

// toImage makes the image in force the head, if it is beyond a commit. A log whose commits somebody
// must be told of one by one does not.
func (l *Log[S]) toImage(ctx context.Context, c Control, beyond uint64) bool {
	if l.opt.Untold == nil || c.Image == nil || c.Image.Seq <= beyond ||
		c.Image.Seq > l.opt.Untold() {
		return false
	}
	h, from, err := l.open(ctx, *c.Image)
	if err != nil {
		l.unusable.Store(c.Image.Seq)
		return false
	}
	l.advancing.Lock()
	defer l.advancing.Unlock()
	if now := l.head.Load(); now.seq >= h.seq {
		return true
	} else if h.control = c; now.control.newerThan(c) {
		h.control = now.control
	}
	l.goOn(from)
	l.base.Store(from)
	l.head.Store(&h)
	l.opt.Imaged(h.state)
	return true
}

// throughSegments takes the runs up to a commit from segments, one after the other.
func (l *Log[S]) throughSegments(ctx context.Context, after, upTo uint64) error {
	for r, err := range l.segments.from(ctx, l.code, after+1, upTo) {
		if err != nil {
			return err
		}
		if _, err := l.advance(ctx, &tail{runs: []*run{r}}); err != nil {
			return err
		}
	}
	return nil
}
