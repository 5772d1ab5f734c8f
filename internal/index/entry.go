package index

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// An entry says by what a file is found: a name, of which the first byte says what it names. Entries
// are sorted by name, then path, so that what goes by a name is a range of them. They hold no notes:
// a note that changes keeps the entries that still hold, and nothing is written for those.
type entry struct{ name, path string }

// A kind is the first byte of the name of an entry.
type kind byte

// The kinds of names, beside the ways in which an object goes by a name.
const (
	byCreated  kind = '0' // a time
	byModified kind = '1' // a time
	byFold     kind = '2' // what the path collides under, where that is another
	byDay      kind = 'd' // a day that a field or a trait names
	byTag      kind = 'g'
	byDeclared kind = 'k' // the type that the note or an object in it says
	isBroken   kind = 'q' // quarantined
	byRef      kind = 'r' // the bucket of a reference, NUL, what it refers to as it is written
	byTrait    kind = 't' // the type of an annotation; one that the schema does not know too
	isUntyped  kind = 'u' // says no type, and is no daily note
	byValue    kind = 'v' // the type of an annotation, NUL, its value; a reference as under byRef
	byType     kind = 'y' // of the note or an embedded object; plain sections are not here
)

// name is the name of an entry.
func (k kind) name(s string) string { return string([]byte{byte(k)}) + s }

// summed reports whether the index keeps how often anything goes by a name of the kind.
func (k kind) summed() bool {
	return k == byValue || k == byRef || k == byDay || k == isUntyped
}

// last is the name behind all of a kind.
func (k kind) last() string { return (k + 1).name("") }

func (e entry) less(other entry) bool {
	if c := strings.Compare(e.name, other.name); c != 0 {
		return c < 0
	}
	return e.path < other.path
}

// entries are the entries of a vault. They are copied on write.
type entries struct{ tree btree.BTreeG[entry] }

// degree is the smallest number of entries in a node of the tree, plus one: a change copies a node of
// each level, so they are small.
const degree = 16

func newEntries() entries {
	return entries{*btree.NewBTreeGOptions(entry.less, btree.Options{NoLocks: true, Degree: degree})}
}

// copied is a copy that may be changed. It may be made by many at once.
func (s entries) copied() entries { return entries{*s.tree.Copy()} }

// from yields the entries from one on.
func (s *entries) from(first entry) iter.Seq[entry] {
	return func(yield func(entry) bool) { s.tree.Ascend(first, yield) }
}

// paths yields the paths from one on that go by a name, in order.
func (s *entries) paths(name, from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		s.tree.Ascend(entry{name, from}, func(e entry) bool { return e.name == name && yield(e.path) })
	}
}

// names yields the names of a kind, each once and without the kind, in order. It hops from one to the
// next.
func (s *entries) names(k kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		for next, more := k.name(""), true; more; {
			more = false
			s.tree.Ascend(entry{name: next}, func(e entry) bool {
				more = e.name[0] == byte(k) && yield(e.name[1:])
				next = e.name + "\x00"
				return false
			})
		}
	}
}

// put adds entries, sorted or not.
func (s *entries) put(all []entry) {
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.path, b.path))
	})
	for i := range spread(len(all)) {
		s.tree.Set(all[i])
	}
}

// spread yields the positions of a sorted list in an order in which nodes become full. A node that
// fills from one end is halved, and stays so: the odd ones of each come when the even ones are there.
func spread(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for odd := range 2 {
			for i := range n {
				if i%(2*degree-1)%2 == odd && !yield(i) {
					return
				}
			}
		}
	}
}

// remove takes entries out.
func (s *entries) remove(all []entry) {
	for _, e := range all {
		s.tree.Delete(e)
	}
}
