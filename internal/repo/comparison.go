package repo

import (
	"bytes"
	"context"
	"fmt"

	"rookery/internal/fault"
	"rookery/internal/vault"
)

// An AuditFile is the audit log as it stands in the folder of a vault: `.raven/audit.log`, and beside
// it a file for each month that is closed. Cursor is that of who writes them, and was read before
// Text.
type AuditFile struct {
	Text   []byte // of `.raven/audit.log`
	Cursor Cursor

	// Months are those of the closed files that are there, oldest first, and Closed reads one; what is
	// not there is nil. Without a month in the cursor nobody has closed any, and they are not looked at.
	Months []string
	Closed func(ctx context.Context, month string) ([]byte, error)
}

// A comparison compares an audit log with the lines that commits give, one after the other, file by
// file. It ends at the first difference.
type comparison struct {
	AuditFile
	month string // whose file is being compared; "" before the first line
	path  string // of that file
	text  []byte // of that file
	rest  []byte // of text: what is still to be compared
	at    int    // lines of that file that are right
	lines int    // of all files
	told  map[string]bool
	found *fault.Fault
	err   error // why no more can be said
}

// newComparison begins with `.raven/audit.log`; nil is a comparison with nothing.
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

// take compares the lines of one commit. Those of one behind the cursor may not be there yet. A nil
// comparison takes everything.
func (a *comparison) take(ctx context.Context, c *Commit) {
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
		a.differs("is not what the log says of %s", Version(c.Seq))
	case n < len(want) && c.Seq <= a.Cursor.Seq:
		a.differs("is missing: the log has it in %s", Version(c.Seq))
	}
	a.rest = a.rest[n:]
}

func (a *comparison) ended() bool { return a.found != nil || a.err != nil }

// turn goes on to the file of a month, and reports whether there is something to compare. What was
// committed in a month after the cursor's is in no file yet.
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

func (a *comparison) begin(path string, text []byte) {
	a.path, a.text, a.rest, a.at = path, text, text, 0
}

// beginOpen begins `.raven/audit.log`. Until the first line of a month is in it, it may still hold
// those of the month before, which is closed.
func (a *comparison) beginOpen() {
	text := a.Text
	if a.Cursor.Size == 0 && a.path != "" && bytes.Equal(text, a.text) {
		text = nil
	}
	a.begin(vault.AuditLog, text)
}

// fail notes why a file cannot be read.
func (a *comparison) fail(err error) {
	if fault.Is(err, fault.FileError) {
		a.found = fault.Of(err)
	} else {
		a.err = err
	}
}

// finish finds what stands in a file behind everything that the log gives for it.
func (a *comparison) finish() {
	if len(a.rest) > 0 && !a.ended() {
		a.differs("is in no version of the log")
	}
}

// end finishes with what the log gives no line of: the end of the last file, `.raven/audit.log` if
// it was not that, and closed files of other months. One of the cursor's month was being closed.
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

// differs notes that the next line of a file is not right.
func (a *comparison) differs(format string, args ...any) {
	line, moved := a.at+1, "it is"
	if a.path != vault.AuditLog {
		moved = "it and " + vault.AuditLog + " are"
	}
	a.found = fault.New(fault.FileError, "line %d of %s %s", line, a.path, fmt.Sprintf(format, args...)).
		At(a.path, line).
		Fix("keep the file, for it shows what was done to it; once %s moved away, the next change "+
			"writes the audit log anew from the log", moved)
}

// commonPrefix is how many bytes two texts of one length begin with alike.
func commonPrefix(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}
