package watch

import (
	"fmt"
	"os"
	"sync"
)

// A Hub opens trees that share what the system gives a process only a few of: on Linux one inotify instance, which is
// open while any of the trees is. The zero value is ready. It may be used by several goroutines.
type Hub struct {
	mu    sync.Mutex
	queue *queue // nil: no tree is open
}

// Open watches the tree under the folder dir. The function enter is asked for each folder under
// it, by its slash path relative to dir, whether it is to be watched and looked into; it is asked
// by one goroutine at a time. Symbolic links are never followed, but for dir itself.
//
// An error means that dir cannot be read. That the system does not let us watch is none: then the
// Tree is not Whole.
func (h *Hub) Open(dir string, enter func(folder string) bool) (*Tree, error) {
	return h.open(dir, enter, systemRules())
}

func (h *Hub) open(dir string, enter func(folder string) bool, r rules) (*Tree, error) {
	top, err := openRoot(dir, r.byName)
	if err != nil {
		return nil, fmt.Errorf("open the folder to watch: %w", bare(err))
	}
	t := &Tree{
		root: top, inbox: newInbox(), news: newNews(r.paths), flaws: newFlaws(),
		done: make(chan struct{}),
	}
	t.watcher, err = h.join(t)
	if err != nil {
		t.flaws.spoil(noWatcher(err))
		return t, nil
	}
	t.grove = newGrove(t, enter, r)
	t.grove.plantRoot()
	if top.dir != nil {
		t.watcher.awaitEnd(top.base)
	}
	t.worked.Go(t.work)
	return t, nil
}

// Open is Hub.Open with a hub of its own.
func Open(dir string, enter func(folder string) bool) (*Tree, error) {
	return new(Hub).Open(dir, enter)
}

// within returns the name of a file in a folder as events have it.
func within(folder, name string) string {
	if name == "" {
		return folder
	}
	return folder + string(os.PathSeparator) + name
}
