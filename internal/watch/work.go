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
			t.replant()
		}
		for _, e := range events {
			if t.closing() {
				return
			}
			t.hear(e)
		}
	}
}

// hear reports the path of an event and updates the watches. For a change of a name it does not
// matter which one: the present state of the path decides.
func (t *Tree) hear(e fsnotify.Event) {
	name, ok := t.root.rel(e.Name)
	if !ok {
		return
	}
	if name == "" {
		t.hearOfRoot(e)
		return
	}
	// A write does not change the set of folders. A change of permissions can make a folder
	// readable that could not be watched, so it is examined again if it has a reason.
	if e.Op&^(fsnotify.Write|fsnotify.Chmod) == 0 && !t.flaws.has(name) {
		t.news.add(name)
		return
	}
	t.grove.renew(name)
	if e.Has(fsnotify.Create) && t.grove.crowded(folderOf(name)) {
		t.replant()
	}
}

// hearOfRoot processes an event of the root. If the root was moved, its watches are renewed,
// because the watcher drops what is moved; changes between the move and the renewal are lost, so
// Everything is reported.
func (t *Tree) hearOfRoot(e fsnotify.Event) {
	switch {
	case t.root.lost() != "":
		t.grove.drop("")
		t.tellIfLost()
	// The root was moved, but its path still leads to it.
	case e.Has(fsnotify.Rename) || e.Has(fsnotify.Remove):
		t.watcher.follow()
		t.replant()
	default:
		t.news.addEverything()
	}
}

// replant watches the whole tree again after events were lost, because folders can have been
// created, moved or removed. It does nothing if the root was lost.
func (t *Tree) replant() {
	if !t.grove.planted() {
		return
	}
	t.flaws.hold()
	defer t.release()
	t.grove.drop("")
	t.grove.plantRoot()
	t.news.addEverything()
}

// release ends a hold of flaws. If the tree has become Whole, it sends on C again, after the
// changes were added.
func (t *Tree) release() {
	if t.flaws.release() {
		t.news.ring()
	}
}

// tellIfLost checks whether the root is lost, and reports that once. It can be called by any
// goroutine.
func (t *Tree) tellIfLost() {
	reason := t.root.lost()
	if reason == "" {
		return
	}
	t.lost.Do(func() {
		t.flaws.spoil(reason)
		t.news.addEverything()
	})
}

// folderOf returns the folder of a path in the tree; "" for files in the root, and for the root.
func folderOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
