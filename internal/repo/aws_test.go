package repo_test

import (
	"context"
	"testing"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestConformanceOnAWS runs the conformance suite on emulators of DynamoDB and S3. The table has
// the time at which the clocks of the cases begin, as in engine.
func TestConformanceOnAWS(t *testing.T) {
	b := awstest.Start(t)
	repotest.RunRemote(t, func(t *testing.T) repotest.Engine {
		now := repotest.NewClock().Now
		return repotest.Engine{
			Table:  shared{dynamotable.New(b.DynamoDB(nil), b.Table(t), dynamotable.Options{Now: now})},
			Bucket: s3blob.New(b.AWS(t, nil), b.Bucket(t), s3blob.Options{}), Items: true,
		}
	})
}

// A shared table is used by processes with different clocks in these tests. In production each
// process has a table with its own clock, by which the table detects late appends; one clock cannot
// do that for all.
type shared struct{ table.Table }

// Commit implements table.Table.
func (s shared) Commit(ctx context.Context, ops ...table.Op) error {
	return s.Table.Commit(valueless{ctx}, ops...)
}

// A valueless context passes on only the end of a context, not its values.
type valueless struct{ context.Context }

// Value implements context.Context.
func (valueless) Value(any) any { return nil }
