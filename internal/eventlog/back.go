package eventlog

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// A History reads a log from its end, whatever the status of the log is. Both methods return
// NOT_FOUND if the log does not exist or is being erased.
type History interface {
	// LastAt returns the last commit at or before t; seq is 0 if there is none. at is the time of
	// that commit or, where looking it up would cost another read, a later time that is not after
	// t.
	LastAt(ctx context.Context, t time.Time) (seq uint64, at time.Time, err error)

	// Back yields commits from commit from backward, newest first: at least most of them if there
	// are as many, and then the others that were read in the same block. It reads one block at a
	// time and ends with the first error. The texts and answers of a commit are valid only until
	// the next one is yielded.
	Back(ctx context.Context, from uint64, most int) iter.Seq2[*Commit, error]
}

var _ History = (*Log[int])(nil)

// LastAt implements History. It makes one Query and, if t is before the last commit, a number of
// Queries that is logarithmic in the length of the log. It returns ErrNoLog for a sealed log, and
// UNAVAILABLE if the tail cannot be read.
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
	seq, err := l.SeqAt(ctx, s.Seq, t)
	return seq, t, l.orErased(ctx, err)
}

// Back implements History. If a block of a segment is large, Back stops in it as soon as it has
// yielded most commits.
func (l *Log[S]) Back(ctx context.Context, from uint64, most int) iter.Seq2[*Commit, error] {
	return l.backBy(ctx, l.code, from, most)
}

// backBy is Back with payloads unpacked by code.
func (l *Log[S]) backBy(
	ctx context.Context, code *codec, from uint64, most int,
) iter.Seq2[*Commit, error] {
	return func(yield func(*Commit, error) bool) {
		for seq := from; seq > 0 && most > 0; {
			runs, err := l.block(ctx, seq)
			if err != nil {
				yield(nil, l.orErased(ctx, err))
				return
			}
			// A block of a segment may contain thousands of commits. It is then not yielded to its
			// end.
			large := seq-runs[0].First > blockSize+maxRun
			for _, r := range slices.Backward(runs) {
				if most <= 0 && large {
					return
				}
				if !l.eachBack(ctx, code, r, seq, yield) {
					return
				}
				most -= int(min(r.Last, seq) + 1 - r.First) //nolint:gosec // a run has at most maxRun commits
			}
			seq = runs[0].First - 1
		}
	}
}

// eachBack yields the commits of a run up to and including upTo, newest first. It returns false if
// the iteration must stop, because of an error or because yield returned false.
func (l *Log[S]) eachBack(
	ctx context.Context, code *codec, r *Run, upTo uint64, yield func(*Commit, error) bool,
) bool {
	err := l.loadBy(ctx, code, r)
	if err != nil {
		yield(nil, l.orErased(ctx, err))
		return false
	}
	commits, err := r.Decode()
	if err != nil {
		yield(nil, Damaged(r.First, err))
		return false
	}
	r.Parts, r.packed = nil, nil // so that the texts of only one run of a block are in memory
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

	// blockBytes is how many bytes of runs it reads from a segment at a time; always at least one
	// run.
	blockBytes = 4 << 20
)

// block returns consecutive runs, the last of which contains commit seq. It makes one Query, or one
// read of a segment. The payloads are not unpacked, and those in objects are not read.
func (l *Log[S]) block(ctx context.Context, seq uint64) ([]*Run, error) {
	low := l.head.Load().control.Low
	if seq <= low {
		return l.segments.block(ctx, seq)
	}
	var runs []*Run
	first := max(seq-min(seq, blockSize+maxRun-2), low+1) // the run that contains seq begins at first or later
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(first), runKey(seq)) {
		if err != nil {
			return nil, Unreadable(ctx, err)
		}
		r, inline, err := readPlaced(it)
		if err != nil {
			return nil, err
		}
		if r.Object == "" {
			r.packed = inline
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
		return nil, Damaged(seq, errNoSegment)
	}
	return l.segments.block(ctx, seq)
}

// block returns the run that contains commit seq and some runs before it in the same segment.
func (s *segments) block(ctx context.Context, seq uint64) ([]*Run, error) {
	for {
		d, err := s.holding(ctx, seq)
		if errors.Is(err, errNoSegment) {
			err = Damaged(seq, err)
		}
		if err != nil {
			return nil, err
		}
		last, ok := d.holding(seq)
		if !ok {
			return nil, Damaged(seq, errNoSegment)
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
		return readAll(d, all, data)
	}
}

// lastOf returns the last runs of all that make up one block: at most blockSize runs and, unless it
// is a single one, blockBytes bytes.
func lastOf(all []storedRun) []storedRun {
	first, size := len(all)-1, all[len(all)-1].Len
	for first > 0 && len(all)-first < blockSize && size+all[first-1].Len <= blockBytes {
		first--
		size += all[first].Len
	}
	return all[first:]
}

// readAll reads consecutive runs of a segment from data. The payloads are not unpacked.
func readAll(d *directory, all []storedRun, data []byte) ([]*Run, error) {
	var runs []*Run
	for _, at := range all {
		from := at.Off - all[0].Off
		if from+at.Len > int64(len(data)) {
			return nil, brokenSegment(d.First, errors.New("it is cut off"))
		}
		r, packed, err := readItemAt(data[from:from+at.Len:from+at.Len], at)
		if err != nil {
			return nil, brokenSegment(d.First, err)
		}
		r.packed = packed
		runs = append(runs, r)
	}
	return runs, nil
}
