package watch

import (
	"path"

	"github.com/fsnotify/fsnotify"
)

// work processes events until Close.
func (t *Tree) work() {
	for {
		select {
		case <-t.done:
			return
		case <-t.inbox.wake:
		}
		events, lost := t.inbox.take()
		// The events that were not lost are redundant after this, because everything is reported.
		if lost {
			t.rewatchAll()
		}
		for _, e := range events {
			if t.closing() {
				return
			}
			t.handle(e)
		}
	}
}

// handle reports the path of an event and updates the watches. For a change of a name it does not
// matter which one: the present state of the path decides.
func (t *Tree) handle(e fsnotify.Event) {
	name, ok := t.root.rel(e.Name)
	if !ok {
		return
	}
	if name == "" {
		t.handleRoot(e)
		return
	}
	// A write does not change the set of folders. A change of permissions can make a folder
	// readable that could not be watched, so it is examined again if it has a reason.
	if e.Op&^(fsnotify.Write|fsnotify.Chmod) == 0 && !t.degraded.has(name) {
		t.changes.add(name)
		return
	}
	t.watchSet.rewatch(name)
	if e.Has(fsnotify.Create) && t.watchSet.countEntry(folderOf(name)) {
		t.rewatchAll()
	}
}

// handleRoot processes an event of the root. If the root was moved, its watches are renewed,
// because the watcher drops what is moved; changes between the move and the renewal are lost, so
// Everything is reported.
func (t *Tree) handleRoot(e fsnotify.Event) {
	switch {
	case t.root.lost() != "":
		t.watchSet.drop("")
		t.reportIfLost()
	// The root was moved, but its path still leads to it.
	case e.Has(fsnotify.Rename) || e.Has(fsnotify.Remove):
		t.watcher.follow()
		t.rewatchAll()
	default:
		t.changes.addEverything()
	}
}

// rewatchAll watches the whole tree again after events were lost, because folders can have been
// created, moved or removed. It does nothing if the root was lost.
func (t *Tree) rewatchAll() {
	if !t.watchSet.hasRoot() {
		return
	}
	t.degraded.hold()
	defer t.release()
	t.watchSet.drop("")
	t.watchSet.watchRoot()
	t.changes.addEverything()
}

// release ends a hold of degraded. If the tree has become Whole, it sends on C again, after the
// changes were added.
func (t *Tree) release() {
	if t.degraded.release() {
		t.changes.ring()
	}
}

// reportIfLost checks whether the root is lost, and reports that once. It can be called by any
// goroutine.
func (t *Tree) reportIfLost() {
	reason := t.root.lost()
	if reason == "" {
		return
	}
	t.lost.Do(func() {
		t.degraded.setReason(reason)
		t.changes.addEverything()
	})
}

// folderOf returns the folder of a path in the tree; "" for files in the root, and for the root.
func folderOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
