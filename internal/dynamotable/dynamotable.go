// Package dynamotable is the table port on one table of DynamoDB.
//
// # Schema
//
// The key is p, the partition (S), and s, the sort key (S). d is the data (B), n the count (N, absent for 0), and x
// the second at which the item expires (N, absent for never), which is the attribute of the table's TTL. There is no
// index. Every read is consistent.
//
// # Unknown outcomes
//
// The SDK repeats only writes that certainly had no effect. After any other failure a Commit sends the same write up
// to two more times. A conflict with an item that is exactly what the write would leave is then its own, and success;
// with another item the outcome stays unknown. A transaction carries a token by which DynamoDB knows it again. An Add
// is never sent a second time. See docs/design/0034-dynamodb-as-a-table.md.
package dynamotable

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"rookery/internal/awsclient"
	"rookery/internal/table"
)

// The time that an attempt may take.
const (
	attemptTime = 3 * time.Second
	queryTime   = 5 * time.Second
)

// Options are what a Table may be given. The zero value works.
type Options struct {
	// Now is the time by which items expire and writes are late, best that of an awsclient.Clock. Nil is
	// time.Now.
	Now func() time.Time

	// Log gets an error about the deployment, such as a table that is not there, once a minute. Nil is
	// slog.Default.
	Log *slog.Logger

	// Attempt is how long an attempt may take; 0 is 3 s, and 5 s for a Query.
	Attempt time.Duration
}

// A Table is a table of DynamoDB. It is safe for concurrent use.
type Table struct {
	name                   string
	reads, queries, writes *dynamodb.Client
	now                    func() time.Time
	failures               awsclient.Failures
}

var _ table.Table = (*Table)(nil)

// New returns the table of this name, which has to be there, in the account and region of a configuration.
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

// second is the time in whole seconds, by which items expire: rounded down, so that none does early.
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
