package eventlog

import (
	"context"
	"time"
)

// SeqAt returns the last commit up to last that is not after t; 0 if there is none. Times never
// decrease, so it uses a binary search, with one Query for each step. It returns INDEX_ERROR if a
// run is damaged, and UNAVAILABLE if the log cannot be read.
func (l *Log[S]) SeqAt(ctx context.Context, last uint64, t time.Time) (uint64, error) {
	low, high := uint64(1), last+1 // every run that begins before low begins at t or earlier
	var in *Run                    // the newest known one of these runs
	for low < high {
		middle := low + (high-low)/2
		r, err := l.firstFrom(ctx, middle)
		switch {
		case err != nil:
			return 0, err
		case r == nil || r.First > last || r.Commits[0].Time.After(t):
			high = middle
		default:
			in, low = r, r.First+1
		}
	}
	seq := uint64(0)
	for i := 0; in != nil && i < len(in.Commits) && !in.Commits[i].Time.After(t); i++ {
		seq = in.First + uint64(i)
	}
	return min(seq, last), nil
}

// firstFrom returns the first run that begins at commit seq or later; nil if there is none. The
// payload of a run in the table may not be loaded.
func (l *Log[S]) firstFrom(ctx context.Context, seq uint64) (*Run, error) {
	for seq <= l.head.Load().control.Low {
		r, err := l.inSegment(ctx, seq)
		if err != nil || r.First == seq {
			return r, err
		}
		seq = r.Last + 1
	}
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(seq), runKey(MaxSeq)) {
		if err != nil {
			return nil, Unreadable(ctx, err)
		}
		return l.read(it)
	}
	return nil, nil
}
