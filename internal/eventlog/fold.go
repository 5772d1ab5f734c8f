package eventlog

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

const (
	segmentsCursor = "segments"

	// Number of commits, or bytes of items, after which a segment is written and an image is due
	// (log.md §4).
	foldCommits = 500
	foldBytes   = 1 << 20

	// maxSegment is the number of bytes at which a segment ends.
	maxSegment = 4 << 20

	// itemLife is how long a log item stays in the table after the last cursor passed it. imageLife
	// is how long a superseded image is kept. leftoverLife is the age at which an unreferenced
	// object is deleted.
	itemLife     = time.Hour
	imageLife    = time.Hour
	leftoverLife = 24 * time.Hour

	// markEvery is how often a Mark of the position of all cursors is recorded. mostMarks is how
	// many marks a control item has at most.
	markEvery = 10 * time.Minute
	mostMarks = 8
)

// A Compaction contains the options of a compaction pass. The zero value is a pass that does the
// due work of a log without followers.
type Compaction struct {
	// Behind are the consumers, in addition to the log's own, that must have passed the commits
	// before their items leave the table, and before an image replaces them.
	Behind []string
	// All compacts everything, however little there is.
	All bool
	// Later leaves the writing of images to the next pass, because a caller waits for the rest of
	// this one. The image of a pass that runs already is interrupted, and left to the next pass too.
	Later bool
	// Clocked reports whether the clock is known to be right; that may change during the pass.
	// While it is not, nothing is deleted because of its age, and no erasure is repeated. Nil: the
	// clock is right.
	Clocked func() bool
	// Hold reports whether images of an earlier format must stay in use, because a release that can
	// read only those may still run. Nil: they need not.
	Hold func() bool
}

// clocked reports whether data may be deleted because of its age.
func (f Compaction) clocked() bool { return f.Clocked == nil || f.Clocked() }

// segmentsDue reports whether enough was appended since the last segment to write another one.
func (l *Log[S]) segmentsDue(h *head[S]) bool {
	folded := h.control.Cursors[segmentsCursor].Seq
	many := h.seq-min(folded, h.seq) >= foldCommits || h.weight-h.control.Weight >= foldBytes
	return many && h.seq > l.looked
}

// Unfolded returns how many commits are not in a segment yet, according to the state in memory. It
// does no I/O.
func (l *Log[S]) Unfolded() uint64 {
	h := l.head.Load()
	return h.seq - min(h.seq, h.control.Folded())
}

// foldSegments writes the segments that are due or, if all is set, segments for all remaining runs.
// The caller holds folding.
//
// Several processes may do this at once. A segment begins after the cursor, and its first commit is
// its key, so their segments have the same key: the first write wins, and the others adopt that
// segment. The segments of one history therefore never overlap, even if the processes saw different
// ends of the log.
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
		w, err := l.nextSegment(ctx, cursor, MaxSeq)
		if fault.Is(err, fault.IndexError) {
			if now, _ := l.folded(ctx); now > cursor { // another process compacted it, and it left the table
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
		// The segment is written before the cursor moves. After a crash in between, the next pass
		// finds the segment and adopts it.
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

// A stretchThere is a range of the log that is now in a segment. Control.Erased is remembered from
// before its runs were read, so that segmentThere notices an erasure in between.
type stretchThere struct {
	from   uint64 // the commit before the range
	last   uint64
	weight int64  // bytes of the runs
	erased uint64 // Control.Erased before the runs were read
}

// segmentThere advances the segments cursor over a new segment. If a history was erased since the
// runs of the segment were read, the segment may contain erased parts: then it does not advance the
// cursor, but schedules another erasing pass.
func (l *Log[S]) segmentThere(ctx context.Context, s stretchThere) error {
	late := false
	err := l.Change(ctx, func(c *Control) bool {
		late = c.Erased != s.erased
		was := c.Cursors[segmentsCursor].Seq
		if late || was >= s.last {
			return false
		}
		// If the cursor was elsewhere, another process has counted some of these runs.
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

// nextSegment collects the runs after commit `after`, up to upTo, that make up one segment. It
// returns INDEX_ERROR if a run does not continue the chain.
func (l *Log[S]) nextSegment(
	ctx context.Context, after, upTo uint64,
) (*segmentWriter, error) {
	w := &segmentWriter{}
	for it, err := range l.opt.Table.Query(
		ctx, l.opt.Part, runKey(after+1), runKey(upTo)) {
		if err != nil {
			return nil, Unreadable(ctx, err)
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

// packed decodes the item of a run, and returns the run and its packed payload. It reads the
// payload object if there is one.
func (l *Log[S]) packed(ctx context.Context, it table.Item) (*Run, []byte, error) {
	r, inline, err := readItem(it.Data)
	if err != nil {
		return nil, nil, Damaged(0, err)
	}
	if r.Object == "" {
		return r, inline, nil
	}
	packed, err := l.payload(ctx, r)
	return r, packed, err
}

// putSegment writes a segment, and returns the range that it contains. If a segment with the same
// first commit exists, because another process wrote it, that one is used if it continues the
// chain.
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
		return stretchThere{}, NotCompacted(err)
	}
	l.segments.wrote(&w.dir)
	return w.dir.there(), nil
}

// there returns the range that the segment contains.
func (d *directory) there() stretchThere {
	s := stretchThere{last: d.Last}
	for _, r := range d.Runs {
		s.weight += r.Len
	}
	return s
}

// adopt uses the stored segment instead of ours. It returns INDEX_ERROR if the stored one does not
// contain runs of the same log.
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
		return d.there(), err // its writer has advanced the cursor
	}
	r, err := l.RunWith(ctx, d.Last)
	if err == nil && (r.Last != d.Last || !bytes.Equal(r.hash(), d.Hash)) {
		err = offChain(d.First, nil)
	}
	return d.there(), err
}

// NotCompacted returns the STORAGE_ERROR of a compaction step that cannot write. Nothing is lost.
func NotCompacted(err error) error {
	return fault.New(fault.StorageError, "the log cannot be compacted now").
		After(time.Minute).Because(err)
}
