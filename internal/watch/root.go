package watch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// A root is the folder at the top of a tree, with the path by which its files are accessed.
type root struct {
	base string   // prefix of all absolute paths
	dir  *os.File // keeps base valid if the folder is moved; nil if it is accessed by name
	id   identity // of the folder at Open; set only if dir is nil
}

// openRoot opens a folder. It keeps a descriptor if files can be accessed through it and byName
// is not set; otherwise it accesses them by name.
//
// Symbolic links in the path are resolved once, so a link that changes later does not matter.
func openRoot(name string, byName bool) (*root, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return nil, err
	}
	dir, err := openFolder(full)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err != nil {
		dir.Close()
		return nil, err
	}
	if base, ok := descriptorPath(dir, info); ok && !byName {
		return &root{base: base, dir: dir}, nil
	}
	return &root{base: full, id: identityOf(info)}, dir.Close()
}

// openFolder opens a folder; it fails for anything else, and without read permission.
func openFolder(name string) (*os.File, error) {
	dir, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// descriptorPath returns a path that leads to an open folder even after it is moved; false if
// there is none. Only Linux has such paths.
func descriptorPath(dir *os.File, info fs.FileInfo) (string, bool) {
	if runtime.GOOS != "linux" {
		return "", false
	}
	base := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	// /proc can be missing, or belong to another process namespace.
	there, err := os.Stat(base)
	return base, err == nil && os.SameFile(info, there)
}

// abs returns the absolute path of a slash path in the tree; "" is the root.
func (r *root) abs(name string) string {
	if name == "" {
		return r.base
	}
	return filepath.Join(r.base, filepath.FromSlash(name))
}

// rel returns the slash path in the tree of an absolute path; false if it is not in the tree.
func (r *root) rel(found string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(found, r.base)
	switch {
	case !ok:
		return "", false
	case rest == "":
		return "", true
	case os.IsPathSeparator(rest[0]):
		return filepath.ToSlash(rest[1:]), true
	}
	// Only a root of the file system ends with a separator; otherwise found is a sibling whose
	// name begins with the name of the root.
	return filepath.ToSlash(rest), os.IsPathSeparator(r.base[len(r.base)-1])
}

// stat returns information about a file. It does not follow a symbolic link, except for the root.
func (r *root) stat(name string) (fs.FileInfo, error) {
	if name == "" {
		return os.Stat(r.base)
	}
	return os.Lstat(r.abs(name))
}

// lost returns the reason why the root is lost; "" if it is not. A root with a descriptor is lost
// when it is removed; one that is accessed by name is lost when the name no longer leads to the
// same folder.
func (r *root) lost() (reason string) {
	if r.dir != nil {
		// A removed folder can still be examined by its descriptor, but has no links.
		info, err := r.dir.Stat()
		if err == nil && nameless(info) {
			return reasonRemoved
		}
		return ""
	}
	info, err := os.Stat(r.base)
	if err != nil || !info.IsDir() || identityOf(info) != r.id {
		return reasonMoved
	}
	return ""
}

// close closes the descriptor of the root.
func (r *root) close() {
	if r.dir != nil {
		r.dir.Close() // nothing was written
	}
}

// inboxLimit is the maximum number of events in an inbox. If there are more, they are dropped,
// and the tree is searched again.
const inboxLimit = 1 << 16

// An inbox contains the events that the worker has not processed yet.
//
// It decouples the watcher from the worker, because the watcher must never wait for a caller of
// its methods: on Windows, Add waits for the goroutine that sends the events, and on Linux an
// error can be sent under the lock that Add and Remove need.
type inbox struct {
	wake chan struct{} // receives when there is something to take; capacity 1

	mu     sync.Mutex
	events []fsnotify.Event
	lost   bool // events were dropped
}

// newInbox returns an empty inbox.
func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// put adds an event. It drops an event that is equal to the last one.
func (b *inbox) put(e fsnotify.Event) {
	b.mu.Lock()
	switch n := len(b.events); {
	// The dropped events are replaced by a search of the whole tree.
	case n >= inboxLimit:
		b.events, b.lost = nil, true
	case n == 0 || b.events[n-1] != e: // writing a file causes many equal events
		b.events = append(b.events, e)
	}
	b.mu.Unlock()
	b.ring()
}

// lose reports that events were lost. It drops the waiting events too, because the whole tree
// will be searched again.
func (b *inbox) lose() {
	b.mu.Lock()
	b.events, b.lost = nil, true
	b.mu.Unlock()
	b.ring()
}

// ring wakes the worker.
func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns and removes the events, and reports whether others were lost.
func (b *inbox) take() (events []fsnotify.Event, lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, lost = b.events, b.lost
	b.events, b.lost = nil, false
	return events, lost
}
