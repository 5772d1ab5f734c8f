package table

import (
	"bytes"
	"slices"
)

// An Op is one operation of a Commit, made by one of the functions below.
type Op struct {
	Kind  Kind
	Item  Item  // what is to be there; of OpRemove only the key, of OpAdd also Expires
	Old   Item  // for OpReplace, OpCheck: what must be there
	Delta int64 // for OpAdd
	Max   int64 // for OpAdd: the result must not be greater
}

// A Kind says what an Op does.
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

// Create puts an item where none is, or only an expired one.
func Create(it Item) Op { return Op{Kind: OpCreate, Item: it} }

// Replace puts an item in the place of old, which must be there with its Data unchanged. Both have
// one key. The Count is kept as it is in the table.
func Replace(old, it Item) Op { return Op{Kind: OpReplace, Item: it, Old: old} }

// Set puts an item, whatever is there. Its Count becomes it.Count.
func Set(it Item) Op { return Op{Kind: OpSet, Item: it} }

// Remove takes an item away; one that is not there is no conflict.
func Remove(k Key) Op { return Op{Kind: OpRemove, Item: Item{Key: k}} }

// Check requires that the item's Data is unchanged, and changes nothing. An old with nil Data
// requires that there is no item; an item that was read never has nil Data.
func Check(old Item) Op { return Op{Kind: OpCheck, Item: Item{Key: old.Key}, Old: old} }

// Add changes the Count of an item by delta, and makes the item where there is none (with Count 0
// and no Data before). A result that is greater than limit, or no int64, is a *Conflict. The item's
// Expires becomes it.Expires, unless that is zero; its Data stays.
func Add(it Item, delta, limit int64) Op {
	return Op{Kind: OpAdd, Item: it, Delta: delta, Max: limit}
}

// Clone copies operations with their data, for an engine that may still need them when its Commit
// has returned.
func Clone(ops []Op) []Op {
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Item.Data = bytes.Clone(ops[i].Item.Data)
		ops[i].Old.Data = bytes.Clone(ops[i].Old.Data)
	}
	return ops
}
