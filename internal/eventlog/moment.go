package eventlog

import (
	"context"
	"errors"
	"time"
)

// SeqAt returns the last commit up to last that is not after t; 0 if there is none. Times never
// decrease, so it uses a binary search. A step costs one Query, or none for a run in a segment whose
// directory is cached. No payload is read or unpacked. It returns INDEX_ERROR if a run is damaged,
// and UNAVAILABLE if the log cannot be read.
func (l *Log[S]) SeqAt(ctx context.Context, last uint64, t time.Time) (uint64, error) {
	low, high := uint64(1), last+1 // every run that begins before low begins at t or earlier
	var in *datedRun               // the newest known one of these runs
	for low < high {
		middle := low + (high-low)/2
		r, err := l.firstFrom(ctx, middle)
		switch {
		case err != nil:
			return 0, err
		case r == nil || r.first > last || r.time.After(t):
			high = middle
		default:
			in, low = r, r.first+1
		}
	}
	if in == nil {
		return 0, nil
	}
	commits, err := l.commitsOf(ctx, in)
	if err != nil {
		return 0, err
	}
	seq := uint64(0)
	for i := 0; i < len(commits) && !commits[i].Time.After(t); i++ {
		seq = in.first + uint64(i)
	}
	return min(seq, last), nil
}

// Began returns the time of the first commit; the zero time if there is none. It makes one Query, or
// reads the directory of a segment unless it is cached. Its errors are those of SeqAt, and ErrNoLog
// if the log was erased.
func (l *Log[S]) Began(ctx context.Context) (time.Time, error) {
	r, err := l.firstFrom(ctx, 1)
	if err != nil || r == nil {
		return time.Time{}, l.orErased(ctx, err)
	}
	return r.time, nil
}

// A datedRun is a run with the time of its first commit.
type datedRun struct {
	first, last uint64 // its first and its last commit
	time        time.Time
	header      *Header // nil: the run is in a segment, and its header was not read
}

// firstFrom returns the first run that begins at commit seq or later; nil if there is none.
func (l *Log[S]) firstFrom(ctx context.Context, seq uint64) (*datedRun, error) {
	for seq <= l.head.Load().control.Low {
		r, err := l.segments.dated(ctx, seq)
		if errors.Is(err, errNoSegment) {
			err = Damaged(seq, err)
		}
		if err != nil || r.first == seq {
			return r, err
		}
		seq = r.last + 1
	}
	// A run has at most maxRun commits, so the next one begins in this range.
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(seq), runKey(min(seq+maxRun, MaxSeq))) {
		if err != nil {
			return nil, Unreadable(ctx, err)
		}
		r, _, err := readPlaced(it)
		if err != nil {
			return nil, err
		}
		return &datedRun{r.First, r.Last, r.Commits[0].Time, &r.Header}, nil
	}
	return nil, nil
}

// commitsOf returns the entries of the commits in the header of a run.
func (l *Log[S]) commitsOf(ctx context.Context, r *datedRun) ([]CommitHead, error) {
	if r.header != nil {
		return r.header.Commits, nil
	}
	h, err := l.segments.header(ctx, r.first)
	if errors.Is(err, errNoSegment) {
		err = Damaged(r.first, err)
	}
	return h.Commits, err
}

// dated returns the run that contains a commit, from the directory of its segment. It reads nothing
// if the directory is cached. The error is errNoSegment if no segment contains the commit.
func (s *segments) dated(ctx context.Context, seq uint64) (*datedRun, error) {
	d, err := s.holding(ctx, seq)
	if err != nil {
		return nil, err
	}
	i, ok := d.holding(seq)
	if !ok {
		return nil, errNoSegment
	}
	at := d.Runs[i]
	return &datedRun{first: at.First, last: at.Last, time: at.Time}, nil
}

// header reads the header of the run that contains a commit. The error is errNoSegment if no
// segment contains the commit.
func (s *segments) header(ctx context.Context, seq uint64) (h Header, err error) {
	err = s.item(ctx, seq, func(data []byte, at storedRun) error {
		r, _, err := readItemAt(data, at)
		if err == nil {
			h = r.Header
		}
		return err
	})
	return h, err
}
