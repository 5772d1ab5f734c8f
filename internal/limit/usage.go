package limit

import (
	"context"
	"strings"
)

// Usage is how many calls of a tenant were let through, all principals together. It is near enough: an
// instance counts what it let through with its next write, so up to ten calls of each principal are not
// counted yet by others. Calls without a rate are counted too, and written once a minute; Close writes what is
// left. What an instance has not written when it is killed is not counted.
type Usage struct {
	Today, Yesterday Calls // the days are those of UTC
}

// Calls are numbers of calls.
type Calls struct {
	Mutations int64
	Reads     int64 // and changes of view state
}

// Usage counts the calls of a tenant, with one Query and what this instance has not written yet.
func (l *Limiter) Usage(ctx context.Context, tenant string) (Usage, error) {
	tab, err := l.opt.Tables(ctx, tenant)
	if err != nil {
		return Usage{}, classed(err)
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
