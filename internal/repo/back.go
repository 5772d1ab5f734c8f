package repo

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// A History is a log that is read from its end, whatever its status is. One that is being erased, or
// gone, is NOT_FOUND.
type History interface {
	// LastAt is the last commit that was there at a time, and its time or, where that would have to be
	// looked for, a later one, but none after t.
	LastAt(ctx context.Context, t time.Time) (seq uint64, at time.Time, err error)

	// Back yields the commits from one that is there on, newest first: all, or the first most of them, and
	// then those that were read with the last. It reads a block of them at a time, and ends with the
	// first error.
	Back(ctx context.Context, from uint64, most int) iter.Seq2[*Commit, error]
}

var (
	_ History = (*Log[int])(nil)
	_ History = (*Vault)(nil)
)

// LastAt implements History.
func (v *Vault) LastAt(ctx context.Context, t time.Time) (uint64, time.Time, error) {
	seq, at, err := v.log.LastAt(ctx, t)
	return seq, at, v.orNone(err)
}

// Back implements History.
func (v *Vault) Back(ctx context.Context, from uint64, most int) iter.Seq2[*Commit, error] {
	return func(yield func(*Commit, error) bool) {
		for c, err := range v.log.Back(ctx, from, most) {
			if !yield(c, v.orNone(err)) {
				return
			}
		}
	}
}

// LastAt implements History. It costs one Query, and a Query for each halving of the log if t is before
// its last commit.
func (l *Log[S]) LastAt(ctx context.Context, t time.Time) (uint64, time.Time, error) {
	s, err := l.Read(ctx)
	switch {
	case err != nil:
		return 0, time.Time{}, err
	case s.Status == Sealed:
		return 0, time.Time{}, ErrNoLog
	case !t.Before(s.Time):
		return s.Seq, s.Time, nil
	}
	seq, err := l.seqAt(ctx, s.Seq, t)
	return seq, t, l.orErased(ctx, err)
}

// Back implements History. A block of a segment may have thousands of commits: it is not yielded to its end.
func (l *Log[S]) Back(ctx context.Context, from uint64, most int) iter.Seq2[*Commit, error] {
	return func(yield func(*Commit, error) bool) {
		for seq := from; seq > 0 && most > 0; {
			runs, err := l.block(ctx, seq)
			if err != nil {
				yield(nil, l.orErased(ctx, err))
				return
			}
			large := seq-runs[0].First > blockSize+maxRun
			for _, r := range slices.Backward(runs) {
				if most <= 0 && large {
					return
				}
				if !l.eachBack(ctx, r, seq, yield) {
					return
				}
				most -= int(min(r.Last, seq) + 1 - r.First) //nolint:gosec // a run has at most maxRun commits
			}
			seq = runs[0].First - 1
		}
	}
}

// eachBack yields the commits of a run up to one, newest first.
func (l *Log[S]) eachBack(
	ctx context.Context, r *run, upTo uint64, yield func(*Commit, error) bool,
) bool {
	err := l.load(ctx, r)
	if err != nil {
		yield(nil, l.orErased(ctx, err))
		return false
	}
	commits, err := r.commits()
	if err != nil {
		yield(nil, damaged(r.First, err))
		return false
	}
	r.parts = nil // so that only one run of a block has its texts in memory
	for _, c := range slices.Backward(commits) {
		if c.Seq <= upTo && !yield(c, nil) {
			return false
		}
	}
	return true
}

const (
	// blockSize is about how many commits Back reads at a time.
	blockSize = 64

	// blockBytes is how many bytes of runs it reads at a time of a segment, or one run.
	blockBytes = 4 << 20
)

// block is some runs of the log that follow each other, the last of which holds a commit. It is one
// Query, or one read of a segment. Payloads that are objects are not loaded.
func (l *Log[S]) block(ctx context.Context, seq uint64) ([]*run, error) {
	low := l.head.Load().control.Low
	if seq <= low {
		return l.segments.block(ctx, seq)
	}
	var runs []*run
	first := max(seq-min(seq, blockSize+maxRun-2), low+1) // the run of the last commit begins there or later
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(first), runKey(seq)) {
		if err != nil {
			return nil, unreadable(ctx, err)
		}
		r, err := l.read(it)
		if err != nil {
			return nil, err
		}
		if n := len(runs); n > 0 && runs[n-1].Last+1 != r.First {
			runs = nil
		}
		runs = append(runs, r)
	}
	if n := len(runs); n > 0 && runs[n-1].Last >= seq {
		return runs, nil
	}
	if l.opt.Imaging == nil {
		return nil, damaged(seq, errNoSegment)
	}
	return l.segments.block(ctx, seq)
}

// block is the run that holds a commit, and some before it, as far as they are in the same segment.
func (s *segments) block(ctx context.Context, seq uint64) ([]*run, error) {
	for {
		d, err := s.holding(ctx, seq)
		if errors.Is(err, errNoSegment) {
			err = damaged(seq, err)
		}
		if err != nil {
			return nil, err
		}
		last, ok := d.holding(seq)
		if !ok {
			return nil, damaged(seq, errNoSegment)
		}
		all := d.Runs[:last+1]
		all = lastOf(all)
		from := all[0].Off
		data, err := s.read(ctx, d, d.start+from, d.Runs[last].Off+d.Runs[last].Len-from)
		if errors.Is(err, errRewritten) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return s.code.readAll(d, all, data)
	}
}

// lastOf are the last of some runs: a block of them.
func lastOf(all []storedRun) []storedRun {
	first, size := len(all)-1, all[len(all)-1].Len
	for first > 0 && len(all)-first < blockSize && size+all[first-1].Len <= blockBytes {
		first--
		size += all[first].Len
	}
	return all[first:]
}

// readAll reads runs of a segment that stand one behind the other.
func (c *codec) readAll(d *directory, all []storedRun, data []byte) ([]*run, error) {
	var runs []*run
	for _, at := range all {
		from := at.Off - all[0].Off
		if from+at.Len > int64(len(data)) {
			return nil, brokenSegment(d.First, errors.New("it is cut off"))
		}
		r, err := c.readStored(data[from:from+at.Len:from+at.Len], at)
		if err != nil {
			return nil, brokenSegment(d.First, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}
