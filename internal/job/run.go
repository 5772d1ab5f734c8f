package job

import (
	"context"
	"errors"
	"time"

	"rookery/internal/fault"
)

// InCall is how long a call waits for the job that it began.
const InCall = 20 * time.Second

// settling is how long the end of an attempt may take to be written, whose context has ended.
const settling = 4 * time.Second

// Start makes a job and runs it, for as long as a call may take, and returns it as it is then. First does what
// the first step is about, if it is not nil, with what only the call knows: where it is refused, so that it has
// changed nothing, there is no job, and the refusal is returned. The error of a job that failed in the call is
// returned with the job.
func (j *Jobs) Start(
	ctx context.Context, n Request, first func(context.Context, *Run) error,
) (Item, error) {
	it, err := j.made(n)
	if err != nil {
		return it, err
	}
	h := &hold{jobs: j, item: it}
	h.holder, h.leave = j.enter(it.ID)
	h.item.lease(it.Created, h.holder)
	if h.kind, err = j.kind(n.Kind); err != nil {
		h.leave()
		return it, err
	}
	if h.row, err = rowOf(h.item); err != nil {
		h.leave()
		return it, err
	}
	if err := j.settled(ctx, func(ctx context.Context) error { return j.create(ctx, h.item) }); err != nil {
		h.leave()
		return it, err
	}
	if !j.opt.Background {
		_ = j.tell(ctx, h.item) // for the case that the process ends in the call; without it the job is found later
	}
	return j.within(ctx, h, first)
}

// settled runs something short to its end, also where the context of its call ends meanwhile.
func (j *Jobs) settled(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	return do(ctx)
}

// Go goes on with a job for as long as a call may take, and returns it as it is then. One that this process runs
// already is waited for, and one that another process runs is IN_PROGRESS.
func (j *Jobs) Go(ctx context.Context, id string) (Item, error) {
	over := j.opt.After(InCall)
	for {
		var it Item
		var h *hold
		err := j.settled(ctx, func(ctx context.Context) (err error) {
			if it, err = j.Get(ctx, id); err == nil && !it.State.Ended() {
				h, err = j.take(ctx, id, true)
			}
			return err
		})
		if h != nil && err == nil {
			return j.within(ctx, h, nil)
		}
		if !errors.Is(err, errHeld) {
			return it, err
		}
		attempt := j.attempt(id)
		if attempt == nil {
			if it, err = j.Get(ctx, id); err == nil && j.held(&it, j.opt.Now()) {
				return it, j.inProgress(ctx, id)
			}
			continue // it has ended meanwhile
		}
		select {
		case <-attempt:
			continue
		case <-over:
			return j.Get(ctx, id)
		case <-ctx.Done():
			return it, context.Cause(ctx) // nobody waits for the answer
		}
	}
}

// within runs an attempt while a call waits. In a process that has a background the attempt goes on there when
// the call is over; in another one it ends with the call, and the job is queued again.
func (j *Jobs) within(
	ctx context.Context, h *hold, first func(context.Context, *Run) error,
) (Item, error) {
	run, stop := j.attemptContext(ctx)
	done := make(chan error, 1)
	if !j.behind(func() { defer stop(); done <- h.attempt(run, first) }) {
		stop()
		return h.known(), j.leave(ctx, h)
	}
	id := h.known().ID
	select {
	case err := <-done:
		return h.known(), h.explain(err)
	case <-j.opt.After(InCall):
	case <-ctx.Done():
	}
	if !j.opt.Background {
		stop()
		err := <-done
		return h.known(), h.explain(err)
	}
	if ctx.Err() != nil {
		return h.known(), context.Cause(ctx) // nobody waits for the answer
	}
	it, err := j.Get(context.WithoutCancel(ctx), id)
	return it, err
}

// attemptContext is the context of an attempt that a call began. It ends with the Jobs, and not with the call.
func (j *Jobs) attemptContext(ctx context.Context) (context.Context, context.CancelFunc) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	off := context.AfterFunc(j.ctx, stop)
	return run, func() { off(); stop() }
}

// behind runs a function that Close waits for. It reports false where the Jobs are closed.
func (j *Jobs) behind(do func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false
	}
	j.background.Go(do)
	return true
}

// Busy reports whether this process runs a job.
func (j *Jobs) Busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.attempts) > 0
}

// leave queues a job again that is not run.
func (j *Jobs) leave(ctx context.Context, h *hold) error {
	defer h.leave()
	if err := h.settle(ctx, nil, context.Canceled); err != nil {
		return err
	}
	return fault.New(fault.Unavailable, "the server is stopping").After(time.Second)
}

// Work makes one pass: it runs each job that is due, oldest first, and returns when the next one will be; the
// zero time if no job is left. What fails is tried again later by itself, and its errors are returned for the
// log.
func (j *Jobs) Work(ctx context.Context) (next time.Time, err error) {
	all, err := j.Open(ctx)
	if err != nil {
		return j.opt.Now().Add(firstPause), err
	}
	for _, it := range all {
		if j.due(&it, j.opt.Now()) {
			h, failed := j.take(ctx, it.ID, false)
			if failed == nil {
				failed = h.attempt(ctx, nil)
				it = h.known()
			}
			if failed != nil && !errors.Is(failed, errHeld) {
				err = errors.Join(err, failed)
			}
		}
		if ctx.Err() != nil {
			return j.opt.Now(), context.Cause(ctx)
		}
		if at := it.next(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, err
}

// Run makes an attempt of one job, if it may be run now, and returns when it is to be called again: the zero time if
// the job has ended, or if the queue was told when. What fails is tried again later by itself, and its error is
// returned for the log. One of a kind that this release does not have is INDEX_INCOMPATIBLE.
func (j *Jobs) Run(ctx context.Context, id string) (next time.Time, err error) {
	h, err := j.take(ctx, id, false)
	switch {
	case err == nil:
		err = h.attempt(ctx, nil)
		it := h.known()
		if j.opt.Queue == nil || it.State == Running || errors.As(err, &untold{}) {
			return it.next(), err
		}
		return time.Time{}, err
	case fault.Is(err, fault.NotFound):
		return time.Time{}, nil // it ended, and its time is over
	case !errors.Is(err, errHeld):
		return j.opt.Now().Add(firstPause), err
	}
	it, err := j.Get(ctx, id)
	if err != nil {
		return j.opt.Now().Add(firstPause), err
	}
	return it.next(), nil
}

// next is when a job can be run; zero: never again.
func (it *Item) next() time.Time {
	switch {
	case it.State.Ended():
		return time.Time{}
	case it.Lease != nil:
		return it.Lease.Until
	case it.State == Waiting:
		return it.RetryAt
	}
	return it.Created
}

// Overdue reports whether a job should have gone on for so long at a time: the message that was to make it has not come.
func (it *Item) Overdue(now time.Time, by time.Duration) bool {
	at := it.next()
	return !at.IsZero() && now.Sub(at) >= by
}

// explain adds the job to the error of a step, if the job goes on later.
func (h *hold) explain(err error) error {
	it := h.known()
	if err == nil || it.State.Ended() || it.State == Running {
		return err
	}
	return fault.Of(err).With("job", BriefOf(it))
}
