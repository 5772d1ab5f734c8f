package table

import (
	"context"
	"iter"
)

// A Checker is a Table that can check its own storage. A Table in a managed service does not
// implement it.
type Checker interface {
	// Check yields an error for each damaged part, and nothing if there is none. It reads the whole
	// database.
	Check(ctx context.Context) iter.Seq[error]
}
