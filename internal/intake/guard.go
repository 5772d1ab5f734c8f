package intake

import (
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/repo"
)

// The limits of the removal guard: it holds a batch that removes or reverts more than both of these
// (log.md §5).
const (
	guardNotes = 20
	guardShare = 10 // one part in guardShare of the notes
)

// TooMany reports whether the guard holds n removals in a vault of that many notes.
func TooMany(n, notes int) bool { return n > guardNotes && n*guardShare > notes }

// Away returns the number of edits that count as removals, and when the first of them was seen to
// change.
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

// Guard divides a batch into the edits to ingest and the edits to hold. Edits that were held before
// stay held as long as one of them counts as a removal, until they are accepted. Other edits are
// ingested, unless trips reports that they remove more than the guard allows. accepted reports that
// the held batch is accepted; new edits that trip the guard are then held.
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
	case accepted && trips(fresh): // the new removals were not shown to the user
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

// HeldOf returns the description of edits that need confirmation: the number of each kind, and all
// paths. The caller sets Since and Version.
func HeldOf(all []*Found) repo.Held {
	var held repo.Held
	for _, f := range all {
		held.Paths = append(held.Paths, f.Path)
		switch {
		case f.Moved: // its target is listed
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
