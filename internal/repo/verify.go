package repo

import (
	"context"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
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
	done.Version, err = v.log.Verify(ctx, digests, func(c *eventlog.Commit) { audit.take(ctx, c) })
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
