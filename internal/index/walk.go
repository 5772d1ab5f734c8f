package index

import (
	"container/heap"
	"iter"
	"sort"
	"strings"

	"github.com/tidwall/btree"
)

// notesBy yields the notes with a name, from a path on, by path. It yields nil for a file that is
// not a note; only names of the kinds byFold and isHidden have such files.
func (x *Index) notesBy(name, from string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		c := x.cursor()
		for path := range x.entries.paths(name, from) {
			if !yield(c.note(path)) {
				return
			}
		}
	}
}

// notesByAny yields the notes with any of several names, each once, from a path on, by path. It
// merges the sorted paths of the names with a heap, so it reads no more of them than the caller
// takes.
func (x *Index) notesByAny(names []string, from string) iter.Seq[*Note] {
	if len(names) == 1 {
		return x.notesBy(names[0], from)
	}
	return func(yield func(*Note) bool) {
		heads := make(byPath, 0, len(names))
		for _, name := range names {
			if e, ok := x.entries.first(name, from); ok {
				heads = append(heads, e)
			}
		}
		heap.Init(&heads)
		for c := x.cursor(); len(heads) > 0; {
			path := heads[0].path
			if !yield(c.note(path)) {
				return
			}
			// Other names of the same note are skipped, so each note is yielded once.
			for len(heads) > 0 && heads[0].path == path {
				x.entries.advance(&heads)
			}
		}
	}
}

// byPath is a heap of entries with different names, for container/heap. The entry with the smallest
// path is on top. Each entry is the next one of its name.
type byPath []entry

func (h byPath) Len() int           { return len(h) }
func (h byPath) Less(i, j int) bool { return h[i].path < h[j].path }
func (h byPath) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byPath) Push(e any)        { *h = append(*h, e.(entry)) }

func (h *byPath) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// advance replaces the entry on top by the next one with the same name, or removes it if there is
// none.
func (s *entries) advance(heads *byPath) {
	top := (*heads)[0]
	if next, ok := s.first(top.name, top.path+"\x00"); ok {
		(*heads)[0] = next
		heap.Fix(heads, 0)
		return
	}
	heap.Pop(heads)
}

// first returns the first entry with a name, from a path on.
func (s *entries) first(name, from string) (first entry, ok bool) {
	s.between(entry{name, from}, name)(func(e entry) bool {
		first, ok = e, true
		return false
	})
	return first, ok
}

// A cursor looks up one note after the other. It is fast for paths that are close together and come
// in order, as those of a range of entries do. For other paths it seeks from the root of the tree.
type cursor struct {
	files btree.MapIter[string, *File]
	valid bool // files is at a file
}

// cursor returns a cursor that is not at a file yet.
func (x *Index) cursor() *cursor { return &cursor{files: x.files.Iter()} }

// stride is the number of files that a cursor steps over before it seeks from the root of the tree,
// which takes about as long.
const stride = 8

// note returns the note at a path, which must exist; nil if the file at the path is not a note.
func (c *cursor) note(path string) *Note {
	for tries := 0; c.valid && tries < stride; tries++ {
		if c.files.Key() == path {
			return c.files.Value().Note
		}
		c.valid = c.files.Next()
	}
	c.valid = c.files.Seek(path)
	return c.files.Value().Note
}

// firstAfter returns the position of the first thing in the note whose location is after a given
// one; number if there is none. The things are given by their number and their locations, which
// must be in order. It is a binary search. A location in another note is before or after all of
// them.
func (n *Note) firstAfter(after Location, number int, spot func(int) Location) int {
	if after.Path == "" {
		return 0
	}
	switch strings.Compare(n.Path, after.Path) {
	case 1:
		return 0
	case -1:
		return number
	}
	return sort.Search(number, func(i int) bool { return spot(i).After(after) })
}
