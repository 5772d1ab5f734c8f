package localapp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// workEvery is the longest time between two passes of a worker over the jobs of a tenant, and
// workPause the shortest one.
const (
	workEvery = time.Minute
	workPause = time.Second
)

// A workers runs the jobs of tenants in this process, each tenant in its own goroutine. It is safe
// for concurrent use. A goroutine exists only while its tenant has open jobs, so that many idle
// tenants cost nothing. A job that is slow delays only those of its tenant.
type workers struct {
	teams *tenant.Registry
	log   *slog.Logger
	now   func() time.Time

	ctx  context.Context
	end  context.CancelFunc
	runs sync.WaitGroup

	mu     sync.Mutex
	wakes  map[string]chan struct{} // by tenant
	closed bool
}

var _ job.Queue = (*workers)(nil)

// newWorkers returns workers without goroutines: the worker of a tenant starts with the first
// message for it. The caller must set teams before the first tenant is opened, because the tenants
// need the workers as their queue, and the workers need the tenants.
func newWorkers(cfg Config) *workers {
	w := &workers{log: cfg.Log, now: cfg.Now, wakes: map[string]chan struct{}{}}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

// Send implements job.Queue: it wakes, or starts, the worker of the message's tenant. It never
// blocks and returns nil. Only the tenant of the message counts: a worker finds out by itself which
// jobs are due.
func (w *workers) Send(_ context.Context, m job.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil // the job is stored: the next process runs it
	}
	wake, ok := w.wakes[m.Tenant]
	if !ok {
		wake = make(chan struct{}, 1)
		w.wakes[m.Tenant] = wake
		w.runs.Go(func() { w.work(m.Tenant, wake) })
	}
	select {
	case wake <- struct{}{}:
	default: // a wake is pending
	}
	return nil
}

// Close ends the workers and waits for them. The next process continues the jobs that were running.
// Messages that are sent later are dropped.
func (w *workers) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.runs.Wait()
}

// work runs the jobs of a tenant as they become due. It returns when the tenant has none, or when
// the workers are closed. A message wakes it before the time that the last pass returned. It makes
// a pass when it starts, because the message that started it says that there is work.
func (w *workers) work(tenant string, wake <-chan struct{}) {
	for {
		pause, more := w.pass(tenant)
		if !more && w.retire(tenant, wake) {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-w.ctx.Done():
			timer.Stop()
			return
		case <-wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// retire removes the worker of a tenant and returns true. It returns false if a message for the
// tenant has arrived meanwhile. Send holds the same mutex, so no message is lost between the two.
func (w *workers) retire(tenant string, wake <-chan struct{}) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-wake:
		return false
	default:
		delete(w.wakes, tenant)
		return true
	}
}

// pass makes one pass over the jobs of a tenant. It returns the time until the next pass, and
// whether the tenant has more jobs. A pass that failed is repeated. Passes are at least workPause
// and at most workEvery apart.
func (w *workers) pass(tenant string) (pause time.Duration, more bool) {
	next, err := w.teams.WorkOf(w.ctx, tenant)
	if err != nil && w.ctx.Err() == nil {
		w.log.ErrorContext(w.ctx, "a job could not continue", slog.Any("cause", err))
	}
	switch {
	case err != nil && next.IsZero():
		return workEvery, true
	case next.IsZero():
		return workPause, false
	}
	return min(workEvery, max(workPause, next.Sub(w.now()))), true
}
