package repo_test

import (
	"context"
	"testing"

	"rookery/internal/awstest"
	"rookery/internal/dynamotable"
	"rookery/internal/repotest"
	"rookery/internal/s3blob"
	"rookery/internal/table"
)

// TestConformanceOnAWS is the suite on DynamoDB and S3, as the emulators have them. The time of the table is that at
// which the clocks of the cases begin, as in engine.
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

// A shared table is one that processes with different clocks use in these tests. Outside them each process has a table
// with its own clock, by which the table knows that an append is late; one clock cannot tell for all.
type shared struct{ table.Table }

// Commit implements table.Table.
func (s shared) Commit(ctx context.Context, ops ...table.Op) error {
	return s.Table.Commit(valueless{ctx}, ops...)
}

// A valueless context only ends.
type valueless struct{ context.Context }

// Value implements context.Context.
func (valueless) Value(any) any { return nil }
