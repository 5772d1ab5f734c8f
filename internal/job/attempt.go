package job

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"rookery/internal/fault"
	"rookery/internal/table"
)

// attempt runs the steps that are left of a job, and writes what that came to. The error is that of a step
// that failed.
func (h *hold) attempt(ctx context.Context, first func(context.Context, *Run) error) error {
	defer h.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &Run{hold: h, Item: h.known()}
	r.result = r.Item.Result
	stop := h.keep(ctx, cancel)
	refused, err := h.steps(ctx, r, first)
	stop()
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	if refused && err != nil && !passing(err) {
		return errors.Join(err, h.drop(ctx))
	}
	return h.settle(ctx, r, err)
}

// An attempt is one of this process that runs a job, or is about to.
type attempt struct {
	holder string
	over   chan struct{} // closed at its end
}

// enter begins an attempt of a job, and names it. The function ends it.
func (j *Jobs) enter(id string) (holder string, leave func()) {
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

// attempting reports whether an attempt of this process is not over.
func (j *Jobs) attempting(id, holder string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.attempts[id], func(a *attempt) bool { return a.holder == holder })
}

// attempt is closed at the end of an attempt of this process that runs a job; nil if there is none.
func (j *Jobs) attempt(id string) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if all := j.attempts[id]; len(all) > 0 {
		return all[0].over
	}
	return nil
}

// keep renews the lease while an attempt runs, and ends the attempt that has lost it or is cancelled. The
// function ends keep.
func (h *hold) keep(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
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

// stopped reports whether the attempt is to end because a caller wants that.
func (h *hold) stopped() bool { return h.kind.Stops == Anytime && h.known().Cancel }

// steps runs the steps that are left. Refused says that the error is that of first, which the call did.
func (h *hold) steps(
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
		if err := safely(ctx, do, r); err != nil {
			return first != nil, err
		}
		first = nil
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

// safely does a step. A panic in it is an error.
func safely(ctx context.Context, do func(context.Context, *Run) error, r *Run) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return do(ctx, r)
}

// panicked is the error of a panic: its type and where it was, and not what it says.
func panicked(p any) error { return fault.Panicked("in a job", p) }

// settle writes what an attempt came to, also where its context has ended. The error is that of the attempt
// if the job failed in it, or waits because of it.
func (h *hold) settle(ctx context.Context, r *Run, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	var pause later
	switch {
	case err == nil:
		return h.end(ctx, Done, nil)
	case errors.Is(err, errLost):
		return nil // the job is another's
	case errors.Is(err, errCancelled):
		return h.end(ctx, Cancelled, nil)
	case errors.As(err, &pause):
		return h.rest(ctx, func(it *Item) {
			it.State, it.RetryAt, it.Error, it.Result = Waiting, pause.at.UTC(), nil, r.result
		})
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return h.rest(ctx, func(it *Item) { it.State = Queued })
	}
	return h.failed(ctx, err)
}

// failed writes that an attempt failed: the job waits, or has failed with it.
func (h *hold) failed(ctx context.Context, err error) error {
	why, it, now := fault.Of(err), h.known(), h.jobs.opt.Now().UTC()
	over := !h.kind.Endless && (!passing(err) || now.Sub(it.Started) >= patience)
	if over || errors.As(err, &failed{}) {
		return errors.Join(err, h.end(ctx, Failed, why))
	}
	at := now.Add(pause(it.Attempts))
	return errors.Join(err, h.rest(ctx, func(it *Item) { it.State, it.RetryAt, it.Error = Waiting, at, why }))
}

// rest gives the lease back. The job goes on later.
func (h *hold) rest(ctx context.Context, change func(*Item)) error {
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
	return h.jobs.tell(ctx, h.known())
}

// drop removes a job that was refused before it changed anything.
func (h *hold) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	it := h.known()
	return unknown(h.jobs.opt.Table.Commit(ctx, table.Remove(jobKey(it.ID)),
		table.Remove(table.Key{Part: Part, Sort: it.Open})))
}

// Cancel ends a job, or asks the process that runs it to end it; one that is cancelled already it leaves as it is.
// One of a kind that cannot be stopped any more, and one that has ended otherwise, is CONFLICT.
// In a dry run it is only said whether it can be done.
func (j *Jobs) Cancel(ctx context.Context, id string, dryRun bool) (Item, error) {
	it, row, err := j.get(ctx, id)
	if err != nil {
		return it, err
	}
	h := &hold{jobs: j, item: it, row: row}
	for {
		if h.kind, err = j.kind(h.item.Kind); err != nil {
			return h.item, err
		}
		if h.item.State == Cancelled {
			return h.item, nil
		}
		if err := h.mayStop(); err != nil || dryRun {
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

// mayStop is a fault if nobody can cancel the job now.
func (h *hold) mayStop() error {
	it := h.item
	f := fault.New(fault.Conflict, "the job is %s: it cannot be cancelled any more", it.State).
		With("job", BriefOf(it)).Try("team_job_get", fault.Args{"id": it.ID})
	switch {
	case it.State.Ended(), h.kind.Stops == Never:
		return f
	case h.kind.Stops == Unbegun && (it.State != Queued || it.Attempts > 0):
		return f
	}
	return nil
}

// cancel ends a job that no process runs, and marks one that is run.
func (h *hold) cancel(ctx context.Context, now time.Time) error {
	if h.jobs.held(&h.item, now) {
		return h.replace(ctx, func(it *Item) { it.Cancel = true })
	}
	open := table.Remove(table.Key{Part: Part, Sort: h.item.Open})
	return h.replace(ctx, func(it *Item) { it.end(now, Cancelled, nil) }, open)
}

// asConflict is the conflict in an error; nil if there is none.
func asConflict(err error) *table.Conflict {
	var c *table.Conflict
	if !errors.As(err, &c) {
		return nil
	}
	return c
}
