package job

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// Durations of leases. A process that dies is noticed after leaseLife. Clocks of two processes may
// differ by less than that.
const (
	leaseLife  = time.Minute
	renewEvery = 15 * time.Second
)

// Errors that end an attempt without a failure of the job.
var (
	errHeld      = errors.New("another process runs the job, or it is not due")
	errLost      = errors.New("the lease of the job is lost")
	errCancelled = errors.New("the job was cancelled")
)

// A leasedJob is the lease of a job, held by an attempt. item and row are the current state of the job
// in the table, unless another attempt has taken the lease. Steps and the goroutine that renews the
// lease use it at the same time.
type leasedJob struct {
	jobs   *Jobs
	kind   *Kind
	holder string // Lease.Holder of the attempt
	leave  func() // ends the attempt

	mu     sync.Mutex // guards the rest: keep renews the lease while steps run
	item   Item
	row    table.Item
	lost   bool // the lease was lost, or the job has ended
	unsure bool // the last write failed, with or without an effect
}

// known returns the job in its last known state.
func (h *leasedJob) known() Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.item
}

// resume sends the message for a job whose attempt is over, if the last write failed: the table may
// still say that this process runs the job, and then nobody would continue it before the next message
// or start.
func (h *leasedJob) resume(ctx context.Context) {
	h.mu.Lock()
	it, unsure := h.item, h.unsure
	h.mu.Unlock()
	if unsure {
		_ = h.jobs.send(context.WithoutCancel(ctx), it) // without it the job is found later
	}
}

// isLeased reports whether an attempt has a valid lease of the job. For a lease of this process, it
// reports whether the attempt is still registered, even if its end could not be written.
func (j *Jobs) isLeased(it *Item, now time.Time) bool {
	if it.Lease == nil || !now.Before(it.Lease.Until) {
		return false
	}
	if strings.HasPrefix(it.Lease.Holder, j.name) {
		return j.isAttempting(it.ID, it.Lease.Holder)
	}
	return !j.opt.Alone
}

// due reports whether a job may run now.
func (j *Jobs) due(it *Item, now time.Time) bool {
	return !it.State.Ended() && !j.isLeased(it, now) && (it.State != Waiting || !now.Before(it.RetryAt))
}

// acquire takes the lease of a job. It returns errHeld if another attempt has it or the job is not
// due. If asked is set, a caller asked for the job, and take does not wait for RetryAt. The caller
// must run the attempt, or call leave.
func (j *Jobs) acquire(ctx context.Context, id string, asked bool) (_ *leasedJob, err error) {
	h := &leasedJob{jobs: j}
	h.holder, h.leave = j.beginAttempt(id)
	defer func() {
		if err != nil {
			h.leave()
			if asked { // other callers run the job again by themselves
				h.resume(ctx)
			}
		}
	}()
	if h.item, h.row, err = j.get(ctx, id); err != nil {
		return nil, err
	}
	for {
		now := j.opt.Now().UTC()
		// A caller that asks for the job does not have to wait for RetryAt.
		free := asked && !h.item.State.Ended() && !j.isLeased(&h.item, now)
		if !free && !j.due(&h.item, now) {
			return nil, errHeld
		}
		if h.kind, err = j.kind(h.item.Kind); err != nil {
			return nil, err
		}
		err := h.replace(ctx, func(it *Item) { it.lease(now, h.holder) })
		conflict := asConflict(err)
		if conflict == nil {
			return h, unknown(err)
		}
		if h.adopt(conflict) != nil {
			return nil, errHeld
		}
	}
}

// lease gives a job a lease and starts an attempt.
func (it *Item) lease(now time.Time, holder string) {
	it.State, it.RetryAt = Running, time.Time{}
	it.Attempts++
	it.Lease = &Lease{Holder: holder, Until: now.Add(leaseLife)}
	if it.Started.IsZero() {
		it.Started = now
	}
}

// adopt takes over the state of the job from a conflict. It returns errLost if the job no longer
// exists.
func (h *leasedJob) adopt(c *table.Conflict) (err error) {
	if !c.Found {
		return errLost
	}
	h.row = c.Item
	h.item, err = read(c.Item)
	return err
}

// replace writes the changed job in place of the last known state, together with other operations.
// It returns a *table.Conflict if the job has changed in the table.
func (h *leasedJob) replace(ctx context.Context, change func(*Item), with ...table.Op) error {
	next := h.item
	change(&next)
	row, err := rowOf(next)
	if err != nil {
		return err
	}
	ops := append([]table.Op{table.Replace(h.row, row)}, with...)
	if err := h.jobs.opt.Table.Commit(ctx, ops...); err != nil {
		h.unsure = asConflict(err) == nil
		return err
	}
	h.item, h.row, h.unsure = next, row, false
	return nil
}

// update changes the job. It returns errLost if this attempt no longer has the lease. Concurrent
// changes of Cancel are kept, and the progress never decreases. change may run several times, each
// time on the state that is in the table; with are operations of the same commit.
func (h *leasedJob) update(ctx context.Context, change func(*Item), with ...table.Op) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost {
		return errLost
	}
	holder := h.item.Lease.Holder
	for {
		before := h.item.Progress
		err := h.replace(ctx, func(it *Item) {
			change(it)
			if it.Progress.Done < before.Done {
				it.Progress = before
			}
		}, with...)
		conflict := asConflict(err)
		if conflict == nil {
			return unknown(err)
		}
		if err := h.adopt(conflict); err != nil {
			return err
		}
		if h.item.Lease == nil || h.item.Lease.Holder != holder {
			h.lost = true
			return errLost
		}
	}
}

// renew extends the lease.
func (h *leasedJob) renew(ctx context.Context) error {
	return h.update(ctx, func(it *Item) { it.extend(h.jobs.opt.Now().UTC()) })
}

// extend extends the lease of a job to leaseLife from now.
func (it *Item) extend(now time.Time) {
	it.Lease = &Lease{Holder: it.Lease.Holder, Until: now.Add(leaseLife)}
}

// end ends the job, and frees its target for another job.
func (h *leasedJob) end(ctx context.Context, s State, why *fault.Fault) error {
	open := table.Remove(table.Key{Part: Part, Sort: h.item.Open})
	return h.update(ctx, func(it *Item) { it.end(h.jobs.opt.Now().UTC(), s, why) }, open)
}

// end sets the final state of the job, and clears the fields that may have to be erased.
func (it *Item) end(now time.Time, s State, why *fault.Fault) {
	it.State, it.Ended, it.Error = s, now, why
	it.Lease, it.RetryAt, it.Input = nil, time.Time{}, nil
	it.Target.forget()
}
