package intake

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

// TooMany reports whether the guard holds so many removals, in a vault of so many notes.
func TooMany(n, notes int) bool { return n > guardNotes && n*guardShare > notes }

// Away returns how many edits take something away, and when the first of them was seen to change.
func Away(all []*Found) (n int, first time.Time) {
	for _, f := range all {
		if !f.TakesAway() {
			continue
		}
		if n == 0 || f.At.Before(first) {
			first = f.At
		}
		n++
	}
	return n, first
}

// Guard divides a batch into what is taken in and what is held. What is held stays so as long as it takes
// anything away, until somebody accepts it; what was found beside it is taken in, unless it takes away more than
// the guard lets through, which trips reports.
func Guard(all []*Found, accepted bool, trips func([]*Found) bool) (take, hold []*Found) {
	var fresh, kept []*Found
	for _, f := range all {
		if f.Kept || f.From != nil && f.From.Kept {
			kept = append(kept, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	switch {
	case accepted && trips(fresh): // nobody has seen what these take away
		return kept, fresh
	case accepted:
		return all, nil
	case !slices.ContainsFunc(kept, (*Found).TakesAway):
		fresh, kept = all, nil
	}
	if trips(fresh) {
		return nil, all
	}
	return fresh, kept
}

// HeldOf returns what is told of edits that are held: how many of each kind, and all their paths. Since and
// Version are the caller's.
func HeldOf(all []*Found) repo.Held {
	var held repo.Held
	for _, f := range all {
		held.Paths = append(held.Paths, f.Path)
		switch {
		case f.Moved: // it is told of where it went
		case f.From != nil:
			held.Moved++
		case f.Before == nil:
			held.Created++
		case f.Gone():
			held.Removed++
			held.Going = append(held.Going, f.Path)
		case f.Reverts:
			held.Reverted++
			held.Going = append(held.Going, f.Path)
		default:
			held.Changed++
		}
	}
	return held
}
