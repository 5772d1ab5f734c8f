package checkout

import (
	"bytes"
	"context"
	"iter"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
)

// ingestDisplaced ingests displaced texts: they are merged as every edit is, on the base of the
// nearest earlier text. A text that the note had once, or that a power failure damaged, is dropped.
// It stops at the first error; the texts that remain are yielded again by the next call.
func (c *Checkout) ingestDisplaced(
	ctx context.Context, all iter.Seq2[blob.Displaced, error],
) error {
	for d, err := range all {
		if err != nil {
			return err
		}
		if err := c.ingestDisplacedText(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// ingestDisplacedText ingests one displaced text. It keeps a file that cannot be a note; the doctor
// reports it.
func (c *Checkout) ingestDisplacedText(ctx context.Context, d blob.Displaced) error {
	c.ingesting.Lock()
	defer c.ingesting.Unlock()
	c.mu.Lock()
	c.collect()
	c.write(ctx)
	path, p := c.placeOf(d.Key)
	before, _ := c.at.File(path)
	version := c.at.Version()
	c.mu.Unlock()
	if p != ours || d.Foreign || intake.Unfit(d.Data) != "" {
		return nil
	}
	f := &found{
		Path: path, Text: d.Data, Digest: index.DigestOf(d.Data), Before: before, Modified: d.Written,
	}
	lost, err := c.lost(ctx, f, d, version)
	if err != nil {
		return err
	}
	if lost {
		b := &batch{Checkout: c}
		if err := b.commit(ctx, []*found{f}); err != nil {
			return err
		}
		if err := c.examineNow(ctx, path); err != nil { // edits that need confirmation still do
			return err
		}
	}
	return c.files.Settle(ctx, d)
}

// lost reports whether a text is in no version of a note, and sets f.Was to the nearest earlier
// text. If the note is gone, it searches the history of the last note at the path. It first looks
// at that history, which ends early if it has the text, and reads the whole log only if it has not.
func (c *Checkout) lost(
	ctx context.Context, f *found, d blob.Displaced, version uint64,
) (bool, error) {
	from := uint64(0)
	if f.Before != nil {
		from = f.Before.Version
	} else {
		_, seq, err := c.vault.Trace(ctx, version, []string{f.Path},
			func(n *eventlog.Note) bool { return n.Path == f.Path })
		if err != nil {
			return false, err
		}
		from = seq
	}
	near, whole := intake.NearestToDisplaced(d), true
	err := c.vault.Trail(ctx, map[string]uint64{f.Path: from}, func(_ string, r repo.Revision) bool {
		whole = whole && !isPartialWrite(f.Text, r.Text)
		return near.Take(r) && whole
	})
	if f.Was = near.Was(); err != nil || near.Exact() || !whole {
		return false, err
	}
	had, err := c.everHad(ctx, f)
	return !had, err
}

// everHad reports whether a note at this path ever had a text, or one whose damaged copy it is.
// That includes notes that were deleted before the present one was created, which are not in the
// history of the latter. It reads the whole log, which is acceptable because such texts are rare.
func (c *Checkout) everHad(ctx context.Context, f *found) (bool, error) {
	for commit, err := range c.vault.Commits(ctx, 1) {
		if err != nil {
			return false, err
		}
		for _, n := range commit.Notes {
			if n.Path == f.Path && n.Text != nil &&
				(bytes.Equal(n.Text, f.Text) || isPartialWrite(f.Text, n.Text)) {
				return true, nil
			}
		}
	}
	return false, nil
}
