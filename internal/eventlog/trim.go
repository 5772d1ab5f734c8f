package eventlog

import (
	"context"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/parallel"
	"github.com/rookeryhq/rookery/internal/table"
)

// trim removes log items from the table that every cursor passed at least itemLife ago. It raises
// the low mark first. It decides by the control item that was read last whether there is anything
// to do.
//
// A log item has no time of its own at which it was passed. So each pass records a Mark of the
// commit that all cursors have passed, at most every markEvery; when a mark is itemLife old, its
// commit becomes the low mark. The delay protects readers that have read the control item but not
// yet the runs, and appends that are still on their way (log.md §2.4). If removing fails after
// the low mark has risen, readers ignore the items that remain, and a later pass removes them.
func (l *Log[S]) trim(ctx context.Context, f Compaction) error {
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

// secure checks that segments contain the runs that are about to leave the table, and writes
// missing segments again: an object may have been deleted by mistake.
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

// trims reports whether a mark must be recorded, or is old enough to raise the low mark.
func (c *Control) trims(f Compaction, now time.Time) bool {
	return c.marks(f, now) || len(c.Passed) > 0 && now.Sub(c.Passed[0].At) >= itemLife
}

// marks reports whether the position of all cursors should be recorded: whether it has advanced
// and, unless f.All is set, the last mark is old enough and there are not too many.
func (c *Control) marks(f Compaction, now time.Time) bool {
	last := Mark{Seq: c.Low}
	if n := len(c.Passed); n > 0 {
		last = c.Passed[n-1]
	}
	often := len(c.Passed) >= mostMarks || now.Sub(last.At) < markEvery
	return c.passed(f) > last.Seq && (f.All || !often)
}

// mark records the position of all cursors, if marks returns true. It reports whether it did.
func (c *Control) mark(f Compaction, now time.Time) bool {
	if !c.marks(f, now) {
		return false
	}
	c.Passed = append(c.Passed, Mark{c.passed(f), now})
	return true
}

// passed returns the last commit that all cursors and the image have passed; 0 if there is no
// image.
func (c *Control) passed(f Compaction) uint64 {
	passed := c.Cursors[segmentsCursor].Seq
	// Nothing leaves the table while there is no image.
	if c.Image == nil {
		return 0
	}
	return min(passed, c.Image.Seq, c.behind(f))
}

// behind returns the last commit that all consumers in f.Behind have passed; MaxSeq if there are
// none. A consumer without a cursor has passed nothing, so it keeps the whole log in the table.
func (c *Control) behind(f Compaction) uint64 {
	passed := uint64(MaxSeq)
	for _, name := range f.Behind {
		passed = min(passed, c.Cursors[name].Seq)
	}
	return passed
}

// mostRemoves is how many items are removed concurrently. They are removed one by one: a
// transaction would cost twice as much in some tables, and atomicity is not needed. manyKeys is how
// many keys are collected before they are removed.
const (
	mostRemoves = 16
	manyKeys    = 1000
)

// removeItems removes the items of runs that end at commit low or before, including late writes.
func (l *Log[S]) removeItems(ctx context.Context, low uint64) error {
	var keys []table.Key
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(0), runKey(low)) {
		if err != nil {
			return Unreadable(ctx, err)
		}
		if r, _, err := readItem(it.Data); err == nil && r.Last > low {
			continue // the low mark may be inside a run
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

// removeKeys removes the items with these keys, each on its own.
func (l *Log[S]) removeKeys(ctx context.Context, keys []table.Key) error {
	err := parallel.ForEach(mostRemoves, keys, func(k table.Key) error {
		return l.opt.Table.Commit(ctx, table.Remove(k))
	})
	if err != nil {
		return NotCompacted(err)
	}
	return nil
}

// remove executes operations in one transaction, because an erasure must be atomic.
func (l *Log[S]) remove(ctx context.Context, ops []table.Op) error {
	if len(ops) == 0 {
		return nil
	}
	if err := l.opt.Table.Commit(ctx, ops...); err != nil {
		return NotCompacted(err)
	}
	return nil
}
