package blob

import "io"

// A Watch tells of changes in a Folder. Close ends it. Its methods may be called from several goroutines.
type Watch interface {
	io.Closer

	// C receives after something changed, and when everything is told again. One value may stand for many
	// changes, and Take may return none after it. Close does not close C.
	C() <-chan struct{}

	// Take returns the changes since the last Take.
	Take() Changes

	// Reason says in words for a person why not every change is told. It is empty while each is.
	Reason() string

	// Lost reports whether the folder was taken away, or replaced: a new Watch is needed.
	Lost() bool
}

// Changes are the places in a Folder that may have changed.
type Changes struct {
	// Paths are files and folders, with slashes, relative to the root, in no order. A folder
	// stands for all that is or was below it.
	Paths []string

	// Everything says that more may have changed than Paths names.
	Everything bool
}
