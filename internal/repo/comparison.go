package repo

import (
	"bytes"
	"context"
	"fmt"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An AuditFile is the audit log in the folder of a vault: .raven/audit.log, and one file for each
// closed month. Cursor is the cursor of the writer of these files, read before Text.
type AuditFile struct {
	Text   []byte // of .raven/audit.log
	Cursor eventlog.Cursor

	// Months are the closed months that have a file, oldest first. Closed returns the content of
	// the file of a month; nil if there is no such file. Both are ignored if the cursor has no
	// month: then no month was closed yet.
	Months []string
	Closed func(ctx context.Context, month string) ([]byte, error)
}

// A comparison compares the audit log files with the lines of the commits, given to take in order.
// It stops at the first difference.
//
// If the cursor has no month, all lines are in .raven/audit.log. Otherwise the lines of each month
// before that of the cursor are in a closed file, and .raven/audit.log has those of the cursor's
// month. A file may end early only after the commit of the cursor: its writer adds the rest later.
// take and end do nothing for a nil comparison.
type comparison struct {
	AuditFile
	month string          // of the current file; "" before the first line
	path  string          // of the current file
	text  []byte          // of the current file
	rest  []byte          // the end of text that is not yet compared
	at    int             // lines of the current file that match
	lines int             // lines of all files that match
	told  map[string]bool // months of which the log has lines
	found *fault.Fault    // the first difference
	err   error           // why the comparison could not go on
}

// newComparison returns a comparison that begins with .raven/audit.log; nil if file is nil.
func newComparison(file *AuditFile) *comparison {
	if file == nil {
		return nil
	}
	a := &comparison{AuditFile: *file, told: map[string]bool{}}
	if a.Cursor.Month == "" {
		a.begin(vault.AuditLog, a.Text)
	}
	return a
}

// take compares the lines of one commit with the file. The lines of a commit after the cursor may
// be missing from it. take does nothing if a is nil.
func (a *comparison) take(ctx context.Context, c *eventlog.Commit) {
	if a == nil || a.ended() {
		return
	}
	want := AuditLines(c)
	if len(want) == 0 || !a.turn(ctx, vault.Month(c.Time)) {
		return
	}
	n := min(len(want), len(a.rest))
	same := commonPrefix(a.rest[:n], want[:n])
	right := bytes.Count(want[:same], []byte("\n"))
	a.at, a.lines = a.at+right, a.lines+right
	switch {
	case same < n:
		a.differs("does not match the log of %s", eventlog.Version(c.Seq))
	case n < len(want) && c.Seq <= a.Cursor.Seq:
		a.differs("is missing: the log has it in %s", eventlog.Version(c.Seq))
	}
	a.rest = a.rest[n:]
}

// ended reports whether the comparison has stopped.
func (a *comparison) ended() bool { return a.found != nil || a.err != nil }

// turn switches to the file of a month, and reports whether there is a file to compare. Months
// after that of the cursor have no file yet.
func (a *comparison) turn(ctx context.Context, month string) bool {
	switch {
	case a.Cursor.Month == "" || month == a.month:
		return true
	case month > a.Cursor.Month:
		return false
	}
	if a.finish(); a.ended() {
		return false
	}
	a.month, a.told[month] = month, true
	if month == a.Cursor.Month {
		a.beginOpen()
		return true
	}
	text, err := a.Closed(ctx, month)
	a.begin(vault.ClosedAudit(month), text)
	a.fail(err)
	return !a.ended()
}

// begin starts the comparison of a file.
func (a *comparison) begin(path string, text []byte) {
	a.path, a.text, a.rest, a.at = path, text, text, 0
}

// beginOpen begins .raven/audit.log. Until the first line of a month is written, the file may still
// contain the month before, which has a closed file too; then it counts as empty.
func (a *comparison) beginOpen() {
	text := a.Text
	if a.Cursor.Size == 0 && a.path != "" && bytes.Equal(text, a.text) {
		text = nil
	}
	a.begin(vault.AuditLog, text)
}

// fail records why a file cannot be read: a FILE_ERROR as a finding, any other error as err.
func (a *comparison) fail(err error) {
	if fault.Is(err, fault.FileError) {
		a.found = fault.Of(err)
	} else {
		a.err = err
	}
}

// finish reports the lines at the end of the current file that are not in the log.
func (a *comparison) finish() {
	if len(a.rest) > 0 && !a.ended() {
		a.differs("is in no version of the log")
	}
}

// end finishes the last file, compares .raven/audit.log if that was not it, and reports closed
// files of months of which the log has no line. The file of the cursor's month is allowed: it is
// about to be closed.
func (a *comparison) end() {
	if a == nil {
		return
	}
	if a.finish(); a.path != vault.AuditLog && !a.ended() {
		a.beginOpen()
		a.finish()
	}
	for _, month := range a.Months {
		if a.ended() || a.Cursor.Month == "" {
			return
		}
		if !a.told[month] && month != a.Cursor.Month {
			a.begin(vault.ClosedAudit(month), nil)
			a.differs("is in no version of the log")
		}
	}
}

// differs records that the next line of the current file is wrong.
func (a *comparison) differs(format string, args ...any) {
	line, moved := a.at+1, "it is"
	if a.path != vault.AuditLog {
		moved = "it and " + vault.AuditLog + " are"
	}
	a.found = fault.New(fault.FileError, "line %d of %s %s", line, a.path, fmt.Sprintf(format, args...)).
		At(a.path, line).
		Fix("keep the file as evidence; once %s moved away, the next change rebuilds the audit log from the "+
			"log", moved)
}

// commonPrefix returns the length of the common prefix of a and b, which have the same length.
func commonPrefix(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}
