package checkout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A ClearResult is the effect of an erasure on the folder of a vault.
type ClearResult struct {
	Files int   // number of files that were removed
	Bytes int64 // bytes of removed files and of kept contents
	Left  int   // number of files that no version of the vault had, which stay
}

// Erase destroys the files of a sealed vault: every file whose path a version of the vault had,
// even with an outside edit, because it would become an edit of the next vault with the name; the
// audit log; and earlier contents that the folder keeps. Checkouts of the vault must have ended.
// Erase may be repeated.
func Erase(ctx context.Context, v *repo.Vault, files Files) (ClearResult, error) {
	its, err := listVaultFiles(ctx, v, files)
	done := ClearResult{Left: its.others}
	if err != nil {
		return done, err
	}
	var keys []string
	for _, o := range its.files {
		keys = append(keys, o.Key)
	}
	done.Files, err = blob.DeleteAll(ctx, files, keys...)
	for _, o := range its.files[:done.Files] {
		done.Bytes += o.Size
	}
	if err != nil {
		return done, fmt.Errorf("erase a file of a vault: %w", err)
	}
	if err := its.syncRemovals(ctx, files); err != nil {
		return done, err
	}
	kept, err := blob.EraseKept(ctx, files, "")
	done.Bytes += kept.Bytes
	if err != nil {
		return done, fmt.Errorf("erase what a folder keeps: %w", err)
	}
	return done, nil
}

// WouldErase returns the effect of Erase on the files of a vault, which need not be sealed. It
// changes nothing. Earlier contents that the folder keeps are not counted.
func WouldErase(ctx context.Context, v *repo.Vault, files Files) (ClearResult, error) {
	its, err := listVaultFiles(ctx, v, files)
	would := ClearResult{Files: len(its.files), Left: its.others}
	for _, o := range its.files {
		would.Bytes += o.Size
	}
	return would, err
}

// A vaultFiles is the set of files in a folder that belong to a vault, found by path: a file
// belongs to the vault if any version had a file at its path, whatever its text is now.
type vaultFiles struct {
	files  []blob.Object   // files that exist
	paths  map[string]bool // of all files that any version had
	others int             // number of other files
}

// listVaultFiles lists the folder of a vault, and separates its files from others. Files of the
// audit log always count as its own.
func listVaultFiles(ctx context.Context, v *repo.Vault, files Files) (vaultFiles, error) {
	paths, err := everyPath(ctx, v)
	its := vaultFiles{paths: paths}
	if err != nil {
		return its, err
	}
	for o, err := range files.List(ctx, "") {
		if err != nil {
			return its, fmt.Errorf("list the folder of a vault: %w", err)
		}
		if paths[o.Key] || isAudit(o.Key) {
			its.files = append(its.files, o)
		} else {
			its.others++
		}
	}
	return its, nil
}

// syncRemovals makes earlier removals durable: a process that was killed may have removed files,
// even all of a folder, without syncing that. It syncs one file of each folder that the caller has
// not synced, because a sync of a missing file syncs its folder.
func (p vaultFiles) syncRemovals(ctx context.Context, files Files) error {
	synced := map[string]bool{}
	for _, o := range p.files {
		synced[path.Dir(o.Key)] = true
	}
	for _, key := range append(slices.Sorted(maps.Keys(p.paths)), vault.AuditLog) {
		dir := path.Dir(key)
		if synced[dir] {
			continue
		}
		err := files.Sync(ctx, key)
		if errors.Is(err, blob.ErrKey) {
			continue // this folder never had a file with this name
		}
		if err != nil {
			return fmt.Errorf("sync the folder of a vault: %w", err)
		}
		synced[dir] = true
	}
	return nil
}

// everyPath returns the paths of all files that any version of a vault had. It reads the whole log.
// If the log is damaged, it returns those of the commits before the damage, because an erasure must
// be possible also then; files that only later commits had stay in the folder and are counted as
// other files.
func everyPath(ctx context.Context, v *repo.Vault) (map[string]bool, error) {
	all := map[string]bool{}
	for c, err := range v.Commits(ctx, 1) {
		if errors.Is(err, eventlog.ErrNoLog) || fault.Is(err, fault.IndexError) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, n := range c.Notes {
			all[n.Path] = true
		}
	}
	return all, nil
}

// End closes the Checkout of a sealed vault. ended is set under mu, so a write that is under way
// finishes first, and after End no caller that still has the Checkout can write files.
func (c *Checkout) End() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.Close()
}

// Save syncs the files that were written so far, and moves the cursors. It happens every second
// without a call. Errors are logged, and the next save repeats what failed.
func (c *Checkout) Save(ctx context.Context) { c.save(ctx, 0) }

// RedactAudit removes the lines of erased histories from the audit log, if it has not been done
// yet. Any save does it too.
func (c *Checkout) RedactAudit(ctx context.Context) error {
	defer c.lockSaving()()
	if c.opt.ReadOnly || !c.vault.AuditStale() {
		return nil
	}
	return c.audit.Redact(ctx)
}

// ForgetFile erases the earlier contents that the folder keeps of a file and of its copies in the
// trash, and the record of seen files. path is the file whose history was erased.
func (c *Checkout) ForgetFile(ctx context.Context, path vault.Path) error {
	defer c.lockSaving()()
	for _, prefix := range []string{string(path), vault.Trash + strings.TrimSuffix(string(path), ".md")} {
		if _, err := blob.EraseKept(ctx, c.files, prefix); err != nil {
			return fmt.Errorf("erase what a folder keeps: %w", err)
		}
	}
	return c.forgetSeen(ctx)
}

// Clear removes the files of a vault that is gone for good, and its audit log, so that the next
// vault with the name gets an empty folder. A file is removed only if it has the text of the log.
// Clear returns the paths of files with outside edits, which it keeps. The Checkout must be closed.
// Clear may be repeated: a file that is already gone counts as removed, so that its removal is
// synced.
func (c *Checkout) Clear(ctx context.Context) (kept []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var removed []string
	for f := range c.vault.Known().Files() {
		if isAudit(f.Path) {
			continue
		}
		text, err := c.text(ctx, f)
		if err != nil {
			return nil, err
		}
		err = c.files.Remove(ctx, f.Path, text)
		var found *blob.Found
		switch {
		case errors.As(err, &found) && !found.Absent:
			kept = append(kept, f.Path)
		case found == nil && err != nil:
			return nil, err
		default:
			removed = append(removed, f.Path)
		}
	}
	left, err := c.clearAudit(ctx)
	return append(kept, left...), errors.Join(err, c.files.Sync(ctx, removed...))
}

// clearAudit removes the files of the audit log. It keeps files that are not plain files, and
// returns them.
func (c *Checkout) clearAudit(ctx context.Context) (kept []string, err error) {
	if err := auditlog.RemoveClosed(ctx, c.files); err != nil {
		return nil, err
	}
	err = c.files.Delete(ctx, vault.AuditLog)
	if errors.Is(err, blob.ErrForeign) {
		return []string{vault.AuditLog}, nil
	}
	return nil, err
}
