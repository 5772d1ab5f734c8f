package index

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// entries are the entries of a vault: most in a list that many states share and that is never
// changed, and in trees, which are copied on write, what came and went since. What came is not in the
// list, and what went is.
type entries struct {
	list       *baseList
	came, went btree.BTreeG[entry]
}

// degree is the smallest number of entries in a node of a tree, plus one: a change copies a node of
// each level, so they are small.
const degree = 16

func newEntries(list *baseList) entries {
	tree := func() btree.BTreeG[entry] {
		return *btree.NewBTreeGOptions(entry.less, btree.Options{NoLocks: true, Degree: degree})
	}
	return entries{list, tree(), tree()}
}

// copied is a copy that may be changed. It may be made by many at once.
func (s *entries) copied() entries { return entries{s.list, *s.came.Copy(), *s.went.Copy()} }

func (s *entries) len() int { return s.list.len() - s.went.Len() + s.came.Len() }

// behind is a name behind all names.
const behind = "\xff"

// all yields all entries, in order.
func (s *entries) all() iter.Seq[entry] { return s.between(entry{}, behind) }

// between yields the entries from one on up to those of a name, in order.
func (s *entries) between(first entry, last string) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		list := entryWalk{baseCursor: s.list.seek(first), last: last, yield: yield}
		if s.went.Len() > 0 {
			list.gone = s.went.Iter()
			list.skips = list.gone.Seek(first)
		}
		goesOn := true
		s.came.Ascend(first, func(e entry) bool {
			goesOn = list.before(e) && e.name <= last && yield(e)
			return goesOn
		})
		if goesOn {
			list.rest()
		}
	}
}

// An entryWalk goes through the list up to a name, and passes over what is gone from it.
type entryWalk struct {
	baseCursor
	last  string
	gone  btree.IterG[entry] // at the next that is gone
	skips bool               // there is a next
	yield func(entry) bool
}

// on reports whether the walk stands at an entry.
func (w *entryWalk) on() bool { return w.there() && w.name <= w.last }

// before yields what is before an entry.
func (w *entryWalk) before(limit entry) bool {
	for w.on() {
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
	for w.on() && w.pass(w.entry()) {
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

// paths yields the paths from one on that go by a name, in order.
func (s *entries) paths(name, from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for e := range s.between(entry{name, from}, name) {
			if !yield(e.path) {
				return
			}
		}
	}
}

// names yields the names of a kind, each once and without the kind, in order. It hops from one to the
// next.
func (s *entries) names(k kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		for next, more := k.name(""), true; more; {
			more = false
			s.between(entry{name: next}, k.last())(func(e entry) bool {
				more = e.name[0] == byte(k) && yield(e.name[1:])
				next = e.name + "\x00"
				return false
			})
		}
	}
}

// manyEntries is how many entries are so many that it is worth to make the list anew for them.
const manyEntries = 1 << 12

// change takes out what went, which is there, and adds what came, which is not. A large change makes the
// list anew if that and what changed before are half of the list: so that takes no more time than these
// changes did, and an import leaves no large trees.
func (s *entries) change(went, came []entry) {
	slices.SortFunc(came, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.path, b.path))
	})
	changed := len(went) + len(came)
	many := changed >= manyEntries && changed+s.came.Len()+s.went.Len() >= s.list.len()/2
	if many && s.len() == 0 {
		*s = newEntries(newFlat(came))
		return
	}
	s.remove(went)
	s.put(came)
	if many {
		*s = newEntries(newFlat(slices.AppendSeq(make([]entry, 0, s.len()), s.all())))
	}
}

// put adds sorted entries, which are not there.
func (s *entries) put(all []entry) {
	for i := range spread(len(all)) {
		if _, again := s.went.Delete(all[i]); !again {
			s.came.Set(all[i])
		}
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
