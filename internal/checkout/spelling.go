package checkout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// examineTwins examines a file whose path differs from that of another file of the vault only by
// case or normalization. If only this file is in the folder, the other was renamed. If both are,
// this one is skipped, because the meaning of its name would depend on the file system. The caller
// holds mu.
func (c *Checkout) examineTwins(ctx context.Context, path, other string) error {
	names, err := c.whichExist(ctx, path, other)
	if err != nil {
		return err
	}
	switch {
	case !names[path]: // the file has the other name only
		c.recordEqual(path)
		path = other
	case names[other]:
		c.drop(path)
		c.recordSkipped(repo.LeftFile{Path: path, Why: repo.LeftTwin, Twin: other})
		return nil
	default:
		if want := c.expected(other); want != nil {
			c.recordEdit(other, edit{before: want, at: c.goneAt(ctx, other), to: path})
		}
	}
	o, err := c.look(ctx, path)
	if err != nil {
		return err
	}
	return c.compare(ctx, path, o)
}

// whichExist returns which of two names, which differ only by case or normalization, are in the
// folder. If one of them finds a file and the other does not, the file system does not fold these
// names, and the folder is not listed: that matters if all of its files were renamed. The caller
// holds mu.
func (c *Checkout) whichExist(ctx context.Context, path, other string) (map[string]bool, error) {
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

// spellings returns the names in the folder of some files, and all names that differ from them only
// by case or normalization. Each is also in its composed form, which the vault uses. The folder is
// listed, because looking up a name does not show its spelling if the file system folds case. Only
// folders that can contain one of the files are entered.
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

// examineSpellings examines new files again under their spelling in the folder, because a file
// system that folds case finds a file under any spelling. The watcher may report a file under the
// spelling of a note that was renamed. It lists the folder only if there are new files.
func (c *Checkout) examineSpellings(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var made []string
	for path, e := range c.pending.edits {
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

// examineRespelled examines the files with these names that path may have been mistaken for. The
// caller holds mu.
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

// unlisted returns the error for a folder that cannot be listed.
func unlisted(err error) error {
	if _, ok := errors.AsType[*blob.WalkError](err); ok {
		return fault.New(fault.FileError, "the folder of the vault, or a folder in it, cannot be read").
			Because(err)
	}
	return fmt.Errorf("list the folder of a vault: %w", err)
}

// vanished reports whether a file that the vault does not have is not in the folder either,
// although the folder may have another file that it finds under this name. Without it, the removal
// of note.md would remove the file Note.md of a note that was renamed. The caller holds mu.
func (c *Checkout) vanished(ctx context.Context, path string) (bool, error) {
	other, ok := c.at.Folded(path)
	if !ok || other == path {
		return false, nil
	}
	names, err := c.whichExist(ctx, path, other)
	return err == nil && !names[c.key(path)], err
}

// mayContainFiles reports whether a folder can contain files of the vault: not if its name begins
// with a dot, except for the trash and the folder of Obsidian's settings.
func mayContainFiles(folder string) bool {
	if folder+"/" == vault.Trash || folder == vault.ObsidianFolder {
		return true
	}
	return !hidden(strings.TrimPrefix(folder, vault.Trash))
}

// misspelled returns the reason to skip a file that would be a note, except for its name or its
// kind.
func misspelled(o blob.Object) repo.LeftFile {
	if o.Foreign && blob.CheckKey(o.Key) == nil {
		return repo.LeftFile{Path: o.Key, Why: repo.LeftForeign}
	}
	return repo.LeftFile{Path: o.Key, Why: repo.LeftName}
}

// key returns the name in the folder of a file of the vault. The vault composes characters (NFC),
// and a folder may have them decomposed, so the two can differ for names that are not ASCII. A new
// file is put into the existing folder, whatever its spelling. The caller holds mu.
func (c *Checkout) key(path string) string {
	if key, ok := c.pending.keys[path]; ok {
		return key
	}
	for up := parent(path); up != "" && len(c.pending.keys) > 0; up = parent(up) {
		if key, ok := c.pending.keys[up]; ok {
			return key + path[len(up):]
		}
	}
	return path
}

// recordSpelling records the spelling in the folder of a file, and of the folders that contain it.
// A file whose spelling is that of the vault is recorded too, if the characters could be
// decomposed, because there may be a folder that differs only in that. The caller holds mu.
func (c *Checkout) recordSpelling(path, key string) {
	if isASCII(path) {
		return
	}
	c.pending.keys[path] = key
	for p, k := parent(path), parent(key); p != ""; p, k = parent(p), parent(k) {
		if p == k {
			delete(c.pending.keys, p)
		} else {
			c.pending.keys[p] = k
		}
	}
}

// forget drops the spellings and the sights of files that the folder does not have any more.
func (s *sweep) forget() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	o := &s.c.pending
	maps.DeleteFunc(o.keys, func(path, _ string) bool {
		return !strings.HasSuffix(path, "/") && s.gone(path)
	})
	maps.DeleteFunc(o.seen, func(path string, _ sight) bool { return s.gone(path) })
}

// isASCII reports whether a path has only ASCII characters, so that it has one spelling but for
// case.
func isASCII(path string) bool {
	return strings.IndexFunc(path, func(r rune) bool { return r >= 0x80 }) < 0
}

// parent returns the folder of a file or folder, with a slash at its end; "" for a path in the
// root.
func parent(path string) string { return vault.Path(strings.TrimSuffix(path, "/")).Dir() }
