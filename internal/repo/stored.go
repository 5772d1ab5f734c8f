package repo

import (
	"context"
	"errors"
	"iter"

	"rookery/internal/fault"
	"rookery/internal/table"
)

// stored yields the runs from the one that holds a commit on, oldest first, as far as there are any:
// from segments what they hold, then from the table. What leaves the table meanwhile is in segments by
// then. Payloads that are objects are not loaded. It ends with the first error.
func (l *Log[S]) stored(ctx context.Context, from uint64) iter.Seq2[*run, error] {
	return func(yield func(*run, error) bool) {
		from, missed := max(from, 1), uint64(0)
		for {
			folded, err := l.folded(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for r, err := range l.segments.from(ctx, from, folded) {
				if l.stillInTable(ctx, from, err) {
					folded = from - 1
					break
				}
				if !yield(r, l.orErased(ctx, err)) || err != nil {
					return
				}
				from = r.Last + 1
			}
			next, gap := l.inTable(ctx, span{from, folded}, yield)
			if !gap {
				return
			}
			if next == missed {
				yield(nil, damaged(next, errGap))
				return
			}
			from, missed = next, next
		}
	}
}

// stillInTable reports whether the runs that a segment should hold from a commit on, and does not, have
// not left the table yet.
func (l *Log[S]) stillInTable(ctx context.Context, seq uint64, err error) bool {
	if !fault.Is(err, fault.IndexError) {
		return false
	}
	c, err := l.Control(ctx)
	return err == nil && c.Low < seq
}

// errGap says that runs are missing, and that later ones are there.
var errGap = errors.New("it is missing")

// folded is the commit up to which segments hold the log, by the control item as it is now.
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

// A span is the commits from one on, of which segments hold those up to another.
type span struct{ from, folded uint64 }

// inTable yields the runs of the table from the one that holds a commit on, as far as they follow each
// other. Where runs are missing before later ones, or have left the table, there is a gap, which begins
// with next. What stands where segments hold the log is not the log's.
func (l *Log[S]) inTable(
	ctx context.Context, s span, yield func(*run, error) bool,
) (next uint64, gap bool) {
	next = s.from
	first := max(s.from-min(s.from, maxRun-1), s.folded+1) // its run begins there or later
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(first), controlKey) {
		if err != nil {
			yield(nil, unreadable(ctx, err))
			return next, false
		}
		if it.Sort == controlKey {
			c, err := readControl(it)
			if err != nil {
				yield(nil, err)
			}
			return next, err == nil && c.Low >= next
		}
		r, err := l.read(it)
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

// runAt reads the run that begins with this commit, with its payload. It is in the table, or in a
// segment if its item has left the table; below the low mark an item is not the log's any more.
func (l *Log[S]) runAt(ctx context.Context, first uint64) (r *run, err error) {
	defer func() { err = l.orErased(ctx, err) }()
	if first <= l.head.Load().control.Low {
		return l.segments.run(ctx, first)
	}
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: runKey(first)})
	if errors.Is(err, table.ErrNotFound) && l.opt.Imaging != nil {
		return l.inSegment(ctx, first)
	}
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	r, err = l.read(it)
	if err != nil {
		return nil, err
	}
	return r, l.load(ctx, r)
}

// inSegment is the run that holds a commit, of which the table has nothing.
func (l *Log[S]) inSegment(ctx context.Context, seq uint64) (*run, error) {
	r, err := l.segments.run(ctx, seq)
	if errors.Is(err, errNoSegment) {
		return nil, damaged(seq, err)
	}
	return r, err
}

// runWith is the run that holds a commit that is there, with its payload. Most runs are of one
// commit, so the key that it would have then is looked at first.
func (l *Log[S]) runWith(ctx context.Context, seq uint64) (_ *run, err error) {
	defer func() { err = l.orErased(ctx, err) }()
	low := l.head.Load().control.Low
	if seq <= low {
		return l.inSegment(ctx, seq)
	}
	for _, from := range []uint64{seq, max(seq-min(seq, maxRun-1), low+1)} {
		for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(from), runKey(seq)) {
			if err != nil {
				return nil, unreadable(ctx, err)
			}
			r, err := l.read(it)
			if err != nil {
				return nil, err
			}
			if r.First <= seq && seq <= r.Last {
				return r, l.load(ctx, r)
			}
		}
	}
	if l.opt.Imaging == nil {
		return nil, damaged(seq, errNoSegment)
	}
	return l.inSegment(ctx, seq)
}

// Commits yields the commits from one seq on, oldest first. It reads the log from there, a page or a
// segment at a time, and ends with the first error.
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

// each yields the commits of a run that are not before from.
func (l *Log[S]) each(
	ctx context.Context, r *run, from uint64, yield func(*Commit, error) bool,
) bool {
	if err := l.load(ctx, r); err != nil {
		return yield(nil, l.orErased(ctx, err))
	}
	commits, err := r.commits()
	if err != nil {
		return yield(nil, damaged(r.First, err))
	}
	for _, c := range commits {
		if c.Seq >= from && !yield(c, nil) {
			return false
		}
	}
	return true
}
