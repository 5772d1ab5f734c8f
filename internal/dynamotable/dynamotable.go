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
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

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
	o.Log = cmp.Or(o.Log, slog.Default())
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

// Query implements table.Table. A page is read only when the loop needs an item of it.
func (t *Table) Query(ctx context.Context, part, from, to string) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		err := ctx.Err()
		if err == nil {
			err = table.CheckRange(part, from, to)
		}
		if err != nil {
			yield(table.Item{}, err)
			return
		}
		if to == "" || from > to {
			return
		}
		pages := dynamodb.NewQueryPaginator(t.queries, t.query(part, from, to))
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(table.Item{}, t.failure(ctx, "read items", err))
				return
			}
			if !t.yieldAll(page.Items, yield) {
				return
			}
		}
	}
}

// query returns the request for the items of a partition between two Sorts. DynamoDB does not allow
// empty key values, so an empty from is omitted.
func (t *Table) query(part, from, to string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("p = :p AND s <= :to"),
		ExpressionAttributeValues: attributes{":p": text(part), ":to": text(to)},
	}
	if from != "" {
		in.KeyConditionExpression = aws.String("p = :p AND s BETWEEN :from AND :to")
		in.ExpressionAttributeValues[":from"] = text(from)
	}
	return in
}

// yieldAll yields the items of a page that have not expired, and reports whether the loop
// continues.
func (t *Table) yieldAll(page []attributes, yield func(table.Item, error) bool) bool {
	for _, all := range page {
		it, live, err := t.decode(all)
		if err != nil {
			yield(table.Item{}, err)
			return false
		}
		if live && !yield(it, nil) {
			return false
		}
	}
	return true
}

// deployment maps error codes of DynamoDB to descriptions of the error in the deployment.
var deployment = map[string]string{
	"AccessDeniedException":       "the role may not use the table",
	"ExpiredTokenException":       "the credentials have expired",
	"ResourceNotFoundException":   "the table is not there",
	"UnrecognizedClientException": "the credentials are not known",
	"ValidationException":         "the table does not take the request; its keys must be p and s, both strings",
}

// failure returns the error of a failed call. doing is the verb and the object of the call.
func (t *Table) failure(ctx context.Context, doing string, err error) error {
	if ctx.Err() == nil && isItemTooLarge(err) {
		return fmt.Errorf("%s: %w: an item is larger than DynamoDB allows", doing, table.ErrLimit)
	}
	return t.failures.Of(ctx, doing, err)
}

// isItemTooLarge reports whether an item, alone or in a transaction, exceeds DynamoDB's size limit.
func isItemTooLarge(err error) bool {
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, reason := range canceled.CancellationReasons {
			if reason.Message != nil && strings.Contains(*reason.Message, "Item size") {
				return true
			}
		}
	}
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == "ValidationException" &&
		strings.Contains(answer.ErrorMessage(), "Item size")
}

// isRefused reports whether DynamoDB refused a request with a 4xx status, so that it had no
// effect.
func isRefused(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) &&
		answer.HTTPStatusCode() >= http.StatusBadRequest &&
		answer.HTTPStatusCode() < http.StatusInternalServerError
}

// repeatable reports whether a write may be sent again after a failure: its outcome is unknown, or
// it was refused with a response that could not be decoded.
func repeatable(err error) bool {
	if awsclient.NoEffect(err) {
		return false // the SDK has already repeated it
	}
	var unread *smithy.DeserializationError
	return !isRefused(err) || errors.As(err, &unread)
}
