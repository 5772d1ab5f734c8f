package watch

import (
	"fmt"
	"os"
	"sync"
)

// A Hub opens trees that share limited resources of the system: on Linux one inotify instance,
// which exists while at least one of the trees is open. The zero value is ready to use. A Hub is
// safe for concurrent use.
type Hub struct {
	mu    sync.Mutex
	queue *queue // nil: no tree is open
}

// Open watches the tree of folders under dir. It calls enter for each folder below dir, with the
// slash path relative to dir; enter reports whether the folder is watched and searched for other
// folders. Calls of enter never overlap. Symbolic links are not followed, except dir itself.
//
// An error means that dir cannot be read. If the system refuses to watch it, Open returns a Tree
// that is not Whole, and no error.
func (h *Hub) Open(dir string, enter func(folder string) bool) (*Tree, error) {
	return h.open(dir, enter, systemRules())
}

// open does the same as Open, with the given rules.
func (h *Hub) open(dir string, enter func(folder string) bool, r rules) (*Tree, error) {
	top, err := openRoot(dir, r.byName)
	if err != nil {
		return nil, fmt.Errorf("open the folder to watch: %w", withoutPath(err))
	}
	t := &Tree{
		root: top, inbox: newInbox(), changes: newChangeSet(r.paths), degraded: newDegraded(),
		done: make(chan struct{}),
	}
	t.watcher, err = h.join(t)
	// The caller gets a Tree that reports nothing and is not Whole.
	if err != nil {
		t.degraded.setReason(noWatcher(err))
		return t, nil
	}
	t.watchSet = newWatchSet(t, enter, r)
	// The watches are complete before Open returns, so that no later change is missed.
	t.watchSet.watchRoot()
	if top.dir != nil {
		t.watcher.awaitEnd(top.base)
	}
	t.worked.Go(t.work)
	return t, nil
}

// within returns the path of a file in a folder in the form of events. An empty name stands for
// the folder itself.
func within(folder, name string) string {
	if name == "" {
		return folder
	}
	return folder + string(os.PathSeparator) + name
}
