package limit

import (
	"time"

	"rookery/internal/auth"
)

// A name is whose calls an account counts: those of a principal, of one kind.
type name struct {
	tenant, principal string
	kind              kind
}

// A caller is one agent of a principal.
type caller struct {
	name
	agent string
}

// An account is what an instance knows of a principal's calls of one kind. All but turn is guarded by
// the Limiter's mutex; seen and asked are changed only by who has the turn.
type account struct {
	name name
	rate rate
	turn chan struct{} // holds a value while somebody writes the item

	seen  seen
	asked bool          // the item was read, or written, once
	ahead time.Duration // of our clock is the time of the item

	inHand  lot             // for all agents together
	tally   tally           // calls that the item does not count yet
	since   time.Time       // of the first call of the tally, where no rate is kept
	waiting int             // calls that need a write
	wanting map[*lease]bool // those of these agents
}

// A lease is what an instance has in hand for an agent. A call needs one of the agent's and one of its
// principal's.
type lease struct {
	account *account
	digest  string // of the agent
	inHand  lot
	waiting int // calls of the agent that need a write
}

// A lot is calls that were taken out of a bucket, and are good for a minute.
type lot struct {
	calls int
	taken time.Time
}

// good is how many calls can still be used. A clock that was put back ends them, too.
func (l lot) good(now time.Time) int {
	if age := now.Sub(l.taken); age < 0 || age >= Window {
		return 0
	}
	return l.calls
}

// plus is the lot with more calls, which make the others good for longer.
func (l lot) plus(calls int, now time.Time) lot { return lot{l.good(now) + calls, now} }

// leaseOf finds what there is for a caller, and begins it where there is nothing.
//
// Each use of a caller is one of its account, and there is room for as many accounts as callers: an
// account is not forgotten before its callers are, so there are never two of one name in use.
func (l *Limiter) leaseOf(who caller) *lease {
	if le, ok := l.callers.Get(who); ok {
		l.accounts.Get(who.name)
		return le
	}
	a, ok := l.accounts.Get(who.name)
	if !ok {
		a = &account{
			name: who.name, rate: l.rate(who.kind),
			turn: make(chan struct{}, 1), wanting: map[*lease]bool{},
		}
		l.accounts.Add(who.name, a)
	}
	le := &lease{account: a, digest: digest(who.agent)}
	l.callers.Add(who, le)
	return le
}

// time is the time of the item. Whose clock is behind follows the item, from where it finds it on: so a
// clock that is ahead gives a principal one full bucket too many, not one with each call, and a time
// that is far in the future stops nobody.
func (a *account) time(now time.Time) int64 {
	at := now.UnixNano() + int64(a.ahead)
	if at < a.seen.At {
		a.ahead += time.Duration(a.seen.At - at)
		at = a.seen.At
	}
	return at
}

// decide lets a call through that has a lease, and refuses one that has none and for which the table
// cannot have any: what it says can only have become less since we looked. Neither needs a write; a call
// that does is not decided.
func (le *lease) decide(now time.Time) (left auth.Allowance, refused *refusal, decided bool) {
	a := le.account
	if le.inHand.good(now) > 0 && a.inHand.good(now) > 0 && a.counts(now) {
		le.inHand.calls--
		a.inHand.calls--
		a.tally.calls++
		return le.left(now), nil, true
	}
	left, refused = le.left(now), le.refusal(now)
	if refused != nil {
		left.Remaining = 0 // also where there is no place for one more agent
	}
	return left, refused, refused != nil
}

// counts reports whether calls of now can be added to the tally. What is there of another day has to be
// written first.
func (a *account) counts(now time.Time) bool {
	today := dayOf(now)
	if a.tally.calls == 0 {
		a.tally.day = today
	}
	return a.tally.day == today
}

// left is the allowance of a caller, by the bucket that has less.
func (le *lease) left(now time.Time) auth.Allowance {
	a := le.account
	at := a.time(now)
	own := a.rate.agent.left(a.seen.later(a.seen.Agents[le.digest], at), le.inHand.good(now))
	all := a.rate.principal.left(a.seen.later(a.seen.Principal, at), a.inHand.good(now))
	if all.Remaining < own.Remaining {
		return all
	}
	return own
}

// left is the allowance of a bucket out of which an instance has some calls in hand.
func (b bucket) left(debt time.Duration, inHand int) auth.Allowance {
	remaining := min(b.calls, b.room(debt)+inHand)
	return auth.Allowance{
		Limit: b.calls, Remaining: remaining,
		Reset: min(debt, b.after(0, b.calls-remaining)),
	}
}
