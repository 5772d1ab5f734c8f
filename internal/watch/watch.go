// Package watch reports changes in a tree of files.
//
// Its reports are hints: a path can be reported although nothing changed, and more than once. But
// no change is missed: each change after Open has returned is reported by the path of the file or
// of a folder above it, or by Changes.Everything; otherwise Whole is false. So a caller first
// opens a Tree and then reads the files, and reads all files again from time to time, more often
// while Whole is false.
//
// The guarantees depend on the system:
//
//   - Linux: all changes are reported. Each folder has an inotify watch; all trees of a Hub
//     share one instance. If /proc is mounted, the tree stays watched when its root is
//     moved, because it is accessed by a descriptor and not by its name. Inotify does not
//     report two kinds of changes: writes through a memory map that do not extend the file,
//     and mounts and unmounts in the tree. On network file systems and FUSE, changes made
//     on this machine are reported, and Whole is false.
//   - macOS and the BSDs: kqueue needs a descriptor for each file, so only folders with a
//     total of 4,096 entries are watched. In a larger tree Whole is false.
//   - Windows: only files directly in the root are watched, and Whole is false, because a
//     folder could not be renamed while a folder in it is watched.
//   - Other systems: nothing is watched, and Whole is false.
//
// If the root is accessed by its name, the tree is not Whole once the name leads to another
// folder. The removal of a root, or the loss of its name, is reported once; a folder that has the
// name later is another tree.
//
// # Structure
//
// A Hub provides the events of the system (queue and member on Linux, a fsnotify.Watcher
// elsewhere). An inbox passes them to the worker of a Tree, which renews the watches in a
// watchSet and collects the changes in a news, from which Take returns them. A degraded contains
// the reasons why changes can be missed.
package watch

import (
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A Tree is a watched tree of files. It is safe for concurrent use. It must be closed.
type Tree struct {
	root     *root
	watcher  *member // nil if the system provides none
	inbox    *inbox
	changes  *changeSet
	degraded *degraded
	watchSet *watchSet

	lost   sync.Once     // reports the loss of the root once
	once   sync.Once     // of Close
	done   chan struct{} // closed when Close begins
	worked sync.WaitGroup
}

// Changes are the paths that can have changed.
type Changes = blob.Changes

var _ blob.Watch = (*Tree)(nil)

// rules are parameters of a Tree that depend on the system, or on a test.
type rules struct {
	paths   int  // maximum number of collected paths; with more, Everything is set
	entries int  // maximum number of entries in the watched folders; 0: no limit
	below   bool // watch folders below the root
	byName  bool // access the root by its name even if a descriptor is possible
}

// systemRules returns the rules for the system on which the program runs.
func systemRules() rules {
	r := rules{paths: 100_000, below: true}
	switch runtime.GOOS {
	case "darwin", "ios", "freebsd", "netbsd", "openbsd", "dragonfly":
		r.entries = 4096
	case "windows":
		r.below = false
	}
	return r
}

// C returns a channel that receives after changes, and when the tree has become Whole again. One
// receive can stand for many changes, and Take can return none after it. Close does not close the
// channel.
func (t *Tree) C() <-chan struct{} { return t.changes.signal }

// Take returns the changes since the last call.
func (t *Tree) Take() Changes { return t.changes.take() }

// Reason returns the reason why the tree is not Whole, as text for people; "" if it is Whole.
func (t *Tree) Reason() string {
	if reason := t.root.lost(); reason != "" {
		return reason
	}
	return t.degraded.reason()
}

// Lost reports whether the root was removed, or its name leads to another folder. Then no more
// changes are reported, even if there is a folder with the name again.
func (t *Tree) Lost() bool { return t.root.lost() != "" }

// Close ends the watches and waits for the goroutines that process events of this tree only.
// Calls after the first do nothing and return nil.
func (t *Tree) Close() error {
	var err error
	t.once.Do(func() {
		// The worker ends first: on Windows, a call of the watcher that runs at the same time as
		// its Close can block forever.
		close(t.done)
		t.worked.Wait()
		if t.watcher != nil {
			err = t.watcher.Close()
		}
		t.root.close()
	})
	return err
}

// closing reports whether Close was called.
func (t *Tree) closing() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// withoutPath removes the path, which is absolute, from an error.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}

// Unwatched returns the folders that are not watched because the system allows no more watches or
// open files, and whether there are any. "" is the root.
func (t *Tree) Unwatched() (folders []string, some bool) { return t.degraded.limitedFolders() }

// limitedFolders returns the folders whose reason is reasonFull.
func (f *degraded) limitedFolders() (folders []string, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tree == reasonFull {
		return []string{""}, true
	}
	for folder, reason := range f.parts {
		if reason == reasonFull {
			folders = append(folders, folder)
		}
	}
	return folders, len(folders) > 0
}

// A changeSet collects changes until Take returns them. It is safe for concurrent use.
type changeSet struct {
	signal chan struct{} // Tree.C; capacity 1

	// limit is the maximum number of paths; with more, everything is set.
	mu         sync.Mutex
	limit      int
	paths      map[string]struct{}
	everything bool
}

// newChangeSet returns an empty news with a maximum number of paths.
func newChangeSet(limit int) *changeSet {
	return &changeSet{signal: make(chan struct{}, 1), limit: limit, paths: map[string]struct{}{}}
}

// add adds a path. If there are too many, it sets everything instead.
func (n *changeSet) add(path string) {
	n.mu.Lock()
	switch {
	case n.everything:
	case len(n.paths) < n.limit:
		n.paths[path] = struct{}{}
	default:
		n.setEverything()
	}
	n.mu.Unlock()
	n.ring()
}

// addEverything records that any file can have changed.
func (n *changeSet) addEverything() {
	n.mu.Lock()
	n.setEverything()
	n.mu.Unlock()
	n.ring()
}

// setEverything sets everything and drops the paths, which are then redundant. The caller must
// hold mu.
func (n *changeSet) setEverything() {
	n.everything = true
	n.paths = map[string]struct{}{}
}

// ring sends on C. Callers ring after they have added the change, so that a receiver finds it.
func (n *changeSet) ring() {
	select {
	case n.signal <- struct{}{}:
	default:
	}
}

// take returns and removes the changes.
func (n *changeSet) take() Changes {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := Changes{Paths: slices.Collect(maps.Keys(n.paths)), Everything: n.everything}
	n.paths, n.everything = map[string]struct{}{}, false
	return c
}
