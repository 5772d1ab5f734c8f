package repo

import (
	"context"
	"errors"
	"time"

	"rookery/internal/table"
)

// trim lets log items leave the table that every cursor passed an hour ago, the low mark first.
// Whether anything is to be done is told by the control item that came with the last tail.
func (l *Log[S]) trim(ctx context.Context, f Folding) error {
	now, low, risen := l.opt.Now().UTC(), uint64(0), false
	if known := l.head.Load().control; !known.trims(f, now) {
		return nil
	}
	if err := l.secure(ctx, now); err != nil {
		return err
	}
	err := l.Change(ctx, func(c *Control) bool {
		marked := c.mark(f, now)
		low, risen = c.Low, false
		for len(c.Passed) > 0 && now.Sub(c.Passed[0].At) >= itemLife {
			low, risen = c.Passed[0].Seq, true
			c.Low, c.Passed = low, c.Passed[1:]
		}
		return marked || risen
	})
	if err != nil || !risen {
		return err
	}
	return l.removeItems(ctx, low)
}

// secure looks whether segments hold the runs that are about to leave the table, and puts those again
// that are gone: somebody may have taken a file away.
func (l *Log[S]) secure(ctx context.Context, now time.Time) error {
	c := l.head.Load().control
	upTo := c.Low
	for _, m := range c.Passed {
		if now.Sub(m.At) >= itemLife {
			upTo = m.Seq
		}
	}
	if upTo > c.Low {
		l.segments.forget()
	}
	for seq := c.Low + 1; seq <= upTo; {
		d, err := l.segments.holding(ctx, seq)
		if err != nil && !errors.Is(err, errNoSegment) {
			return err
		}
		if err == nil {
			seq = d.Last + 1
			continue
		}
		w, err := l.nextSegment(ctx, seq-1, l.segments.next(seq)-1)
		if err != nil || w.commits() == 0 {
			return errors.Join(err, errNoSegment)
		}
		there, err := l.putSegment(ctx, w)
		if err != nil {
			return err
		}
		seq = there.last + 1
	}
	return nil
}

// trims reports whether there is something to note down, or a note is old enough.
func (c *Control) trims(f Folding, now time.Time) bool {
	return c.marks(f, now) || len(c.Passed) > 0 && now.Sub(c.Passed[0].At) >= itemLife
}

// marks reports whether it is worth a note how far all cursors are.
func (c *Control) marks(f Folding, now time.Time) bool {
	last := Mark{Seq: c.Low}
	if n := len(c.Passed); n > 0 {
		last = c.Passed[n-1]
	}
	often := len(c.Passed) >= mostMarks || now.Sub(last.At) < markEvery
	return c.passed(f) > last.Seq && (f.All || !often)
}

// mark notes down how far all cursors are, if that is worth a note. It reports whether it did.
func (c *Control) mark(f Folding, now time.Time) bool {
	if !c.marks(f, now) {
		return false
	}
	c.Passed = append(c.Passed, Mark{c.passed(f), now})
	return true
}

// passed is the commit that every cursor has passed.
func (c *Control) passed(f Folding) uint64 {
	passed := c.Cursors[segmentsCursor].Seq
	if c.Image == nil {
		return 0
	}
	return min(passed, c.Image.Seq, c.behind(f))
}

// behind is the commit that the consumers beside the log's own have passed.
func (c *Control) behind(f Folding) uint64 {
	passed := uint64(maxSeq)
	for _, name := range f.Behind {
		passed = min(passed, c.Cursors[name].Seq)
	}
	return passed
}

// mostRemoves is how many items are removed at once, each by itself: a transaction of them would cost twice
// as much of some tables, and no one needs them to go together. manyKeys is after how many it begins.
const (
	mostRemoves = 16
	manyKeys    = 1000
)

// removeItems removes the items of the runs that end at a commit or before. What came late to a place
// below the low mark goes with them.
func (l *Log[S]) removeItems(ctx context.Context, low uint64) error {
	var keys []table.Key
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(0), runKey(low)) {
		if err != nil {
			return unreadable(ctx, err)
		}
		if r, _, err := readItem(it.Data); err == nil && r.Last > low {
			continue // a cursor may stand in the middle of a run
		}
		if keys = append(keys, it.Key); len(keys) == manyKeys {
			if err := l.removeKeys(ctx, keys); err != nil {
				return err
			}
			keys = nil
		}
	}
	return l.removeKeys(ctx, keys)
}

func (l *Log[S]) removeKeys(ctx context.Context, keys []table.Key) error {
	err := together(mostRemoves, keys, func(k table.Key) error {
		return l.opt.Table.Commit(ctx, table.Remove(k))
	})
	if err != nil {
		return notFolded(err)
	}
	return nil
}

// remove makes operations together: what is erased goes as a whole.
func (l *Log[S]) remove(ctx context.Context, ops []table.Op) error {
	if len(ops) == 0 {
		return nil
	}
	if err := l.opt.Table.Commit(ctx, ops...); err != nil {
		return notFolded(err)
	}
	return nil
}
