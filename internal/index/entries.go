package index

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// entries is the set of the entries of a vault. Most are in an immutable list, which many states of
// the vault share. Two trees, copied on write, have the difference to that list: the entries that
// were added, which are not in the list, and those that were removed, which are. The set is the
// list without removed, together with added; every method merges the three in order.
type entries struct {
	list           *baseList
	added, removed btree.BTreeG[entry]
}

// degree is one more than the smallest number of entries in a node of a tree. It is small, because
// a change copies a node of each level.
const degree = 16

// newEntries returns the set of the entries of a list.
func newEntries(list *baseList) entries {
	tree := func() btree.BTreeG[entry] {
		return *btree.NewBTreeGOptions(entry.less, btree.Options{NoLocks: true, Degree: degree})
	}
	return entries{list, tree(), tree()}
}

// clone returns a copy that can be changed. Several goroutines may call it at once.
func (s *entries) clone() entries { return entries{s.list, *s.added.Copy(), *s.removed.Copy()} }

// len returns the number of entries.
func (s *entries) len() int { return s.list.len() - s.removed.Len() + s.added.Len() }

// afterAllNames is greater than every name.
const afterAllNames = "\xff"

// all yields all entries, in order.
func (s *entries) all() iter.Seq[entry] { return s.between(entry{}, afterAllNames) }

// between yields the entries from first on whose names are not greater than last, in order. It goes
// through the tree of added entries, and before each of them yields the smaller ones of the list.
func (s *entries) between(first entry, last string) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		list := entryWalk{baseCursor: s.list.seek(first), last: last, yield: yield}
		if s.removed.Len() > 0 {
			list.removed = s.removed.Iter()
			list.atRemoved = list.removed.Seek(first)
		}
		goesOn := true
		s.added.Ascend(first, func(e entry) bool {
			goesOn = list.yieldBefore(e) && e.name <= last && yield(e)
			return goesOn
		})
		if goesOn {
			list.yieldRest()
		}
	}
}

// An entryWalk goes through the list up to the name last, and skips the entries that were removed
// from it.
type entryWalk struct {
	baseCursor
	last      string
	removed   btree.IterG[entry] // at the next removed entry
	atRemoved bool               // removed is at an entry
	yield     func(entry) bool
}

// valid reports whether the walk is at an entry.
func (w *entryWalk) valid() bool { return w.baseCursor.valid() && w.name <= w.last }

// yieldBefore yields the entries less than limit. It returns false if yield did.
func (w *entryWalk) yieldBefore(limit entry) bool {
	for w.valid() {
		e := w.entry()
		if !e.less(limit) {
			return true
		}
		if !w.step(e) {
			return false
		}
	}
	return true
}

// yieldRest yields all remaining entries.
func (w *entryWalk) yieldRest() {
	for w.valid() && w.step(w.entry()) {
	}
}

// step moves to the next entry and yields the one that it left, unless that was removed. It returns
// false if yield did.
func (w *entryWalk) step(e entry) bool {
	w.next()
	if w.atRemoved && w.removed.Item() == e {
		w.atRemoved = w.removed.Next()
		return true
	}
	return w.yield(e)
}

// paths yields the paths with a name, from a path on, in order.
func (s *entries) paths(name, from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for e := range s.between(entry{name, from}, name) {
			if !yield(e.path) {
				return
			}
		}
	}
}

// names yields the distinct names of a kind, without the byte of the kind, in order. It seeks from
// each name to the next, and does not go through the paths. So the declared types of a large vault,
// for example, are a few seeks.
func (s *entries) names(k kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		for next, more := k.name(""), true; more; {
			more = false
			s.between(entry{name: next}, k.last())(func(e entry) bool {
				more = e.name[0] == byte(k) && yield(e.name[1:])
				// This is the smallest name after e.name.
				next = e.name + "\x00"
				return false
			})
		}
	}
}

// manyEntries is the smallest change for which rebuilding the list can be worthwhile. A rebuild
// goes through all entries.
const manyEntries = 1 << 12

// change removes the entries went, which must be in the set, and adds came, which must not. It
// rebuilds the list after a large change if this and earlier changes together are at least half as
// large as the list. So the cost of rebuilding is in proportion to that of the changes, and an
// import leaves no large trees.
func (s *entries) change(went, came []entry) {
	slices.SortFunc(came, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.path, b.path))
	})
	changed := len(went) + len(came)
	many := changed >= manyEntries && changed+s.added.Len()+s.removed.Len() >= s.list.len()/2
	// The first import of a vault: the list needs no trees.
	if many && s.len() == 0 {
		*s = newEntries(newBaseList(came))
		return
	}
	s.remove(went)
	s.put(came)
	if many {
		*s = newEntries(newBaseList(slices.AppendSeq(make([]entry, 0, s.len()), s.all())))
	}
}

// put adds sorted entries, which must not be in the set.
func (s *entries) put(all []entry) {
	for i := range spread(len(all)) {
		// An entry of the list that was removed is in the set again once removed lacks it.
		if _, again := s.removed.Delete(all[i]); !again {
			s.added.Set(all[i])
		}
	}
}

// spread yields the positions of a sorted list of length n, in an order in which the nodes of a
// tree become full. A node that is filled in ascending order is split in halves that stay half
// empty; so the even positions of each group come first, then the odd ones.
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

// remove removes entries, which must be in the set.
func (s *entries) remove(all []entry) {
	for _, e := range all {
		// An entry that is only in added is not in the list, so removed must not contain it.
		if _, was := s.added.Delete(e); !was {
			s.removed.Set(e)
		}
	}
}

// An entry says that the file at a path has a name, by which it is looked up. The first byte of the
// name is its kind. Entries are sorted by name, then path, so those of one name are a range. They
// have no pointers to notes: a note that changes keeps the entries that stay valid, and nothing is
// written for them.
type entry struct{ name, path string }

// A kind is the first byte of the name of an entry. Kinds are part of images, so their values must
// not change; see ImageFormat.
type kind byte

// The kinds of names, except those of name.go.
const (
	byCreated   kind = '0' // a time
	byModified  kind = '1' // a time
	byField     kind = 'f' // a field of the note or of an object in it
	byFold      kind = '2' // the folded path, if it differs from the path
	isUnindexed kind = 'c' // the note has more things than are indexed
	byDay       kind = 'd' // a day in a field or a trait
	byTag       kind = 'g' // a tag, folded, and each of its parent tags
	spelledTag  kind = 'h' // count only: a tag, folded, NUL, the tag as written
	byDeclared  kind = 'k' // the declared type of the note or of an object in it
	isBroken    kind = 'q' // quarantined
	isHidden    kind = 'i' // not a note, because of the setting exclude
	byRef       kind = 'r' // the bucket of a reference, NUL, its target as written
	byTrait     kind = 't' // the type of an annotation, also of one that is not in the schema
	isUntyped   kind = 'u' // the note has no declared type and is not a daily note
	byValue     kind = 'v' // the type of an annotation, NUL, its value; a reference as under byRef
	inFolder    kind = '3' // count only: notes in a folder and below it
	atFolder    kind = '4' // count only: notes directly in a folder
	underFolder kind = '5' // count only: folders directly in a folder that contain notes
	folderDepth kind = '9' // count only: folders at a level below the vault, in decimal
	headField   kind = '6' // count only: a field of the head
	headTag     kind = '7' // count only: a tag of the head
	headValue   kind = '8' // count only: type or status, NUL, a value of it in the head
	byType      kind = 'y' // of the note or an embedded object; of plain sections, only the count
)

// name returns the name of an entry of the kind.
func (k kind) name(s string) string { return string([]byte{byte(k)}) + s }

// isCounted reports whether the index counts, by name, how often the names of the kind occur in
// notes. Other counts are made by tally.
func (k kind) isCounted() bool {
	return k == byValue || k == byRef || k == byDay || k == isUntyped
}

// last returns a name that is greater than all of the kind, and not greater than those of the next
// kind.
func (k kind) last() string { return (k + 1).name("") }

// less orders entries by name, then path.
func (e entry) less(other entry) bool {
	if c := strings.Compare(e.name, other.name); c != 0 {
		return c < 0
	}
	return e.path < other.path
}
