// Package limit keeps callers to their rates: so many mutations and so many reads a minute for each
// agent, and ten times that for all agents of one principal, so that inventing agents gains little
// (CONTRACT §9).
//
// The instances of a deployment share the rates by leases: one conditional write of an item takes up
// to ten calls out of the buckets of agent and principal, or those of a second where the rate gives more,
// and the calls are then let through without asking anybody. A leased call that is not used within a
// minute is lost. So a caller is never let through more often than the buckets allow, but some calls
// later than they were taken: at most one lease for each instance.
package limit

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"rookery/internal/auth"
	"rookery/internal/table"
	"rookery/internal/tool"
)

// What is the same in every deployment.
const (
	Window       = time.Minute // what a rate is of, and how long a lease is good
	Burst        = 2           // how many windows' calls may be made at once
	PerPrincipal = 10          // how many times the rate of an agent all of its principal have
	MaxAgents    = 1000        // agents of a principal that are owed calls at a time

	// LeaseSize is how many calls an instance may have in hand, of an agent or of a principal: ten, or those
	// that the rate of an agent gives in a second, where these are more.
	LeaseSize = 10
)

// maxCallers is how many callers an instance remembers, about 2 KB each.
const maxCallers = 10_000

// Rates are how many calls an agent may make in a minute. In each, 0 is the default, and a negative
// number lets all calls of the kind through. More than 1,000,000 are as many.
type Rates struct {
	MutationsPerMinute int // default: 60
	ReadsPerMinute     int // of reads and of changes of view state; default: 600
}

// The default rates (CONTRACT §9).
const (
	defaultMutations = 60
	defaultReads     = 600
)

// Options are what a Limiter is made with.
type Options struct {
	// Tables gives the part of the table that is a tenant's own. A fault that it answers is answered to
	// the caller.
	Tables func(ctx context.Context, tenant string) (table.Table, error)

	Rates Rates
	Now   func() time.Time // nil is time.Now
}

// A Limiter is one instance's part in keeping the rates. It is safe for concurrent use.
type Limiter struct {
	opt              Options
	mutations, reads rate

	mu       sync.Mutex
	accounts *simplelru.LRU[name, *account]
	callers  *simplelru.LRU[caller, *lease]
}

// New makes a Limiter. Nothing is read yet.
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

// Rates are the rates that are kept. One that is not kept is negative.
func (l *Limiter) Rates() Rates {
	return Rates{l.mutations.perMinute, l.reads.perMinute}
}

// Intercept is the tool.Interceptor. A call over a rate is RATE_LIMITED, and succeeds after the time
// that the fault says, if nobody else uses it up; where the table cannot be asked, it is UNAVAILABLE.
// It tells the caller's Allowance, also in a refusal. The principal `local` has no limits.
func (l *Limiter) Intercept(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
		if err := l.admit(ctx, c); err != nil {
			return tool.Reply{}, err
		}
		return next(ctx, c)
	}
}

var _ tool.Interceptor = (*Limiter)(nil).Intercept

func (l *Limiter) admit(ctx context.Context, c *tool.Call) error {
	return l.let(ctx, c.Caller, kindOf(c))
}

// Visit counts a request that calls no tool as a read of its caller, as Intercept does a call.
func (l *Limiter) Visit(ctx context.Context, c auth.Caller) error { return l.let(ctx, c, reads) }

// let counts a call of a kind, or refuses it.
func (l *Limiter) let(ctx context.Context, c auth.Caller, k kind) error {
	who := caller{name{c.Tenant, c.Principal, k}, c.Agent}
	if who.principal == auth.Local || l.rate(who.kind).off() {
		l.count(ctx, who.name)
		return nil
	}
	left, err := l.take(ctx, who)
	if p := c.Allowance; p != nil && left.Limit > 0 {
		*p = left
	}
	return err
}

// A kind is the kind of call that a rate is for.
type kind string

const (
	mutations kind = "mutations"
	reads     kind = "reads"
)

func kindOf(c *tool.Call) kind {
	if c.Needs().Kind.Mutates() {
		return mutations
	}
	return reads
}

func (l *Limiter) rate(k kind) rate {
	if k == mutations {
		return l.mutations
	}
	return l.reads
}
