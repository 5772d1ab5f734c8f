package ingest

import (
	"context"
	"sort"
	"time"

	"github.com/rookeryhq/rookery/internal/repo"
)

// fileLag is how late the text of a commit may reach its file so that an edit of the file counts as
// an edit of that text. A removal sooner after the commit counts as a removal of the text before,
// so the note stays.
const fileLag = 5 * time.Second

// clockSkew is the largest difference between the clock of the bucket and that of commits. A commit
// that seems to be this much later than the change of a file may have been before it.
const clockSkew = 2 * time.Second

// date bounds the edits of the batch by the times at which the files were changed: later commits
// were not in them. Head becomes the last version at that time, and Cursor the last one that was
// certainly written to the file by then. It reads nothing if there are no later commits.
func (b *batch) date(ctx context.Context) error {
	var oldest time.Time
	for _, e := range b.edits {
		if !e.Saved.IsZero() && (oldest.IsZero() || e.Saved.Before(oldest)) {
			oldest = e.Saved
		}
	}
	oldest = oldest.Add(-fileLag)
	if b.idx.Time().Before(oldest) || len(b.edits) == 0 {
		return nil
	}
	// The commits from shortly before the oldest change on are read once for all edits, at most
	// furthest of them. If there are more, the last of these bounds a later edit, which is earlier
	// than necessary.
	from, err := b.Vault.Vault.VersionAt(ctx, oldest.Add(-time.Nanosecond))
	if err != nil {
		return err
	}
	s, err := b.Vault.Vault.CommitsAfter(ctx, from, maxLag)
	if err != nil {
		return err
	}
	for _, e := range b.edits {
		if e.Saved.IsZero() {
			continue
		}
		e.Head = min(e.Head, before(s, e.Saved.Add(clockSkew)))
		e.Cursor = min(e.Cursor, before(s, e.Saved.Add(-fileLag)))
	}
	return nil
}

// before returns the last version of a stretch that was committed before a time, or the version
// before the stretch. Commits are in the order of their times.
func before(s *repo.Stretch, at time.Time) uint64 {
	i := sort.Search(len(s.Commits), func(i int) bool { return !s.Commits[i].Time.Before(at) })
	if i == 0 {
		return s.After
	}
	return s.Commits[i-1].Seq
}
