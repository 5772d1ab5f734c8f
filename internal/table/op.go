package table

import (
	"bytes"
	"slices"
)

// An Op is one operation of a Commit. The functions below return the valid ones.
type Op struct {
	Kind  Kind
	Item  Item  // the new item; only Key for OpRemove, only Key and Expires for OpAdd
	Old   Item  // the required current item, for OpReplace and OpCheck
	Delta int64 // for OpAdd
	Max   int64 // for OpAdd: the maximum of the result
}

// A Kind is the kind of an Op.
type Kind int

// The kinds of operation.
const (
	OpCreate Kind = iota + 1
	OpReplace
	OpSet
	OpRemove
	OpCheck
	OpAdd
)

// Create returns an operation that adds an item. It conflicts if there is an item that has not
// expired.
func Create(it Item) Op { return Op{Kind: OpCreate, Item: it} }

// Replace returns an operation that replaces old by it. Both must have the same key. It conflicts
// if old is missing or its Data has changed. The Count in the table is kept.
func Replace(old, it Item) Op { return Op{Kind: OpReplace, Item: it, Old: old} }

// Set returns an operation that writes an item unconditionally, with its Count.
func Set(it Item) Op { return Op{Kind: OpSet, Item: it} }

// Remove returns an operation that deletes an item. It never conflicts, even if there is no item.
func Remove(k Key) Op { return Op{Kind: OpRemove, Item: Item{Key: k}} }

// Check returns an operation that changes nothing. It conflicts if the item's Data differs from
// old's. An old with nil Data requires that there is no item; an item read from a table never has
// nil Data.
func Check(old Item) Op { return Op{Kind: OpCheck, Item: Item{Key: old.Key}, Old: old} }

// Add returns an operation that adds delta to the Count of an item. If there is no item, it creates
// one with empty Data and Count 0 first. It conflicts if the result exceeds limit or overflows
// int64. The item's Expires becomes it.Expires unless that is zero; its Data is kept.
func Add(it Item, delta, limit int64) Op {
	return Op{Kind: OpAdd, Item: it, Delta: delta, Max: limit}
}

// Clone returns a deep copy of operations, for an implementation that may use them after its Commit
// has returned.
func Clone(ops []Op) []Op {
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Item.Data = bytes.Clone(ops[i].Item.Data)
		ops[i].Old.Data = bytes.Clone(ops[i].Old.Data)
	}
	return ops
}
