package ingest

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/repo"
)

// Forget removes a file from the held batch and from the skipped files: neither items nor the
// control item name it afterwards. The file itself stays. A change of it, or a sweep, finds it
// again. It is part of erasing the history of a note, whose path must not remain anywhere.
func (v Vault) Forget(ctx context.Context, path string) error {
	if err := v.remove(ctx, []string{heldPrefix + path, leftPrefix + path}); err != nil {
		return err
	}
	seen, err := v.Vault.Control(ctx)
	if err != nil || seen.Held.Count() == 0 && seen.Left == nil {
		return err
	}
	held, err := v.heldEdits(ctx)
	if err != nil {
		return err
	}
	left, err := v.skippedForControl(ctx)
	if err != nil {
		return err
	}
	return v.Vault.Change(ctx, func(c *repo.Control) bool {
		was := *c
		if c.Left = left; c.Held != nil {
			c.Held = without(c.Held, path)
		}
		if len(held) == 0 && c.Held.Count() == seen.Held.Count() {
			c.Held = nil
		}
		return c.Held != was.Held || !sameLeft(was.Left, left)
	})
}

// without returns the description of a held batch without the path of a file. h is not changed. The
// counts stay: they are not known by path.
func without(h *repo.Held, path string) *repo.Held {
	i := slices.Index(h.Paths, path)
	if i < 0 {
		return h
	}
	now := *h
	now.Paths = slices.Delete(slices.Clone(h.Paths), i, i+1)
	return &now
}
