package auditlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Read reads the audit log of a vault from the folder or bucket of its notes. A missing file is
// empty; a link or a folder in place of a file is FILE_ERROR. Closed months are read on demand.
// Read returns nil while the files may contain lines of an erased history and must be written
// again.
func Read(ctx context.Context, v *repo.Vault, files blob.Bucket) (*repo.AuditFile, error) {
	control, err := v.Control(ctx)
	for err == nil {
		file := &repo.AuditFile{Cursor: control.Cursors[Cursor]}
		if file.Text, err = readFile(ctx, files, vault.AuditLog); err != nil {
			break
		}
		if control, err = v.Control(ctx); err != nil {
			break
		}
		if control.Cursors[Cursor].Month != file.Cursor.Month {
			continue // the file was closed meanwhile
		}
		if control.Anew {
			return nil, nil
		}
		file.Closed = func(ctx context.Context, month string) ([]byte, error) {
			return readFile(ctx, files, vault.ClosedAudit(month))
		}
		file.Months, err = closedMonths(ctx, files)
		return file, err
	}
	return nil, err
}

// Whole returns the audit log in the files: the closed months, oldest first, followed by the open
// one.
func Whole(ctx context.Context, files blob.Bucket) ([]byte, error) {
	months, err := closedMonths(ctx, files)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, month := range months {
		paths = append(paths, vault.ClosedAudit(month))
	}
	var all []byte
	for _, path := range append(paths, vault.AuditLog) {
		text, err := readFile(ctx, files, path)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && all[len(all)-1] != '\n' {
			all = append(all, '\n')
		}
		all = append(all, text...)
	}
	return all, nil
}

// readFile reads a file of an audit log. It returns nil if the file does not exist.
func readFile(ctx context.Context, files blob.Bucket, path string) ([]byte, error) {
	text, _, err := files.Get(ctx, path, 0, -1)
	switch {
	case errors.Is(err, blob.ErrForeign):
		return nil, fault.New(fault.FileError, "%s is not a regular file", path).
			At(path, 0).Fix("move it away: the next change rebuilds it from the log")
	case errors.Is(err, blob.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fault.New(fault.FileError, "the file of %s cannot be read", path).Because(err)
	}
	return text, nil
}

// closedMonths returns the months of the closed audit logs, oldest first.
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
