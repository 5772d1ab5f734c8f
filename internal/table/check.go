package table

import (
	"context"
	"iter"
)

// A Checker is a Table that can check what its items are stored in. An engine that is somebody else's
// to look after is none.
type Checker interface {
	// Check yields what is damaged, and ends without a word where nothing is. It reads everything.
	Check(ctx context.Context) iter.Seq[error]
}
