//go:build !linux

package watch

import "github.com/fsnotify/fsnotify"

// A queue is not used on this system: each tree has its own watcher.
type queue struct{}

// A member is the watcher of one tree.
type member struct {
	*fsnotify.Watcher
	tree   *Tree
	pumped chan struct{} // closed when pump has returned
}

// join returns a watcher for a tree.
func (h *Hub) join(t *Tree) (*member, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	m := &member{Watcher: w, tree: t, pumped: make(chan struct{})}
	go m.pump()
	return m, nil
}

// pump passes events to the inbox until the watcher is closed. After any error, events can have
// been lost, so the tree is searched again.
func (m *member) pump() {
	defer close(m.pumped)
	events, errs := m.Events, m.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			m.tree.inbox.put(e)
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			m.tree.inbox.lose()
		}
	}
}

// Close closes the watcher and waits until no more events can arrive.
func (m *member) Close() error {
	err := m.Watcher.Close()
	<-m.pumped
	return err
}

// awaitEnd and follow do nothing: the root is not kept open on this system, and its removal is an
// event.
func (m *member) awaitEnd(string) {}

func (m *member) follow() {}
