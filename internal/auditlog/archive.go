package auditlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An archive writes the files of an audit log again from the log of the vault. Files that are
// already correct are not written.
type archive struct {
	vault *repo.Vault
	files Files
	made  []string // months that close has written
}

// close writes the closed months up to a commit durably, and returns the month that stays open: the
// last one, or the given month if it is later, which then has no lines yet.
func (a *archive) close(ctx context.Context, upTo uint64, month string) (repo.AuditMonth, error) {
	var open repo.AuditMonth
	for next, err := range a.vault.AuditMonths(ctx, upTo) {
		if err == nil {
			err = a.closeMonth(ctx, open)
		}
		if err != nil {
			return open, err
		}
		open = next
	}
	if open.Month >= month {
		return open, nil
	}
	return repo.AuditMonth{Month: month}, a.closeMonth(ctx, open)
}

// closeMonth writes the file of a closed month. Without lines there is no file.
func (a *archive) closeMonth(ctx context.Context, m repo.AuditMonth) error {
	if len(m.Lines) == 0 {
		return nil
	}
	a.made = append(a.made, m.Month)
	return a.put(ctx, vault.ClosedAudit(m.Month), m.Lines)
}

// open writes `.raven/audit.log` durably with the lines of a month. Without lines it deletes the
// file.
func (a *archive) open(ctx context.Context, m repo.AuditMonth) error {
	if len(m.Lines) == 0 {
		return a.files.Delete(ctx, vault.AuditLog)
	}
	return a.put(ctx, vault.AuditLog, m.Lines)
}

// put writes a file durably and atomically, unless it already has this text.
func (a *archive) put(ctx context.Context, path string, text []byte) error {
	found, _, err := a.files.Get(ctx, path, 0, -1)
	if err == nil && bytes.Equal(found, text) {
		return a.files.Sync(ctx, path)
	}
	if err == nil || errors.Is(err, blob.ErrNotExist) {
		return write(ctx, a.files, path, text)
	}
	return writeError(err)
}

// write replaces a file by one with a text. If the text is empty, it deletes the file.
func write(ctx context.Context, files Files, path string, text []byte) error {
	if len(text) == 0 {
		return files.Delete(ctx, path)
	}
	_, err := files.Put(ctx, path, text, blob.Always)
	return writeError(err)
}

// writeError wraps an error of writing a file; nil stays nil.
func writeError(err error) error {
	if err != nil {
		return fmt.Errorf("write a file of the audit log: %w", err)
	}
	return nil
}

// removeStale removes closed audit logs that close did not write and whose lines are all in the log of the
// vault.
func (a *archive) removeStale(ctx context.Context) error {
	months, err := closedMonths(ctx, a.files)
	if err != nil {
		return err
	}
	months = slices.DeleteFunc(months, func(month string) bool {
		return slices.Contains(a.made, month)
	})
	logs := make([][]byte, len(months))
	for i, month := range months {
		if logs[i], err = readFile(ctx, a.files, vault.ClosedAudit(month)); err != nil {
			return err
		}
	}
	if len(months) == 0 {
		return nil
	}
	told, err := a.vault.AuditTold(ctx, logs)
	if err != nil {
		return err
	}
	return a.remove(ctx, func(month string) bool {
		i := slices.Index(months, month)
		return i < 0 || !told[i]
	})
}

// remove deletes the closed audit logs of the months for which keep returns false.
func (a *archive) remove(ctx context.Context, keep func(month string) bool) error {
	months, err := closedMonths(ctx, a.files)
	if err != nil {
		return err
	}
	for _, month := range months {
		if keep(month) {
			continue
		}
		if err := a.files.Delete(ctx, vault.ClosedAudit(month)); err != nil {
			return fmt.Errorf("remove a closed audit log: %w", err)
		}
	}
	return nil
}

// RemoveClosed deletes the closed months of an audit log.
func RemoveClosed(ctx context.Context, files Files) error {
	all := archive{files: files}
	return all.remove(ctx, func(string) bool { return false })
}
