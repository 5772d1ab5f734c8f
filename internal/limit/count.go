package limit

import (
	"context"
	"time"
)

// closeTimeout is the time limit of Close.
const closeTimeout = 2 * time.Second

// count counts a call without a rate. It writes at most once a minute: the first call after a
// minute writes the tally. If that fails the counts are lost, but the call is allowed.
func (l *Limiter) count(ctx context.Context, who name) {
	l.mu.Lock()
	a := l.leaseOf(caller{name: who}).account
	due := a.due(l.opt.Now())
	l.mu.Unlock()
	if due {
		l.write(ctx, a, (*account).due)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opt.Now()
	if !a.counts(now) {
		return // yesterday's tally is still being written
	}
	if a.tally.calls == 0 {
		a.since = now
	}
	a.tally.calls++
}

// due reports whether the tally must be written before more calls are added.
func (a *account) due(now time.Time) bool {
	return a.tally.calls > 0 && (a.tally.day != dayOf(now) || now.Sub(a.since) >= Window)
}

// counted reports whether there is a tally to write.
func (a *account) counted(time.Time) bool { return a.tally.calls > 0 }

// write adds the tally of an account to its item. It calls wanted when it has the turn, and does
// nothing if wanted returns false then.
func (l *Limiter) write(ctx context.Context, a *account, wanted func(*account, time.Time) bool) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return
	}
	tab, err := l.opt.Tables(ctx, a.name.tenant)
	if err == nil {
		err = l.ask(ctx, tab, a)
	}
	won := false
	for lost := 0; err == nil && !won && ctx.Err() == nil; lost++ {
		l.mu.Lock()
		now := l.opt.Now()
		if lost == 0 && !wanted(a, now) {
			l.mu.Unlock()
			return
		}
		a.since = now
		d := a.tallyDraft(now)
		l.mu.Unlock()
		if won, err = l.commit(ctx, tab, d); !won {
			pause(ctx, lost)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !won && a.tally.day != dayOf(l.opt.Now()) {
		a.tally = tally{} // otherwise no call of today could be counted
	}
}

// tallyDraft returns a draft that takes no calls and only adds the tally.
func (a *account) tallyDraft(now time.Time) *draft {
	d := &draft{account: a, now: now, agents: map[*lease]int{}, counted: a.tally}
	d.state = a.seen.advancedTo(a.time(now))
	d.state.count(a.tally, dayOf(now))
	return d
}

// Close writes the calls that were counted but not written yet. It gives up after two seconds.
func (l *Limiter) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	l.mu.Lock()
	all := l.accounts.Values()
	l.mu.Unlock()
	for _, a := range all {
		l.write(ctx, a, (*account).counted)
	}
}
