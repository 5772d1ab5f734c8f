package checkout

import (
	"slices"
	"time"

	"rookery/internal/repo"
)

// The guard: a batch that takes away or puts back more than both of these is held (log.md §5).
const (
	guardNotes = 20
	guardShare = 10 // one part in so many of the vault
)

// guard holds back what would take away too much. What is held stays so as long as it takes anything
// away, until somebody accepts it; what was found beside it is taken in, unless it does the same.
func (b *batch) guard(accepted bool) {
	var fresh, kept []*found
	for _, f := range b.found {
		if f.kept || f.from != nil && f.from.kept {
			kept = append(kept, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	switch {
	case accepted && b.trips(fresh): // nobody has seen what these take away
		b.found, b.held = kept, fresh
		return
	case accepted:
		return
	case !slices.ContainsFunc(kept, (*found).takesAway):
		fresh, kept = b.found, nil
	}
	if b.trips(fresh) {
		b.found, b.held = nil, b.found
		return
	}
	b.found, b.held = fresh, kept
}

// trips reports whether edits take away more than the guard lets through, together with what was taken
// away shortly before.
func (b *batch) trips(all []*found) bool {
	n, first := 0, time.Time{}
	for _, f := range all {
		if f.takesAway() {
			if n == 0 || f.at.Before(first) {
				first = f.at
			}
			n++
		}
	}
	if n > 0 && b.unasked {
		n += b.earlier(first)
	}
	return tooMany(n, b.total)
}

// tooMany reports whether the guard holds so many removals, in a vault of so many notes.
func tooMany(n, notes int) bool { return n > guardNotes && n*guardShare > notes }

// A streak is a number of removals that follow each other closely. A large change may come in slices:
// the guard counts them as one.
type streak struct {
	count int
	last  time.Time
}

// earlier returns how many removals there were in the streak that goes on at a time.
func (b *batch) earlier(at time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at.Sub(b.outside.streak.last) > b.span(quiet) {
		return 0
	}
	return b.outside.streak.count
}

// track counts the removals of the batch in the streak. A decision about the held batch ends the streak
// before.
func (b *batch) track(p Pending) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.outside.streak
	if p != "" {
		*s = streak{}
	}
	var away []*found
	for _, f := range slices.Concat(b.found, b.held) {
		if f.takesAway() && !f.kept {
			away = append(away, f)
		}
	}
	slices.SortFunc(away, func(x, y *found) int { return x.at.Compare(y.at) })
	for _, f := range away {
		if f.at.Sub(s.last) > b.span(quiet) {
			s.count = 0
		}
		s.count, s.last = s.count+1, later(s.last, f.at)
	}
}

// hold notes which edits wait for a word. The caller holds mu.
func (c *Checkout) hold(all []*found) {
	o := &c.outside
	for _, e := range o.edits {
		e.held = false
	}
	all = slices.DeleteFunc(slices.Clone(all), func(f *found) bool { return o.edits[f.path] == nil })
	for _, f := range all {
		o.edits[f.path].held = true
	}
	o.held, o.news = c.heldOf(all), true
}

// holdMore notes which edits need confirmation beside those of the held batch. The caller holds mu.
func (c *Checkout) holdMore(all []*found) {
	o := &c.outside
	all = slices.DeleteFunc(slices.Clone(all), func(f *found) bool { return o.edits[f.path] == nil })
	if len(all) == 0 {
		return
	}
	for _, f := range all {
		o.edits[f.path].held = true
	}
	now := c.heldOf(all)
	if before := o.held; before != nil {
		now.Removed += before.Removed
		now.Reverted += before.Reverted
		now.Changed += before.Changed
		now.Moved += before.Moved
		now.Created += before.Created
		now.Paths = o.first(append(now.Paths, before.Paths...))
	}
	o.held, o.news = now, true
}

// heldOf tells of edits that wait for a word; nil if there are none. The caller holds mu.
func (c *Checkout) heldOf(all []*found) *repo.Held {
	if len(all) == 0 {
		return nil
	}
	held := &repo.Held{Since: c.now().UTC(), Version: c.at.Version()}
	if c.outside.held != nil {
		held.Since, held.Version = c.outside.held.Since, c.outside.held.Version
	}
	for _, f := range all {
		held.Paths = append(held.Paths, f.path)
		switch {
		case f.moved: // it is told of where it went
		case f.from != nil:
			held.Moved++
		case f.before == nil:
			held.Created++
		case f.gone():
			held.Removed++
		case f.reverts:
			held.Reverted++
		default:
			held.Changed++
		}
	}
	held.Paths = c.outside.first(held.Paths)
	return held
}
