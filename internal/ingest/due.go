package ingest

import "time"

// How long what was noticed waits to be taken in.
const (
	// quiet is how long nothing must have been noticed for all of it to be one batch.
	quiet = 2 * time.Second

	// longest is how long files wait that are there, where something is noticed all the time.
	longest = 30 * time.Second

	// removalsQuiet is how long no removal must have been noticed then for removals not to wait any longer, and
	// removalsLongest how long they wait at most: half of a large removal is not to be taken in alone.
	removalsQuiet   = 10 * time.Second
	removalsLongest = 15 * time.Minute
)

// due returns which edits are to be taken in now, and if these are not all, after which time to look again.
func due(all []*edit, now time.Time) (take []*edit, again time.Duration) {
	if len(all) == 0 {
		return nil, 0
	}
	newest := quiet
	removals := waits{newest: removalsLongest}
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

// waits are how long ago the first and the newest of some removals were noticed.
type waits struct{ oldest, newest time.Duration }

func (w *waits) add(first, at time.Duration) {
	w.oldest, w.newest = max(w.oldest, first), min(w.newest, at)
}

// over reports whether removals wait no longer for others.
func (w *waits) over() bool {
	return w.oldest >= removalsLongest || w.oldest >= longest && w.newest >= removalsQuiet
}

// age is how long ago something was noticed. A time that is ahead of the clock by more than clocks differ does not
// delay anything.
func age(at, now time.Time) time.Duration {
	if at.Sub(now) > longest {
		return removalsLongest
	}
	return max(0, now.Sub(at))
}
