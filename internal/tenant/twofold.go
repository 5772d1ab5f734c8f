package tenant

import (
	"context"
	"time"
)

// A twoLogChange is a change of two logs: first a vault's, then the tenant's. Until begin is called, it
// ends with the context of its call. After that it does not, so that a disconnected caller does not
// leave a vault that is trashed in its own log but active in the tenant's. It is used by one
// goroutine.
//
// If the process dies between the two commits, the call is repeated, by its caller or by a person
// who sees that nothing changed; the first commit then changes nothing, and the second is made.
type twoLogChange struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	detach func() bool // detaches from the call's context; false: that has ended
	begun  bool
	timer  *time.Timer // cancels a change that takes too long

	timeout time.Duration // time limit after begin
}

// twoLogTimeout is the time limit for both commits, from begin.
const twoLogTimeout = 20 * time.Second

// newTwoLogChange returns a change that has not begun. close must be called.
func newTwoLogChange(ctx context.Context) *twoLogChange {
	t := &twoLogChange{timeout: twoLogTimeout}
	t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	t.detach = context.AfterFunc(ctx, func() { t.cancel(context.Cause(ctx)) })
	return t
}

// begin must be called before the first commit. It returns an error if the context of the call has
// ended. After it, the change ends only when patience is over. A second call, from a repeated
// transaction, reports whether it has ended.
func (t *twoLogChange) begin() error {
	if t.begun {
		return t.ctx.Err()
	}
	if !t.detach() {
		return context.Canceled
	}
	t.begun = true
	t.timer = time.AfterFunc(t.timeout, func() { t.cancel(context.DeadlineExceeded) })
	return nil
}

// close releases the resources of the change.
func (t *twoLogChange) close() {
	t.detach()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.cancel(context.Canceled)
}
