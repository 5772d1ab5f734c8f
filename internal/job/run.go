package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// CallWait is how long a call waits for the job that it started.
const CallWait = 20 * time.Second

// finishTimeout is the time limit for writing the end of an attempt whose context has ended.
const finishTimeout = 4 * time.Second

// Start creates a job, runs it for as long as a call may take, and returns it in its state then. If
// first is not nil, it runs in place of the first step, with data that only the call has. If first
// is refused with a permanent error, it has changed nothing: the job is removed and the error
// returned. If the job fails during the call, Start returns the job and the error.
func (j *Jobs) Start(
	ctx context.Context, n Request, first func(context.Context, *Run) error,
) (Item, error) {
	it, err := j.newItem(n)
	if err != nil {
		return it, err
	}
	h := &leasedJob{jobs: j, item: it}
	h.holder, h.leave = j.beginAttempt(it.ID)
	// The job is created with its lease, so that no other process takes it before this one runs it.
	h.item.lease(it.Created, h.holder)
	if h.kind, err = j.kind(n.Kind); err != nil {
		h.leave()
		return it, err
	}
	if h.row, err = rowOf(h.item); err != nil {
		h.leave()
		return it, err
	}
	if err := j.runDetached(ctx, func(ctx context.Context) error { return j.create(ctx, h.item) }); err != nil {
		h.leave()
		h.unsure = !fault.Is(err, fault.InProgress) && !fault.Is(err, fault.DuplicateID)
		h.resume(ctx)
		return it, err
	}
	if !j.opt.Background {
		_ = j.send(ctx, h.item) // in case the process exits during the call; without it the job is found later
	}
	return j.runInCall(ctx, h, first)
}

// runDetached runs a short function to its end, even if the context of its call ends meanwhile, but for
// settling at most. Otherwise a disconnected caller could leave a job with a lease and no attempt.
func (j *Jobs) runDetached(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	return do(ctx)
}

// Go continues a job for as long as a call may take, and returns it in its state then. If this
// process is running the job, Go waits for it. If another process is running it, Go returns
// IN_PROGRESS.
func (j *Jobs) Go(ctx context.Context, id string) (Item, error) {
	over := j.opt.After(CallWait)
	for {
		var it Item
		var h *leasedJob
		err := j.runDetached(ctx, func(ctx context.Context) (err error) {
			if it, err = j.Get(ctx, id); err == nil && !it.State.Ended() {
				h, err = j.acquire(ctx, id, true)
			}
			return err
		})
		if h != nil && err == nil {
			return j.runInCall(ctx, h, nil)
		}
		if !errors.Is(err, errHeld) {
			return it, err
		}
		attempt := j.attempt(id)
		if attempt == nil {
			if it, err = j.Get(ctx, id); err == nil && j.isLeased(&it, j.opt.Now()) {
				return it, j.inProgress(ctx, id)
			}
			continue // it ended meanwhile
		}
		select {
		case <-attempt:
			continue
		case <-over:
			return j.Get(ctx, id)
		case <-ctx.Done():
			return it, context.Cause(ctx) // the caller has given up
		}
	}
}

// runInCall runs an attempt while a call waits, for at most CallWait. When the call ends, the attempt
// continues in the background if Options.Background is set; otherwise it ends and the job is queued
// again. If the caller gave up, the error is the cause of its context.
func (j *Jobs) runInCall(
	ctx context.Context, h *leasedJob, first func(context.Context, *Run) error,
) (Item, error) {
	run, stop := j.attemptContext(ctx)
	done := make(chan error, 1)
	attempt := func() {
		defer stop()
		err := h.attempt(run, first)
		h.resume(run)
		done <- err
	}
	if !j.goBackground(attempt) {
		stop()
		return h.known(), j.requeue(ctx, h)
	}
	id := h.known().ID
	select {
	case err := <-done:
		return h.known(), h.explain(err)
	case <-j.opt.After(CallWait):
	case <-ctx.Done():
	}
	if !j.opt.Background {
		stop()
		err := <-done
		return h.known(), h.explain(err)
	}
	if ctx.Err() != nil {
		return h.known(), context.Cause(ctx) // the caller has given up
	}
	it, err := j.Get(context.WithoutCancel(ctx), id)
	return it, err
}

// attemptContext returns the context of an attempt that a call started. It ends with the Jobs, not
// with the call.
func (j *Jobs) attemptContext(ctx context.Context) (context.Context, context.CancelFunc) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	off := context.AfterFunc(j.ctx, stop)
	return run, func() { off(); stop() }
}

// goBackground runs a function in a goroutine that Close waits for. It returns false if the Jobs are
// closed.
func (j *Jobs) goBackground(do func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false
	}
	j.background.Go(do)
	return true
}

// Busy reports whether this process is running a job.
func (j *Jobs) Busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.attempts) > 0
}

// requeue queues a job again that was not run, and returns UNAVAILABLE.
func (j *Jobs) requeue(ctx context.Context, h *leasedJob) error {
	defer h.leave()
	if err := h.finish(ctx, nil, context.Canceled); err != nil {
		return err
	}
	return fault.New(fault.Unavailable, "the server is stopping").After(time.Second)
}

// Work makes one pass: it runs each job that is due, oldest first, and returns when the next one is
// due, or the zero time if there is no open job. Failed jobs are retried later; their errors are
// returned for the log. A job that another process runs is skipped, and is due when its lease ends.
func (j *Jobs) Work(ctx context.Context) (next time.Time, err error) {
	all, err := j.Open(ctx)
	if err != nil {
		return j.opt.Now().Add(firstPause), err
	}
	for _, it := range all {
		if j.due(&it, j.opt.Now()) {
			h, failed := j.acquire(ctx, it.ID, false)
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

// Run makes an attempt of one job if it is due, and returns when Run must be called again: the zero
// time if the job has ended, or if the queue will deliver a message. A failed job is retried later;
// its error is returned for the log. Run returns INDEX_INCOMPATIBLE if this release does not have
// the kind of the job.
func (j *Jobs) Run(ctx context.Context, id string) (next time.Time, err error) {
	h, err := j.acquire(ctx, id, false)
	switch {
	case err == nil:
		err = h.attempt(ctx, nil)
		it := h.known()
		if j.opt.Queue == nil || it.State == Running || errors.As(err, &sendError{}) {
			return it.next(), err
		}
		return time.Time{}, err
	case fault.Is(err, fault.NotFound):
		return time.Time{}, nil // it ended and was deleted
	case !errors.Is(err, errHeld):
		return j.opt.Now().Add(firstPause), err
	}
	it, err := j.Get(ctx, id)
	if err != nil {
		return j.opt.Now().Add(firstPause), err
	}
	return it.next(), nil
}

// next returns when a job can run; zero: never. A job with a lease can run when that ends, unless
// it is renewed.
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

// Overdue reports whether a job should have continued at least `by` before now: its message has not
// been delivered.
func (it *Item) Overdue(now time.Time, by time.Duration) bool {
	at := it.next()
	return !at.IsZero() && now.Sub(at) >= by
}

// explain adds the job to the error of a step, if the job continues later.
func (h *leasedJob) explain(err error) error {
	it := h.known()
	if err == nil || it.State.Ended() || it.State == Running {
		return err
	}
	return fault.Of(err).With("job", BriefOf(it))
}

// A Handler handles a message. It may be called several times for the same message. If it returns
// an error, the message is delivered again; ErrMessage means that the message can never be handled.
type Handler func(ctx context.Context, m Message) error

// A Worker handles the messages of a queue: it finds the handler of a message by its kind. It is
// safe for concurrent use if its handlers are.
type Worker struct {
	// Handlers are the handlers by message kind.
	Handlers map[string]Handler

	// Bury puts the body of a message into the dead-letter queue.
	Bury func(ctx context.Context, body []byte) error
}

// Work handles a message. A message that this release can never handle is buried immediately,
// without an error; after any other error the message must be delivered again.
func (w *Worker) Work(ctx context.Context, body []byte) error {
	err := w.handle(ctx, body)
	if !errors.Is(err, ErrMessage) {
		return err
	}
	if err := w.Bury(ctx, body); err != nil {
		return fmt.Errorf("bury a message: %w", err)
	}
	return nil
}

// handle is Work without burying: it returns ErrMessage instead. A panic becomes an error.
func (w *Worker) handle(ctx context.Context, body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	m, err := ParseMessage(body)
	if err != nil {
		return err
	}
	do, ok := w.Handlers[m.Kind]
	if !ok {
		return ErrMessage
	}
	return do(ctx, m)
}
