package job

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"rookery/internal/fault"
	"rookery/internal/table"
)

// Times of a lease.
const (
	leaseLife  = time.Minute
	renewEvery = 15 * time.Second
)

// The ends of an attempt that are no failures of the job.
var (
	errHeld      = errors.New("another process runs the job, or it is not due")
	errLost      = errors.New("the lease of the job is lost")
	errCancelled = errors.New("the job was cancelled")
)

// A hold is the lease of a job in the hands of an attempt. What it knows of the job is what is in the table,
// or was until another one took the lease.
type hold struct {
	jobs   *Jobs
	kind   *Kind
	holder string // names the attempt
	leave  func() // when it is over

	mu   sync.Mutex // the lease is renewed while steps run
	item Item
	row  table.Item
	lost bool // the lease is another's, or the job has ended
}

// known is the job as it is known.
func (h *hold) known() Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.item
}

// held reports whether an attempt has the lease of a job. Of its own attempts a process knows which are over, also
// where it could not write that.
func (j *Jobs) held(it *Item, now time.Time) bool {
	if it.Lease == nil || !now.Before(it.Lease.Until) {
		return false
	}
	if strings.HasPrefix(it.Lease.Holder, j.name) {
		return j.attempting(it.ID, it.Lease.Holder)
	}
	return !j.opt.Alone
}

// due reports whether a job may be run now.
func (j *Jobs) due(it *Item, now time.Time) bool {
	return !it.State.Ended() && !j.held(it, now) && (it.State != Waiting || !now.Before(it.RetryAt))
}

// take takes the lease of a job that may be run now; errHeld if it may not. Asked says that a call asks for it,
// so that the job need not wait any longer.
func (j *Jobs) take(ctx context.Context, id string, asked bool) (_ *hold, err error) {
	h := &hold{jobs: j}
	h.holder, h.leave = j.enter(id)
	defer func() {
		if err != nil {
			h.leave()
		}
	}()
	if h.item, h.row, err = j.get(ctx, id); err != nil {
		return nil, err
	}
	for {
		now := j.opt.Now().UTC()
		free := asked && !h.item.State.Ended() && !j.held(&h.item, now)
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

// lease makes a job one that an attempt runs, from now on.
func (it *Item) lease(now time.Time, holder string) {
	it.State, it.RetryAt = Running, time.Time{}
	it.Attempts++
	it.Lease = &Lease{Holder: holder, Until: now.Add(leaseLife)}
	if it.Started.IsZero() {
		it.Started = now
	}
}

// adopt makes a job that stands in the way of a write the one that is known.
func (h *hold) adopt(c *table.Conflict) (err error) {
	if !c.Found {
		return errLost
	}
	h.row = c.Item
	h.item, err = read(c.Item)
	return err
}

// replace writes a changed job in the place of the one that is known. A *table.Conflict says that this is
// another one by now.
func (h *hold) replace(ctx context.Context, change func(*Item), with ...table.Op) error {
	next := h.item
	change(&next)
	row, err := rowOf(next)
	if err != nil {
		return err
	}
	ops := append([]table.Op{table.Replace(h.row, row)}, with...)
	if err := h.jobs.opt.Table.Commit(ctx, ops...); err != nil {
		return err
	}
	h.item, h.row = next, row
	return nil
}

// update changes the job, which this attempt must still have: else it is errLost. That somebody wants its end
// meanwhile stays.
func (h *hold) update(ctx context.Context, change func(*Item), with ...table.Op) error {
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

// renew makes the lease last longer.
func (h *hold) renew(ctx context.Context) error {
	return h.update(ctx, func(it *Item) { it.extend(h.jobs.opt.Now().UTC()) })
}

func (it *Item) extend(now time.Time) {
	it.Lease = &Lease{Holder: it.Lease.Holder, Until: now.Add(leaseLife)}
}

// end ends the job. Its target is free for another one.
func (h *hold) end(ctx context.Context, s State, why *fault.Fault) error {
	open := table.Remove(table.Key{Part: Part, Sort: h.item.Open})
	return h.update(ctx, func(it *Item) { it.end(h.jobs.opt.Now().UTC(), s, why) }, open)
}

// end ends the job. A path and an item are forgotten: they may be to leave no trace.
func (it *Item) end(now time.Time, s State, why *fault.Fault) {
	it.State, it.Ended, it.Error = s, now, why
	it.Lease, it.RetryAt, it.Input = nil, time.Time{}, nil
	it.Target.forget()
}
