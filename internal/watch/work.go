package watch

import (
	"path"

	"github.com/fsnotify/fsnotify"
)

// work hears the events until Close.
func (t *Tree) work() {
	for {
		select {
		case <-t.done:
			return
		case <-t.inbox.wake:
		}
		events, lost := t.inbox.take()
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

// hear tells what an event is about, and keeps the watches right. It does not matter which way a
// name changed: what is there now decides.
func (t *Tree) hear(e fsnotify.Event) {
	name, ok := t.root.rel(e.Name)
	if !ok {
		return
	}
	if name == "" {
		t.hearOfRoot(e)
		return
	}
	if e.Op&^(fsnotify.Write|fsnotify.Chmod) == 0 && !t.flaws.has(name) {
		t.news.add(name)
		return
	}
	t.grove.renew(name)
	if e.Has(fsnotify.Create) && t.grove.crowded(folderOf(name)) {
		t.replant()
	}
}

// hearOfRoot follows a root that was moved. The watcher drops what is moved, so changes between
// the move and now are lost.
func (t *Tree) hearOfRoot(e fsnotify.Event) {
	switch {
	case t.root.lost() != "":
		t.grove.drop("")
		t.tellIfLost()
	case e.Has(fsnotify.Rename) || e.Has(fsnotify.Remove):
		t.watcher.follow()
		t.replant()
	default:
		t.news.addEverything()
	}
}

// replant watches the tree anew after events were lost, of which some may have made, moved or
// removed folders. A root that was lost stays so.
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

// release says what holds now. The news were told before it, so who waits for a whole tree is told again.
func (t *Tree) release() {
	if t.flaws.release() {
		t.news.ring()
	}
}

// tellIfLost is called when the root may have been removed, or moved where it is not followed. It
// may be called by any goroutine.
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

// folderOf is the folder of a path; that of the root is empty.
func folderOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
