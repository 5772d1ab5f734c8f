package watch

import (
	"maps"
	"slices"
	"sync"
)

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
