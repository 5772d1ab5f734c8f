package checkout

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/intake"
)

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
