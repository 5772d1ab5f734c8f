package blob

import "io"

// A Watch reports changes in a Folder until it is closed. It is safe for concurrent use.
type Watch interface {
	io.Closer

	// C returns a channel that receives a value after something has changed, and when all changes
	// are reported again after a gap. One value may stand for many changes, and Take may return
	// none after it. Close does not close the channel.
	C() <-chan struct{}

	// Take returns the changes since the last Take.
	Take() Changes

	// Reason returns, in words for a person, why some changes are not reported. It is empty if all
	// are.
	Reason() string

	// Lost reports whether the folder was removed or replaced, so that a new Watch is needed.
	Lost() bool
}

// Changes are the paths in a Folder that may have changed.
type Changes struct {
	// Paths are files and folders relative to the root, with slashes, in no particular order. A
	// folder stands for everything that is or was below it.
	Paths []string

	// Everything says that paths not in Paths may have changed too.
	Everything bool
}
