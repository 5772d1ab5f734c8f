package metric

import "sync"

// routes are the patterns of routes that are known. The zero value knows none.
type routes struct {
	mu    sync.RWMutex
	known map[string]bool
}

// add makes patterns known.
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

// label is the label of a route.
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
