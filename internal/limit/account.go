package limit

import (
	"context"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
)

// A name identifies an account: calls of one kind by a principal.
type name struct {
	tenant, principal string
	kind              kind
}

// A caller is one agent of a principal.
type caller struct {
	name
	agent string
}

// An account is the state of an instance for a principal's calls of one kind. All fields but turn
// are guarded by Limiter.mu; seen and isRead are changed only by the holder of the turn, who may
// therefore read seen without mu. There is at most one write of an item in progress in each
// instance.
type account struct {
	name name
	rate rate
	turn chan struct{} // full while a goroutine writes the item

	seen   knownItem
	isRead bool          // the item was read or written before
	ahead  time.Duration // how far the time of the item is ahead of our clock

	leased        allotment       // leased calls of all agents together
	tally         tally           // calls that are not in the item's counts yet
	since         time.Time       // time of the first call in tally, if there is no rate
	waiting       int             // number of calls that need a write
	waitingLeases map[*lease]bool // leases with such calls
}

// A lease contains the calls that an instance has leased for an agent. A call uses one leased call
// of the agent and one of its principal.
type lease struct {
	account *account
	digest  string // of the agent; see digest
	leased  allotment
	waiting int // calls of the agent that need a write
}

// An allotment is a number of calls that were taken out of a bucket. They expire after Window. The
// zero value has none.
type allotment struct {
	calls int
	taken time.Time
}

// valid returns the number of calls that have not expired. If the clock was put back, they expire
// too.
func (l allotment) valid(now time.Time) int {
	if age := now.Sub(l.taken); age < 0 || age >= Window {
		return 0
	}
	return l.calls
}

// plus returns the allotment with more calls. This extends the life of the existing ones.
func (l allotment) plus(calls int, now time.Time) allotment {
	return allotment{l.valid(now) + calls, now}
}

// leaseOf returns the lease of a caller, and creates it if necessary.
//
// Each access to a caller also marks its account as used, and both caches have the same size. So an
// account is never evicted before its callers, and there are never two accounts with one name in
// use.
func (l *Limiter) leaseOf(who caller) *lease {
	if le, ok := l.callers.Get(who); ok {
		l.accounts.Get(who.name)
		return le
	}
	a, ok := l.accounts.Get(who.name)
	if !ok {
		a = &account{
			name: who.name, rate: l.rate(who.kind),
			turn: make(chan struct{}, 1), waitingLeases: map[*lease]bool{},
		}
		l.accounts.Add(who.name, a)
	}
	le := &lease{account: a, digest: digest(who.agent)}
	l.callers.Add(who, le)
	return le
}

// time returns the current time of the item, in Unix nanoseconds. If our clock is behind the item,
// the account continues from the item's time. So a clock that is ahead gives a principal one
// additional full bucket, not one with each call, and a time far in the future blocks no one.
func (a *account) time(now time.Time) int64 {
	at := now.UnixNano() + int64(a.ahead)
	if at < a.seen.At {
		a.ahead += time.Duration(a.seen.At - at)
		at = a.seen.At
	}
	return at
}

// decide decides a call without a write, if that is possible: it allows the call if calls are
// leased, and refuses it if the bucket in the table cannot have any, because other instances can
// only have taken more. decided is false if the call needs a write.
func (le *lease) decide(now time.Time) (left auth.Allowance, refused *refusal, decided bool) {
	a := le.account
	if le.leased.valid(now) > 0 && a.leased.valid(now) > 0 && a.counts(now) {
		le.leased.calls--
		a.leased.calls--
		a.tally.calls++
		return le.allowance(now), nil, true
	}
	left, refused = le.allowance(now), le.refusal(now)
	if refused != nil {
		left.Remaining = 0 // also if MaxAgents is reached
	}
	return left, refused, refused != nil
}

// counts reports whether a call at now can be added to the tally. A tally of another day must be
// written first.
func (a *account) counts(now time.Time) bool {
	today := dayOf(now)
	if a.tally.calls == 0 {
		a.tally.day = today
	}
	return a.tally.day == today
}

// allowance returns the allowance of a caller: that of the agent or of the principal, whichever is
// smaller.
func (le *lease) allowance(now time.Time) auth.Allowance {
	a := le.account
	at := a.time(now)
	own := a.rate.agent.allowance(a.seen.remaining(a.seen.Agents[le.digest], at), le.leased.valid(now))
	all := a.rate.principal.allowance(a.seen.remaining(a.seen.Principal, at), a.leased.valid(now))
	if all.Remaining < own.Remaining {
		return all
	}
	return own
}

// allowance returns the allowance of a bucket of which an instance has leased some calls. debt is the
// time until the bucket is full. It is exact for the instance that asks; others may have used calls
// since the item was seen.
func (b bucket) allowance(debt time.Duration, inHand int) auth.Allowance {
	remaining := min(b.calls, b.room(debt)+inHand)
	return auth.Allowance{
		Limit: b.calls, Remaining: remaining,
		Reset: min(debt, b.after(0, b.calls-remaining)),
	}
}

// Usage contains the numbers of allowed calls of a tenant, by all principals. They are approximate:
// an instance stores its counts with its next write, so others do not see up to ten calls of each
// principal. Calls without a rate are counted too, and stored once a minute. Close stores the rest;
// counts of a killed instance are lost.
type Usage struct {
	Today, Yesterday Calls // days in UTC
}

// Calls are numbers of calls.
type Calls struct {
	Mutations int64
	Reads     int64 // reads and changes of view state
}

// Usage returns the numbers of calls of a tenant. It makes one Query, and adds the counts that this
// instance has not stored yet.
func (l *Limiter) Usage(ctx context.Context, tenant string) (Usage, error) {
	tab, err := l.opt.Tables(ctx, tenant)
	if err != nil {
		return Usage{}, asFault(err)
	}
	now := l.opt.Now()
	today, u := dayOf(now), Usage{}
	for it, err := range tab.Query(ctx, part, "", "~") {
		if err != nil {
			return Usage{}, unavailable(err)
		}
		word, _, _ := strings.Cut(it.Sort, "/")
		k := kind(word)
		for d, n := range readState(it.Data, l.rate(k), now).Days {
			u.add(k, tally{d, n}, today)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.accounts.Values() {
		if a.name.tenant == tenant {
			u.add(a.name.kind, a.tally, today)
		}
	}
	return u, nil
}

// add adds a tally to the counts of today or yesterday. It ignores other days.
func (u *Usage) add(k kind, t tally, today day) {
	var c *Calls
	switch t.day {
	case today:
		c = &u.Today
	case today - 1:
		c = &u.Yesterday
	default:
		return
	}
	if k == mutations {
		c.Mutations += t.calls
	} else {
		c.Reads += t.calls
	}
}
