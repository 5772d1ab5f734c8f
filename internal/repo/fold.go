package repo

import (
	"bytes"
	"context"
	"errors"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/table"
)

const (
	segmentsCursor = "segments"

	// Commits, or bytes of items, after which a segment is written and an image is due (log.md §4).
	foldCommits = 500
	foldBytes   = 1 << 20

	// maxSegment is at how many bytes a segment ends.
	maxSegment = 4 << 20

	// itemLife is how long a log item stays in the table after the last cursor passed it, imageLife
	// how long an image is kept that another has superseded, and leftoverLife how old an object must be
	// that nothing names.
	itemLife     = time.Hour
	imageLife    = time.Hour
	leftoverLife = 24 * time.Hour

	// markEvery is how often it is noted down how far all cursors are, and mostMarks how many such
	// notes there are.
	markEvery = 10 * time.Minute
	mostMarks = 8
)

// Folding says how the log moves outward. The zero value is what is due, with no followers.
type Folding struct {
	// Behind are the consumers beside the log's own that must have passed what leaves the table, and
	// what an image stands for.
	Behind []string
	// All folds everything that there is, be it ever so little.
	All bool
	// Later leaves images to the next pass: somebody waits for what else this one does.
	Later bool
	// Clocked reports whether Now is known to be right, which may become so during the pass: what is
	// old by it is deleted only then, and an erasure is looked over a second time only then. Nil: it is.
	Clocked func() bool
	// Hold reports whether images of an earlier format stay in force, because a release that can read no other one may
	// still run. Nil: they do not.
	Hold func() bool
}

// clocked reports whether something may be deleted because it is old.
func (f Folding) clocked() bool { return f.Clocked == nil || f.Clocked() }

// segmentsDue reports whether it is worth to look for runs that are to be in a segment.
func (l *Log[S]) segmentsDue(h *head[S]) bool {
	folded := h.control.Cursors[segmentsCursor].Seq
	many := h.seq-min(folded, h.seq) >= foldCommits || h.weight-h.control.Weight >= foldBytes
	return many && h.seq > l.looked
}

// Unfolded is how many commits are in no segment yet, as far as is known without asking.
func (v *Vault) Unfolded() uint64 {
	h := v.log.head.Load()
	return h.seq - min(h.seq, h.control.Cursors[segmentsCursor].Seq)
}

// foldSegments writes the segments that are due, or all runs that are in none.
func (l *Log[S]) foldSegments(ctx context.Context, all bool) error {
	h := l.head.Load()
	if !all && !l.segmentsDue(h) {
		return nil
	}
	c, err := l.Control(ctx)
	if err != nil {
		return err
	}
	cursor, erased := c.Cursors[segmentsCursor].Seq, c.Erased
	for {
		w, err := l.nextSegment(ctx, cursor, maxSeq)
		if fault.Is(err, fault.IndexError) {
			if now, _ := l.folded(ctx); now > cursor { // another folded it, and it left the table
				cursor = now
				continue
			}
		}
		if err != nil {
			return err
		}
		due := w.commits() >= foldCommits || len(w.body) >= foldBytes
		if w.commits() == 0 || !due && !all {
			l.looked = h.seq
			return nil
		}
		there, err := l.putSegment(ctx, w)
		if err != nil {
			return err
		}
		there.from, there.erased, cursor = cursor, erased, there.last
		if err := l.segmentThere(ctx, there); err != nil {
			return err
		}
	}
}

// A stretchThere is a stretch of the log that a segment holds now.
type stretchThere struct {
	from   uint64 // the commit before it
	last   uint64
	weight int64  // bytes of its runs
	erased uint64 // see Control, as it was before the runs were read
}

// segmentThere moves the cursor, unless a history was erased since what the segment holds was read: it
// may have parts of it, and whoever folds next looks into it.
func (l *Log[S]) segmentThere(ctx context.Context, s stretchThere) error {
	late := false
	err := l.Change(ctx, func(c *Control) bool {
		late = c.Erased != s.erased
		was := c.Cursors[segmentsCursor].Seq
		if late || was >= s.last {
			return false
		}
		if was == s.from {
			c.Weight += s.weight
		}
		if c.Cursors == nil {
			c.Cursors = map[string]Cursor{}
		}
		c.Cursors[segmentsCursor] = Cursor{Seq: s.last}
		return true
	})
	if late {
		return errors.Join(err, l.Change(ctx, func(c *Control) bool {
			if c.Erasing == nil {
				c.Erasing = &Erasing{From: 0}
			}
			c.Erasing.Upto = 0
			return true
		}))
	}
	return err
}

// nextSegment collects the runs behind a commit, up to another, as many as a segment holds. A run that does not join
// the one before is in none: it is INDEX_ERROR.
func (l *Log[S]) nextSegment(
	ctx context.Context, after, upTo uint64,
) (*segmentWriter, error) {
	w := &segmentWriter{}
	for it, err := range l.opt.Table.Query(
		ctx, l.opt.Part, runKey(after+1), runKey(upTo)) {
		if err != nil {
			return nil, unreadable(ctx, err)
		}
		r, packed, err := l.packed(ctx, it)
		if err != nil {
			return nil, err
		}
		if r.First != after+1 || len(w.dir.Runs) > 0 && !bytes.Equal(r.Prev, w.dir.Hash) {
			return nil, offChain(r.First, nil)
		}
		w.add(r, packed)
		after = r.Last
		if w.commits() >= foldCommits || len(w.body) >= maxSegment {
			break
		}
	}
	return w, nil
}

// packed is a run of the table with its payload as it is stored.
func (l *Log[S]) packed(ctx context.Context, it table.Item) (*run, []byte, error) {
	r, inline, err := readItem(it.Data)
	if err != nil {
		return nil, nil, damaged(0, err)
	}
	if r.Object == "" {
		return r, inline, nil
	}
	packed, err := l.payload(ctx, r)
	return r, packed, err
}

// putSegment writes a segment, and answers what it holds. Where another process has written one that
// begins with the same commit, that is the one, if it joins the chain.
func (l *Log[S]) putSegment(ctx context.Context, w *segmentWriter) (stretchThere, error) {
	data, err := w.bytes()
	if err != nil {
		return stretchThere{}, err
	}
	_, err = l.opt.Bucket.Put(ctx, segmentKey(w.dir.First), data, blob.IfAbsent)
	switch {
	case errors.Is(err, blob.ErrCondition):
		return l.adopt(ctx, w)
	case err != nil:
		return stretchThere{}, notFolded(err)
	}
	l.segments.wrote(&w.dir)
	return w.dir.there(), nil
}

// there is what the segment holds.
func (d *directory) there() stretchThere {
	s := stretchThere{last: d.Last}
	for _, r := range d.Runs {
		s.weight += r.Len
	}
	return s
}

// adopt takes the segment that is there in the place of ours. It holds runs of the same log: one that
// does not is not followed.
func (l *Log[S]) adopt(ctx context.Context, w *segmentWriter) (stretchThere, error) {
	d, err := l.segments.look(ctx, w.dir.First, firstLook)
	if err != nil {
		return stretchThere{}, err
	}
	l.segments.wrote(d)
	if !d.joins(w.dir.First, w.dir.Prev) {
		return stretchThere{}, offChain(d.First, nil)
	}
	c, err := l.Control(ctx)
	if err != nil || d.Last <= c.Cursors[segmentsCursor].Seq {
		return d.there(), err // who wrote it has said so
	}
	r, err := l.runWith(ctx, d.Last)
	if err == nil && (r.Last != d.Last || !bytes.Equal(r.hash(), d.Hash)) {
		err = offChain(d.First, nil)
	}
	return d.there(), err
}

// notFolded is the fault of a consumer that cannot write. Nothing is lost by it.
func notFolded(err error) error {
	return fault.New(fault.StorageError, "the log cannot be folded just now").
		After(time.Minute).Because(err)
}
