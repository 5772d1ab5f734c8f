package checkout

import (
	"bytes"
	"context"
	"slices"

	"rookery/internal/blob"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// auditFiles is what the paths of the audit log begin with.
const auditFiles = ".raven/audit"

// redactions are the lines of the audit log that erasures have to replace.
type redactions struct {
	all     []redaction
	lacking bool // there may be others, which only the log knows
}

// A redaction is what a commit erases of the audit log: the pieces as they were before.
type redaction struct {
	commit *repo.Commit
	before []repo.AuditPiece
}

// foresee notes what stands in the audit log for the histories that some commits erase. The caller holds saving, and no
// cursor has passed the commits, so nothing of them is empty yet.
func (c *Checkout) foresee(ctx context.Context, erasing []*repo.Commit) {
	for _, e := range erasing {
		before, err := c.vault.ErasedAudit(ctx, e)
		if err != nil {
			c.redactions.lacking = true
			continue
		}
		c.redactions.all = append(c.redactions.all, redaction{e, before})
	}
}

// redact takes the lines of erased histories out of the files of the audit log. They are cut out where they are, if all
// of them are known and each stands in its file once: what somebody else changed in a file stays, and is found by a
// verification. Else the files are made anew from the log. The caller holds saving.
func (c *Checkout) redact(ctx context.Context) error {
	cut, err := c.cutLines(ctx)
	if err == nil && !cut {
		err = c.redactAll(ctx)
	}
	if err != nil {
		return err
	}
	if _, err := blob.EraseKept(ctx, c.files, auditFiles); err != nil {
		return err
	}
	return c.vault.Change(ctx, func(control *repo.Control) bool {
		if control.Cursors[auditCursor].Seq == c.audit.cursor.Seq {
			control.Cursors[auditCursor] = c.audit.cursor // its file is shorter now
		}
		changed := control.Anew
		control.Anew = false
		return changed
	})
}

// redactAll makes the files of the audit log anew from the log.
func (c *Checkout) redactAll(ctx context.Context) error {
	closed, err := c.rewriteAudit(ctx, c.audit.cursor.Seq)
	if err != nil {
		return err
	}
	c.redactions = redactions{}
	all := archive{vault: c.vault, files: c.files}
	return all.remove(ctx, func(month string) bool { // a copy of the open one is no closed one yet
		return slices.Contains(closed, month) && month < c.audit.cursor.Month
	})
}

// cutLines cuts out the lines that are known. It reports false, and has changed nothing, where these are not all, or a
// file is not what it should be.
func (c *Checkout) cutLines(ctx context.Context) (bool, error) {
	if c.redactions.lacking || len(c.redactions.all) == 0 {
		return false, nil
	}
	pieces, later, err := c.duePieces(ctx)
	if err != nil {
		return false, err
	}
	texts := map[string][]byte{}
	for month, of := range pieces {
		text, ok, err := c.without(ctx, month, of)
		if err != nil || !ok {
			return false, err
		}
		texts[month] = text
	}
	if err := c.putMonths(ctx, texts); err != nil {
		return false, err
	}
	c.redactions.all = later
	return true, nil
}

// duePieces are the lines to cut out of the file of each month, and the redactions that are not due yet: nothing is
// empty of what they erase.
func (c *Checkout) duePieces(
	ctx context.Context,
) (pieces map[string][][]byte, later []redaction, err error) {
	pieces = map[string][][]byte{}
	known := map[repo.Place]bool{}
	for _, r := range c.redactions.all {
		now, err := c.vault.ErasedAudit(ctx, r.commit)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(now, func(p repo.AuditPiece) bool { return p.Empty }) {
			later = append(later, r)
			continue
		}
		for _, p := range r.before {
			if len(p.Lines) > 0 && !known[p.At] {
				pieces[p.Month] = append(pieces[p.Month], p.Lines)
			}
			known[p.At] = true
		}
	}
	return pieces, later, nil
}

// without is the file of a month without some pieces. It reports false where a piece does not stand in it once.
func (c *Checkout) without(ctx context.Context, month string, pieces [][]byte) ([]byte, bool, error) {
	at := c.audit.cursor
	path, size := vault.ClosedAudit(month), int64(-1)
	switch {
	case at.Month == "" || month > at.Month:
		return nil, false, nil
	case month == at.Month:
		path, size = vault.AuditLog, at.Size
	}
	text, err := readAudit(ctx, c.files, path)
	if err != nil || int64(len(text)) < size {
		return nil, false, err
	}
	if size >= 0 {
		text = text[:size]
	}
	for _, lines := range pieces {
		i := bytes.Index(text, lines)
		whole := i == 0 || i > 0 && text[i-1] == '\n'
		if !whole || bytes.Contains(text[i+1:], lines) {
			return nil, false, nil
		}
		text = slices.Concat(text[:i], text[i+len(lines):])
	}
	return text, true, nil
}

// putMonths makes the files of months durable with these texts, the open one last.
func (c *Checkout) putMonths(ctx context.Context, texts map[string][]byte) error {
	at, files := c.audit.cursor, archive{vault: c.vault, files: c.files}
	for month, text := range texts {
		if month == at.Month {
			continue
		}
		var err error
		if len(text) == 0 {
			err = c.files.Delete(ctx, vault.ClosedAudit(month))
		} else {
			err = files.put(ctx, vault.ClosedAudit(month), text)
		}
		if err != nil {
			return err
		}
	}
	text, ok := texts[at.Month]
	if !ok {
		return nil
	}
	if err := files.open(ctx, repo.AuditMonth{Month: at.Month, Lines: text}); err != nil {
		return err
	}
	at.Size = int64(len(text))
	return c.auditTo(ctx, at)
}
