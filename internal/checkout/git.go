package checkout

import (
	"context"
	"time"

	"rookery/internal/intake"
)

// gitFiles are the files that git writes when it changes the files of a repository: HEAD names the branch, and index
// the files of it.
var gitFiles = []string{".git/HEAD", ".git/index"}

// Git writes its own files last: not before the first removal, as precisely as file systems tell, and at most
// gitBehind after the last one.
const (
	gitAhead  = 250 * time.Millisecond
	gitBehind = 5 * time.Second
)

// fromGit reports whether git changed the files of a batch that takes much away: it wrote its own files in the same
// moment, and the batch has what a change to another state has, notes that came or changed beside those that went.
// With a change of HEAD it may take away only; a stash or a reset, which change only the index, are held.
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

// removedWithin returns when the first and the last removal of the batch were made. A removal is noticed later than it
// is made, so its time is that of the last change of the folder that the file was in, where that is earlier.
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
