// Package limit enforces rate limits: a number of mutations and of reads a minute for each agent,
// and ten times as many for all agents of one principal, so that inventing agents gains little
// (CONTRACT §9).
//
// The instances of a deployment share the limits by leases. One conditional write of an item takes
// up to ten calls out of the buckets of agent and principal (or the calls of a second, if the rate
// is higher). The instance then allows these calls without further I/O. A leased call that is not
// used within a minute is lost. So callers never exceed the buckets in total, but some calls are
// made later than they were taken: at most one lease for each instance.
//
// The state of a principal is one item of its tenant's table for each kind of call: a token bucket
// for the principal, one for each agent that has used calls lately, and the numbers of calls of
// today and yesterday. A bucket is stored as a debt, the time until it is full, which needs no
// write to refill. Calls of one account that need a write at the same time share it.
//
// account.go has the state that an instance keeps in memory, lease.go the write that leases calls,
// state.go the item, bucket.go the arithmetic, refusal.go the errors, count.go calls without a
// rate, and usage.go the sums for a tenant. A table that fails refuses calls, because an attacker
// could otherwise remove the limits by overloading it.
package limit

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Constants of every deployment.
const (
	Window       = time.Minute // the period of a rate, and the life of a lease
	Burst        = 2           // capacity of a bucket, in windows
	PerPrincipal = 10          // rate of a principal, as a multiple of an agent's
	MaxAgents    = 1000        // agents of a principal that may have a debt at a time

	// LeaseSize is how many calls an instance leases for an agent or a principal; more if the rate
	// of an agent is more than this in a second.
	LeaseSize = 10
)

// maxCallers is how many callers an instance keeps in memory; each takes about 2 KB.
const maxCallers = 10_000

// Rates are the numbers of calls that an agent may make in a minute. 0 is the default, and a
// negative number means no limit. Larger numbers than 1,000,000 are reduced to that.
type Rates struct {
	MutationsPerMinute int // default: 60
	ReadsPerMinute     int // reads and changes of view state; default: 600
}

// The default rates (CONTRACT §9).
const (
	defaultMutations = 60
	defaultReads     = 600
)

// Options are the options of a Limiter. Tables is required.
type Options struct {
	// Tables returns the table of a tenant. If it returns a *fault.Fault, the caller gets that
	// error.
	Tables func(ctx context.Context, tenant string) (table.Table, error)

	Rates Rates
	Now   func() time.Time // nil: time.Now
}

// A Limiter enforces the rate limits in one instance. It is safe for concurrent use.
type Limiter struct {
	opt              Options
	mutations, reads rate

	mu       sync.Mutex
	accounts *simplelru.LRU[name, *account]
	callers  *simplelru.LRU[caller, *lease]
}

// New returns a Limiter. It reads nothing.
func New(o Options) *Limiter {
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Limiter{
		opt:       o,
		mutations: newRate(o.Rates.MutationsPerMinute, defaultMutations),
		reads:     newRate(o.Rates.ReadsPerMinute, defaultReads),
	}
	var err error
	if l.accounts, err = simplelru.NewLRU[name, *account](maxCallers, nil); err != nil {
		panic(err) // never: the size is positive
	}
	if l.callers, err = simplelru.NewLRU[caller, *lease](maxCallers, nil); err != nil {
		panic(err) // never: the size is positive
	}
	return l
}

// Rates returns the rates in use. A negative rate means no limit.
func (l *Limiter) Rates() Rates {
	return Rates{l.mutations.perMinute, l.reads.perMinute}
}

// Intercept is the interceptor that enforces the rates. It returns RATE_LIMITED for a call over a
// rate, with the time after which it would succeed if no other call is made, and UNAVAILABLE if the
// table cannot be read or written. It sets the caller's Allowance, also for a refused call. The
// principal `local` has no limits.
func (l *Limiter) Intercept(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
		if err := l.admit(ctx, c); err != nil {
			return tool.Reply{}, err
		}
		return next(ctx, c)
	}
}

var _ tool.Interceptor = (*Limiter)(nil).Intercept

// admit counts a call, or refuses it.
func (l *Limiter) admit(ctx context.Context, c *tool.Call) error {
	return l.allow(ctx, c.Caller, kindOf(c))
}

// Visit counts a request that calls no tool as a read of its caller, with the errors of Intercept.
func (l *Limiter) Visit(ctx context.Context, c auth.Caller) error { return l.allow(ctx, c, reads) }

// allow counts a call of a kind, or refuses it. Calls without a rate are only counted.
func (l *Limiter) allow(ctx context.Context, c auth.Caller, k kind) error {
	who := caller{name{c.Tenant, c.Principal, k}, c.Agent}
	if who.principal == auth.Local || l.rate(who.kind).isUnlimited() {
		l.count(ctx, who.name)
		return nil
	}
	left, err := l.take(ctx, who)
	if p := c.Allowance; p != nil && left.Limit > 0 {
		*p = left
	}
	return err
}

// A kind is a kind of call that has a rate.
type kind string

const (
	mutations kind = "mutations"
	reads     kind = "reads"
)

// kindOf returns the kind of a call.
func kindOf(c *tool.Call) kind {
	if c.Needs().Kind.Mutates() {
		return mutations
	}
	return reads
}

// rate returns the rate of a kind.
func (l *Limiter) rate(k kind) rate {
	if k == mutations {
		return l.mutations
	}
	return l.reads
}

// After returns the interceptor that runs check before it counts a call. A call that check refuses
// is counted too, because the check has a cost, and refusals of mutations are stored. A call over
// the rate is RATE_LIMITED, whatever the result of check.
func (l *Limiter) After(check tool.Interceptor) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		counted := l.Intercept(next)
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			passed := false
			r, err := check(func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
				passed = true
				return counted(ctx, c)
			})(ctx, c)
			if err == nil || passed {
				return r, err
			}
			if over := l.admit(ctx, c); over != nil {
				return tool.Reply{}, over
			}
			return r, err
		}
	}
}

// A refusal describes the limit that a call exceeds.
type refusal struct {
	scope  string // "agent" or "principal"
	kind   kind
	bucket bucket
	agents bool          // the limit is MaxAgents, not the bucket
	wait   time.Duration // time until the call may be repeated
}

// refusal returns why a call cannot be allowed, based on the last known item; nil if it may be
// possible. If the call exceeds several limits, it is the one that lasts longest, so that its wait
// is long enough for all.
func (le *lease) refusal(now time.Time) *refusal {
	a := le.account
	at := a.time(now)
	worst := refusal{kind: a.name.kind}
	if a.leased.valid(now) == 0 {
		b := a.rate.principal
		debt := a.seen.remaining(a.seen.Principal, at)
		worst.extend(refusal{scope: "principal", bucket: b, wait: b.wait(debt)})
	}
	if le.leased.valid(now) == 0 {
		b := a.rate.agent
		debt := a.seen.remaining(a.seen.Agents[le.digest], at)
		worst.extend(refusal{scope: "agent", bucket: b, wait: b.wait(debt)})
		worst.extend(refusal{scope: "principal", agents: true, wait: a.seen.waitForAgent(le.digest, at)})
	}
	if worst.wait == 0 {
		return nil
	}
	return &worst
}

// extend replaces the refusal by the other one if that lasts longer.
func (r *refusal) extend(other refusal) {
	if other.wait > r.wait {
		other.kind = r.kind
		*r = other
	}
}

// fault returns the RATE_LIMITED error.
func (r *refusal) fault() error {
	if r.agents {
		return fault.New(fault.RateLimited,
			"at most %d agents of a principal may make %s at a time", MaxAgents, r.kind).
			With("limit", MaxAgents).With("window_seconds", int(Window.Seconds())).
			With("scope", r.scope).With("kind", string(r.kind)).After(r.wait)
	}
	whose := "an agent"
	if r.scope == "principal" {
		whose = "all agents of a principal together"
	}
	return fault.New(fault.RateLimited, "at most %d %s a minute for %s, %d of them at once",
		r.bucket.perMinute, r.kind, whose, r.bucket.calls).
		With("limit", r.bucket.perMinute).With("window_seconds", int(Window.Seconds())).
		With("scope", r.scope).With("kind", string(r.kind)).After(r.wait)
}

// unavailable returns the UNAVAILABLE error of a table that failed. No calls are allowed then.
func unavailable(err error) error {
	return fault.New(fault.Unavailable,
		"how many calls were made cannot be looked up now; this one was not begun").
		After(time.Second).Because(err)
}
