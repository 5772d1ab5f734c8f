// Package dynamotable implements table.Table with one DynamoDB table.
//
// # Schema
//
// The primary key is p, the partition key (S), and s, the sort key (S). d is the data (B), n the
// count (N, absent for 0), and x the second at which the item expires (N, absent for never), which
// is also the attribute of the table's TTL. There is no secondary index. All reads are strongly
// consistent.
//
// # Unknown outcomes
//
// The SDK repeats a write only if it certainly had no effect. After any other failure a Commit
// sends the same write up to two more times. If the condition is then not met because of an item
// that is exactly what the write would leave, the write succeeded earlier; with any other item the
// outcome stays unknown. A transaction has a token by which DynamoDB recognizes a repetition. An
// Add is never sent again. See docs/design/0034-dynamodb-as-a-table.md.
package dynamotable

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/table"
)

// The time limits of an attempt.
const (
	attemptTime = 3 * time.Second
	queryTime   = 5 * time.Second
)

// Options configure a Table. The zero value works.
type Options struct {
	// Now is the clock by which items expire and writes are too late, preferably that of an
	// awsclient.Clock. Nil is time.Now.
	Now func() time.Time

	// Log receives errors of the deployment, such as a missing table, at most once a minute. Nil is
	// slog.Default.
	Log *slog.Logger

	// Attempt is the time limit of an attempt; 0 is 3 s, and 5 s for a Query.
	Attempt time.Duration
}

// A Table is a DynamoDB table. It is safe for concurrent use.
type Table struct {
	name                   string
	reads, queries, writes *dynamodb.Client
	now                    func() time.Time
	failures               awsclient.Failures
}

var _ table.Table = (*Table)(nil)

// New returns a Table for the DynamoDB table with this name in the account and region of cfg. The
// table must exist; New does not check that.
func New(cfg aws.Config, name string, o Options) *Table {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &Table{name: name, now: o.Now, failures: awsclient.Failures{
		Service: "DynamoDB", Deployment: deployment, Now: o.Now, Log: o.Log,
	}}
	client := func(r aws.Retryer, within time.Duration) *dynamodb.Client {
		if o.Attempt != 0 {
			within = o.Attempt
		}
		return dynamodb.NewFromConfig(cfg, func(d *dynamodb.Options) {
			d.Retryer = r
			d.APIOptions = append(d.APIOptions, awsclient.Within(within), awsclient.NeverLate(t.now))
		})
	}
	t.reads = client(awsclient.Reads(), attemptTime)
	t.queries = client(awsclient.Reads(), queryTime)
	t.writes = client(awsclient.Writes(), attemptTime)
	return t
}

// second returns the current time for expiry in whole seconds, rounded down so that no item expires
// early.
func (t *Table) second() int64 { return t.now().Unix() }

// Get implements table.Table.
func (t *Table) Get(ctx context.Context, k table.Key) (table.Item, error) {
	if err := ctx.Err(); err != nil {
		return table.Item{}, err
	}
	if err := table.CheckKey(k); err != nil {
		return table.Item{}, err
	}
	out, err := t.reads.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.name, Key: keyOf(k), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return table.Item{}, t.failure(ctx, "read an item", err)
	}
	it, live, err := t.decode(out.Item)
	if err == nil && !live {
		err = table.ErrNotFound
	}
	return it, err
}
