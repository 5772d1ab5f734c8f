package checkout

import (
	"context"
	"errors"
	"maps"
	"slices"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
)

// maxNamed is how many files a sweep names.
const maxNamed = 100

// Sweep compares every file with the log, writes those that are missing if it is told to, and keeps
// what it found in the control item, where every answer can read it.
func (c *Checkout) Sweep(ctx context.Context, restore bool) (repo.Sweep, error) {
	c.sweeping.Lock()
	defer c.sweeping.Unlock()
	idx, err := c.vault.Read(ctx)
	if err != nil {
		return repo.Sweep{}, err
	}
	found := repo.Sweep{At: c.now().UTC(), Version: idx.Version()}
	c.mu.Lock()
	before := slices.Collect(maps.Keys(c.noticed.paths))
	c.mu.Unlock()
	for f := range idx.Files() {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if !isAudit(f.Path) {
			if err := c.compare(ctx, f, restore, &found); err != nil {
				return found, err
			}
		}
	}
	err = c.keepFound(ctx, &found, before)
	return found, err
}

// keepFound keeps what a sweep found in the control item. before is what was noticed before it.
func (c *Checkout) keepFound(ctx context.Context, found *repo.Sweep, before []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	noticed, err := c.swept(ctx, before, found.Edited)
	if err != nil {
		return err
	}
	found.Edited, found.Missing = head(found.Edited), head(found.Missing)
	told := noticed.told()
	err = c.vault.Change(ctx, func(control *repo.Control) bool {
		same := sameSweep(control.Sweep, found) && sameNoticed(control.Noticed, told)
		control.Sweep, control.Noticed = found, told
		return !same
	})
	if err == nil {
		c.noticed = noticed
	}
	return err
}

// sameSweep reports whether two sweeps found the same, of the same version.
func sameSweep(a, b *repo.Sweep) bool {
	return a != nil && a.Version == b.Version && a.Count == b.Count && a.Missed == b.Missed &&
		slices.Equal(a.Edited, b.Edited) && slices.Equal(a.Missing, b.Missing)
}

func head(paths []string) []string { return paths[:min(len(paths), maxNamed)] }

// compare looks at one file. A difference is looked at again with nobody writing, for the log may
// have moved on.
func (c *Checkout) compare(
	ctx context.Context, f *index.File, restore bool, found *repo.Sweep,
) error {
	if same, err := c.same(ctx, f.Path, f); err != nil || same {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return fault.NoVault(c.vault.Name)
	}
	c.collect()
	c.write(ctx)
	now, ok := c.vault.Known().File(f.Path)
	if !ok {
		return nil
	}
	same, err := c.same(ctx, f.Path, now)
	if err != nil || same {
		return err
	}
	return c.differs(ctx, now, restore, found)
}

// differs tells of a file that is not as the log says: somebody changed it, or took it away. One
// that is missing is written again, if it is to be. The caller holds mu.
func (c *Checkout) differs(
	ctx context.Context, f *index.File, restore bool, found *repo.Sweep,
) error {
	missing, err := c.free(ctx, f.Path)
	if err != nil {
		return err
	}
	if missing && restore {
		var other *blob.Found
		err := c.restore(ctx, f)
		if err == nil {
			found.Restored++
			return nil
		}
		if !errors.As(err, &other) {
			return err
		}
		missing = false // somebody was quicker, or something is in the way to it
	}
	if missing {
		found.Missed++
		found.Missing = append(found.Missing, f.Path)
		return nil
	}
	c.left(f.Path)
	found.Count++
	found.Edited = append(found.Edited, f.Path)
	return nil
}

// restore writes a file that is missing. The caller holds mu.
func (c *Checkout) restore(ctx context.Context, f *index.File) error {
	text, err := c.text(ctx, f)
	if err != nil {
		return err
	}
	if err := c.files.Exchange(ctx, f.Path, text, nil); err != nil {
		return err
	}
	c.unsaved[f.Path] = true
	c.agrees(f.Path)
	return nil
}
