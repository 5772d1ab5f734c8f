package dynamotable

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/table"
)

// maxSends is the maximum number of times that a write with an unknown outcome is sent.
const maxSends = 3

// allOld requests the current item when a condition is not met.
const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

// Commit implements table.Table. A single operation is a plain write, several are a transaction. A
// single OpCheck is a consistent read.
func (t *Table) Commit(ctx context.Context, ops ...table.Op) error {
	if err := errors.Join(ctx.Err(), table.CheckOps(ops)); err != nil {
		return err
	}
	switch {
	case len(ops) > 1:
		return t.transact(ctx, ops)
	case ops[0].Kind == table.OpCheck:
		return t.check(ctx, ops[0])
	}
	return t.write(ctx, ops[0])
}

// check compares the current item with the required one. It writes nothing.
func (t *Table) check(ctx context.Context, op table.Op) error {
	it, err := t.Get(ctx, op.Item.Key)
	found := err == nil
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	if found == (op.Old.Data != nil) && bytes.Equal(it.Data, op.Old.Data) {
		return nil
	}
	return &table.Conflict{Key: op.Item.Key, Item: it, Found: found}
}

// write executes one operation. An Add is a put if the item has expired and an update otherwise;
// write changes the form if it turns out to be the wrong one.
func (t *Table) write(ctx context.Context, op table.Op) error {
	w := writeOf(op, t.second())
	for {
		met, err := t.sendUntilKnown(ctx, w)
		if err != nil || met == nil {
			return err
		}
		next, conflict, err := t.interpret(w, met.item)
		if err != nil || conflict != nil {
			return errorOf(conflict, err)
		}
		w = next
	}
}

// errorOf returns err, or the conflict as an error if err is nil. It avoids a non-nil error with a
// nil *Conflict.
func errorOf(c *table.Conflict, err error) error {
	if err != nil || c == nil {
		return err
	}
	return c
}

// A refusal is the current item that did not meet the condition of a write. It has no attributes if
// there is no item.
type refusal struct{ item attributes }

// interpret interprets a refusal. It returns a conflict or, for an Add, the other form of the write.
func (t *Table) interpret(w write, item attributes) (write, *table.Conflict, error) {
	it, live, err := t.decode(item)
	if err != nil {
		return write{}, nil, err
	}
	if w.op.Kind == table.OpAdd {
		if next, ok := t.otherForm(w, len(item) > 0, live); ok {
			return next, nil, nil
		}
	}
	return write{}, &table.Conflict{Key: w.op.Item.Key, Item: it, Found: live}, nil
}

// otherForm returns the form in which an Add must continue: a put over an expired item, otherwise
// an update. It returns false if the write already has that form, or if the bound does not allow
// it.
func (t *Table) otherForm(w write, there, live bool) (write, bool) {
	switch {
	case w.method == updateItem && there && !live:
		return restartAdd(w.op, t.second())
	case w.method == putItem && live:
		return writeOf(w.op, t.second()), true
	}
	return write{}, false
}

// errOvertaken means that a write may have had its effect and then been overwritten by another one.
var errOvertaken = errors.New("the item was changed by another write while the outcome of this one was unknown")

// sendUntilKnown sends a write until its outcome is known, at most maxSends times. If the condition is not
// met because of the item that the write itself left in an earlier attempt, the write has
// succeeded. With any other item the outcome stays unknown: a conflict would mean that nothing was
// done, but the write may have been done before the one that left that item. A non-nil refusal
// means that the condition was not met.
func (t *Table) sendUntilKnown(ctx context.Context, w write) (*refusal, error) {
	unknown := false
	for sends := 1; ; sends++ {
		err := t.send(ctx, w)
		if err == nil {
			return nil, nil
		}
		if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
			switch {
			case !unknown:
				return &refusal{refused.Item}, nil
			case w.left(refused.Item):
				return nil, nil
			}
			return nil, fmt.Errorf("write an item: %w", errOvertaken)
		}
		again := repeatable(err)
		unknown = unknown || again && !isRefused(err)
		if !again || w.op.Kind == table.OpAdd || sends == maxSends || awsclient.Wait(ctx, sends) != nil {
			return nil, t.failure(ctx, "write an item", err)
		}
	}
}

// left reports whether an item is exactly what the write leaves. A created item contains an id of
// its call and a replaced one a revision, so an equal item was written by the same call.
func (w *write) left(item attributes) bool {
	it, expires, err := read(item)
	if err != nil || !bytes.Equal(it.Data, w.op.Item.Data) || expires != table.Second(w.op.Item.Expires) {
		return false
	}
	// a Replace does not change the count
	return w.op.Kind == table.OpReplace || w.op.Kind == table.OpCreate && it.Count == w.op.Item.Count
}

// send sends a write. The SDK repeats it only if it had no effect.
func (t *Table) send(ctx context.Context, w write) error {
	var err error
	switch w.method {
	case putItem:
		_, err = t.writes.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &t.name, Item: w.item, ConditionExpression: w.condition(),
			ExpressionAttributeValues: w.arguments(), ReturnValuesOnConditionCheckFailure: allOld,
		})
	case updateItem:
		_, err = t.writes.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &t.name, Key: keyOf(w.op.Item.Key), UpdateExpression: &w.update,
			ConditionExpression: w.condition(), ExpressionAttributeValues: w.arguments(),
			ReturnValuesOnConditionCheckFailure: allOld,
		})
	case deleteItem:
		_, err = t.writes.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &t.name, Key: keyOf(w.op.Item.Key),
		})
	}
	return err
}
