package checkout

import (
	"slices"

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

// trips reports whether edits take away more than the guard lets through.
func (b *batch) trips(all []*found) bool {
	n := 0
	for _, f := range all {
		if f.takesAway() {
			n++
		}
	}
	return n > guardNotes && n*guardShare > b.total
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
	held.Paths = sortedHead(held.Paths)
	return held
}
