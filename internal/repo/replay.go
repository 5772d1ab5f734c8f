package repo

import (
	"bytes"
	"context"

	"rookery/internal/fault"
)

// Replay folds the whole log anew from its first commit on. If nothing was appended meanwhile, what
// it makes is the state that is used from then on. With verify, every header is checked against the
// one before it, and every part against its header: what does not agree is INDEX_ERROR.
func (l *Log[S]) Replay(ctx context.Context, start S, verify bool) (Snapshot[S], error) {
	h := head[S]{state: start, status: Active}
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(0), runKey(maxSeq)) {
		if err != nil {
			return Snapshot[S]{}, unreadable(err)
		}
		r, err := l.read(it)
		if err != nil {
			return Snapshot[S]{}, err
		}
		if err := l.load(ctx, r); err != nil {
			return Snapshot[S]{}, err
		}
		if verify {
			if err := check(&h, r); err != nil {
				return Snapshot[S]{}, err
			}
		}
		if h, err = l.fold(h, r, nil); err != nil {
			return Snapshot[S]{}, err
		}
	}
	l.advancing.Lock()
	defer l.advancing.Unlock()
	now := *l.head.Load()
	if now.seq == h.seq {
		now.state = h.state
		l.head.Store(&now)
	}
	return h.snapshot(), nil
}

// check is INDEX_ERROR if a run does not join the one before, or is not what its header says.
func check[S any](h *head[S], r *run) error {
	joins := r.First == h.seq+1 && bytes.Equal(r.Prev, h.hash)
	if err := r.verify(); err != nil || !joins {
		return fault.New(fault.IndexError, "the log is not what its chain says at %s",
			Version(r.First)).Fix("rookery doctor").Because(err)
	}
	return nil
}
