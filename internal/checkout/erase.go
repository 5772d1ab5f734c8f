package checkout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// A Cleared says what an erasure did to the folder of a vault.
type Cleared struct {
	Files int   // that went
	Bytes int64 // in them
	Left  int   // that no version of the vault had: they are not its own
}

// Erase destroys the files of a vault that is sealed: every one whose path some version of the vault
// had, also if somebody else changed it since, for it would come back as an edit of the next vault of
// the name; the audit log; and what the folder keeps of earlier contents. Checkouts of the vault must
// have ended. To erase twice does no harm.
func Erase(ctx context.Context, v *repo.Vault, files Files) (Cleared, error) {
	its, err := itsOwn(ctx, v, files)
	done := Cleared{Left: its.others}
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
	if err := its.settle(ctx, files); err != nil {
		return done, err
	}
	kept, err := blob.EraseKept(ctx, files, "")
	done.Bytes += kept.Bytes
	if err != nil {
		return done, fmt.Errorf("erase what a folder keeps: %w", err)
	}
	return done, nil
}

// WouldErase is what Erase would do to the files of a vault, which need not be sealed. What the folder keeps of earlier
// contents is not counted.
func WouldErase(ctx context.Context, v *repo.Vault, files Files) (Cleared, error) {
	its, err := itsOwn(ctx, v, files)
	would := Cleared{Files: len(its.files), Left: its.others}
	for _, o := range its.files {
		would.Bytes += o.Size
	}
	return would, err
}

// A property is what a vault has in its folder.
type property struct {
	files  []blob.Object   // that are there
	paths  map[string]bool // of all files that any version had
	others int             // files that are not the vault's
}

// itsOwn looks through the folder of a vault.
func itsOwn(ctx context.Context, v *repo.Vault, files Files) (property, error) {
	paths, err := everyPath(ctx, v)
	its := property{paths: paths}
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

// settle makes durable that files are gone which were not there any more: a process that was killed may have removed
// them, all those of a folder, before it could sync that.
func (p property) settle(ctx context.Context, files Files) error {
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
			continue // no file here ever had this name
		}
		if err != nil {
			return fmt.Errorf("sync the folder of a vault: %w", err)
		}
		synced[dir] = true
	}
	return nil
}

// everyPath are the paths of all files that any version of a vault had. Of a log that is damaged they
// are those that can be read.
func everyPath(ctx context.Context, v *repo.Vault) (map[string]bool, error) {
	all := map[string]bool{}
	for c, err := range v.Commits(ctx, 1) {
		if errors.Is(err, repo.ErrNoLog) || fault.Is(err, fault.IndexError) {
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

// End is Close for a vault that is sealed: whoever still has the Checkout writes no file any more.
func (c *Checkout) End() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.Close()
}

// Save makes durable what was written so far, and moves the cursors behind it. It is done every second
// without being asked for. What fails is in the log, and done again.
func (c *Checkout) Save(ctx context.Context) { c.save(ctx) }

// Redact replaces the lines of the audit log that are of a history which was erased since, and takes away
// what the folder keeps of a file and of its copies in the trash.
func (c *Checkout) Redact(ctx context.Context, path vault.Path) error {
	c.saving.Lock()
	defer c.saving.Unlock()
	if c.vault.AuditStale() {
		if err := c.audit.Redact(ctx); err != nil {
			return err
		}
	}
	for _, prefix := range []string{string(path), vault.Trash + strings.TrimSuffix(string(path), ".md")} {
		if _, err := blob.EraseKept(ctx, c.files, prefix); err != nil {
			return fmt.Errorf("erase what a folder keeps: %w", err)
		}
	}
	return c.forgetSeen(ctx)
}
