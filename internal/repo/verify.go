package repo

import (
	"context"
	"iter"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
)

// A Verification is the result of verifying a log and its audit log.
type Verification struct {
	Version uint64 // the chain is intact up to here
	Lines   int    // lines of the audit log that match, from the first one
}

// Verify reads and verifies the whole log. It returns INDEX_ERROR if a header does not continue the
// chain, if a part does not match its digest, or if the log ends before a commit that a consumer
// has seen. It returns FILE_ERROR if file is not nil and a file of the audit log has a line that
// differs from the log, or lacks one that its cursor has passed. The errors name the first version,
// or file and line. A vault in the trash is verified like any other.
func (v *Vault) Verify(ctx context.Context, file *AuditFile) (Verification, error) {
	done, problems, err := v.verify(ctx, true, file)
	if f := fault.Join(fault.IndexError, problems); err == nil && f != nil {
		err = f
	}
	return done, err
}

// verify reads the whole log, and compares parts with their digests if digests is set. problems are
// the damages found; err is why the verification could not be completed.
func (v *Vault) verify(
	ctx context.Context, digests bool, file *AuditFile,
) (done Verification, problems []*fault.Fault, err error) {
	audit := newComparison(file)
	r := replay[*index.Index]{
		log: v.log, verify: digests, upTo: maxSeq, head: head[*index.Index]{status: Active},
	}
	r.each(ctx, func(c *Commit, _ PartRef) bool {
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

// headers yields the runs in the table. Only the headers are decoded.
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
