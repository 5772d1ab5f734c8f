package state

import "github.com/rookeryhq/rookery/internal/index"

// LookedUp returns how many files are looked up for a Prefetch of some paths and the use of others.
func LookedUp(ahead, used []string, find func(path string) (*index.File, bool)) (n int, found []string) {
	t := &Texts{find: func(path string) (*index.File, bool) { n++; return find(path) }}
	t.lookUp(ahead)
	for _, path := range used {
		if f, ok := t.File(path); ok {
			found = append(found, f.Path)
		}
	}
	return n, found
}
