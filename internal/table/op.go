package table

// An Op is one operation of a Commit, made by one of the functions below.
type Op struct {
	Kind  Kind
	Item  Item  // what is to be there; for OpRemove and OpAdd only its key (and, for OpAdd, Expires)
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

// Replace puts an item in the place of old, whose Data must be unchanged. The Count is kept.
func Replace(old, it Item) Op { return Op{Kind: OpReplace, Item: it, Old: old} }

// Set puts an item, whatever is there. Its Count becomes it.Count.
func Set(it Item) Op { return Op{Kind: OpSet, Item: it} }

// Remove takes an item away; one that is not there is no conflict.
func Remove(k Key) Op { return Op{Kind: OpRemove, Item: Item{Key: k}} }

// Check requires that the item's Data is unchanged, and changes nothing. An old with nil Data
// requires that there is no item.
func Check(old Item) Op { return Op{Kind: OpCheck, Item: Item{Key: old.Key}, Old: old} }

// Add changes the Count of an item by delta, and makes the item where there is none (with Count 0
// and no Data before). A result greater than limit is a *Conflict.
func Add(it Item, delta, limit int64) Op {
	return Op{Kind: OpAdd, Item: it, Delta: delta, Max: limit}
}
