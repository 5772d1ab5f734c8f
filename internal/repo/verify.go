package repo

import (
	"bytes"
	"context"
	"fmt"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/vault"
)

// An AuditFile is `.raven/audit.log` as it stands in the folder of a vault. Cursor is that of who
// appends to it, and was read before Text.
type AuditFile struct {
	Text   []byte
	Cursor Cursor
}

// A Verification says how far a log and its audit log are what they should be.
type Verification struct {
	Version uint64 // the chain holds up to here
	Lines   int    // of the audit log, from the first on
}

// Verify reads the whole log. It is INDEX_ERROR where a header does not join the one before, where a
// part is not what its header says, and where the log ends before a commit that some consumer has seen;
// and FILE_ERROR where the audit log, if one is given, has other lines than the log gives, or lacks one
// that its cursor has passed. Each names the first version, or line. A vault in the trash is verified
// like any other.
func (v *Vault) Verify(ctx context.Context, file *AuditFile) (Verification, error) {
	var audit *comparison
	if file != nil {
		audit = &comparison{AuditFile: *file, rest: file.Text}
	}
	r := replay[*index.Index]{
		log: v.log, verify: true, upTo: maxSeq, head: head[*index.Index]{status: Active},
	}
	r.each(ctx, func(c *Commit, _ Place) bool {
		audit.take(c)
		return true
	})
	done := Verification{Version: r.head.seq}
	err := r.err
	if err == nil {
		err = r.head.reaches(r.head.control.Cursors)
	}
	if err != nil && !fault.Is(err, fault.IndexError) {
		return done, err
	}
	var problems []*fault.Fault
	if err != nil {
		problems = append(problems, fault.Of(err))
	} else {
		audit.end()
	}
	if audit != nil {
		done.Lines = audit.lines
	}
	if audit != nil && audit.found != nil {
		problems = append(problems, audit.found)
	}
	if f := fault.Join(fault.IndexError, problems); f != nil {
		return done, f
	}
	return done, nil
}

// reaches is a fault if the log ends before one of these cursors: it lost its newest commits.
func (h *head[S]) reaches(cursors map[string]Cursor) error {
	for _, c := range cursors {
		if c.Seq > h.seq {
			return fault.New(fault.IndexError,
				"the log ends at %s, and there was a %s", Version(h.seq), Version(c.Seq)).
				Fix("rookery doctor")
		}
	}
	return nil
}

// A comparison compares an audit log with the lines that commits give, one after the other. It ends at
// the first difference.
type comparison struct {
	AuditFile
	rest  []byte // what is still to be compared
	lines int    // that are right
	found *fault.Fault
}

// take compares the lines of one commit. Those of one behind the cursor may not be there yet. A nil
// comparison takes everything.
func (a *comparison) take(c *Commit) {
	if a == nil || a.found != nil {
		return
	}
	want := AuditLines(c)
	n := min(len(want), len(a.rest))
	same := commonPrefix(a.rest[:n], want[:n])
	a.lines += bytes.Count(want[:same], []byte("\n"))
	switch {
	case same < n:
		a.differs("is not what the log says of %s", Version(c.Seq))
	case n < len(want) && c.Seq <= a.Cursor.Seq:
		a.differs("is missing: the log has it in %s", Version(c.Seq))
	}
	a.rest = a.rest[n:]
}

// end finds what stands behind everything that the log gives.
func (a *comparison) end() {
	if a != nil && a.found == nil && len(a.rest) > 0 {
		a.differs("is in no version of the log")
	}
}

// differs notes that the next line is not right.
func (a *comparison) differs(format string, args ...any) {
	line := a.lines + 1
	a.found = fault.New(fault.FileError, "line %d of %s %s", line, vault.AuditLog,
		fmt.Sprintf(format, args...)).
		At(vault.AuditLog, line).
		Fix("keep the file, for it shows what was done to it; once it is moved away, the next change " +
			"writes it anew from the log")
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
