// Package audit says who did what, and what was refused to whom (DESIGN §1.7, §7).
//
// What a call changed stands in the log that it changed, hash-chained, with who made it: that is its
// entry, and nothing is written twice. A mutation that was refused or failed leaves no commit; its entry
// goes into the refusal log of its tenant, which is archived in hash-chained objects. A read is one log
// line. No entry and no line has a text, a value, a query or a token (docs/design/0017-audit.md).
package audit

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"rookery/internal/fault"
	"rookery/internal/team"
	"rookery/internal/tool"
)

// An Auditor is the outermost interceptor, and archives the refusal logs of the tenants that call, when
// Archive is called or, from Start until Close, in the background.
type Auditor struct {
	opt Options

	mu      sync.Mutex
	tenants map[string]bool // that called; true: their refusal logs may have something to archive
	limited *lru.Cache[caller, time.Time]

	stop       chan struct{}
	closing    sync.Once
	background sync.WaitGroup
}

// Options are what an Auditor is made with. All are required but Now and Measure.
type Options struct {
	Teams *team.Teams
	Log   *slog.Logger     // a line for each call
	Now   func() time.Time // nil: time.Now

	// Measure is called when a call begins. What it returns is called when the call has ended, and returns more
	// attributes of its line, such as metrics. Nil: there are none.
	Measure func() func(Ended) []slog.Attr
}

// Ended is what Options.Measure is told of a call.
type Ended struct {
	Tool  string
	Fault *fault.Fault // nil: the call succeeded
	Took  time.Duration
}

// A caller is who is told of once a minute that it calls too often. All agents of a principal are one: it
// may call itself something else each time.
type caller struct{ tenant, principal string }

const (
	// callers is how many of these are remembered. Of one that is forgotten one more refusal is kept.
	callers = 10_000

	// limitedEvery is how often one of them is kept (CONTRACT §4, team).
	limitedEvery = time.Minute

	// archiveEvery is how often the refusal logs are archived.
	archiveEvery = 5 * time.Minute

	// patience is how long an entry may take to be written, whether the call still runs or not.
	patience = 5 * time.Second
)

// New makes an Auditor. Nothing is archived yet.
func New(o Options) *Auditor {
	if o.Now == nil {
		o.Now = time.Now
	}
	limited, _ := lru.New[caller, time.Time](callers) // the size is positive
	return &Auditor{
		opt: o, tenants: map[string]bool{}, limited: limited, stop: make(chan struct{}),
	}
}

// Start archives in the background from time to time, until Close.
func (a *Auditor) Start() { a.background.Go(a.run) }

// Close ends what Start began. A pass that runs just then is ended too, and goes on when the next Auditor
// archives.
func (a *Auditor) Close() {
	a.closing.Do(func() { close(a.stop) })
	a.background.Wait()
}

// run archives from time to time.
func (a *Auditor) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.background.Go(func() { // a pass that waits for the store ends as well
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

// Archive makes one pass over the refusal logs of the tenants that have called: what is older than some
// minutes goes into archives.
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
		if fault.Is(err, fault.Unauthenticated) { // it is erased
			a.forget(name)
			continue
		}
		if left || err != nil {
			a.due(name)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// archive makes one pass over the refusal log of a tenant, and reports whether it left something.
func (a *Auditor) archive(ctx context.Context, tenant string) (left bool, err error) {
	t, err := a.opt.Teams.Team(ctx, tenant)
	if err != nil {
		return true, err
	}
	return Of(t).Archive(ctx, a.opt.Now())
}

// due notes that the refusal log of a tenant may have something to archive.
func (a *Auditor) due(tenant string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tenants[tenant] = true
}

// forget notes that there is no such tenant any more.
func (a *Auditor) forget(tenant string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tenants, tenant)
}

// seen notes that a tenant calls: its refusal log may have something from before this process.
func (a *Auditor) seen(tenant string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.tenants[tenant]; !known {
		a.tenants[tenant] = true
	}
}

// Interceptor writes one log line for each call, when it has ended, and keeps an entry of each that was refused or
// failed and would have changed something, if only a view: one write of the table, whatever else the call wrote. An
// entry that cannot be written is an error of the server, and the answer of the call stays what it was.
func (a *Auditor) Interceptor() tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (r tool.Reply, err error) {
			start := a.opt.Now()
			var measured func(Ended) []slog.Attr
			if a.opt.Measure != nil {
				measured = a.opt.Measure()
			}
			err = errPanic
			defer func() {
				now := a.opt.Now()
				e := ending{err: err, meta: r.Meta, wrote: r.Wrote, at: now, took: max(0, now.Sub(start))}
				if measured != nil {
					e.more = measured(e.told(c))
				}
				a.ended(ctx, c, e)
			}()
			return next(ctx, c)
		}
	}
}

// errPanic is how a call ended that did not return.
var errPanic = errors.New("panic")

// An ending is how a call ended.
type ending struct {
	err   error
	meta  tool.Meta
	wrote bool // the log has the call already, though it failed
	at    time.Time
	took  time.Duration
	more  []slog.Attr // of its line
}

// ended tells of a call that has ended.
func (a *Auditor) ended(ctx context.Context, c *tool.Call, e ending) {
	a.opt.Log.LogAttrs(ctx, slog.LevelInfo, "call", e.line(c)...)
	if c.Caller.Tenant == "" {
		return
	}
	a.seen(c.Caller.Tenant)
	if e.err == nil && c.Needs().Kind == tool.View {
		a.due(c.Caller.Tenant) // its entry is written; see Done
	}
	if e.err == nil || e.wrote || !c.Needs().Kind.Changes() || a.often(c, e) {
		return
	}
	if err := a.keep(context.WithoutCancel(ctx), e.entry(c)); err != nil {
		a.opt.Log.ErrorContext(ctx, "the entry of a refused call could not be kept",
			slog.String("request_id", clean(c.Caller.RequestID)), slog.Any("cause", err))
	}
}

// often reports whether a call was over its rate, and one of its caller is kept already for this minute.
func (a *Auditor) often(c *tool.Call, e ending) bool {
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

// keep writes an entry into the refusal log of its tenant.
func (a *Auditor) keep(ctx context.Context, e Entry) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t, err := a.opt.Teams.Team(ctx, e.Tenant)
	if fault.Is(err, fault.Unauthenticated) {
		return nil // it is erased, with its refusal log
	}
	if err != nil {
		return err
	}
	defer a.due(e.Tenant)
	return Of(t).add(ctx, e)
}
