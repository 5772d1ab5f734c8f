package team

import (
	"context"
	"time"
)

// A twofold is a change of two logs: of a vault's own, and then of the tenant's. Until it begins it ends with
// the context of its call. From then on it does not, so that a caller who hangs up leaves no vault that is in
// the trash for its own log, and active for the tenant.
type twofold struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	detach func() bool // from the context of the call; false: that has ended
	begun  bool
	timer  *time.Timer // ends what has begun and takes too long

	patience time.Duration // for that
}

// twofoldPatience is how long the two commits of a change may take once the first one is made.
const twofoldPatience = 20 * time.Second

func newTwofold(ctx context.Context) *twofold {
	t := &twofold{patience: twofoldPatience}
	t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	t.detach = context.AfterFunc(ctx, func() { t.cancel(context.Cause(ctx)) })
	return t
}

// begin says that the first commit is made next. It is an error if the context of the call has ended.
func (t *twofold) begin() error {
	if t.begun {
		return t.ctx.Err()
	}
	if !t.detach() {
		return context.Canceled
	}
	t.begun = true
	t.timer = time.AfterFunc(t.patience, func() { t.cancel(context.DeadlineExceeded) })
	return nil
}

// close releases what the change holds.
func (t *twofold) close() {
	t.detach()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.cancel(context.Canceled)
}
