package watch

import (
	"maps"
	"slices"
	"sync"
)

// news is what was gathered and not taken yet.
type news struct {
	signal chan struct{} // capacity 1

	mu         sync.Mutex
	limit      int
	paths      map[string]struct{}
	everything bool
}

func newNews(limit int) *news {
	return &news{signal: make(chan struct{}, 1), limit: limit, paths: map[string]struct{}{}}
}

// add gathers a path, or everything when there are too many.
func (n *news) add(path string) {
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

// addEverything says that more changed than can be named.
func (n *news) addEverything() {
	n.mu.Lock()
	n.setEverything()
	n.mu.Unlock()
	n.ring()
}

// setEverything forgets the paths: who has to look at all of them needs none.
func (n *news) setEverything() {
	n.everything = true
	n.paths = map[string]struct{}{}
}

// ring comes after the gathering, so that who hears it finds what it rang for.
func (n *news) ring() {
	select {
	case n.signal <- struct{}{}:
	default:
	}
}

func (n *news) take() Changes {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := Changes{Paths: slices.Collect(maps.Keys(n.paths)), Everything: n.everything}
	n.paths, n.everything = map[string]struct{}{}, false
	return c
}
