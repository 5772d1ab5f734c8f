package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
)

// Reasons why a tree is not Whole, or a part of it not watched.
const (
	reasonRemoved = "the folder was removed"
	reasonMoved   = "the folder was moved or removed, and here it can be followed by its name only"
	reasonRemote  = "the folder is on a network or user-space file system, where other machines can make " +
		"changes"
	reasonRootOnly = "on this system only the files directly in the folder can be watched"
	reasonFull     = "the system allows no more watches or open files"
	reasonGreat    = "the tree has more files than can be watched on this system"
	reasonTwoNames = "a folder can be reached by two names"
)

// degraded are the reasons why changes may stay untold.
type degraded struct {
	mu    sync.Mutex
	tree  string            // of the whole tree; it stays
	parts map[string]string // of folders that are not watched
	held  string            // what is said meanwhile
}

func newFlaws() *degraded { return &degraded{parts: map[string]string{}} }

// spoil gives the whole tree a flaw. The last one counts.
func (f *degraded) spoil(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tree = reason
}

// spoilPart says why a folder is not watched.
func (f *degraded) spoilPart(folder, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parts[folder] = reason
}

// mend forgets the flaw of a folder.
func (f *degraded) mend(folder string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.parts, folder)
}

// hold keeps what is said as it is while watches are taken away and set again, until release. News
// that make up for a flaw are gathered before the release: who finds the tree whole finds them.
func (f *degraded) hold() {
	reason := f.reason()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = reason
}

// release tells whether what was said until now holds no longer, and nothing else is to be said.
func (f *degraded) release() (whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	whole = f.held != "" && f.tree == "" && len(f.parts) == 0
	f.held = ""
	return whole
}

// has tells whether a folder has a flaw of its own.
func (f *degraded) has(folder string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.parts[folder] != ""
}

// reason is that of the tree, or else of the first part by name, and how many others there are.
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

// noWatcher says why the system gives us no watcher at all.
func noWatcher(err error) string {
	if full(err) {
		return reasonFull
	}
	return "this system cannot watch files"
}

// partReason says why a folder cannot be watched or listed.
func partReason(err error) string {
	switch {
	case full(err):
		return reasonFull
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return "the system refused: " + errno.Error()
	}
	return "the system refused"
}

// full tells whether the system has no more of something that watching needs.
func full(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// gone tells whether there is no such folder any longer. Then an event says so, too.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
