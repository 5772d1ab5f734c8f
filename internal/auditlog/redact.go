package auditlog

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

// Foresee notes which lines the histories have that commits of a batch erase. It is called before Save, whose cursor
// has not passed the commits: nothing of them is empty yet.
func (l *Log) Foresee(ctx context.Context, b Batch) {
	for _, e := range b.erasing {
		before, err := l.vault.ErasedAudit(ctx, e)
		if err != nil {
			l.redactions.lacking = true
			continue
		}
		l.redactions.all = append(l.redactions.all, redaction{e, before})
	}
}

// Redact takes the lines of erased histories out of the files, and destroys what is kept of these. They are cut out
// where they are, if all of them are known and each is in its file once: what somebody else changed in a file stays, and
// is found by a verification. Else the files are made again from the log.
func (l *Log) Redact(ctx context.Context) error {
	cut, err := l.cutLines(ctx)
	if err == nil && !cut {
		err = l.redactAll(ctx)
	}
	if err != nil {
		return err
	}
	if _, err := blob.EraseKept(ctx, l.files, auditFiles); err != nil {
		return err
	}
	return l.vault.Change(ctx, func(control *repo.Control) bool {
		if control.Cursors[Cursor].Seq == l.cursor.Seq {
			control.Cursors[Cursor] = l.cursor // its file is shorter now
		}
		changed := control.Anew
		control.Anew = false
		return changed
	})
}

// redactAll makes the files of the audit log anew from the log.
func (l *Log) redactAll(ctx context.Context) error {
	closed, err := l.rewrite(ctx, l.cursor.Seq)
	if err != nil {
		return err
	}
	l.redactions = redactions{}
	all := archive{vault: l.vault, files: l.files}
	return all.remove(ctx, func(month string) bool { // a copy of the open one is no closed one yet
		return slices.Contains(closed, month) && month < l.cursor.Month
	})
}

// cutLines cuts out the lines that are known. It reports false, and has changed nothing, where these are not all, or a
// file is not what it should be.
func (l *Log) cutLines(ctx context.Context) (bool, error) {
	if l.redactions.lacking || len(l.redactions.all) == 0 {
		return false, nil
	}
	pieces, later, err := l.duePieces(ctx)
	if err != nil {
		return false, err
	}
	texts := map[string][]byte{}
	for month, of := range pieces {
		text, ok, err := l.without(ctx, month, of)
		if err != nil || !ok {
			return false, err
		}
		texts[month] = text
	}
	if err := l.putMonths(ctx, texts); err != nil {
		return false, err
	}
	l.redactions.all = later
	return true, nil
}

// duePieces are the lines to cut out of the file of each month, and the redactions that are not due yet: nothing is
// empty of what they erase.
func (l *Log) duePieces(
	ctx context.Context,
) (pieces map[string][][]byte, later []redaction, err error) {
	pieces = map[string][][]byte{}
	known := map[repo.Place]bool{}
	for _, r := range l.redactions.all {
		now, err := l.vault.ErasedAudit(ctx, r.commit)
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
func (l *Log) without(ctx context.Context, month string, pieces [][]byte) ([]byte, bool, error) {
	at := l.cursor
	path, size := vault.ClosedAudit(month), int64(-1)
	switch {
	case at.Month == "" || month > at.Month:
		return nil, false, nil
	case month == at.Month:
		path, size = vault.AuditLog, at.Size
	}
	text, err := readFile(ctx, l.files, path)
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
func (l *Log) putMonths(ctx context.Context, texts map[string][]byte) error {
	at, files := l.cursor, archive{vault: l.vault, files: l.files}
	for month, text := range texts {
		if month == at.Month {
			continue
		}
		var err error
		if len(text) == 0 {
			err = l.files.Delete(ctx, vault.ClosedAudit(month))
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
	return l.moveTo(ctx, at)
}
