package localapp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"rookery/internal/job"
	"rookery/internal/team"
)

// How often a worker looks for jobs that nobody told it of, and how often it looks at most.
const (
	workEvery = time.Minute
	workPause = time.Second
)

// Workers run the jobs of tenants in this process, each in a goroutine of its own.
type workers struct {
	teams *team.Teams
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

// newWorkers makes the workers. None runs until a tenant has something for it. They get their tenants before
// the first one is opened.
func newWorkers(cfg Config) *workers {
	w := &workers{log: cfg.Log, now: cfg.Now, wakes: map[string]chan struct{}{}}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

// Send implements job.Queue: it wakes the worker of the message's tenant. It never waits.
func (w *workers) Send(_ context.Context, m job.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil // the next process finds the job
	}
	wake, ok := w.wakes[m.Tenant]
	if !ok {
		wake = make(chan struct{}, 1)
		w.wakes[m.Tenant] = wake
		w.runs.Go(func() { w.work(m.Tenant, wake) })
	}
	select {
	case wake <- struct{}{}:
	default: // it is awake
	}
	return nil
}

// Close ends the workers. What they are at is queued for the next process.
func (w *workers) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.runs.Wait()
}

// work runs the jobs of a tenant as they become due, until it has none, or the workers end.
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

// retire ends the worker of a tenant, and reports whether it did: it is awake again if there is a new job.
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

// pass makes one pass over the jobs of a tenant. It reports how long to wait for the next one, and whether there
// are more.
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
