package checkout

import (
	"context"
	"errors"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/vault"
)

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
