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

// entries are the entries of a vault: most in a list that many states share and that is never
// changed, and in trees, which are copied on write, what came and went since. What came is not in the
// list, and what went is.
type entries struct {
	list       *flat
	came, went btree.BTreeG[entry]
}

// degree is the smallest number of entries in a node of a tree, plus one: a change copies a node of
// each level, so they are small.
const degree = 16

func newEntries(list *flat) entries {
	tree := func() btree.BTreeG[entry] {
		return *btree.NewBTreeGOptions(entry.less, btree.Options{NoLocks: true, Degree: degree})
	}
	return entries{list, tree(), tree()}
}

// copied is a copy that may be changed. It may be made by many at once.
func (s *entries) copied() entries { return entries{s.list, *s.came.Copy(), *s.went.Copy()} }

func (s *entries) len() int { return s.list.len() - s.went.Len() + s.came.Len() }

// ascend calls yield with the entries from one on, in order, as long as it says so.
func (s *entries) ascend(first entry, yield func(entry) bool) {
	list := entryWalk{flatCursor: s.list.seek(first), yield: yield}
	if s.went.Len() > 0 {
		list.gone = s.went.Iter()
		list.skips = list.gone.Seek(first)
	}
	goesOn := true
	s.came.Ascend(first, func(e entry) bool {
		goesOn = list.before(e) && yield(e)
		return goesOn
	})
	if goesOn {
		list.rest()
	}
}

// An entryWalk goes through the list, and passes over what is gone from it.
type entryWalk struct {
	flatCursor
	gone  btree.IterG[entry] // at the next that is gone
	skips bool               // there is a next
	yield func(entry) bool
}

// before yields what is before an entry.
func (w *entryWalk) before(limit entry) bool {
	for w.there() {
		e := w.entry()
		if !e.less(limit) {
			return true
		}
		if !w.pass(e) {
			return false
		}
	}
	return true
}

// rest yields all that is left.
func (w *entryWalk) rest() {
	for w.there() && w.pass(w.entry()) {
	}
}

// pass yields the entry at which the walk stands, if it is not gone, and goes on.
func (w *entryWalk) pass(e entry) bool {
	w.next()
	if w.skips && w.gone.Item() == e {
		w.skips = w.gone.Next()
		return true
	}
	return w.yield(e)
}

// from yields the entries from one on.
func (s *entries) from(first entry) iter.Seq[entry] {
	return func(yield func(entry) bool) { s.ascend(first, yield) }
}

// paths yields the paths from one on that go by a name, in order.
func (s *entries) paths(name, from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		s.ascend(entry{name, from}, func(e entry) bool { return e.name == name && yield(e.path) })
	}
}

// names yields the names of a kind, each once and without the kind, in order. It hops from one to the
// next.
func (s *entries) names(k kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		for next, more := k.name(""), true; more; {
			more = false
			s.ascend(entry{name: next}, func(e entry) bool {
				more = e.name[0] == byte(k) && yield(e.name[1:])
				next = e.name + "\x00"
				return false
			})
		}
	}
}

// manyEntries is how many entries are too many for trees, unless the list has twice as many.
const manyEntries = 1 << 12

// put adds entries, which are not there, sorted or not. Many at once become the list.
func (s *entries) put(all []entry) {
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.path, b.path))
	})
	if s.len() == 0 && len(all) >= manyEntries {
		*s = newEntries(newFlat(all))
		return
	}
	for i := range spread(len(all)) {
		if _, again := s.went.Delete(all[i]); !again {
			s.came.Set(all[i])
		}
	}
}

// flatten makes the list anew if the trees have become large beside it.
func (s *entries) flatten() {
	if n := s.came.Len() + s.went.Len(); n >= manyEntries && n > s.list.len()/2 {
		all := slices.AppendSeq(make([]entry, 0, s.len()), s.from(entry{}))
		*s = newEntries(newFlat(all))
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

// remove takes entries out, which are there.
func (s *entries) remove(all []entry) {
	for _, e := range all {
		if _, was := s.came.Delete(e); !was {
			s.went.Set(e)
		}
	}
}
