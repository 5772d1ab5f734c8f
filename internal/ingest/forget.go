package ingest

import (
	"context"
	"slices"

	"rookery/internal/repo"
)

// Forget forgets that a file is held, or could not be taken in: neither items nor the control item name it after that.
// The file itself stays; a change of it, or a sweep, notices it again.
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
	left, err := v.leftNow(ctx)
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

// without is what the control item says of a held batch when it does not name a file.
func without(h *repo.Held, path string) *repo.Held {
	i := slices.Index(h.Paths, path)
	if i < 0 {
		return h
	}
	now := *h
	now.Paths = slices.Delete(slices.Clone(h.Paths), i, i+1)
	return &now
}
