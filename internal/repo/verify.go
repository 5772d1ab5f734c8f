package repo

import (
	"context"
	"iter"

	"rookery/internal/fault"
	"rookery/internal/index"
)

// A Verification says how far a log and its audit log are what they should be.
type Verification struct {
	Version uint64 // the chain holds up to here
	Lines   int    // of the audit log, from the first on
}

// Verify reads the whole log. It is INDEX_ERROR where a header does not join the one before, where a
// part is not what its header says, and where the log ends before a commit that some consumer has seen;
// and FILE_ERROR where a file of the audit log, if one is given, has other lines than the log gives, or
// lacks one that its cursor has passed. Each names the first version, or file and line. A vault in the
// trash is verified like any other.
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
	audit := newComparison(file)
	r := replay[*index.Index]{
		log: v.log, verify: digests, upTo: maxSeq, head: head[*index.Index]{status: Active},
	}
	r.each(ctx, func(c *Commit, _ Place) bool {
		audit.take(ctx, c)
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
		done.Lines, err = audit.lines, audit.err
		if audit.found != nil {
			problems = append(problems, audit.found)
		}
	}
	return done, problems, err
}

// headers yields the runs of the table with their headers; nothing else of them is read.
func (l *Log[S]) headers(ctx context.Context) iter.Seq2[*run, error] {
	return func(yield func(*run, error) bool) {
		for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(0), runKey(maxSeq)) {
			if err != nil {
				yield(nil, unreadable(ctx, err))
				return
			}
			r, _, err := readItem(it.Data)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
