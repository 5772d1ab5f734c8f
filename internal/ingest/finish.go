package ingest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
)

// finish restores the files that must stay, stores the held edits and the skipped files, and
// removes the items of the edits. Each step may be repeated; the items of the edits are removed
// last. Edits that were noticed while the batch was closed have items of their own, so finish looks
// for them once more and sets again.
func (b *batch) finish(ctx context.Context) error {
	if err := b.restore(ctx, b.rewrite); err != nil {
		return err
	}
	held := map[string]bool{}
	for _, f := range b.held {
		held[f.Path] = true
	}
	if err := b.keep(ctx, held); err != nil {
		return err
	}
	stays, err := b.change(ctx)
	if err != nil {
		return err
	}
	if err := b.forget(ctx); err != nil || stays {
		return err
	}
	since, err := b.noticed(ctx)
	if err == nil && len(since) > 0 {
		b.again = quiet
	}
	return err
}

// keep writes the items of held edits and of skipped files, and removes obsolete ones. It runs
// before the control item changes, so that a repeated call finds the rest of the work. held
// contains the paths that are held now.
func (b *batch) keep(ctx context.Context, held map[string]bool) error {
	err := forEach(slices.Sorted(maps.Keys(held)), func(path string) error {
		if b.edits[path].held {
			return nil // the item exists
		}
		return b.set(ctx, heldPrefix+path, b.edits[path].noticedItem)
	})
	if err != nil {
		return err
	}
	err = forEach(slices.Sorted(maps.Keys(b.skipped)), func(path string) error {
		return b.set(ctx, leftPrefix+path, b.skipped[path])
	})
	if err != nil {
		return err
	}
	var over []string
	for path, e := range b.edits {
		if _, still := b.skipped[path]; !still && b.control.Left != nil {
			over = append(over, leftPrefix+path)
		}
		if e.held && !held[path] {
			over = append(over, heldPrefix+path)
		}
	}
	slices.Sort(over)
	return b.remove(ctx, over)
}

// change writes the result of the batch to the control item: the held batch, the skipped files and
// the waiting edits. It reports whether noticed edits still wait. The control item has counts and
// the first paths only; the items have all. It is not written if nothing in it changes.
func (b *batch) change(ctx context.Context) (stays bool, err error) {
	now := b.control.Left
	if len(b.skipped) > 0 || now != nil && len(b.edits) > 0 {
		if now, err = b.skippedForControl(ctx); err != nil {
			return false, err
		}
	}
	noticed := b.noticedForControl()
	err = b.Vault.Vault.Change(ctx, func(c *repo.Control) bool {
		was := *c
		c.Held, c.Left, c.Noticed = b.heldForControl(was), now, noticed
		// The time of the newest waiting edit is not worth a write of its own.
		if c.Noticed != nil && was.Noticed != nil && was.Noticed.Count == noticed.Count {
			c.Noticed = was.Noticed
		}
		if b.done.Held = c.Held; len(b.held) == 0 && !b.whole {
			return c.Noticed != was.Noticed || !sameLeft(was.Left, now)
		}
		return true
	})
	return noticed != nil, err
}

// noticedForControl returns the waiting edits for the control item; nil if there are none. Only the first
// paths in sorted order are named.
func (b *batch) noticedForControl() *repo.Noticed {
	if len(b.waits) == 0 {
		return nil
	}
	n := &repo.Noticed{Count: len(b.waits)}
	for _, e := range b.waits {
		if e.At.After(n.At) {
			n.At = e.At
		}
		n.Paths = append(n.Paths, e.path)
	}
	slices.Sort(n.Paths)
	n.Paths = n.Paths[:min(len(n.Paths), b.Vault.Vault.MaxNamed())]
	return n
}

// skippedForControl returns the skipped files for the control item; nil if there are none. It reads all items
// of skipped files, because other processes can have added some.
func (v Vault) skippedForControl(ctx context.Context) (*repo.Left, error) {
	lefts, err := v.skippedFiles(ctx)
	if err != nil || len(lefts) == 0 {
		return nil, err
	}
	now := &repo.Left{Count: len(lefts)}
	for _, f := range lefts {
		now.Files = append(now.Files, f.LeftFile)
		if f.Why == repo.LeftTwin {
			now.Twins++
		}
	}
	slices.SortFunc(now.Files, func(x, y repo.LeftFile) int { return strings.Compare(x.Path, y.Path) })
	now.Files = now.Files[:min(len(now.Files), v.Vault.MaxNamed())]
	return now, nil
}

// sameLeft reports whether two lists of skipped files are the same.
func sameLeft(a, b *repo.Left) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && slices.Equal(a.Files, b.Files)
}

// forget removes the items of the batch's edits. Items that were written for the same files
// meanwhile have other keys, and stay.
func (b *batch) forget(ctx context.Context) error {
	var sorts []string
	for _, e := range b.edits {
		sorts = append(sorts, e.sorts...)
	}
	slices.Sort(sorts)
	return b.remove(ctx, sorts)
}

// discard restores the files of the held batch from the log. Texts that are in no version are moved
// to the trash of the vault first, so that no text is lost. Edits that are not part of the held
// batch are postponed.
func (b *batch) discard(ctx context.Context) error {
	kept := b.keptOf(b.found)
	err := intake.InHalves(intake.Unknown(kept), func(part []*intake.Found) error {
		return intake.Bin(ctx, b.Vault.Vault, b.call(), part)
	})
	if err != nil {
		return err
	}
	for _, f := range b.found {
		if !f.Kept { // it is a separate edit
			b.postpone(b.edits[f.Path], quiet)
		}
	}
	for _, f := range kept {
		b.rewrite = append(b.rewrite, f.Path)
	}
	return b.track(ctx)
}
