// Package audit records which caller did what, and which calls were refused (DESIGN §1.7, §7).
//
// The entry of a change is its commit in the log that it changed, which is hash-chained and names
// its author; nothing is written twice. A mutation that was refused or failed has no commit; its
// entry is in the refusal log of its tenant, which is archived in hash-chained objects. A read is
// only a log line. Entries and log lines never contain texts, values, queries or tokens
// (docs/design/0017-audit.md).
//
// The files have three subjects. audit.go, entry.go and target.go write: the interceptor, and
// the rules for the content of an entry. refusals.go, archive.go and verify.go store the
// refusal log: its items, its archives and their chain. read.go, merge.go, back.go and block.go
// list entries of all logs of a tenant in one order.
//
// An entry may name the target of a call, but no text that the call contained. Therefore every text
// of a caller is checked before it is written: it must be able to be a name, an id or a path, and
// must not look like a token, or it is left out.
package audit

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An Auditor provides the outermost interceptor. It archives the refusal logs of the tenants that
// call, on each call of Archive or, between Start and Close, in the background. It is safe for
// concurrent use. It knows only tenants that have called since it was created; ArchiveDue finds
// others.
type Auditor struct {
	opt Options

	mu      sync.Mutex
	tenants map[string]bool // tenants that have called; true: their refusal logs may have entries to archive
	limited *lru.Cache[caller, time.Time]

	stop       chan struct{}
	closing    sync.Once
	background sync.WaitGroup
}

// Options configure an Auditor. All are required except Now and Measure.
type Options struct {
	Tenants *tenant.Registry
	Log     *slog.Logger     // receives one line for each call
	Now     func() time.Time // nil: time.Now

	// Measure is called when a call begins. The function that it returns is called when the call
	// has ended, and returns additional attributes for the log line. Nil: there are none.
	Measure func() func(EndedCall) []slog.Attr
}

// An EndedCall describes a call that has ended, for Options.Measure. It has no caller and no arguments,
// so metrics cannot contain them.
type EndedCall struct {
	Tool  string
	Fault *fault.Fault // nil: the call succeeded
	Took  time.Duration
}

// A caller identifies callers for which at most one rate-limit refusal per minute is recorded. It
// does not include the agent, because a principal can use a new agent name for each call.
type caller struct{ tenant, principal string }

// Limits of the interceptor and of archiving in the background.
const (
	// callers is the number of cached callers. For a caller that was evicted, one more refusal is
	// recorded.
	callers = 10_000

	// limitedEvery is the interval at which rate-limit refusals of a caller are recorded (CONTRACT
	// §4, team).
	limitedEvery = time.Minute

	// archiveEvery is the interval of archiving in the background.
	archiveEvery = 5 * time.Minute

	// sendTimeout is the time limit for writing an entry, even if the call has ended.
	sendTimeout = 5 * time.Second
)

// New returns an Auditor that does nothing in the background yet.
func New(o Options) *Auditor {
	if o.Now == nil {
		o.Now = time.Now
	}
	limited, _ := lru.New[caller, time.Time](callers) // the size is positive
	return &Auditor{
		opt: o, tenants: map[string]bool{}, limited: limited, stop: make(chan struct{}),
	}
}

// Start archives in the background until Close.
func (a *Auditor) Start() { a.background.Go(a.run) }

// Close stops the background work. It interrupts a pass that is running; the next Auditor continues
// it.
func (a *Auditor) Close() {
	a.closing.Do(func() { close(a.stop) })
	a.background.Wait()
}

// run archives every archiveEvery until the Auditor is closed. An error is logged, and the next
// pass tries again.
func (a *Auditor) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.background.Go(func() { // also ends a pass that waits for the store
		<-a.stop
		cancel()
	})
	tick := time.NewTicker(archiveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := a.Archive(ctx); err != nil && ctx.Err() == nil {
				a.opt.Log.ErrorContext(ctx, "refused calls could not be archived",
					slog.Any("cause", err))
			}
		case <-a.stop:
			return
		}
	}
}

// Archive makes one pass over the refusal logs of the tenants that have called; see
// Refusals.Archive. It continues after an error, and returns all errors joined; a tenant whose pass
// failed is part of the next one.
func (a *Auditor) Archive(ctx context.Context) error {
	a.mu.Lock()
	var tenants []string
	for name, due := range a.tenants {
		if due {
			tenants = append(tenants, name)
			a.tenants[name] = false
		}
	}
	a.mu.Unlock()
	slices.Sort(tenants)
	var failed error
	for _, name := range tenants {
		left, err := a.archive(ctx, name)
		if fault.Is(err, fault.Unauthenticated) { // the tenant is erased
			a.forget(name)
			continue
		}
		if left || err != nil {
			a.markTenant(name)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// archive makes one pass over the refusal log of a tenant, and reports whether entries remain.
func (a *Auditor) archive(ctx context.Context, tenant string) (left bool, err error) {
	t, err := a.opt.Tenants.Tenant(ctx, tenant)
	if err != nil {
		return true, err
	}
	return RefusalsOf(t).Archive(ctx, a.opt.Now())
}

// markTenant marks the refusal log of a tenant for the next pass.
func (a *Auditor) markTenant(tenant string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tenants[tenant] = true
}

// forget forgets a tenant that no longer exists.
func (a *Auditor) forget(tenant string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tenants, tenant)
}

// addTenant records that a tenant has called. On its first call its refusal log is marked, because it
// may have entries from an earlier process. So a restart costs one pass for each tenant that calls.
func (a *Auditor) addTenant(tenant string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.tenants[tenant]; !known {
		a.tenants[tenant] = true
	}
}

// Interceptor returns an interceptor that writes a log line for each call when it has ended, and an
// entry for each refused or failed call that would have changed something, including view state. An
// entry costs one write of the table. If it cannot be written, that is logged as an error, and the
// answer of the call does not change. It must be the outermost interceptor, so that it sees calls
// that other interceptors refuse. A call that panics is recorded as failed.
func (a *Auditor) Interceptor() tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (r tool.Reply, err error) {
			start := a.opt.Now()
			var measured func(EndedCall) []slog.Attr
			if a.opt.Measure != nil {
				measured = a.opt.Measure()
			}
			err = errPanic
			defer func() {
				now := a.opt.Now()
				e := ending{err: err, meta: r.Meta, wrote: r.Wrote, at: now, took: max(0, now.Sub(start))}
				if measured != nil {
					e.more = measured(e.endedCall(c))
				}
				a.record(ctx, c, e)
			}()
			return next(ctx, c)
		}
	}
}

// errPanic is the error of a call that panicked.
var errPanic = errors.New("panic")

// An ending is the outcome of a call.
type ending struct {
	err   error
	meta  tool.Meta
	wrote bool // the call is in the log although it failed
	at    time.Time
	took  time.Duration
	more  []slog.Attr // additional attributes of its log line
}

// record writes the log line of a call and, if necessary, its entry. A call without a tenant, which
// could not be authenticated, has only a log line. A call that failed after its commit has an entry
// in the log that it changed (wrote), and needs no second one.
func (a *Auditor) record(ctx context.Context, c *tool.Call, e ending) {
	a.opt.Log.LogAttrs(ctx, slog.LevelInfo, "call", e.line(c)...)
	if c.Caller.Tenant == "" {
		return
	}
	a.addTenant(c.Caller.Tenant)
	if e.err == nil && c.Needs().Kind == tool.View {
		a.markTenant(c.Caller.Tenant) // its entry is already written; see EntryOp
	}
	if e.err == nil || e.wrote || !c.Needs().Kind.Changes() || a.isRepeatedLimit(c, e) {
		return
	}
	if err := a.writeEntry(context.WithoutCancel(ctx), e.entry(c)); err != nil {
		a.opt.Log.ErrorContext(ctx, "the entry of a refused call could not be kept",
			slog.String("request_id", clean(c.Caller.RequestID)), slog.Any("cause", err))
	}
}

// isRepeatedLimit reports whether a call exceeded its rate limit and such a refusal of its caller was already
// recorded within limitedEvery. Otherwise it counts the call as recorded. Without it, a caller over
// its rate would cause a write for each call.
func (a *Auditor) isRepeatedLimit(c *tool.Call, e ending) bool {
	if e.code() != fault.RateLimited {
		return false
	}
	who := caller{c.Caller.Tenant, clean(c.Caller.Principal)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, ok := a.limited.Get(who); ok && e.at.Sub(last) < limitedEvery && !e.at.Before(last) {
		return true
	}
	a.limited.Add(who, e.at)
	return false
}

// writeEntry writes an entry to the refusal log of its tenant, and marks that log for the next pass, even
// if the write failed: its outcome may be unknown. An erased tenant needs no entry.
func (a *Auditor) writeEntry(ctx context.Context, e Entry) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	t, err := a.opt.Tenants.Tenant(ctx, e.Tenant)
	if fault.Is(err, fault.Unauthenticated) {
		return nil // the tenant is erased, and its refusal log too
	}
	if err != nil {
		return err
	}
	defer a.markTenant(e.Tenant)
	return RefusalsOf(t).add(ctx, e)
}
