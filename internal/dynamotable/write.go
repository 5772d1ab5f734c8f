package dynamotable

import (
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/rookeryhq/rookery/internal/table"
)

// A method is the DynamoDB request for an operation.
type method int

// The methods. checkItem is only part of a transaction.
const (
	putItem method = iota
	updateItem
	deleteItem
	checkItem
)

// A write is one operation in the form of a DynamoDB request.
type write struct {
	op     table.Op
	method method
	item   attributes // for putItem
	update string     // update expression, for updateItem
	cond   string     // condition expression; may be empty
	values attributes // of both expressions
}

// Conditions of an item: that it has not expired, or that there is none. An expired item counts as
// none.
const (
	alive  = "(attribute_not_exists(x) OR x > :now)"
	absent = "(attribute_not_exists(p) OR x <= :now)"
)

// writeOf returns the request for an operation. now is the current time in seconds.
func writeOf(op table.Op, now int64) write {
	w := write{op: op, values: attributes{}}
	switch op.Kind {
	case table.OpCreate:
		w.method, w.item, w.cond = putItem, encode(op.Item), absent
		w.values[":now"] = number(now)
	case table.OpSet:
		w.method, w.item = putItem, encode(op.Item)
	case table.OpRemove:
		w.method = deleteItem
	case table.OpReplace:
		w.method, w.update = updateItem, "SET d = :d"
		w.values[":d"] = binary(op.Item.Data)
		w.expire(true)
		w.unchanged(now)
	case table.OpCheck:
		w.method, w.cond = checkItem, absent
		w.values[":now"] = number(now)
		if op.Old.Data != nil {
			w.unchanged(now)
		}
	case table.OpAdd:
		w.add(now)
	}
	return w
}

// unchanged sets the condition that there is an item with the data of Old.
func (w *write) unchanged(now int64) {
	same := "d = :old"
	if len(w.op.Old.Data) == 0 {
		same = "attribute_exists(p) AND (attribute_not_exists(d) OR d = :old)"
	}
	w.cond = same + " AND " + alive
	w.values[":old"], w.values[":now"] = binary(w.op.Old.Data), number(now)
}

// expire adds the new expiry to the update expression. For an item that never expires, it removes
// the attribute if remove is set, and otherwise leaves it unchanged.
func (w *write) expire(remove bool) {
	switch s := table.Second(w.op.Item.Expires); {
	case s != 0:
		w.update += setSeparator(w.update) + "x = :x"
		w.values[":x"] = number(s)
	case remove:
		w.update += " REMOVE x"
	}
}

// setSeparator returns the text that precedes another assignment in an update expression: a comma
// if its SET clause comes first, otherwise a new SET clause.
func setSeparator(update string) string {
	if update[:4] == "SET " {
		return ", "
	}
	return " SET "
}

// add sets the request for an Add to an item that has not expired or does not exist. If no count
// satisfies the bound, the condition is one that is never met.
func (w *write) add(now int64) {
	least, most, ok := bounds(w.op.Delta, w.op.Max)
	w.method, w.update = updateItem, "ADD n :by"
	w.expire(false)
	w.values[":by"], w.values[":now"] = number(w.op.Delta), number(now)
	if !ok {
		w.cond = alive + " AND attribute_exists(p) AND attribute_not_exists(p)"
		return
	}
	within := "n BETWEEN :least AND :most"
	if least <= 0 && 0 <= most {
		within = "(attribute_not_exists(n) OR " + within + ")"
	}
	w.cond = within + " AND " + alive
	w.values[":least"], w.values[":most"] = number(least), number(most)
}

// bounds returns the range of counts to which delta can be added without overflow and without
// exceeding limit. It returns false if there are none.
func bounds(delta, limit int64) (least, most int64, ok bool) {
	least, most = math.MinInt64, math.MaxInt64
	if delta < 0 {
		least = math.MinInt64 - delta
		if limit <= math.MaxInt64+delta {
			most = limit - delta
		}
		return least, most, least <= most
	}
	if limit < math.MinInt64+delta {
		return 0, 0, false
	}
	return least, limit - delta, true
}

// restartAdd returns the request for an Add to an expired item, which starts again with count 0. It
// returns false if the bound does not allow that.
func restartAdd(op table.Op, now int64) (write, bool) {
	least, most, ok := bounds(op.Delta, op.Max)
	if !ok || least > 0 || most < 0 {
		return write{}, false
	}
	it := op.Item
	it.Data, it.Count = nil, op.Delta
	w := write{op: op, method: putItem, item: encode(it), cond: absent}
	w.values = attributes{":now": number(now)}
	return w, true
}

// condition returns the condition expression, or nil if there is none.
func (w *write) condition() *string {
	if w.cond == "" {
		return nil
	}
	return aws.String(w.cond)
}

// arguments returns the values of the expressions, or nil if there are none, because DynamoDB
// refuses an empty map.
func (w *write) arguments() attributes {
	if len(w.values) == 0 {
		return nil
	}
	return w.values
}
