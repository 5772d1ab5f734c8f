package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"syscall"
)

// Reasons why a tree is not Whole, or why a part of it is not watched.
const (
	reasonRemoved = "the folder was removed"
	reasonMoved   = "the folder was moved or removed, and here it can be followed by its name only"
	reasonRemote  = "the folder is on a network or user-space file system, where other machines can make " +
		"changes"
	reasonRootOnly = "on this system only the files directly in the folder can be watched"
	reasonFull     = "the system allows no more watches or open files"
	reasonTooLarge = "the tree has more files than can be watched on this system"
	reasonTwoNames = "a folder can be reached by two names"
)

// A degraded contains the reasons why changes can be missed. It is safe for concurrent use.
type degraded struct {
	mu    sync.Mutex
	tree  string            // of the whole tree; it is never cleared
	parts map[string]string // by folder that is not watched
	held  string            // reported instead of the others between hold and release
}

// newDegraded returns a degraded without reasons.
func newDegraded() *degraded { return &degraded{parts: map[string]string{}} }

// setReason sets the reason for the whole tree. It replaces an earlier one.
func (f *degraded) setReason(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tree = reason
}

// setPartReason sets the reason why a folder is not watched.
func (f *degraded) setPartReason(folder, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parts[folder] = reason
}

// clearPart removes the reason of a folder.
func (f *degraded) clearPart(folder string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.parts, folder)
}

// hold makes reason return its present result until release, while watches are removed and added
// again. So a caller that sees the tree become Whole also finds the changes that were collected
// meanwhile.
func (f *degraded) hold() {
	// reason takes the lock itself.
	reason := f.reason()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = reason
}

// release ends hold. It reports whether the tree was not Whole until now and is Whole from now
// on.
func (f *degraded) release() (whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	whole = f.held != "" && f.tree == "" && len(f.parts) == 0
	f.held = ""
	return whole
}

// has reports whether a folder has a reason of its own.
func (f *degraded) has(folder string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.parts[folder] != ""
}

// reason returns why the tree is not Whole, as a sentence part for people; "" if it is Whole. It
// names the first folder by name, and the number of others.
func (f *degraded) reason() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != "" {
		return f.held
	}
	if f.tree != "" || len(f.parts) == 0 {
		return f.tree
	}
	first, found := "", false
	// The first by name, so that the text does not change at random.
	for folder := range f.parts {
		if !found || folder < first {
			first, found = folder, true
		}
	}
	where := "the folder itself"
	if first != "" {
		where = fmt.Sprintf("%q", first)
	}
	if n := len(f.parts) - 1; n > 0 {
		where += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("not watched: %s: %s", where, f.parts[first])
}

// noWatcher returns the reason if the system provides no watcher at all.
func noWatcher(err error) string {
	if isLimitError(err) {
		return reasonFull
	}
	return "this system cannot watch files"
}

// partReason returns the reason why a folder cannot be watched or listed.
func partReason(err error) string {
	switch {
	case isLimitError(err):
		return reasonFull
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return "the system refused: " + errno.Error()
	}
	return "the system refused"
}

// isLimitError reports whether an error is the lack of a resource that watching needs.
func isLimitError(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}, func(e error) bool {
		return errors.Is(err, e)
	})
}

// isGone reports whether an error says that a folder no longer exists. Then there is an event for
// its removal too.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
