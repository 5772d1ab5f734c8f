// Package table is the port to a store of small, sorted items: bbolt on a laptop, DynamoDB in the
// cloud.
//
// What every implementation must do is said here and held by the suite in tabletest. It is what AWS
// promises and nothing more: reads of single items and of ranges of one partition are strongly
// consistent, a Query of several pages is not one moment in time, and nothing reads several items
// atomically.
package table

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Limits that every engine keeps, so that what works on one works on all.
const (
	MaxItem   = 400 << 10 // bytes of an item: its key, its data and 100 more
	MaxOps    = 100       // operations of one Commit
	MaxKey    = 1 << 10   // bytes of Part or of Sort
	MaxCommit = 4 << 20   // bytes of all items of one Commit, those that its conditions name too
)

// A Key names an item. Part and Sort are 1 to MaxKey bytes of UTF-8; items of a partition are
// sorted by Sort, bytewise. Only in the table that Sub returns Part may be empty.
type Key struct{ Part, Sort string }

// An Item is what is kept under a key.
type Item struct {
	Key
	Data    []byte    // opaque; an item that is read has never nil Data, only empty
	Count   int64     // set with the item, then changed by Add
	Expires time.Time // an item is absent from then on; zero: never. Whole seconds, rounded up
}

// A Table keeps items. It is safe for concurrent use. A key that breaks a limit is ErrLimit in
// every method; CheckOps, CheckKey and CheckRange say it for all engines.
type Table interface {
	// Get returns an item; one that is absent or expired is ErrNotFound. It sees every Commit that
	// returned before.
	Get(ctx context.Context, k Key) (Item, error)

	// Query yields the items of a partition from one Sort to another, both ends included, in order,
	// and reads nothing beyond. An empty from is the first item; a from after to yields nothing. It
	// sees every Commit that returned before; items that are committed while it runs may or may not
	// be seen, each as a whole. It ends with the first error. The body of a loop over it may take
	// its time, and may call the table.
	Query(ctx context.Context, part, from, to string) iter.Seq2[Item, error]

	// Commit does all of the operations, or none. They name different keys, and are 1 to MaxOps. A
	// condition that does not hold is a *Conflict, for the first such operation; a call that breaks
	// a limit is ErrLimit; both mean that nothing was done. When it returns nil, what it did is
	// durable. Any other error leaves the outcome unknown, also where ctx ended the call: it may
	// have happened, or happen later.
	//
	// One operation alone is a plain write of that item, not a transaction. The table keeps nothing
	// of ops: the caller may change their Data when Commit returns.
	Commit(ctx context.Context, ops ...Op) error
}

// The definite answers of a Table. Engines wrap them.
var (
	ErrNotFound = errors.New("no such item")
	ErrLimit    = errors.New("over a limit of the table")
	ErrDamaged  = errors.New("the database is damaged") // what is asked for cannot be read any more
)

// A Conflict says which operation of a Commit did not hold, and against what.
type Conflict struct {
	Key  Key
	Item Item // as it is, where Found
	// Found says that there is an item at Key.
	Found bool
}

// Error names no key: keys hold names of tenants and vaults.
func (c *Conflict) Error() string { return "the condition of a commit does not hold" }
