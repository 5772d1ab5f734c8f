package limit

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// take allows a call, or returns the error that refuses it. Most calls are decided here, in memory;
// the others wait for a write in renew.
func (l *Limiter) take(ctx context.Context, who caller) (auth.Allowance, error) {
	l.mu.Lock()
	le := l.leaseOf(who)
	left, refused, decided := le.decide(l.opt.Now())
	switch {
	case !decided:
		le.enter()
	case refused != nil && le.waiting == 0 && le.leased.valid(l.opt.Now()) == 0:
		l.callers.Remove(who) // refused callers must not evict others, however many names they use
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

// enter records that a call of the agent needs a write.
func (le *lease) enter() {
	le.waiting++
	le.account.waiting++
	le.account.waitingLeases[le] = true
}

// leave undoes enter. Leased calls that were taken for calls no longer waiting are dropped, down to
// a full lease.
func (l *Limiter) leave(le *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := le.account
	le.waiting--
	a.waiting--
	if le.waiting == 0 {
		delete(a.waitingLeases, le)
	}
	le.leased.calls = min(le.leased.calls, a.rate.lease+le.waiting)
	a.leased.calls = min(a.leased.calls, a.rate.lease+a.waiting)
}

// renew decides a call that needs a write. Writes of one account are made one after the other, and
// each is for all waiting calls, so most of them are decided without a write of their own. If
// another instance has changed the item, it tries again on the new one, after a short random time,
// until ctx ends.
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
		return auth.Allowance{}, asFault(err)
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

// ask reads the item of an account that was not read yet, because a read costs less than a refused
// write. The caller holds the turn.
func (l *Limiter) ask(ctx context.Context, tab table.Table, a *account) error {
	if a.isRead {
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
	a.isRead = true
	return nil
}

// asFault returns an error of Options.Tables as the caller of the tool gets it: a fault unchanged,
// and any other error as UNAVAILABLE.
func asFault(err error) error {
	if _, ok := errors.AsType[*fault.Fault](err); ok {
		return err
	}
	return unavailable(err)
}

// attempt decides a call, or returns the draft of the write that it needs.
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

// A draft is a write of an item that leases calls.
type draft struct {
	account *account
	now     time.Time
	state   state          // new content of the item
	agents  map[*lease]int // calls to lease by agent
	all     int            // calls to lease for all agents together
	counted tally          // part of the tally that state includes
}

// draft returns a draft that leases calls for all waiting agents, based on the last known item.
func (a *account) draft(now time.Time) *draft {
	d := a.tallyDraft(now)
	b := a.rate.principal
	d.all = b.lend(d.state.Principal, a.leased.valid(now), a.waiting)
	d.state.Principal = b.after(d.state.Principal, d.all)
	for le := range a.waitingLeases {
		d.lend(le)
	}
	return d
}

// lend leases calls for one agent, unless MaxAgents agents have a debt already.
func (d *draft) lend(le *lease) {
	b, agents := d.account.rate.agent, d.state.Agents
	debt, known := agents[le.digest]
	if !known && len(agents) >= MaxAgents {
		return
	}
	n := b.lend(debt, le.leased.valid(d.now), le.waiting)
	if n > 0 {
		agents[le.digest] = b.after(debt, n)
		d.agents[le] = n
	}
}

// commit writes a draft and hands out the leased calls. won is false if another instance had
// changed the item: nothing is leased, but the new item is known. After an error it is unknown
// whether the draft was written: nothing is handed out, and calls that may have been taken are
// lost.
func (l *Limiter) commit(ctx context.Context, tab table.Table, d *draft) (won bool, err error) {
	a := d.account
	it, err := d.state.encode(a.name, d.now)
	if err != nil {
		return false, err
	}
	op := table.Create(it)
	if a.seen.item.Data != nil { // only the holder of the turn changes seen
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
	d.applyWritten(it)
	return true, nil
}

// applyWritten hands out the leased calls of a draft that was written.
func (d *draft) applyWritten(it table.Item) {
	a := d.account
	a.seen = knownItem{d.state, it}
	a.tally.calls -= d.counted.calls
	a.leased = a.leased.plus(d.all, d.now)
	for le, n := range d.agents {
		le.leased = le.leased.plus(n, d.now)
	}
}

// A knownItem is the last known content of an item.
type knownItem struct {
	state
	item table.Item // as stored; Data is nil if there is no item, or none is known
}

// look takes over the item from a conflict. If the item does not exist, the known state of the
// buckets is kept.
func (a *account) look(c *table.Conflict, now time.Time) {
	a.seen.item = table.Item{}
	if c.Found {
		a.seen = knownItem{readState(c.Item.Data, a.rate, now), c.Item}
	}
}

// pause waits a short random time before a write is retried. It does not wait after the first
// conflict.
func pause(ctx context.Context, lost int) {
	if lost == 0 {
		return // usually our copy of the item was just old
	}
	t := time.NewTimer(rand.N(time.Millisecond << min(lost, 5)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
