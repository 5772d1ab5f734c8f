package metric

import "sync"

// A routes is the set of known patterns of routes. The zero value is empty. It is safe for
// concurrent use.
type routes struct {
	mu    sync.RWMutex
	known map[string]bool
}

// add adds patterns.
func (r *routes) add(patterns []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]bool{}
	}
	for _, p := range patterns {
		r.known[p] = true
	}
}

// label returns the label of a route.
func (r *routes) label(route string) string {
	if route == "" {
		return "none"
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.known[route] {
		return other
	}
	return route
}
