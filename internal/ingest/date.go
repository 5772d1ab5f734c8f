package ingest

import (
	"context"
	"slices"
	"time"

	"rookery/internal/repo"
)

// fileLag is how long after a commit its text may come into a file at most for what somebody does to the file then to
// count as done to that text. To remove a file sooner counts as a removal of the text before, so that the note stays.
const fileLag = 5 * time.Second

// clockSkew is by how much the clock of the bucket and that of commits may differ.
const clockSkew = 2 * time.Second

// date bounds the edits of the batch by the times at which the files were changed: what was committed later was not in
// them. Where nothing was, that costs nothing.
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
	from, err := b.Vault.Vault.VersionAt(ctx, oldest.Add(-time.Nanosecond))
	if err != nil {
		return err
	}
	s, err := b.Vault.Vault.Behind(ctx, from, furthest)
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

// before returns the last version of a stretch that was committed before a time, or the one that the stretch begins
// behind.
func before(s *repo.Stretch, at time.Time) uint64 {
	i, _ := slices.BinarySearchFunc(s.Commits, at, func(c *repo.Commit, at time.Time) int { return c.Time.Compare(at) })
	if i == 0 {
		return s.After
	}
	return s.Commits[i-1].Seq
}
