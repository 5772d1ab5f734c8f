package checkout

import (
	"slices"
	"time"

	"rookery/internal/intake"
	"rookery/internal/repo"
)

// guard holds back what would take away too much, unless git did it.
func (b *batch) guard(accepted bool) {
	if b.git && !accepted && !slices.ContainsFunc(b.found, func(f *found) bool { return f.Kept }) {
		return
	}
	b.found, b.held = intake.Guard(b.found, accepted, b.trips)
}

// trips reports whether edits take away more than the guard lets through, together with what was taken
// away shortly before.
func (b *batch) trips(all []*found) bool {
	n, first := intake.Away(all)
	if n > 0 && b.unasked {
		n += b.earlier(first)
	}
	return intake.TooMany(n, b.total)
}

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
		if f.TakesAway() && !f.Kept {
			away = append(away, f)
		}
	}
	slices.SortFunc(away, func(x, y *found) int { return x.At.Compare(y.At) })
	for _, f := range away {
		if f.At.Sub(s.last) > b.span(quiet) {
			s.count = 0
		}
		s.count, s.last = s.count+1, later(s.last, f.At)
	}
}

// hold notes which edits wait for a word. The caller holds mu.
func (c *Checkout) hold(all []*found) {
	o := &c.outside
	for _, e := range o.edits {
		e.held = false
	}
	all = slices.DeleteFunc(slices.Clone(all), func(f *found) bool { return o.edits[f.Path] == nil })
	for _, f := range all {
		o.edits[f.Path].held = true
	}
	o.held, o.news = c.heldOf(all), true
}

// holdMore notes which edits need confirmation beside those of the held batch. The caller holds mu.
func (c *Checkout) holdMore(all []*found) {
	o := &c.outside
	all = slices.DeleteFunc(slices.Clone(all), func(f *found) bool { return o.edits[f.Path] == nil })
	if len(all) == 0 {
		return
	}
	for _, f := range all {
		o.edits[f.Path].held = true
	}
	now := c.heldOf(all)
	if before := o.held; before != nil {
		now.Removed += before.Removed
		now.Reverted += before.Reverted
		now.Changed += before.Changed
		now.Moved += before.Moved
		now.Created += before.Created
		now.Paths = o.first(append(now.Paths, before.Paths...))
		now.Going = o.first(append(now.Going, before.Going...))
	}
	o.held, o.news = now, true
}

// heldOf tells of edits that wait for a word; nil if there are none. The caller holds mu.
func (c *Checkout) heldOf(all []*found) *repo.Held {
	if len(all) == 0 {
		return nil
	}
	held := intake.HeldOf(all)
	held.Since, held.Version = c.now().UTC(), c.at.Version()
	if c.outside.held != nil {
		held.Since, held.Version = c.outside.held.Since, c.outside.held.Version
	}
	held.Paths, held.Going = c.outside.first(held.Paths), c.outside.first(held.Going)
	return &held
}
