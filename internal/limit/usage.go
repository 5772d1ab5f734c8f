package limit

import (
	"context"
	"strings"
)

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
