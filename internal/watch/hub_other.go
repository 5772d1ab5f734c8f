//go:build !linux

package watch

import "github.com/fsnotify/fsnotify"

// A queue is not shared here: each tree has a watcher of its own.
type queue struct{}

// A member is the watcher of one tree.
type member struct {
	*fsnotify.Watcher
	tree   *Tree
	pumped chan struct{} // closed when no more events come
}

func (h *Hub) join(t *Tree) (*member, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	m := &member{Watcher: w, tree: t, pumped: make(chan struct{})}
	go m.pump()
	return m, nil
}

// pump takes from the watcher until it is closed. Whatever error it has, a full queue or another,
// something may have been lost.
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

// Close ends the events, and returns when no more of them come.
func (m *member) Close() error {
	err := m.Watcher.Close()
	<-m.pumped
	return err
}

// awaitEnd and follow do nothing: no root is held here, and its removal is an event.
func (m *member) awaitEnd(string) {}

func (m *member) follow() {}
