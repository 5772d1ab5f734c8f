package auditlog

import (
	"bytes"
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// auditFiles is the common prefix of the paths of the audit log.
const auditFiles = ".raven/audit"

// redactions are the lines of the audit log that erasures must remove.
type redactions struct {
	all        []redaction
	incomplete bool // there may be others, which only the log contains
}

// A redaction is an erasing commit with the audit lines of the erased history before the erasure.
type redaction struct {
	commit *eventlog.Commit
	before []repo.AuditPiece
}

// NoteErasures records the lines of histories that the commits of a batch erase. It must be called
// before Save, because these lines still exist only until the cursor has passed the commits.
func (l *Log) NoteErasures(ctx context.Context, b Batch) {
	for _, e := range b.erasing {
		before, err := l.vault.ErasedAudit(ctx, e)
		if err != nil {
			l.redactions.incomplete = true
			continue
		}
		l.redactions.all = append(l.redactions.all, redaction{e, before})
	}
}

// Redact removes the lines of erased histories from the files, and destroys old versions of the
// files. If all lines are known and each occurs exactly once in its file, they are cut out in
// place, so that other changes to the file remain and a verification can find them. Otherwise the
// files are written again from the log.
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

// redactAll writes all files of the audit log again from the log.
func (l *Log) redactAll(ctx context.Context) error {
	closed, err := l.rewrite(ctx, l.cursor.Seq)
	if err != nil {
		return err
	}
	l.redactions = redactions{}
	all := archive{vault: l.vault, files: l.files}
	return all.remove(ctx, func(month string) bool { // a copy of the open month is not a closed month yet
		return slices.Contains(closed, month) && month < l.cursor.Month
	})
}

// cutLines cuts out the recorded lines. It returns false, and has changed nothing, if not all lines
// are known or a file is not as expected.
func (l *Log) cutLines(ctx context.Context) (bool, error) {
	if l.redactions.incomplete || len(l.redactions.all) == 0 {
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

// duePieces returns the lines to cut out of each month's file, and the redactions that are not due
// yet, because the erased content still exists in the log.
func (l *Log) duePieces(
	ctx context.Context,
) (pieces map[string][][]byte, later []redaction, err error) {
	pieces = map[string][][]byte{}
	known := map[eventlog.PartRef]bool{}
	for _, r := range l.redactions.all {
		redacted, err := l.vault.IsRedacted(ctx, r.commit)
		if err != nil {
			return nil, nil, err
		}
		if !redacted {
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

// without returns the file of a month without some pieces. It returns false if a piece does not
// occur exactly once.
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

// cutPieces cuts pieces of whole lines out of a text, in one pass. It reuses the memory of text. It
// returns false if a piece does not occur exactly once.
func cutPieces(text []byte, pieces [][]byte) ([]byte, bool) {
	byFirst := map[string][]int{} // keyed by the first line
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

// pieceAt returns the index of the piece with which a text begins, of those in some, or -1.
func pieceAt(text []byte, pieces [][]byte, some []int) int {
	i := slices.IndexFunc(some, func(at int) bool { return bytes.HasPrefix(text, pieces[at]) })
	if i < 0 {
		return -1
	}
	return some[i]
}

// lineEnd returns the length of the first line of a text, with its line feed.
func lineEnd(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// putMonths writes the files of months durably with these texts, the open one last.
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
