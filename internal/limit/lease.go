package limit

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/table"
)

// take lets a call through, or says why not.
func (l *Limiter) take(ctx context.Context, who caller) (auth.Allowance, error) {
	l.mu.Lock()
	le := l.leaseOf(who)
	left, refused, decided := le.decide(l.opt.Now())
	switch {
	case !decided:
		le.enter()
	case refused != nil && le.waiting == 0 && le.inHand.good(l.opt.Now()) == 0:
		l.callers.Remove(who) // what is refused takes nobody's place, under however many names
	}
	l.mu.Unlock()
	if !decided {
		defer l.leave(le)
		return l.renew(ctx, le)
	}
	if refused != nil {
		return left, refused.fault()
	}
	return left, nil
}

// enter notes that a call of the agent needs a write.
func (le *lease) enter() {
	le.waiting++
	le.account.waiting++
	le.account.wanting[le] = true
}

// leave ends enter. What was taken for calls that are no longer waiting is not kept beyond a lease.
func (l *Limiter) leave(le *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := le.account
	le.waiting--
	a.waiting--
	if le.waiting == 0 {
		delete(a.wanting, le)
	}
	le.inHand.calls = min(le.inHand.calls, a.rate.lease+le.waiting)
	a.inHand.calls = min(a.inHand.calls, a.rate.lease+a.waiting)
}

// renew decides a call that needs a write. Calls of one account write one after the other, and each
// write is for all that wait, so most find at their turn that nothing is left to be done.
func (l *Limiter) renew(ctx context.Context, le *lease) (auth.Allowance, error) {
	a := le.account
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return auth.Allowance{}, unavailable(ctx.Err())
	}
	tab, err := l.opt.Tables(ctx, a.name.tenant)
	if err != nil {
		return auth.Allowance{}, classed(err)
	}
	if err := l.ask(ctx, tab, a); err != nil {
		return auth.Allowance{}, unavailable(err)
	}
	for lost := 0; ; lost++ {
		left, refused, d := l.attempt(le)
		if refused != nil {
			return left, refused.fault()
		}
		if d == nil {
			return left, nil
		}
		won, err := l.commit(ctx, tab, d)
		if err != nil {
			return auth.Allowance{}, unavailable(err)
		}
		if !won {
			pause(ctx, lost)
		}
	}
}

// ask reads the item of an account that nothing is known of yet: a read costs less than a write that is refused.
// The caller has the turn.
func (l *Limiter) ask(ctx context.Context, tab table.Table, a *account) error {
	if a.asked {
		return nil
	}
	it, err := tab.Get(ctx, a.name.key())
	found := err == nil
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.look(&table.Conflict{Item: it, Found: found}, l.opt.Now())
	a.asked = true
	return nil
}

// classed is an error of Options.Tables as the caller is told it.
func classed(err error) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		return err
	}
	return unavailable(err)
}

// attempt decides a call, or drafts the write that it needs.
func (l *Limiter) attempt(le *lease) (auth.Allowance, *refusal, *draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opt.Now()
	left, refused, decided := le.decide(now)
	if decided {
		return left, refused, nil
	}
	return left, nil, le.account.draft(now)
}

// A draft is a lease that is not written yet.
type draft struct {
	account *account
	now     time.Time
	state   state          // what the item is to say
	agents  map[*lease]int // calls for the agents that wait
	all     int            // calls for all agents together
	counted tally
}

// draft takes calls for all that wait out of what was seen of the buckets.
func (a *account) draft(now time.Time) *draft {
	d := a.tallied(now)
	b := a.rate.principal
	d.all = b.lend(d.state.Principal, a.inHand.good(now), a.waiting)
	d.state.Principal = b.after(d.state.Principal, d.all)
	for le := range a.wanting {
		d.lend(le)
	}
	return d
}

// lend takes calls out of the bucket of one agent, if there is a place for it.
func (d *draft) lend(le *lease) {
	b, agents := d.account.rate.agent, d.state.Agents
	debt, known := agents[le.digest]
	if !known && len(agents) >= MaxAgents {
		return
	}
	n := b.lend(debt, le.inHand.good(d.now), le.waiting)
	if n > 0 {
		agents[le.digest] = b.after(debt, n)
		d.agents[le] = n
	}
}

// commit writes a draft, and puts the calls into the hands of those who waited for them. Where somebody
// else had changed the item, it has not won: nothing is taken, but the item is known. An error leaves
// unknown whether anything was written: then nothing is in anybody's hands, and what may have been taken
// is lost.
func (l *Limiter) commit(ctx context.Context, tab table.Table, d *draft) (won bool, err error) {
	a := d.account
	it, err := d.state.encode(a.name, d.now)
	if err != nil {
		return false, err
	}
	op := table.Create(it)
	if a.seen.item.Data != nil { // only who has the turn changes seen
		op = table.Replace(a.seen.item, it)
	}
	err = tab.Commit(ctx, op)
	var conflict *table.Conflict
	if err != nil && !errors.As(err, &conflict) {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if conflict != nil {
		a.look(conflict, l.opt.Now())
		return false, nil
	}
	d.done(it)
	return true, nil
}

// done puts what was taken into the hands of those who wait.
func (d *draft) done(it table.Item) {
	a := d.account
	a.seen = seen{d.state, it}
	a.tally.calls -= d.counted.calls
	a.inHand = a.inHand.plus(d.all, d.now)
	for le, n := range d.agents {
		le.inHand = le.inHand.plus(n, d.now)
	}
}

// A seen is what is known of an item.
type seen struct {
	state
	item table.Item // as it is in the table; without Data: it is not there, or not known
}

// look takes over what a conflict tells of the item. Where it is gone, what we remember of the buckets
// goes on.
func (a *account) look(c *table.Conflict, now time.Time) {
	a.seen.item = table.Item{}
	if c.Found {
		a.seen = seen{readState(c.Item.Data, a.rate, now), c.Item}
	}
}

// pause waits a moment before an item is tried again that others write, too.
func pause(ctx context.Context, lost int) {
	if lost == 0 {
		return // most conflicts are only that we had not looked yet
	}
	t := time.NewTimer(rand.N(time.Millisecond << min(lost, 5)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
