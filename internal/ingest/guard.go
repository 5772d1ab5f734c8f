package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// streakLife is the time after a removal within which another one counts with it for the guard,
// because a large change may come in parts.
const streakLife = time.Minute

// A streak is a series of removals that follow each other closely. It is stored as an item that
// expires, because the parts of one large change can arrive in several batches.
type streak struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// guard moves edits that remove too much, counted with removals shortly before, from b.found to
// b.held. Held edits are not ingested until a caller accepts them: a large removal is often an
// accident, such as a folder that was synchronized while it was empty. For a call of Reindex,
// earlier removals do not count.
func (b *batch) guard(ctx context.Context) error {
	earlier := 0
	if n, _ := intake.Away(b.found); n > 0 && !b.asked {
		s, err := b.streak(ctx)
		if err != nil {
			return err
		}
		earlier = s.Count
	}
	// Too much is a share of the notes of the vault; see intake.TooMany.
	notes := b.idx.Totals().Notes
	b.found, b.held = intake.Guard(b.found, b.decision == checkout.Accept, func(all []*intake.Found) bool {
		n, _ := intake.Away(all)
		return n > 0 && intake.TooMany(n+earlier, notes)
	})
	return nil
}

// streak returns the present streak; the zero value if there is none.
func (b *batch) streak(ctx context.Context) (s streak, err error) {
	it, err := b.Table.Get(ctx, b.key(streakKey))
	if errors.Is(err, table.ErrNotFound) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(it.Data, &s)
	}
	if err != nil {
		return s, readError(err)
	}
	if b.Now().Sub(s.Last) > streakLife {
		return streak{}, nil
	}
	return s, nil
}

// track adds the removals of the batch to the streak, ingested or held, but not those of the held
// batch, which were counted when they were held. A decision about the held batch ends the streak.
//
// Without removals and without a decision it changes nothing. The item expires streakLife after the
// last removal, which ends the streak.
func (b *batch) track(ctx context.Context) error {
	if b.decision != "" {
		return b.remove(ctx, []string{streakKey})
	}
	n := 0
	for _, f := range slices.Concat(b.found, b.held) {
		if f.TakesAway() && !f.Kept {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	s, err := b.streak(ctx)
	if err != nil {
		return err
	}
	now := b.Now().UTC()
	data, err := json.Marshal(streak{Count: s.Count + n, Last: now})
	if err != nil {
		return err
	}
	it := table.Item{Key: b.key(streakKey), Data: data, Expires: now.Add(streakLife)}
	if err := b.Table.Commit(ctx, table.Set(it)); err != nil {
		return writeError(err)
	}
	return nil
}

// heldForControl returns the description of edits that need confirmation for the control item c; nil if
// there are none. If the batch did not examine the whole held batch, the counts of the two are
// added. Since and Version are those of the first edit that was held.
func (b *batch) heldForControl(c repo.Control) *repo.Held {
	if len(b.held) == 0 && !b.whole {
		return c.Held
	}
	if len(b.held) == 0 {
		return nil
	}
	now := intake.HeldOf(b.held)
	now.Since, now.Version = b.Now().UTC(), b.idx.Version()
	// The confirmation is for the batch as a caller saw it first, so its time and version stay when
	// edits are added.
	if before := c.Held; before != nil {
		now.Since, now.Version = before.Since, before.Version
		if !b.whole {
			now.Removed += before.Removed
			now.Reverted += before.Reverted
			now.Changed += before.Changed
			now.Moved += before.Moved
			now.Created += before.Created
			now.Paths = append(now.Paths, before.Paths...)
		}
	}
	slices.Sort(now.Paths)
	now.Paths = now.Paths[:min(len(now.Paths), b.Vault.Vault.MaxNamed())]
	return &now
}

// keptOf returns those edits that were in the held batch before, in a new slice.
func (b *batch) keptOf(all []*intake.Found) []*intake.Found {
	return slices.DeleteFunc(slices.Clone(all), func(f *intake.Found) bool { return !f.Kept })
}

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
