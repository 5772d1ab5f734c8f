package auditlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
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

// cutLines cuts out the recorded lines. It returns false if not all lines are known or a file is not
// as expected; then the files must be written again.
func (l *Log) cutLines(ctx context.Context) (bool, error) {
	if l.redactions.incomplete || len(l.redactions.all) == 0 {
		return false, nil
	}
	pieces, later, err := l.duePieces(ctx)
	if err != nil {
		return false, err
	}
	open := pieces[l.cursor.Month]
	delete(pieces, l.cursor.Month)
	for month, of := range pieces {
		if l.cursor.Month == "" || month > l.cursor.Month {
			return false, nil
		}
		_, err := l.cutFrom(ctx, vault.ClosedAudit(month), -1, of)
		if err != nil {
			return false, expected(err)
		}
	}
	if len(open) > 0 {
		at := l.cursor
		if at.Size, err = l.cutFrom(ctx, vault.AuditLog, at.Size, open); err != nil {
			return false, expected(err)
		}
		if err := l.moveTo(ctx, at); err != nil {
			return false, err
		}
	}
	l.redactions.all = later
	return true, nil
}

// expected returns nil for the errors of a file that is not as expected, and others unchanged.
func expected(err error) error {
	if errors.Is(err, errNotOnce) || errors.Is(err, blob.ErrCondition) {
		return nil
	}
	return err
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

// cutFrom cuts pieces out of the first n bytes of a file, or out of all of it if n is negative, and
// drops what follows. It returns the new size of the file, which it deletes if nothing is left. The
// errors of a file that is not as expected are errNotOnce and blob.ErrCondition.
func (l *Log) cutFrom(ctx context.Context, path string, n int64, pieces [][]byte) (size int64, err error) {
	err = blob.Rewrite(ctx, l.files, path, n, func(to io.Writer, from io.Reader) (err error) {
		size, err = cutPieces(to, from, pieces)
		return err
	})
	if err != nil {
		return 0, writeError(err)
	}
	if size == 0 {
		err = l.files.Delete(ctx, path)
	}
	return size, err
}

// errNotOnce is the error of a piece that does not occur exactly once in a file.
var errNotOnce = errors.New("a piece of the audit log does not occur once")

// cutBuffer is the size in bytes of the buffers of cutPieces.
const cutBuffer = 256 << 10

// cutPieces copies a text without some pieces of whole lines, in one pass, and returns how many
// bytes it copied. The error is errNotOnce if a piece does not occur exactly once.
func cutPieces(to io.Writer, from io.Reader, pieces [][]byte) (copied int64, err error) {
	byFirst, longest := map[string][]int{}, 0 // keyed by the first line
	for i, lines := range pieces {
		first := lines[:lineEnd(lines)]
		byFirst[string(first)] = append(byFirst[string(first)], i)
		longest = max(longest, len(lines))
	}
	in, out := bufio.NewReaderSize(from, max(cutBuffer, longest)), bufio.NewWriterSize(to, cutBuffer)
	cut, left := make([]bool, len(pieces)), len(pieces)
	for err == nil {
		var line []byte
		if line, err = readLine(in); err != nil && !errors.Is(err, io.EOF) {
			return copied, err
		}
		at := -1
		if some := byFirst[string(line)]; len(some) > 0 {
			line = bytes.Clone(line) // pieceAfter reads on
			at = pieceAfter(in, len(line), pieces, some)
		}
		switch {
		case at < 0:
			n, err := out.Write(line)
			if copied += int64(n); err != nil {
				return copied, err
			}
		case cut[at]:
			return copied, errNotOnce
		default:
			cut[at], left = true, left-1
		}
	}
	if left > 0 {
		return copied, errNotOnce
	}
	return copied, out.Flush()
}

// readLine returns the next line with its line feed, which is valid until the next read, and
// without one at the end of the text, with io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	line = bytes.Clone(line)
	rest, err := in.ReadBytes('\n')
	return append(line, rest...), err
}

// pieceAfter returns the index of the piece whose first n bytes, its first line, were just read, of
// those in some, or -1. If there is one, it reads the rest of the piece.
func pieceAfter(in *bufio.Reader, n int, pieces [][]byte, some []int) int {
	for _, at := range some {
		rest := pieces[at][n:]
		next, _ := in.Peek(len(rest)) // it is shorter at the end of the text
		if bytes.Equal(next, rest) {
			_, _ = in.Discard(len(rest)) // they are in the buffer
			return at
		}
	}
	return -1
}

// lineEnd returns the length of the first line of a text, with its line feed.
func lineEnd(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}
