package repo

import (
	"context"
	"time"
)

// VersionAt is the newest version that was there at a time: that of the last commit then or before.
// Before the first commit it is 0, at which a vault is empty.
func (v *Vault) VersionAt(ctx context.Context, t time.Time) (uint64, error) {
	head, err := v.Read(ctx)
	if err != nil {
		return 0, err
	}
	if !t.Before(head.Time()) {
		return head.Version(), nil
	}
	return v.log.seqAt(ctx, head.Version(), t)
}

// seqAt is the last commit that is not after a time, of those up to one. Times never go back, so it
// is found by halves, with one Query each.
func (l *Log[S]) seqAt(ctx context.Context, last uint64, t time.Time) (uint64, error) {
	low, high := uint64(1), last+1 // every run that begins before low begins at t or earlier
	var in *run                    // the newest of these that is known
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

// firstFrom is the first run that begins with this commit or a later one; nil if there is none. Of one
// in the table the payload may not be loaded.
func (l *Log[S]) firstFrom(ctx context.Context, seq uint64) (*run, error) {
	for seq <= l.head.Load().control.Low {
		r, err := l.inSegment(ctx, seq)
		if err != nil || r.First == seq {
			return r, err
		}
		seq = r.Last + 1
	}
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(seq), runKey(maxSeq)) {
		if err != nil {
			return nil, unreadable(ctx, err)
		}
		return l.read(it)
	}
	return nil, nil
}
