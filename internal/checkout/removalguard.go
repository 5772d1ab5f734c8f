package checkout

import (
	"context"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
)

// guard moves edits that remove too much from b.found to b.held. A change by git, such as a
// checkout of another branch, is never held, unless it contains edits that need confirmation
// already. accepted reports that the held batch is accepted.
func (b *batch) guard(accepted bool) {
	if b.git && !accepted && !slices.ContainsFunc(b.found, func(f *found) bool { return f.Kept }) {
		return
	}
	b.found, b.held = intake.Guard(b.found, accepted, b.removesTooMuch)
}

// removesTooMuch reports whether edits remove more than the guard allows. If no call asked for the
// ingest, removals shortly before count too: a program that removes one file after the other would
// otherwise be below the limit in every batch.
func (b *batch) removesTooMuch(all []*found) bool {
	n, first := intake.Away(all)
	if n > 0 && b.background {
		n += b.streakCount(first)
	}
	return intake.TooMany(n, b.total)
}

// A streak is a series of removals that follow each other closely. The guard counts them as one,
// because a large change may come in parts.
type streak struct {
	count int
	last  time.Time
}

// streakCount returns the number of removals in the streak that goes on at a time; 0 if that streak
// is over.
func (b *batch) streakCount(at time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at.Sub(b.pending.streak.last) > b.span(debounce) {
		return 0
	}
	return b.pending.streak.count
}

// extendStreak adds the removals of the batch to the streak. A decision about the held batch starts
// a new streak.
func (b *batch) extendStreak(p Pending) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.pending.streak
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
		if f.At.Sub(s.last) > b.span(debounce) {
			s.count = 0
		}
		s.count, s.last = s.count+1, later(s.last, f.At)
	}
}

// guardRemovals records the edits that need confirmation, in place of those before. It ignores
// edits that have disappeared meanwhile. The caller holds mu.
func (c *Checkout) guardRemovals(all []*found) {
	o := &c.pending
	for _, e := range o.edits {
		e.held = false
	}
	all = slices.DeleteFunc(slices.Clone(all), func(f *found) bool { return o.edits[f.Path] == nil })
	for _, f := range all {
		o.edits[f.Path].held = true
	}
	o.held, o.dirty = c.heldOf(all), true
}

// holdMore records edits that need confirmation, in addition to the held batch, and adds their
// numbers to its description. It ignores edits that have disappeared meanwhile. It is for ingests
// of a part of the edits, which do not know the rest of the held batch. The caller holds mu.
func (c *Checkout) holdMore(all []*found) {
	o := &c.pending
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
	o.held, o.dirty = now, true
}

// heldOf returns the description of edits that need confirmation; nil if there are none. Since and
// Version are those of the first edits of the held batch, so that a caller who decides can see from
// when they are. The description names only the first paths, but counts all. The caller holds mu.
func (c *Checkout) heldOf(all []*found) *repo.Held {
	if len(all) == 0 {
		return nil
	}
	held := intake.HeldOf(all)
	held.Since, held.Version = c.now().UTC(), c.at.Version()
	if c.pending.held != nil {
		held.Since, held.Version = c.pending.held.Since, c.pending.held.Version
	}
	held.Paths, held.Going = c.pending.first(held.Paths), c.pending.first(held.Going)
	return &held
}

// removals contains the outside removals that commits after the cursor ingested: the new path of
// each file by its old path; empty if it was not moved.
type removals map[string]string

// removals returns the removals of commits that were applied and are not in the files yet. A path
// that a later commit uses again is not among them. The caller holds mu.
func (c *Checkout) removals() removals {
	all := removals{}
	for _, e := range c.inbox.entries {
		if e.commit.Seq <= c.written {
			continue
		}
		for _, n := range e.commit.Notes {
			delete(all, n.Path)
			if n.Deleted && e.commit.Tool == reindex {
				all[n.Path] = ""
			}
		}
		for _, n := range e.commit.Notes {
			if _, gone := all[n.From]; gone && !n.Deleted {
				all[n.From] = n.Path
			}
		}
	}
	return all
}

// isFinal reports whether a file was removed outside, and its note is not at another path of the
// index either. Then the commit removed nothing from the folder, so a file that exists has the only
// text of the note, except for the history.
func (r removals) isFinal(path string, at *index.Index) bool {
	to, removed := r[path]
	for next := to; removed && next != ""; next = r[next] {
		to = next
	}
	_, lives := at.File(to)
	return removed && !lives
}

// gitFiles are the files that git writes when it changes files of a repository: HEAD contains the
// branch, and index the list of its files.
var gitFiles = []string{".git/HEAD", ".git/index"}

// Bounds of the time at which git writes its own files, which it does last: at most gitAhead before
// the first removal, because of the precision of file times, and at most gitBehind after the last
// one. A commit or a fetch at another time, which also writes these files, does not make a removal
// one of git.
const (
	gitAhead  = 250 * time.Millisecond
	gitBehind = 5 * time.Second
)

// fromGit reports whether git made the edits of a batch that removes much: git wrote its own files
// at the same time, and the batch looks like a change to another state, with new or changed notes
// besides the removed ones. If HEAD changed, the batch may consist of removals only. If only the
// index did, as after a stash or a reset, a batch of removals only needs confirmation.
func (b *batch) fromGit(ctx context.Context) bool {
	n, _ := intake.Away(b.found)
	if !intake.TooMany(n, b.total) {
		return false
	}
	first, last := b.removedWithin(ctx)
	for _, name := range gitFiles {
		o, err := b.files.Look(ctx, name)
		if err != nil {
			continue
		}
		at := changedAt(o.Changed)
		if at.Before(first.Add(-gitAhead)) || at.After(last.Add(gitBehind)) {
			continue
		}
		if name == gitFiles[0] || n < len(b.found) {
			return true
		}
	}
	return false
}

// removedWithin returns the times of the first and the last removal of the batch. A removal is
// noticed later than it is made, so the last change of the folder that contained the file counts if
// that is earlier.
func (b *batch) removedWithin(ctx context.Context) (first, last time.Time) {
	for _, f := range b.found {
		if !f.TakesAway() {
			continue
		}
		at := f.At
		if f.Gone() {
			if touched, err := b.files.Touched(ctx, f.Path); err == nil && changedAt(touched).Before(at) {
				at = changedAt(touched)
			}
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		last = later(last, at)
	}
	return first, last
}
