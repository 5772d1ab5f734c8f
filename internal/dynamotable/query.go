package dynamotable

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/rookeryhq/rookery/internal/table"
)

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
