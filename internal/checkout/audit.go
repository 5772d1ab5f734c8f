package checkout

import (
	"context"
	"errors"
	"fmt"

	"rookery/internal/blob"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// An audit is the state of `.raven/audit.log`: how far it is durable, and the lines that come next.
// It has the lines of the commits of one month. With the first line of a later one it is closed: what
// it has goes into a file of that month's name, and it begins anew.
type audit struct {
	cursor repo.Cursor // only save changes it
	seen   uint64      // the parts hold the commits up to here
	parts  []part

	erasing []*repo.Commit // that erase histories, whose lines redact has to replace
}

// A part is what commits of one month add to the audit log, one after the other.
type part struct {
	month string // "" while there are no lines
	seen  uint64 // the last of the commits
	lines []byte
}

// add takes the lines of a commit, unless the file has them.
func (a *audit) add(c *repo.Commit) {
	if c.Seq <= a.cursor.Seq || c.Seq <= a.seen {
		return
	}
	a.seen = c.Seq
	if c.Erases() > 0 {
		a.erasing = append(a.erasing, c)
	}
	lines, month := repo.AuditLines(c), vault.Month(c.Time)
	if len(lines) == 0 {
		month = ""
	}
	last := len(a.parts) - 1
	if last < 0 || month != "" && a.parts[last].month != "" && a.parts[last].month != month {
		a.parts = append(a.parts, part{month, c.Seq, lines})
		return
	}
	p := &a.parts[last]
	p.seen, p.lines = c.Seq, append(p.lines, lines...)
	p.month = max(p.month, month)
}

// take hands over what is to be written, and the commits that erase histories.
func (a *audit) take() ([]part, []*repo.Commit) {
	parts, erasing := a.parts, a.erasing
	a.parts, a.erasing = nil, nil
	return parts, erasing
}

// saveAudit appends what commits add, each part durably before the next.
func (c *Checkout) saveAudit(ctx context.Context, parts []part) error {
	for _, p := range parts {
		err := c.savePart(ctx, p)
		if errors.Is(err, blob.ErrCondition) {
			_, err = c.rewriteAudit(ctx, p.seen)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// savePart appends one part. It is blob.ErrCondition where the file is not what the cursor says.
func (c *Checkout) savePart(ctx context.Context, p part) error {
	at := c.audit.cursor
	switch {
	case p.seen <= at.Seq:
		return nil
	case len(p.lines) == 0:
		return c.auditTo(ctx, repo.Cursor{Seq: p.seen, Size: at.Size, Month: at.Month})
	case at.Month == "" && at.Size > 0: // from before months were closed: it may have several
		return blob.ErrCondition
	case p.month > at.Month:
		if err := c.turnMonth(ctx, p.month); err != nil {
			return err
		}
		at = c.audit.cursor
	}
	if err := c.files.Append(ctx, vault.AuditLog, at.Size, p.lines); err != nil {
		return err
	}
	at.Seq, at.Size = p.seen, at.Size+int64(len(p.lines))
	return c.auditTo(ctx, at)
}

// turnMonth closes the file, if it has something, and lets it begin anew with a later month. What it
// has is durable under the other name before the cursor says that nothing of it counts any more, and
// it is cut off by the next line.
func (c *Checkout) turnMonth(ctx context.Context, month string) error {
	at := c.audit.cursor
	if at.Size > 0 {
		text, _, err := c.files.Get(ctx, vault.AuditLog, 0, at.Size)
		switch {
		case errors.Is(err, blob.ErrNotExist), err == nil && int64(len(text)) < at.Size:
			return blob.ErrCondition
		case err != nil:
			return fmt.Errorf("read the audit log: %w", err)
		}
		anew := archive{vault: c.vault, files: c.files}
		if err := anew.put(ctx, vault.ClosedAudit(at.Month), text); err != nil {
			return err
		}
	}
	return c.auditTo(ctx, repo.Cursor{Seq: at.Seq, Month: month})
}

// auditTo makes the audit log durable up to a cursor.
func (c *Checkout) auditTo(ctx context.Context, to repo.Cursor) error {
	if to.Size > 0 {
		if err := c.files.Sync(ctx, vault.AuditLog); err != nil {
			return err
		}
	}
	if err := c.vault.Advance(ctx, auditCursor, to); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.audit.cursor = to
	return nil
}

// rewriteAudit makes all files of the audit log anew from the log, up to a commit: somebody cut the
// open one, or took it away, or it is of a release that closed none. Each file is replaced as a whole,
// the closed ones first, and the open one only when the cursor is in its month: what a crash leaves is
// right as far as the cursor says, or it is made anew again. It returns the months of the closed ones.
func (c *Checkout) rewriteAudit(ctx context.Context, upTo uint64) (closed []string, err error) {
	at, anew := c.audit.cursor, archive{vault: c.vault, files: c.files}
	open, err := anew.close(ctx, upTo, at.Month)
	if err != nil {
		return nil, err
	}
	if at.Month != "" && at.Month < open.Month {
		if err := c.auditTo(ctx, repo.Cursor{Seq: at.Seq, Month: open.Month}); err != nil {
			return nil, err
		}
	}
	if err := anew.open(ctx, open); err != nil {
		return nil, err
	}
	to := repo.Cursor{Seq: upTo, Size: int64(len(open.Lines)), Month: open.Month}
	return anew.made, c.auditTo(ctx, to)
}
