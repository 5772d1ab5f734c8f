package checkout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// examineTwins compares a file that has, but for case or normalization, the path of another that the
// vault has. If only this one is in the folder, the other was renamed; if both are, this one is left:
// which file a name means would depend on the file system. The caller holds mu.
func (c *Checkout) examineTwins(ctx context.Context, path, other string) error {
	names, err := c.spelled(ctx, path, other)
	if err != nil {
		return err
	}
	switch {
	case !names[path]: // it was only called so
		c.agrees(path)
		path = other
	case names[other]:
		c.drop(path)
		c.leave(repo.LeftFile{Path: path, Why: repo.LeftTwin, Twin: other})
		return nil
	default:
		if want := c.expected(other); want != nil {
			c.differs(other, edit{before: want, at: c.goneAt(ctx, other), to: path})
		}
	}
	o, err := c.look(ctx, path)
	if err != nil {
		return err
	}
	return c.compare(ctx, path, o)
}

// spelled are the names in the folder that a file has of two that differ by case or normalization only.
// Where one of them finds a file and the other does not, the file system does not fold these names, and
// the folder need not be listed: somebody may have renamed all files in it. The caller holds mu.
func (c *Checkout) spelled(ctx context.Context, path, other string) (map[string]bool, error) {
	if !isASCII(path) || !isASCII(other) { // it may be decomposed in the folder
		return c.spellings(ctx, path)
	}
	_, here := c.files.Look(ctx, c.key(path))
	_, there := c.files.Look(ctx, c.key(other))
	switch {
	case here == nil && errors.Is(there, blob.ErrNotExist):
		return map[string]bool{path: true}, nil
	case there == nil && errors.Is(here, blob.ErrNotExist):
		return map[string]bool{other: true}, nil
	}
	return c.spellings(ctx, path)
}

// spellings are the names in the folder that some files have, and all that differ from them by case or
// normalization only; also as the vault has them, which is composed. The folder is asked how it spells
// them: to be found there by a name tells nothing where the file system folds case.
func (c *Checkout) spellings(ctx context.Context, paths ...string) (map[string]bool, error) {
	folds, on := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		fold := vault.Fold(path)
		folds[fold] = true
		for up := parent(fold); up != "" && !on[up]; up = parent(up) {
			on[up] = true
		}
	}
	names := map[string]bool{}
	enter := func(folder string) bool { return on[vault.Fold(folder)+"/"] }
	for o, err := range c.files.Walk(ctx, "", enter) {
		if err != nil {
			return nil, unlisted(err)
		}
		if !o.Foreign && folds[vault.Fold(o.Key)] {
			names[o.Key], names[vault.CleanPath(o.Key)] = true, true
		}
	}
	return names, nil
}

// respell sees to it that new files are known by the names that they have: where the file system folds
// case, one is found by any name.
func (c *Checkout) respell(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var made []string
	for path, e := range c.outside.edits {
		if e.before == nil && e.mark != "" {
			made = append(made, path)
		}
	}
	if len(made) == 0 {
		return nil
	}
	names, err := c.spellings(ctx, made...)
	if err != nil {
		return err
	}
	for _, path := range made {
		if names[c.key(path)] {
			continue
		}
		c.drop(path)
		if err := c.examineRespelled(ctx, path, names); err != nil {
			return err
		}
	}
	return nil
}

// examineRespelled examines the files of some names that a file could have been taken for. The caller
// holds mu.
func (c *Checkout) examineRespelled(
	ctx context.Context, path string, names map[string]bool,
) error {
	for name := range names {
		at, p := c.placeOf(name)
		if p != ours || c.key(at) != name || vault.Fold(at) != vault.Fold(path) {
			continue
		}
		if err := c.examine(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// unlisted is the fault of a folder that cannot be listed.
func unlisted(err error) error {
	var unread *blob.WalkError
	if errors.As(err, &unread) {
		return fault.New(fault.FileError, "the folder of the vault, or a folder in it, cannot be read").
			Because(err)
	}
	return fmt.Errorf("list the folder of a vault: %w", err)
}

// vanished reports whether a file that the vault has no more is in the folder no more either, though
// the folder may have another that it takes for it. The caller holds mu.
func (c *Checkout) vanished(ctx context.Context, path string) (bool, error) {
	other, ok := c.at.Folded(path)
	if !ok || other == path {
		return false, nil
	}
	names, err := c.spelled(ctx, path, other)
	return err == nil && !names[c.key(path)], err
}

// enter says which folders have files of the vault: none whose name begins with a dot, but for the
// trash and the folder of Obsidian's settings.
func enter(folder string) bool {
	if folder+"/" == vault.Trash || folder == vault.ObsidianFolder {
		return true
	}
	return !hidden(strings.TrimPrefix(folder, vault.Trash))
}

// misspelled tells of a file that would be a note, but for its name or what it is.
func misspelled(o blob.Object) repo.LeftFile {
	if o.Foreign && blob.CheckKey(o.Key) == nil {
		return repo.LeftFile{Path: o.Key, Why: repo.LeftForeign}
	}
	return repo.LeftFile{Path: o.Key, Why: repo.LeftName}
}
