package eventlog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// An urgency lets a pass that a caller waits for interrupt the image that another pass writes. An
// image of a large vault takes a second, and the pass of an erasure deletes it in any case.
type urgency struct {
	waiting atomic.Int32 // urgent passes that wait for their turn
	stop    atomic.Pointer[context.CancelCauseFunc]
}

// errUrgent is the cause of an image that was not written because another pass is urgent.
var errUrgent = errors.New("another pass of the log is urgent")

// await locks the mutex of passes for an urgent one, which interrupts the image of the pass that
// has it.
func (u *urgency) await(turn *sync.Mutex) {
	u.waiting.Add(1)
	defer u.waiting.Add(-1)
	// The order of the two steps here, and of those in unless, is such that one of the two
	// goroutines sees the other.
	if stop := u.stop.Load(); stop != nil {
		(*stop)(errUrgent)
	}
	turn.Lock()
}

// unless calls write, whose context ends if another pass becomes urgent. It returns errUrgent if
// that is why write failed, or was not called. The caller has the mutex of passes.
func (u *urgency) unless(ctx context.Context, write func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	u.stop.Store(&stop)
	defer u.stop.Store(nil)
	if u.waiting.Load() > 0 {
		return errUrgent
	}
	err := write(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errUrgent) {
		return errUrgent
	}
	return err
}
