package eventlog

import "context"

// imaged returns the head of the newest usable image that is not after commit upTo; an empty head
// if there is none. It makes that image the base of the log.
func (l *Log[S]) imaged(ctx context.Context, upTo uint64) head[S] {
	if l.opt.Imaging == nil {
		return l.empty()
	}
	c, err := l.firstControl(ctx)
	if err != nil {
		return l.empty() // the next read of the log returns the error
	}
	h, from, ok := l.newestImage(ctx, c, upTo)
	if h.control = c; !ok {
		return h
	}
	l.base.Store(from)
	l.goOn(from)
	l.opt.Imaged(h.state, from)
	return h
}

// goOn takes over the keys and the names of segments from an image.
func (l *Log[S]) goOn(from *OpenImage) {
	l.keys.begin(l.keysOf(from))
	l.segments.know(from.head.Segments, from.head.Folded)
}

// newestImage opens the newest usable image that is not after commit upTo. If there is none, it
// returns an empty head and false. It tries older images in turn, because no image is needed: an
// unusable one only makes the start slower. It returns no control item in the head.
func (l *Log[S]) newestImage(ctx context.Context, c Control, upTo uint64) (head[S], *OpenImage, bool) {
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
			l.unusable.Store(i.Seq) // so that the next pass writes another one
		}
		upTo = i.Seq - 1
	}
	return l.empty(), nil, false
}

// skipAhead moves the head forward, to an image or through segments, if the tail does not continue
// it or is long. It returns true if the tail must be read again, because the head has moved or runs
// before the tail have left the table.
func (l *Log[S]) skipAhead(ctx context.Context, after uint64, t *tail) (bool, error) {
	if l.opt.Imaging == nil {
		return false, nil
	}
	// The tail continues the head if it has no gap and nothing before it has left the table.
	missing, gap := t.gap(after)
	if t.ended && t.control.Low <= after && !gap {
		return false, nil
	}
	c := t.control
	if !t.ended { // the control item must be read after the tail
		var err error
		if c, err = l.Control(ctx); err != nil {
			return false, err
		}
	}
	long := !t.ended && t.size >= longTail && l.opt.SilentUpTo != nil
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

// last returns the last commit of the tail; 0 if it is empty.
func (t *tail) last() uint64 {
	if len(t.runs) == 0 {
		return 0
	}
	return t.runs[len(t.runs)-1].Last
}

// toImage makes the image in use the head, if it is after commit beyond. It returns true if the
// head is then at least at the image. It does nothing and returns false if Applied must be called
// for commits that the image would skip.
func (l *Log[S]) toImage(ctx context.Context, c Control, beyond uint64) bool {
	if l.opt.SilentUpTo == nil || c.Image == nil || c.Image.Seq <= beyond ||
		c.Image.Seq > l.opt.SilentUpTo() {
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
	l.opt.Imaged(h.state, from)
	return true
}

// throughSegments advances the head to commit upTo with the runs in segments.
func (l *Log[S]) throughSegments(ctx context.Context, after, upTo uint64) error {
	for r, err := range l.segments.from(ctx, l.code, after+1, upTo) {
		if err != nil {
			return err
		}
		if _, err := l.advance(ctx, &tail{runs: []*Run{r}}); err != nil {
			return err
		}
	}
	return nil
}
