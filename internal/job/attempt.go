package job

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// attempt runs the remaining steps of a job and writes the outcome. first replaces the first of
// them if it is not nil. The returned error is that of a failed step, or of writing the outcome. A
// job whose first was refused is removed; every other outcome is written by settle. The hold must
// not be used afterwards, except by known.
func (h *leasedJob) attempt(ctx context.Context, first func(context.Context, *Run) error) error {
	defer h.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &Run{job: h, Item: h.known()}
	r.result = r.Item.Result
	stop := h.keep(ctx, cancel)
	refused, err := h.steps(ctx, r, first)
	stop()
	// A step that ends because keep cancelled it returns some context error; the cause
	// distinguishes a lost lease from a cancellation.
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	if refused && err != nil && !isTemporary(err) {
		return errors.Join(err, h.drop(ctx))
	}
	return h.finish(ctx, r, err)
}

// An attempt is one execution of a job by this process.
type attempt struct {
	holder string        // Lease.Holder
	over   chan struct{} // closed when the attempt ends
}

// beginAttempt registers a new attempt of a job, and returns its lease holder. leave ends the attempt,
// also if its end could not be written to the table: then this process knows at least that the
// lease is void; see held.
func (j *Jobs) beginAttempt(id string) (holder string, leave func()) {
	now := &attempt{holder: j.name + rand.Text()[:8], over: make(chan struct{})}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.attempts[id] = append(j.attempts[id], now)
	return now.holder, func() {
		close(now.over)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.attempts[id] = slices.DeleteFunc(j.attempts[id], func(a *attempt) bool { return a == now })
		if len(j.attempts[id]) == 0 {
			delete(j.attempts, id)
		}
	}
}

// isAttempting reports whether the attempt with this holder is registered in this process.
func (j *Jobs) isAttempting(id, holder string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.attempts[id], func(a *attempt) bool { return a.holder == holder })
}

// attempt returns a channel that is closed when an attempt of the job in this process ends; nil if
// there is none.
func (j *Jobs) attempt(id string) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if all := j.attempts[id]; len(all) > 0 {
		return all[0].over
	}
	return nil
}

// keep renews the lease until stop is called, which waits for a renewal in progress. It cancels the
// attempt with errLost if the lease is lost, or with errCancelled if a caller cancelled the job. A
// renewal that fails for another reason is tried again after renewEvery, so three can fail before
// the lease ends.
func (h *leasedJob) keep(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-h.jobs.opt.After(renewEvery):
			}
			if err := h.renew(ctx); errors.Is(err, errLost) {
				cancel(errLost)
			}
			if h.stopped() {
				cancel(errCancelled)
			}
		}
	}()
	return func() { close(over); <-ended }
}

// stopped reports whether the attempt must end because a caller cancelled the job.
func (h *leasedJob) stopped() bool { return h.kind.Stops == Anytime && h.known().Cancel }

// steps runs the remaining steps, and records each when it is complete, with the result so far.
// refused is true if the error is that of first.
func (h *leasedJob) steps(
	ctx context.Context, r *Run, first func(context.Context, *Run) error,
) (refused bool, err error) {
	for n := r.Item.Progress.Done; n < len(h.kind.Steps); n++ {
		if h.stopped() {
			return false, errCancelled
		}
		do := h.kind.Steps[n].Do
		if first != nil {
			do = first
		}
		r.Item = h.known()
		if err := runStep(ctx, do, r); err != nil {
			return first != nil, err
		}
		first = nil
		// A completed step must be recorded even if the context has ended, so that it is not
		// repeated.
		err := h.update(context.WithoutCancel(ctx), func(it *Item) {
			it.Progress, it.Result = h.kind.progress(n+1), r.result
			it.extend(h.jobs.opt.Now().UTC())
		})
		if err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
	}
	return false, nil
}

// runStep runs a step. A panic becomes an error.
func runStep(ctx context.Context, do func(context.Context, *Run) error, r *Run) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return do(ctx, r)
}

// panicked returns the error of a panic: its type and position, but not its value.
func panicked(p any) error { return fault.Panicked("in a job", p) }

// finish writes the outcome of an attempt, even if its context has ended: the job is done or
// cancelled, it waits until a time that a step named, it is queued again because the process or the
// call ended, or it failed. It returns the error of the attempt if the job failed or waits because
// of it, joined with an error of writing. If nothing can be written, the lease ends by itself, and
// the job continues then.
func (h *leasedJob) finish(ctx context.Context, r *Run, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	var pause laterError
	switch {
	case err == nil:
		return h.end(ctx, Done, nil)
	case errors.Is(err, errLost):
		return nil // another attempt has the job
	case errors.Is(err, errCancelled):
		return h.end(ctx, Cancelled, nil)
	case errors.As(err, &pause):
		return h.release(ctx, func(it *Item) {
			it.State, it.RetryAt, it.Error, it.Result = Waiting, pause.at.UTC(), nil, r.result
		})
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return h.release(ctx, func(it *Item) { it.State = Queued })
	}
	return h.failed(ctx, err)
}

// failed writes that an attempt failed: the job ends as Failed, or waits for the next attempt if
// the error is temporary. A job of an Endless kind waits after any error but Fail. Other jobs give
// up a day (patience) after their first attempt.
func (h *leasedJob) failed(ctx context.Context, err error) error {
	why, it, now := fault.Of(err), h.known(), h.jobs.opt.Now().UTC()
	over := !h.kind.Endless && (!isTemporary(err) || now.Sub(it.Started) >= maxRetryTime)
	if over || errors.As(err, &permanentError{}) {
		return errors.Join(err, h.end(ctx, Failed, why))
	}
	at := now.Add(pause(it.Attempts))
	return errors.Join(err, h.release(ctx, func(it *Item) { it.State, it.RetryAt, it.Error = Waiting, at, why }))
}

// release releases the lease. The job continues later: it is Queued or Waiting, as change sets. A
// message for that time is sent to the queue. If a caller cancelled the job meanwhile, it ends
// instead.
func (h *leasedJob) release(ctx context.Context, change func(*Item)) error {
	if h.stopped() {
		return h.end(ctx, Cancelled, nil)
	}
	err := h.update(ctx, func(it *Item) {
		it.Lease = nil
		change(it)
	})
	if errors.Is(err, errLost) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.jobs.send(ctx, h.known())
}

// drop removes a job that was refused before it changed anything.
func (h *leasedJob) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.jobs.opt.Table.Commit(ctx, table.Remove(jobKey(h.item.ID)),
		table.Remove(table.Key{Part: Part, Sort: h.item.Open}))
	h.unsure = err != nil
	return unknown(err)
}

// Cancel ends a job, or asks the process that runs it to end it, which may take until its next
// renewal. It does nothing if the job is Cancelled already. It returns CONFLICT if the kind cannot
// be cancelled any more or the job has ended otherwise, and NOT_FOUND if there is no such job. A
// dry run only checks whether the job can be cancelled.
func (j *Jobs) Cancel(ctx context.Context, id string, dryRun bool) (Item, error) {
	it, row, err := j.get(ctx, id)
	if err != nil {
		return it, err
	}
	h := &leasedJob{jobs: j, item: it, row: row}
	for {
		if h.kind, err = j.kind(h.item.Kind); err != nil {
			return h.item, err
		}
		if h.item.State == Cancelled {
			return h.item, nil
		}
		if err := h.checkCancellable(); err != nil || dryRun {
			return h.item, err
		}
		err := h.cancel(ctx, j.opt.Now().UTC())
		conflict := asConflict(err)
		if conflict == nil {
			return h.item, unknown(err)
		}
		if err := h.adopt(conflict); err != nil {
			return h.item, NoJob()
		}
	}
}

// checkCancellable returns CONFLICT if the job cannot be cancelled now.
func (h *leasedJob) checkCancellable() error {
	it := h.item
	f := fault.New(fault.Conflict, "the job is %s: it cannot be cancelled any more", it.State).
		With("job", BriefOf(it)).Try("team_job_get", fault.Args{"id": it.ID})
	switch {
	case it.State.Ended(), h.kind.Stops == Never:
		return f
	case h.kind.Stops == BeforeStart && (it.State != Queued || it.Attempts > 0):
		return f
	}
	return nil
}

// cancel ends a job that no process runs, and sets Cancel on one that is running. It returns a
// *table.Conflict if the job has changed meanwhile.
func (h *leasedJob) cancel(ctx context.Context, now time.Time) error {
	if h.jobs.isLeased(&h.item, now) {
		return h.replace(ctx, func(it *Item) { it.Cancel = true })
	}
	open := table.Remove(table.Key{Part: Part, Sort: h.item.Open})
	return h.replace(ctx, func(it *Item) { it.end(now, Cancelled, nil) }, open)
}

// asConflict returns the *table.Conflict in err; nil if there is none.
func asConflict(err error) *table.Conflict {
	var c *table.Conflict
	if !errors.As(err, &c) {
		return nil
	}
	return c
}
