package dynamotable

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/table"
)

// The reasons for the cancellation of a transaction that are permanent. All others are temporary or
// mean no failure.
const (
	conditionFailed = "ConditionalCheckFailed"
	invalid         = "ValidationError"
	tooLarge        = "ItemCollectionSizeLimitExceeded"
)

// transact executes several operations in one transaction. If the form of an Add turns out to be
// wrong, because its item has expired or has not, it sends a new transaction with the other form.
func (t *Table) transact(ctx context.Context, ops []table.Op) error {
	ws := make([]write, len(ops))
	for i, op := range ops {
		ws[i] = writeOf(op, t.second())
	}
	for {
		i, met, err := t.transactUntilKnown(ctx, ws)
		if err != nil || met == nil {
			return err
		}
		next, conflict, err := t.interpret(ws[i], met.item)
		if err != nil || conflict != nil {
			return errorOf(conflict, err)
		}
		ws[i] = next
	}
}

// transactUntilKnown sends a transaction until its outcome is known: at most maxSends times if it is
// unknown, and as long as the context allows if other transactions have locked its items. It
// returns the index of the first write whose condition was not met, with its refusal. All requests
// have the same token, so that DynamoDB executes the transaction only once.
func (t *Table) transactUntilKnown(ctx context.Context, ws []write) (int, *refusal, error) {
	in := t.transaction(ws)
	unknown := 0
	for sends := 1; ; sends++ {
		_, err := t.writes.TransactWriteItems(ctx, in)
		if err == nil {
			return 0, nil, nil
		}
		if i, met := refusedBy(err); met != nil {
			return i, met, nil
		}
		if !isTemporary(err) {
			unknown++
		}
		if !isTemporary(err) && !repeatable(err) || unknown == maxSends || awsclient.Wait(ctx, sends) != nil {
			return 0, nil, t.failure(ctx, "write several items", err)
		}
	}
}

// refusedBy returns the first write of a canceled transaction whose condition was not met; a nil
// refusal means none.
func refusedBy(err error) (int, *refusal) {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return 0, nil
	}
	for i, reason := range canceled.CancellationReasons {
		if aws.ToString(reason.Code) == conditionFailed {
			return i, &refusal{reason.Item}
		}
	}
	return 0, nil
}

// isTemporary reports whether a transaction was canceled for temporary reasons: another one has locked
// an item, or requests are throttled.
func isTemporary(err error) bool {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return false
	}
	for _, reason := range canceled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case conditionFailed, invalid, tooLarge:
			return false
		}
	}
	return true
}

// transaction returns the request for several writes, with a new token.
func (t *Table) transaction(ws []write) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(rand.Text())}
	for _, w := range ws {
		in.TransactItems = append(in.TransactItems, t.part(w))
	}
	return in
}

// part returns a write as a part of a transaction.
func (t *Table) part(w write) types.TransactWriteItem {
	switch w.method {
	case putItem:
		return types.TransactWriteItem{Put: &types.Put{
			TableName: &t.name, Item: w.item, ConditionExpression: w.condition(),
			ExpressionAttributeValues: w.arguments(), ReturnValuesOnConditionCheckFailure: allOld,
		}}
	case updateItem:
		return types.TransactWriteItem{Update: &types.Update{
			TableName: &t.name, Key: keyOf(w.op.Item.Key), UpdateExpression: &w.update,
			ConditionExpression: w.condition(), ExpressionAttributeValues: w.arguments(),
			ReturnValuesOnConditionCheckFailure: allOld,
		}}
	case deleteItem:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: &t.name, Key: keyOf(w.op.Item.Key),
		}}
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &t.name, Key: keyOf(w.op.Item.Key), ConditionExpression: w.condition(),
		ExpressionAttributeValues: w.arguments(), ReturnValuesOnConditionCheckFailure: allOld,
	}}
}
