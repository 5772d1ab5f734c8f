package eventlog

import (
	"context"
	"errors"
	"iter"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// stored yields the runs from the one that contains commit from, oldest first: those in segments,
// then those in the table. Runs that leave the table meanwhile are read from segments. Payload
// objects are not loaded. It ends with the first error.
func (l *Log[S]) stored(ctx context.Context, from uint64) iter.Seq2[*Run, error] {
	return l.unpackedBy(ctx, l.code, from)
}

// unpackedBy is stored with runs that are unpacked by code.
func (l *Log[S]) unpackedBy(ctx context.Context, code *codec, from uint64) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		from, missed := max(from, 1), uint64(0)
		for {
			folded, err := l.folded(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for r, err := range l.segments.from(ctx, code, from, folded) {
				if l.stillInTable(ctx, from, err) {
					folded = from - 1
					break
				}
				if !yield(r, l.orErased(ctx, err)) || err != nil {
					return
				}
				from = r.Last + 1
			}
			next, gap := l.inTable(ctx, span{from, folded, code}, yield)
			if !gap {
				return
			}
			// The gap is still there after it was read again.
			if next == missed {
				yield(nil, Damaged(next, errGap))
				return
			}
			from, missed = next, next
		}
	}
}

// Runs yields the runs from the one that contains commit from to the one that contains commit upTo,
// oldest first, with their payloads. A run is valid only until the next one is yielded, because
// they share memory. It ends with the first error, which is ErrNoLog if the log was erased
// meanwhile.
func (l *Log[S]) Runs(ctx context.Context, from, upTo uint64) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		code := l.code.reusing()
		for r, err := range l.unpackedBy(ctx, code, from) {
			if err == nil && r.First > upTo {
				return
			}
			if err == nil {
				err = l.loadBy(ctx, code, r)
			}
			if err != nil {
				yield(nil, l.orErased(ctx, err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// stillInTable reports whether the runs from commit seq on are still in the table, given the error
// of reading them from a segment. It returns false for errors other than INDEX_ERROR, which may
// pass. A lost segment therefore only breaks the log when its items have left the table, and trim
// writes it again before that.
func (l *Log[S]) stillInTable(ctx context.Context, seq uint64, err error) bool {
	if !fault.Is(err, fault.IndexError) {
		return false
	}
	c, err := l.Control(ctx)
	return err == nil && c.Low < seq
}

// errGap is the error of a run that is missing although later ones exist.
var errGap = errors.New("it is missing")

// folded returns the last commit in segments, according to the current control item; 0 if there is
// no log or it is not compacted.
func (l *Log[S]) folded(ctx context.Context) (uint64, error) {
	if l.opt.Imaging == nil {
		return 0, nil
	}
	c, err := l.Control(ctx)
	if errors.Is(err, ErrNoLog) {
		return 0, nil
	}
	return c.Cursors[segmentsCursor].Seq, err
}

// A span is the commits from commit from on. Those up to folded are in segments. code unpacks their
// runs.
type span struct {
	from, folded uint64
	code         *codec
}

// inTable yields the consecutive runs of the table from the one that contains commit s.from. If
// runs are missing or have left the table, gap is true and next is the first missing commit. Items
// of commits up to s.folded are ignored. After an error, and if yield returned false, gap is false,
// so that the caller stops.
func (l *Log[S]) inTable(
	ctx context.Context, s span, yield func(*Run, error) bool,
) (next uint64, gap bool) {
	next = s.from
	first := max(s.from-min(s.from, maxRun-1), s.folded+1) // the run that contains s.from begins at first or later
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(first), controlKey) {
		if err != nil {
			yield(nil, Unreadable(ctx, err))
			return next, false
		}
		if it.Sort == controlKey {
			c, err := readControl(it)
			if err != nil {
				yield(nil, err)
			}
			return next, err == nil && c.Low >= next
		}
		r, err := s.code.read(it)
		if err == nil && r.Last < next {
			continue
		}
		if err == nil && r.First > next {
			return next, true
		}
		if !yield(r, err) || err != nil {
			return next, false
		}
		next = r.Last + 1
	}
	return next, false
}

// RunAt reads the run that begins with commit first, with its payload. It reads the table, or a
// segment if the run has left the table. Items up to the low mark are never read from the table,
// because they may be late writes that are not part of the log. It returns ErrNoLog if the log was
// erased, and INDEX_ERROR if the run is missing or damaged.
func (l *Log[S]) RunAt(ctx context.Context, first uint64) (r *Run, err error) {
	defer func() { err = l.orErased(ctx, err) }()
	if first <= l.head.Load().control.Low {
		return l.segments.run(ctx, first)
	}
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: runKey(first)})
	if errors.Is(err, table.ErrNotFound) && l.opt.Imaging != nil {
		return l.inSegment(ctx, first)
	}
	if err != nil {
		return nil, Unreadable(ctx, err)
	}
	r, err = l.read(it)
	if err != nil {
		return nil, err
	}
	return r, l.load(ctx, r)
}

// inSegment reads the run that contains a commit from a segment. It returns INDEX_ERROR if no
// segment contains it.
func (l *Log[S]) inSegment(ctx context.Context, seq uint64) (*Run, error) {
	r, err := l.segments.run(ctx, seq)
	if errors.Is(err, errNoSegment) {
		return nil, Damaged(seq, err)
	}
	return r, err
}

// RunWith reads the run that contains a commit, which must exist, with its payload. Its errors are
// those of RunAt.
func (l *Log[S]) RunWith(ctx context.Context, seq uint64) (_ *Run, err error) {
	defer func() { err = l.orErased(ctx, err) }()
	switch r, err := l.tableRunWith(ctx, seq); {
	case err != nil:
		return nil, err
	case r != nil:
		return r, l.load(ctx, r)
	}
	return l.inSegment(ctx, seq)
}

// tableRunWith returns the run of the table that contains a commit; nil if it has left the table.
// Its payload is not unpacked, and not loaded if it is an object. Most runs have one commit, so it
// tries the key of such a run first.
func (l *Log[S]) tableRunWith(ctx context.Context, seq uint64) (*Run, error) {
	low := l.head.Load().control.Low
	if seq <= low {
		return nil, nil
	}
	// The second Query covers every run that can contain the commit, because a run has at most
	// maxRun commits.
	for _, from := range []uint64{seq, max(seq-min(seq, maxRun-1), low+1)} {
		for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(from), runKey(seq)) {
			if err != nil {
				return nil, Unreadable(ctx, err)
			}
			r, inline, err := readPlaced(it)
			if err != nil {
				return nil, err
			}
			if r.First <= seq && seq <= r.Last {
				if r.Object == "" {
					r.packed = inline
				}
				return r, nil
			}
		}
	}
	if l.opt.Imaging == nil {
		return nil, Damaged(seq, errNoSegment)
	}
	return nil, nil
}

// Commit returns a commit that exists. Its errors are those of RunAt.
func (l *Log[S]) Commit(ctx context.Context, seq uint64) (*Commit, error) {
	r, err := l.RunWith(ctx, seq)
	if err != nil {
		return nil, err
	}
	commits, err := r.Decode()
	if err != nil {
		return nil, Damaged(r.First, err)
	}
	return commits[seq-r.First], nil
}

// Commits yields the commits from a seq on, oldest first. It reads the log page by page or segment
// by segment, and ends with the first error. It yields nothing if the log does not exist, ErrNoLog
// if its runs were erased, and INDEX_ERROR if runs are missing or damaged.
func (l *Log[S]) Commits(ctx context.Context, from uint64) iter.Seq2[*Commit, error] {
	return func(yield func(*Commit, error) bool) {
		for r, err := range l.stored(ctx, from) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !l.each(ctx, r, from, yield) {
				return
			}
		}
	}
}

// each yields the commits of a run that are not before from. It returns false if the iteration must
// stop.
func (l *Log[S]) each(
	ctx context.Context, r *Run, from uint64, yield func(*Commit, error) bool,
) bool {
	if err := l.load(ctx, r); err != nil {
		return yield(nil, l.orErased(ctx, err))
	}
	commits, err := r.Decode()
	if err != nil {
		return yield(nil, Damaged(r.First, err))
	}
	for _, c := range commits {
		if c.Seq >= from && !yield(c, nil) {
			return false
		}
	}
	return true
}
