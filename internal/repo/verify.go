package repo

import (
	"bytes"
	"context"
	"fmt"
	"iter"

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
	done, problems, err := v.verify(ctx, true, file)
	if f := fault.Join(fault.IndexError, problems); err == nil && f != nil {
		err = f
	}
	return done, err
}

// verify reads the whole log, and compares what it holds with the digests if it is told to. problems
// are what is damaged; the error is why no more can be said.
func (v *Vault) verify(
	ctx context.Context, digests bool, file *AuditFile,
) (done Verification, problems []*fault.Fault, err error) {
	var audit *comparison
	if file != nil {
		audit = &comparison{AuditFile: *file, rest: file.Text}
	}
	r := replay[*index.Index]{
		log: v.log, verify: digests, upTo: maxSeq, head: head[*index.Index]{status: Active},
	}
	r.each(ctx, func(c *Commit, _ Place) bool {
		audit.take(c)
		return true
	})
	done.Version = r.head.seq
	if err = r.err; err == nil {
		err = r.head.joinsAll()
	}
	if err == nil && digests {
		err = v.log.twins(ctx, r.head.control)
	}
	switch {
	case err == nil:
		audit.end()
	case fault.Is(err, fault.IndexError):
		problems = append(problems, fault.Of(err))
	default:
		return done, nil, err
	}
	if audit != nil {
		done.Lines = audit.lines
		if audit.found != nil {
			problems = append(problems, audit.found)
		}
	}
	return done, problems, nil
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

// headers yields the runs of the table with their headers; nothing else of them is read.
func (l *Log[S]) headers(ctx context.Context) iter.Seq2[*run, error] {
	return func(yield func(*run, error) bool) {
		for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(0), runKey(maxSeq)) {
			if err != nil {
				yield(nil, unreadable(err))
				return
			}
			r, _, err := readItem(it.Data)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
