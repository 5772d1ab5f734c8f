// Package watch tells that somebody changed something in a tree of files.
//
// What it tells is a hint: a path may be named though nothing about it is different now, and it
// may be named twice. It is never silent, though: whatever is changed after Open has returned is
// named itself, or lies under a folder that is named, or everything is to be looked at, or Whole
// is false. So a caller opens a Tree first and looks at the files then, and looks again now and
// then by itself, more often while Whole is false.
//
// What is promised depends on the system:
//
//   - Linux: all of it, with one inotify watch for each folder, of one instance for all trees of a
//     Hub. Where /proc is mounted the tree stays watched when its root is moved, for it is held by a
//     descriptor, not by its name.
//     Inotify is blind to two things: what is written through a memory map into a file that is
//     long enough already, and that a file system is mounted in the tree or taken off. On network
//     file systems and on FUSE the changes made on this machine are told, and Whole is false.
//   - macOS and the BSDs: kqueue takes a descriptor for each file, so only as many folders are
//     watched as hold 4,096 entries together. In a greater tree Whole is false.
//   - Windows: only what lies directly in the root is watched, and Whole is false, because nobody
//     could rename a folder while a folder in it is watched.
//   - Elsewhere nothing is watched, and Whole is false.
//
// Where the root is known by its name only, a tree is not Whole once that name leads elsewhere.
// A root that was removed, or lost in this way, is told once; what is there later is another tree.
package watch

import (
	"errors"
	"os"
	"runtime"
	"sync"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A Tree is a tree of files that is watched. Its methods may be called from several goroutines.
type Tree struct {
	root    *root
	watcher *member // nil where the system gave none
	inbox   *inbox
	news    *news
	flaws   *degraded
	grove   *watchSet

	lost   sync.Once     // the end of the root is told once
	once   sync.Once     // Close
	done   chan struct{} // closed when Close begins
	worked sync.WaitGroup
}

// Changes are the places that may have changed.
type Changes = blob.Changes

var _ blob.Watch = (*Tree)(nil)

// rules are what the system, or a test, asks of a Tree.
type rules struct {
	paths   int  // so many are gathered before Everything is said instead
	entries int  // so many may lie in the watched folders; 0: any number
	below   bool // folders under the root are watched
	byName  bool // the root is known by its name even if it could be held
}

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

// C receives after something changed, and after the tree became Whole again. One value may stand
// for many changes, and Take may find nothing after it. C is not closed by Close.
func (t *Tree) C() <-chan struct{} { return t.news.signal }

// Take hands over what was gathered since it was called last.
func (t *Tree) Take() Changes { return t.news.take() }

// Whole says that every change will be told. It becomes true again when the part that could not be
// watched is gone, or can be watched.
func (t *Tree) Whole() bool { return t.Reason() == "" }

// Reason says in words for a person why the tree is not Whole. It is empty for one that is.
func (t *Tree) Reason() string {
	if reason := t.root.lost(); reason != "" {
		return reason
	}
	return t.flaws.reason()
}

// Lost reports whether the root is gone, or its name leads elsewhere: nothing more will be told, and what
// is there now, or later, is another tree.
func (t *Tree) Lost() bool { return t.root.lost() != "" }

// Close ends the watching, and returns when all of it has ended. It may be called more than once.
func (t *Tree) Close() error {
	var err error
	t.once.Do(func() {
		// The worker ends first: a call to the watcher that is overtaken by its Close may never
		// return on Windows.
		close(t.done)
		t.worked.Wait()
		if t.watcher != nil {
			err = t.watcher.Close()
		}
		t.root.close()
	})
	return err
}

func (t *Tree) closing() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// bare takes the path from an error, which is absolute here.
func bare(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}
