package ingest

import "time"

// Times that noticed edits wait before they are ingested.
const (
	// quiet is the time without newly noticed edits after which all of them are one batch.
	quiet = 2 * time.Second

	// longest is the longest wait of files that exist, while edits are noticed all the time.
	longest = 30 * time.Second

	// removalsQuiet is the time without a newly noticed removal after which removals are ingested
	// after all, and removalsLongest is their longest wait. They wait because one half of a large
	// removal must not be ingested alone.
	removalsQuiet   = 10 * time.Second
	removalsLongest = 15 * time.Minute
)

// due returns the edits that must be ingested now and, if these are not all, the time after which
// to look again. All are due together when no edit was noticed for a while. While edits keep
// arriving, files that exist are due after longest; removals wait until no other removal arrives,
// because one half of a large removal must not be ingested alone.
func due(all []*edit, now time.Time) (take []*edit, again time.Duration) {
	if len(all) == 0 {
		return nil, 0
	}
	newest := quiet
	removals := removalAges{newest: removalsLongest}
	for _, e := range all {
		newest = min(newest, age(e.At, now))
		if e.Gone {
			removals.add(age(e.first, now), age(e.At, now))
		}
	}
	if newest >= quiet || removals.over() {
		return all, 0
	}
	for _, e := range all {
		if !e.Gone && age(e.first, now) >= longest {
			take = append(take, e)
		}
	}
	return take, max(quiet-newest, time.Second)
}

// A removalAges contains the times since the first and since the newest of some removals were noticed.
type removalAges struct{ oldest, newest time.Duration }

// add adds the times since a removal was noticed for the first time and for the last time.
func (w *removalAges) add(first, at time.Duration) {
	w.oldest, w.newest = max(w.oldest, first), min(w.newest, at)
}

// over reports whether removals no longer wait for others: the first has waited for
// removalsLongest, or none was noticed for a while and the first has waited for longest.
func (w *removalAges) over() bool {
	return w.oldest >= removalsLongest || w.oldest >= longest && w.newest >= removalsQuiet
}

// age returns how long ago an edit was noticed; at least 0. A time far in the future, from another
// machine's clock, counts as old, so that it delays nothing.
func age(at, now time.Time) time.Duration {
	if at.Sub(now) > longest {
		return removalsLongest
	}
	return max(0, now.Sub(at))
}
