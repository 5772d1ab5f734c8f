package checkout

import (
	"context"
	"errors"
	"fmt"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// AuditFile is the audit log as it stands in the folder now. What is not there is empty; a link or a
// folder in the place of a file is FILE_ERROR.
func (c *Checkout) AuditFile(ctx context.Context) (*repo.AuditFile, error) {
	if c.vault.AuditStale() {
		c.Save(ctx)
	}
	return ReadAudit(ctx, c.vault, c.files)
}

// ReadAudit reads the audit log of a vault from the folder of its notes. Closed months are read when
// somebody asks for them. It is nil while the files hold lines of a history that was erased, and are to
// be made anew.
func ReadAudit(
	ctx context.Context, v *repo.Vault, files blob.Bucket,
) (*repo.AuditFile, error) {
	control, err := v.Control(ctx)
	for err == nil {
		file := &repo.AuditFile{Cursor: control.Cursors[auditCursor]}
		if file.Text, err = readAudit(ctx, files, vault.AuditLog); err != nil {
			break
		}
		if control, err = v.Control(ctx); err != nil {
			break
		}
		if control.Cursors[auditCursor].Month != file.Cursor.Month {
			continue // the file that was read was closed meanwhile
		}
		if control.Anew {
			return nil, nil
		}
		file.Closed = func(ctx context.Context, month string) ([]byte, error) {
			return readAudit(ctx, files, vault.ClosedAudit(month))
		}
		file.Months, err = closedMonths(ctx, files)
		return file, err
	}
	return nil, err
}

// readAudit reads a file of an audit log. One that is not there is nil.
func readAudit(ctx context.Context, files blob.Bucket, path string) ([]byte, error) {
	text, _, err := files.Get(ctx, path, 0, -1)
	switch {
	case errors.Is(err, blob.ErrForeign):
		return nil, fault.New(fault.FileError, "%s is no plain file", path).
			At(path, 0).Fix("move it away: the next change writes it anew from the log")
	case errors.Is(err, blob.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, unreadable(path, err)
	}
	return text, nil
}

// closedMonths are the months whose closed audit logs are there, oldest first.
func closedMonths(ctx context.Context, files blob.Bucket) ([]string, error) {
	var months []string
	for o, err := range files.List(ctx, vault.ClosedAudits) {
		if err != nil {
			return nil, fmt.Errorf("list the closed audit logs: %w", err)
		}
		if month := vault.Path(o.Key).ClosedMonth(); month != "" {
			months = append(months, month)
		}
	}
	return months, nil
}

// isAudit reports whether a path is that of a file of the audit log.
func isAudit(path string) bool { return vault.Path(path).Kind() == vault.KindAudit }
