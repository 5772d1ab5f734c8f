package index

import (
	"maps"
	"slices"

	"github.com/tidwall/btree"
)

// A traitOwners maps ids to the path of the file that contains the trait or node. Most ids are in
// an immutable list, which many states of the vault share. A tree, copied on write, has the changes
// since, and takes precedence over the list. An id that is in the list and no longer used has an
// empty path in the tree.
type traitOwners struct {
	list    ownerList
	changes tree[string] // the path; "" if the id is no longer used
}

// An ownerList is a sorted list of ids with their paths, in the form that it has in an image.
type ownerList struct {
	ids   texts
	files numbers // positions of paths
	paths texts
}

// isValid reports whether the ids are sorted and distinct, and each has a valid path.
func (l ownerList) isValid() bool {
	return l.ids.ascend() && l.files.len() == l.ids.len() && l.files.below(l.paths.len())
}

// newTraitOwners returns the owners in a list.
func newTraitOwners(list ownerList) traitOwners {
	return traitOwners{list, *btree.NewMap[string, string](degree)}
}

// clone returns a copy that can be changed.
func (h *traitOwners) clone() traitOwners { return traitOwners{h.list, *h.changes.Copy()} }

// get returns the path of the file with an id, "" if there is none.
func (h *traitOwners) get(id string) string {
	if path, changed := h.changes.Get(id); changed {
		return path
	}
	if i, held := h.list.ids.find(id); held {
		return h.list.path(i)
	}
	return ""
}

// path returns the path of the i-th id.
func (l ownerList) path(i int) string { return l.paths.at(l.files.at(i)) }

// change sets the path of each id in changed, "" to remove it. It rebuilds the list after a large
// change if the tree is at least half as large as the list, like entries.change.
func (h *traitOwners) change(changed map[string]string) {
	ids := slices.Sorted(maps.Keys(changed))
	for i := range spread(len(ids)) {
		path := changed[ids[i]]
		if path == "" && !h.list.has(ids[i]) {
			h.changes.Delete(ids[i])
			continue
		}
		h.changes.Set(ids[i], path)
	}
	if len(changed) >= manyEntries && h.changes.Len() >= h.list.ids.len()/2 {
		h.rebuild()
	}
}

// has reports whether an id is in the list.
func (l ownerList) has(id string) bool {
	_, held := l.ids.find(id)
	return held
}

// each calls f for each id that is in use, in order. It merges the list with the tree, whose items
// take precedence.
func (h *traitOwners) each(f func(id, path string)) {
	at := 0
	before := func(id string) {
		for ; at < h.list.ids.len() && h.list.ids.at(at) < id; at++ {
			f(h.list.ids.at(at), h.list.path(at))
		}
	}
	h.changes.Scan(func(id, path string) bool {
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

// most returns a number of ids that is not exceeded.
func (h *traitOwners) most() int { return h.list.ids.len() + h.changes.Len() }

// rebuild rebuilds the list from itself and the tree.
func (h *traitOwners) rebuild() {
	ids, held := make([]string, 0, h.most()), make([]string, 0, h.most())
	h.each(func(id, path string) { ids, held = append(ids, id), append(held, path) })
	paths, position := numbered(held)
	files := make([]byte, 0, 4*len(held))
	for _, path := range held {
		files = appendNumber(files, position[path])
	}
	*h = newTraitOwners(ownerList{listOf(ids), numbers(files), paths})
}
