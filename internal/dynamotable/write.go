package dynamotable

import (
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"

	"rookery/internal/table"
)

// A method is the request of DynamoDB that an operation becomes.
type method int

const (
	putItem method = iota
	updateItem
	deleteItem
	checkItem
)

// A write is one operation as DynamoDB takes it.
type write struct {
	op     table.Op
	method method
	item   attributes // of a put
	update string     // of an update
	cond   string     // may be empty
	values attributes // of both expressions
}

// The conditions that an item must meet which has not expired, or that must not be there.
const (
	alive  = "(attribute_not_exists(x) OR x > :now)"
	absent = "(attribute_not_exists(p) OR x <= :now)"
)

// writeOf is the request of an operation at a time in seconds.
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

// unchanged is the condition that the item is there with the data of Old.
func (w *write) unchanged(now int64) {
	same := "d = :old"
	if len(w.op.Old.Data) == 0 {
		same = "attribute_exists(p) AND (attribute_not_exists(d) OR d = :old)"
	}
	w.cond = same + " AND " + alive
	w.values[":old"], w.values[":now"] = binary(w.op.Old.Data), number(now)
}

// expire sets when the item expires. One that never does loses the attribute, or keeps it.
func (w *write) expire(remove bool) {
	switch s := table.Second(w.op.Item.Expires); {
	case s != 0:
		w.update += setSeparator(w.update) + "x = :x"
		w.values[":x"] = number(s)
	case remove:
		w.update += " REMOVE x"
	}
}

// setSeparator is what goes before one more part of a SET clause, which the update may have.
func setSeparator(update string) string {
	if update[:4] == "SET " {
		return ", "
	}
	return " SET "
}

// add is the request for an Add to an item that has not expired, or is not there. A bound that no count meets is a
// condition that never holds.
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

// bounds are the counts to which delta can be added so that the sum is an int64 and not greater than limit. It
// reports false where there are none.
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

// fresh is the request for an Add to an item that has expired: it begins again with the count 0. It reports false
// where the bound does not allow that.
func fresh(op table.Op, now int64) (write, bool) {
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

// condition is the condition expression; nil where there is none.
func (w *write) condition() *string {
	if w.cond == "" {
		return nil
	}
	return aws.String(w.cond)
}

// arguments are the values of the expressions; nil where there are none, as DynamoDB requires.
func (w *write) arguments() attributes {
	if len(w.values) == 0 {
		return nil
	}
	return w.values
}
