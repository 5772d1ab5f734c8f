// Package auditlog writes the audit log of a vault to files beside its notes: `.raven/audit.log`,
// and one file for each past month. The files are derived from the log of the vault
// (docs/design/0005-audit-log.md); a cursor in the vault's control item records how far they are
// durable.
package auditlog

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Cursor is the name of the cursor in the control item. The vault's log must not be trimmed after
// it.
const Cursor = repo.AuditCursor

// Files is the storage of an audit log, by the paths of its files: a folder, or a bucket (see InBucket).
type Files interface {
	blob.Bucket

	// Append and Sync are those of blob.Exchanger.
	Append(ctx context.Context, key string, n int64, data []byte) error
	Sync(ctx context.Context, keys ...string) error
}

// A copier is a Files that can copy the first n bytes of a file to another one without reading
// them. It returns false if it did not copy, which it may do for small files. If the file has fewer
// bytes, the error is blob.ErrCondition.
type copier interface {
	copyTo(ctx context.Context, to, from string, n int64) (bool, error)
}

// A Log is the audit log of a vault. Its methods must not be called concurrently, and only by one
// process at a time.
//
// `.raven/audit.log` contains the lines of one month's commits. When the first line of a later
// month arrives, the file is closed: its contents are written to a file with the name of that
// month, and it starts again with the later month.
type Log struct {
	vault      *repo.Vault
	files      Files
	cursor     eventlog.Cursor
	redactions redactions
}

// New returns the audit log of a vault with this control item.
func New(v *repo.Vault, files Files, control repo.Control) *Log {
	return &Log{
		vault: v, files: files, cursor: control.Cursors[Cursor],
		redactions: redactions{incomplete: control.Anew || control.Erasing != nil},
	}
}

// Seq returns the last commit whose lines are in the files.
func (l *Log) Seq() uint64 { return l.cursor.Seq }

// Save appends the lines of a batch. The lines of each month are durable before those of the next
// are written. Files that do not match the cursor are written again from the log.
func (l *Log) Save(ctx context.Context, b Batch) error {
	for p := range b.parts() {
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

// save appends one part. If the file does not match the cursor, the error is blob.ErrCondition.
func (l *Log) save(ctx context.Context, p part) error {
	at := l.cursor
	switch {
	case p.seen <= at.Seq:
		return nil
	case len(p.lines) == 0:
		return l.moveTo(ctx, eventlog.Cursor{Seq: p.seen, Size: at.Size, Month: at.Month})
	case at.Month == "" && at.Size > 0: // written before months were closed; may contain several months
		return blob.ErrCondition
	case p.month > at.Month:
		if err := l.startMonth(ctx, p.month); err != nil {
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

// startMonth closes the file, if it has lines, and starts a later month. The closed file is durable
// before the cursor says that the open one is empty; its old lines are truncated by the next
// append.
func (l *Log) startMonth(ctx context.Context, month string) error {
	at := l.cursor
	if at.Size > 0 {
		if err := l.close(ctx, at); err != nil {
			return err
		}
	}
	return l.moveTo(ctx, eventlog.Cursor{Seq: at.Seq, Month: month})
}

// close writes the lines of the open file durably to the file of its month.
func (l *Log) close(ctx context.Context, at eventlog.Cursor) error {
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

// readAll returns the error of a read of n bytes that must return `want` bytes: blob.ErrCondition
// if there are fewer.
func readAll(n int, want int64, err error) error {
	switch {
	case errors.Is(err, blob.ErrNotExist), err == nil && int64(n) < want:
		return blob.ErrCondition
	case err != nil:
		return fmt.Errorf("read the audit log: %w", err)
	}
	return nil
}

// moveTo makes the audit log durable up to a cursor, and stores the cursor.
func (l *Log) moveTo(ctx context.Context, to eventlog.Cursor) error {
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

// rewrite writes all files again from the log, up to a commit. It is needed if the open file was
// truncated or removed, or if a release that did not close months wrote it. Each file is replaced
// as a whole: first the closed ones, and the open one only when the cursor is in its month. After a
// crash the files match the cursor, or are written again. It returns the closed months.
func (l *Log) rewrite(ctx context.Context, upTo uint64) (closed []string, err error) {
	at, all := l.cursor, archive{vault: l.vault, files: l.files}
	open, err := all.close(ctx, upTo, at.Month)
	if err != nil {
		return nil, err
	}
	if at.Month != "" && at.Month < open.Month {
		if err := l.moveTo(ctx, eventlog.Cursor{Seq: at.Seq, Month: open.Month}); err != nil {
			return nil, err
		}
	}
	if err := all.open(ctx, open); err != nil {
		return nil, err
	}
	to := eventlog.Cursor{Seq: upTo, Size: int64(len(open.Lines)), Month: open.Month}
	return all.made, l.moveTo(ctx, to)
}

// Replace writes all files again from the log, up to a commit, and removes closed months whose
// lines are all in the log. If the audit log has no lines, it does nothing.
func Replace(ctx context.Context, v *repo.Vault, files Files, upTo uint64) error {
	all := archive{vault: v, files: files}
	open, err := all.close(ctx, upTo, "")
	if err != nil || open.Month == "" {
		return err
	}
	if err := all.removeStale(ctx); err != nil {
		return fmt.Errorf("tidy the closed audit logs: %w", err)
	}
	if err := all.open(ctx, open); err != nil {
		return err
	}
	return v.Advance(ctx, Cursor, eventlog.Cursor{Seq: upTo, Size: int64(len(open.Lines)), Month: open.Month})
}

// A Batch collects the commits whose lines are not in the audit log yet. It keeps what the lines are
// made of, and not the texts of notes. The lines are made by Save, so that a call that waits until the
// files of its commit are written does not wait for them too.
type Batch struct {
	seen    uint64             // last commit that was added
	commits []*eventlog.Commit // by repo.ForAudit, oldest first
	erasing []*eventlog.Commit // commits that erase histories, whose lines Redact must remove
}

// A part is the audit lines of consecutive commits of one month.
type part struct {
	month string // "": there are no lines
	seen  uint64 // last of the commits
	lines []byte
}

// NewBatch returns an empty batch for the commits after a commit.
func NewBatch(after uint64) Batch { return Batch{seen: after} }

// Add adds a commit. It ignores a commit that is not newer than those in the batch.
func (b *Batch) Add(c *eventlog.Commit) {
	if c.Seq <= b.seen {
		return
	}
	b.seen = c.Seq
	if c.Erases() > 0 {
		b.erasing = append(b.erasing, c)
	}
	b.commits = append(b.commits, repo.ForAudit(c))
}

// parts yields the lines of the commits, one part for each month.
func (b *Batch) parts() iter.Seq[part] {
	return func(yield func(part) bool) {
		var p part
		for _, c := range b.commits {
			lines, month := repo.AuditLines(c), vault.Month(c.Time)
			if len(lines) == 0 {
				month = ""
			}
			if month != "" && p.month != "" && p.month != month {
				if !yield(p) {
					return
				}
				p = part{}
			}
			p.seen, p.lines, p.month = c.Seq, append(p.lines, lines...), max(p.month, month)
		}
		if p.seen > 0 {
			yield(p)
		}
	}
}

// Take empties the batch and returns its contents.
func (b *Batch) Take() Batch {
	taken := *b
	b.commits, b.erasing = nil, nil
	return taken
}

// PutBack puts the commits of a batch that could not be saved back before the others. The erasing
// commits are not put back, because NoteErasures has recorded them.
func (b *Batch) PutBack(taken Batch) { b.commits = append(taken.commits, b.commits...) }
