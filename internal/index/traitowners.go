package index

import (
	"maps"
	"slices"

	"github.com/tidwall/btree"
)

// Holders say which note has the trait of an id, by its path: most in a list that many states share
// and that is never changed, and in a tree over it, which is copied on write, what changed since.
type traitOwners struct {
	list heldList
	over tree[string] // the path; "": nobody has the id any more
}

// A heldList is a sorted list of ids, as it stands in an image.
type heldList struct {
	ids   texts
	files numbers // positions of paths
	paths texts
}

// sound reports whether each id has a path, and the ids are sorted.
func (l heldList) sound() bool {
	return l.ids.ascend() && l.files.len() == l.ids.len() && l.files.below(l.paths.len())
}

func newHolders(list heldList) traitOwners {
	return traitOwners{list, *btree.NewMap[string, string](degree)}
}

func (h *traitOwners) copied() traitOwners { return traitOwners{h.list, *h.over.Copy()} }

// get is the path of the note whose trait has an id, "" if none has.
func (h *traitOwners) get(id string) string {
	if path, changed := h.over.Get(id); changed {
		return path
	}
	if i, held := h.list.ids.find(id); held {
		return h.list.path(i)
	}
	return ""
}

func (l heldList) path(i int) string { return l.paths.at(l.files.at(i)) }

// change enters who has which id now, "" for nobody. A large change makes the list anew if that and what
// changed before are half of the list, as in entries.
func (h *traitOwners) change(changed map[string]string) {
	ids := slices.Sorted(maps.Keys(changed))
	for i := range spread(len(ids)) {
		path := changed[ids[i]]
		if path == "" && !h.list.has(ids[i]) {
			h.over.Delete(ids[i])
			continue
		}
		h.over.Set(ids[i], path)
	}
	if len(changed) >= manyEntries && h.over.Len() >= h.list.ids.len()/2 {
		h.flatten()
	}
}

func (l heldList) has(id string) bool {
	_, held := l.ids.find(id)
	return held
}

// each calls f with the ids that somebody has, in order.
func (h *traitOwners) each(f func(id, path string)) {
	at := 0
	before := func(id string) {
		for ; at < h.list.ids.len() && h.list.ids.at(at) < id; at++ {
			f(h.list.ids.at(at), h.list.path(at))
		}
	}
	h.over.Scan(func(id, path string) bool {
		before(id)
		if at < h.list.ids.len() && h.list.ids.at(at) == id {
			at++
		}
		if path != "" {
			f(id, path)
		}
		return true
	})
	for ; at < h.list.ids.len(); at++ {
		f(h.list.ids.at(at), h.list.path(at))
	}
}

// flatten makes the list anew of all that is known.
func (h *traitOwners) flatten() {
	var ids, held []string
	h.each(func(id, path string) { ids, held = append(ids, id), append(held, path) })
	paths, position := numbered(held)
	var files []byte
	for _, path := range held {
		files = appendNumber(files, position[path])
	}
	*h = newHolders(heldList{listOf(ids), numbers(files), paths})
}
