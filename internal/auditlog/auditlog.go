// Package auditlog keeps the audit log of a vault in files beside its notes: `.raven/audit.log`, and a file for each
// month that is over. The files follow from the log of the vault (docs/design/0005-audit-log.md); a cursor in its
// control item says how far they are durable.
package auditlog

import (
	"context"
	"errors"
	"fmt"

	"rookery/internal/blob"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// Cursor is the name of the cursor in the control item, behind which the log must not be trimmed.
const Cursor = repo.AuditCursor

// Files are where the audit log is, by the paths of its files: a folder, or a bucket; see In.
type Files interface {
	blob.Bucket

	// Append and Sync are as those of a blob.Exchanger.
	Append(ctx context.Context, key string, n int64, data []byte) error
	Sync(ctx context.Context, keys ...string) error
}

// A copier is Files that can copy the first n bytes of a file into another one, without reading them. It reports whether
// it did: it need not copy what is small. A file that has fewer bytes is blob.ErrCondition.
type copier interface {
	copyTo(ctx context.Context, to, from string, n int64) (bool, error)
}

// A Log is the audit log of a vault. Its methods are called one after the other, by one process at a time.
//
// `.raven/audit.log` has the lines of the commits of one month. With the first line of a later one it is closed: what it
// has goes into a file of that month's name, and it begins with the later month.
type Log struct {
	vault      *repo.Vault
	files      Files
	cursor     repo.Cursor
	redactions redactions
}

// New returns the audit log of a vault with this control item.
func New(v *repo.Vault, files Files, control repo.Control) *Log {
	return &Log{
		vault: v, files: files, cursor: control.Cursors[Cursor],
		redactions: redactions{lacking: control.Anew || control.Erasing != nil},
	}
}

// Seq returns the last commit whose lines the files have.
func (l *Log) Seq() uint64 { return l.cursor.Seq }

// Save appends what commits add, the parts of each month durably before the next. Files that are not what the cursor
// says are made again from the log.
func (l *Log) Save(ctx context.Context, b Batch) error {
	for _, p := range b.parts {
		err := l.save(ctx, p)
		if errors.Is(err, blob.ErrCondition) {
			_, err = l.rewrite(ctx, p.seen)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// save appends one part. It is blob.ErrCondition where the file is not what the cursor says.
func (l *Log) save(ctx context.Context, p part) error {
	at := l.cursor
	switch {
	case p.seen <= at.Seq:
		return nil
	case len(p.lines) == 0:
		return l.moveTo(ctx, repo.Cursor{Seq: p.seen, Size: at.Size, Month: at.Month})
	case at.Month == "" && at.Size > 0: // from before months were closed: it may have several
		return blob.ErrCondition
	case p.month > at.Month:
		if err := l.turnMonth(ctx, p.month); err != nil {
			return err
		}
		at = l.cursor
	}
	if err := l.files.Append(ctx, vault.AuditLog, at.Size, p.lines); err != nil {
		return err
	}
	at.Seq, at.Size = p.seen, at.Size+int64(len(p.lines))
	return l.moveTo(ctx, at)
}

// turnMonth closes the file, if it has something, and begins it with a later month. What it has is durable under the
// other name before the cursor says that nothing of it counts any more, and it is cut off by the next line.
func (l *Log) turnMonth(ctx context.Context, month string) error {
	at := l.cursor
	if at.Size > 0 {
		if err := l.close(ctx, at); err != nil {
			return err
		}
	}
	return l.moveTo(ctx, repo.Cursor{Seq: at.Seq, Month: month})
}

// close makes what the file has of a month durable under the month's name.
func (l *Log) close(ctx context.Context, at repo.Cursor) error {
	if c, ok := l.files.(copier); ok {
		copied, err := c.copyTo(ctx, vault.ClosedAudit(at.Month), vault.AuditLog, at.Size)
		if copied || err != nil {
			return err
		}
	}
	text, _, err := l.files.Get(ctx, vault.AuditLog, 0, at.Size)
	if err := readAll(len(text), at.Size, err); err != nil {
		return err
	}
	closing := archive{vault: l.vault, files: l.files}
	return closing.put(ctx, vault.ClosedAudit(at.Month), text)
}

// readAll returns the error of a read of the audit log that must have so many bytes: blob.ErrCondition if there are
// fewer.
func readAll(n int, want int64, err error) error {
	switch {
	case errors.Is(err, blob.ErrNotExist), err == nil && int64(n) < want:
		return blob.ErrCondition
	case err != nil:
		return fmt.Errorf("read the audit log: %w", err)
	}
	return nil
}

// moveTo makes the audit log durable up to a cursor.
func (l *Log) moveTo(ctx context.Context, to repo.Cursor) error {
	if to.Size > 0 {
		if err := l.files.Sync(ctx, vault.AuditLog); err != nil {
			return err
		}
	}
	if err := l.vault.Advance(ctx, Cursor, to); err != nil {
		return err
	}
	l.cursor = to
	return nil
}

// rewrite makes all files again from the log, up to a commit: somebody cut the open one, or took it away, or it is of a
// release that closed none. Each file is replaced as a whole, the closed ones first, and the open one only when the
// cursor is in its month: what a crash leaves is right as far as the cursor says, or it is made again. It returns the
// months of the closed ones.
func (l *Log) rewrite(ctx context.Context, upTo uint64) (closed []string, err error) {
	at, all := l.cursor, archive{vault: l.vault, files: l.files}
	open, err := all.close(ctx, upTo, at.Month)
	if err != nil {
		return nil, err
	}
	if at.Month != "" && at.Month < open.Month {
		if err := l.moveTo(ctx, repo.Cursor{Seq: at.Seq, Month: open.Month}); err != nil {
			return nil, err
		}
	}
	if err := all.open(ctx, open); err != nil {
		return nil, err
	}
	to := repo.Cursor{Seq: upTo, Size: int64(len(open.Lines)), Month: open.Month}
	return all.made, l.moveTo(ctx, to)
}

// Replace makes all files again from the log, up to a commit, and removes closed months which tell nothing that the log
// does not tell. An audit log without lines is left as it is.
func Replace(ctx context.Context, v *repo.Vault, files Files, upTo uint64) error {
	all := archive{vault: v, files: files}
	open, err := all.close(ctx, upTo, "")
	if err != nil || open.Month == "" {
		return err
	}
	if err := all.tidy(ctx); err != nil {
		return fmt.Errorf("tidy the closed audit logs: %w", err)
	}
	if err := all.open(ctx, open); err != nil {
		return err
	}
	return v.Advance(ctx, Cursor, repo.Cursor{Seq: upTo, Size: int64(len(open.Lines)), Month: open.Month})
}
