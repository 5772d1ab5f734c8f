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
	rest, ok := cutPieces(text, pieces)
	return rest, ok, nil
}

// cutPieces cuts out pieces of whole lines, in one pass, and changes the text for it. It reports false where a piece does
// not stand in it once.
func cutPieces(text []byte, pieces [][]byte) ([]byte, bool) {
	byFirst := map[string][]int{} // line
	for i, lines := range pieces {
		first := lines[:lineEnd(lines)]
		byFirst[string(first)] = append(byFirst[string(first)], i)
	}
	kept, cut := text[:0], make([]bool, len(pieces))
	for len(text) > 0 {
		end := lineEnd(text)
		if at := pieceAt(text, pieces, byFirst[string(text[:end])]); at < 0 {
			kept = append(kept, text[:end]...)
		} else if cut[at] {
			return nil, false
		} else {
			cut[at], end = true, len(pieces[at])
		}
		text = text[end:]
	}
	return kept, !slices.Contains(cut, false)
}

// pieceAt is which of some pieces a text begins with; -1: none.
func pieceAt(text []byte, pieces [][]byte, some []int) int {
	i := slices.IndexFunc(some, func(at int) bool { return bytes.HasPrefix(text, pieces[at]) })
	if i < 0 {
		return -1
	}
	return some[i]
}

// lineEnd is how long the first line of a text is, with its end.
func lineEnd(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// putMonths makes the files of months durable with these texts, the open one last.
func (l *Log) putMonths(ctx context.Context, texts map[string][]byte) error {
	at := l.cursor
	for month, text := range texts {
		if month == at.Month {
			continue
		}
		if err := write(ctx, l.files, vault.ClosedAudit(month), text); err != nil {
			return err
		}
	}
	text, ok := texts[at.Month]
	if !ok {
		return nil
	}
	if err := write(ctx, l.files, vault.AuditLog, text); err != nil {
		return err
	}
	at.Size = int64(len(text))
	return l.moveTo(ctx, at)
}
