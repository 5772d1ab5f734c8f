package checkout

import (
	"context"
	"fmt"
	"strings"
	"time"

	"rookery/internal/blob"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// examineTwins compares a file that has, but for case or normalization, the path of another that the
// vault has. If only this one is in the folder, the other was renamed; if both are, this one is left:
// which file a name means would depend on the file system. The caller holds mu.
func (c *Checkout) examineTwins(ctx context.Context, path, other string) error {
	names, err := c.spellings(ctx, path)
	if err != nil {
		return err
	}
	switch {
	case !names[path]:
		c.agrees(path)
		return nil
	case names[other]:
		delete(c.outside.edits, path)
		c.leave(repo.LeftFile{Path: path, Why: repo.LeftTwin, Twin: other})
		return nil
	}
	if want := c.expected(other); want != nil {
		c.differs(other, edit{before: want, at: time.Now(), to: path})
	}
	o, err := c.look(ctx, path)
	if err != nil {
		return err
	}
	return c.compare(ctx, path, o)
}

// spellings are the names in the folder that a file has, and all that differ from it by case or
// normalization only. The folder is asked how it spells them: to be found there by a name tells nothing
// where the file system folds case.
func (c *Checkout) spellings(ctx context.Context, path string) (map[string]bool, error) {
	fold := vault.Fold(path)
	names := map[string]bool{}
	enter := func(folder string) bool { return strings.HasPrefix(fold, vault.Fold(folder)+"/") }
	for o, err := range c.files.Walk(ctx, "", enter) {
		if err != nil {
			return nil, fmt.Errorf("list the folder of a vault: %w", err)
		}
		if !o.Foreign && vault.Fold(o.Key) == fold {
			names[o.Key] = true
		}
	}
	return names, nil
}

// vanished reports whether a file that the vault has no more is in the folder no more either, though
// the folder may have another that it takes for it. The caller holds mu.
func (c *Checkout) vanished(ctx context.Context, path string) (bool, error) {
	other, ok := c.at.Folded(path)
	if !ok || other == path {
		return false, nil
	}
	names, err := c.spellings(ctx, path)
	return err == nil && !names[c.key(path)], err
}

// enter says which folders have files of the vault: none whose name begins with a dot, but for the
// trash.
func enter(folder string) bool {
	return folder+"/" == vault.Trash || !hidden(folder)
}

// misspelled tells of a file that would be a note, but for its name or what it is.
func misspelled(o blob.Object) repo.LeftFile {
	if o.Foreign {
		return repo.LeftFile{Path: o.Key, Why: repo.LeftForeign}
	}
	return repo.LeftFile{Path: o.Key, Why: repo.LeftName}
}
