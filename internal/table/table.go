// Package table defines the interface to a store of small, sorted items: bbolt on a laptop,
// DynamoDB in the cloud.
//
// The comments say what every implementation must do, and the suite in tabletest tests it. The
// interface promises what AWS promises and nothing more: reads of single items and of ranges of one
// partition are strongly consistent; a Query of several pages is not a snapshot; and several items
// cannot be read atomically.
package table

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Limits that every implementation enforces, so that a program which works with one works with all.
const (
	MaxItem   = 400 << 10 // bytes of an item: its key, its data and an overhead of 100
	MaxOps    = 100       // operations of one Commit
	MaxKey    = 1 << 10   // bytes of Part, and of Sort
	MaxCommit = 4 << 20   // bytes of all items of one Commit, including those in its conditions
)

// A Key identifies an item. Part and Sort are 1 to MaxKey bytes of UTF-8. The items of a partition
// are sorted bytewise by Sort. Only in a table that Sub returned may Part be empty.
type Key struct{ Part, Sort string }

// An Item is the value of a key.
type Item struct {
	Key
	Data    []byte    // opaque; of an item that was read it may be empty, but is never nil
	Count   int64     // written with the item, then changed by Add
	Expires time.Time // when the item becomes absent; zero: never. Rounded up to whole seconds
}

// A Table stores items. It is safe for concurrent use. Every method returns ErrLimit if a key
// exceeds a limit; CheckOps, CheckKey and CheckRange implement that check for all implementations.
type Table interface {
	// Get returns an item. If it is missing or expired, the error is ErrNotFound. Get sees every
	// Commit that returned before.
	Get(ctx context.Context, k Key) (Item, error)

	// Query yields the items of a partition whose Sort is in the closed interval from `from` to
	// `to`, in order, and reads no others. An empty from means the first item; a from greater than
	// to yields nothing. Query sees every Commit that returned before. Items committed while it
	// runs may or may not be seen, each as a whole. It ends with the first error. The loop body may
	// take any time and may call the table.
	Query(ctx context.Context, part, from, to string) iter.Seq2[Item, error]

	// Commit executes all operations or none. There must be 1 to MaxOps, with different keys. If a
	// condition is not met, the error is a *Conflict for the first such operation; if a limit is
	// exceeded, it is ErrLimit. In both cases nothing was done. When Commit returns nil, its
	// changes are durable. Any other error leaves the outcome unknown, even if ctx ended the call:
	// the changes may have happened, or may happen later.
	//
	// A single operation is a plain write of that item, not a transaction. The table does not
	// retain ops: the caller may change their Data after Commit has returned.
	Commit(ctx context.Context, ops ...Op) error
}

// The errors of a Table with a definite outcome. Implementations wrap them.
var (
	ErrNotFound = errors.New("no such item")
	ErrLimit    = errors.New("over a limit of the table")
	ErrDamaged  = errors.New("the database is damaged") // the requested data can no longer be read
)

// A Conflict is the error of a Commit with an operation whose condition is not met.
type Conflict struct {
	Key  Key
	Item Item // the current item if Found
	// Found reports whether there is an item at Key.
	Found bool
}

// Error returns a message without the key, because keys contain names of tenants and vaults.
func (c *Conflict) Error() string { return "the condition of a commit does not hold" }

// A Checker is a Table that can check its own storage. A Table in a managed service does not
// implement it.
type Checker interface {
	// Check yields an error for each damaged part, and nothing if there is none. It reads the whole
	// database.
	Check(ctx context.Context) iter.Seq[error]
}

// sendBefore is the context key of the time.
type sendBefore struct{}

// SendBefore returns a context with which no write is sent after t, by the implementation's clock.
// An implementation that sends requests checks this before each one, and fails without an effect.
// It is meant for writes that would be wrong if they were late, such as an append that is based on
// an earlier read. It never extends an earlier limit in ctx.
func SendBefore(ctx context.Context, t time.Time) context.Context {
	if earlier, ok := SentBefore(ctx); ok && earlier.Before(t) {
		return ctx
	}
	return context.WithValue(ctx, sendBefore{}, t)
}

// SentBefore returns the time that SendBefore set, or false if there is none.
func SentBefore(ctx context.Context) (time.Time, bool) {
	t, ok := ctx.Value(sendBefore{}).(time.Time)
	return t, ok
}
