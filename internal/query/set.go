package query

import (
	"iter"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
)

// An objectSet is a set of notes and sections, as one bit for each. It must be used by one
// goroutine. It is the result of a nested query for refs() and refd(), which can be large: most
// notes have fewer than 64 objects, and take one word.
type objectSet struct {
	members map[*index.Note]*bits
	notes   []*index.Note // in the order in which they were added
	sorted  bool          // notes is sorted by path

	lastNote    *index.Note // cache: the note of the last lookup, because items of a note come together
	lastMembers *bits       // its members; nil: none
}

// bits are the members of a set in one note: bit 0 is the note, bit n+1 is its section n. nil is
// the empty set.
type bits struct {
	low  uint64
	high []uint64 // bits from 64 on
}

// newObjectSet returns an empty set.
func newObjectSet() *objectSet { return &objectSet{members: map[*index.Note]*bits{}, sorted: true} }

// add adds an object, by the position of its section in the note; -1: the note.
func (s *objectSet) add(n *index.Note, scope int) {
	b := s.inNote(n)
	if b == nil {
		b = &bits{}
		s.members[n], s.lastMembers = b, b
		// Queries yield notes by path, so the list is usually sorted already.
		s.sorted = s.sorted && (len(s.notes) == 0 || s.notes[len(s.notes)-1].Path < n.Path)
		s.notes = append(s.notes, n)
	}
	b.set(scope + 1)
}

// inNote returns the members in a note; nil if there are none.
func (s *objectSet) inNote(n *index.Note) *bits {
	if s.lastNote != n {
		s.lastNote, s.lastMembers = n, s.members[n]
	}
	return s.lastMembers
}

// addAll adds an object and all objects that contain it.
func (s *objectSet) addAll(n *index.Note, scope int) {
	for ; scope >= 0; scope = n.Sections[scope].Parent() {
		s.add(n, scope)
	}
	s.add(n, -1)
}

// has reports whether an object is in the set.
func (s *objectSet) has(n *index.Note, scope int) bool {
	return s.inNote(n).has(scope + 1)
}

// hasAround reports whether an object, or one that contains it, is in the set.
func (s *objectSet) hasAround(n *index.Note, scope int) bool { return s.inNote(n).hasAround(n, scope) }

// list returns the notes with members, sorted by path.
func (s *objectSet) list() []*index.Note {
	if !s.sorted {
		s.notes, s.sorted = byPath(s.notes), true
	}
	return s.notes
}

// set sets bit i.
func (b *bits) set(i int) {
	if i < 64 {
		b.low |= 1 << i
		return
	}
	for len(b.high) <= i/64-1 {
		b.high = append(b.high, 0)
	}
	b.high[i/64-1] |= 1 << (i % 64)
}

// has reports whether bit i is set.
func (b *bits) has(i int) bool {
	if b == nil {
		return false
	}
	if i < 64 {
		return b.low&(1<<i) != 0
	}
	return i/64-1 < len(b.high) && b.high[i/64-1]&(1<<(i%64)) != 0
}

// hasAround reports whether an object of the note, or one that contains it, is a member.
func (b *bits) hasAround(n *index.Note, scope int) bool {
	if b == nil {
		return false
	}
	for ; scope >= 0; scope = n.Sections[scope].Parent() {
		if b.has(scope + 1) {
			return true
		}
	}
	return b.has(0)
}

// parentOf returns the position of the section that contains a section; -1: the note. ok is false
// for the note.
func parentOf(n *index.Note, scope int) (parent int, ok bool) {
	if scope < 0 {
		return 0, false
	}
	return n.Sections[scope].Parent(), true
}

// A perNote computes a value for each note on its first lookup. It computes it only once if all
// lookups of a note are made before those of the next note, or if notes was called before. So a
// nested query of has() or within() is answered note by note while the outer query walks them, and
// its whole answer is never in memory.
//
// It must be used by one goroutine.
type perNote[T any] struct {
	find       func(*index.Note) *T // computes the value; nil: the note has none
	candidates func() []*index.Note // returns all notes that can have a value, sorted by path

	known     map[*index.Note]*T // values by note; nil: notes was not called
	lastNote  *index.Note        // the note of the last lookup
	lastValue *T                 // its value
}

// get returns the value of a note; nil if it has none.
func (p *perNote[T]) get(n *index.Note) *T {
	if p.lastNote == n {
		return p.lastValue
	}
	found, known := p.known[n]
	if !known {
		found = p.find(n)
		// Without notes, only the value of the last note is kept, which bounds the memory.
		if p.known != nil {
			p.known[n] = found
		}
	}
	p.lastNote, p.lastValue = n, found
	return found
}

// notes returns the notes that have a value, sorted by path. It computes the values of all notes
// that walked returns, and keeps them.
func (p *perNote[T]) notes() []*index.Note {
	if p.known == nil {
		p.known = map[*index.Note]*T{}
	}
	return slices.DeleteFunc(p.candidates(), func(n *index.Note) bool { return p.get(n) == nil })
}

// lines are traits of a note, by their positions in it.
//
// The fields of a note count as one line.
type lines struct {
	note   *index.Note
	traits []int // sorted
}

// add inserts a trait. It is fast if traits are added in their order, as a single branch yields
// them.
func (l *lines) add(trait int) {
	at := len(l.traits)
	for at > 0 && l.traits[at-1] > trait {
		at--
	}
	l.traits = slices.Insert(l.traits, at, trait)
}

// hasOther reports whether a trait other than this one is on its line.
func (l *lines) hasOther(trait int) bool {
	if l == nil {
		return false
	}
	line := l.note.LineOfTrait(trait)
	at, _ := slices.BinarySearch(l.traits, line)
	for ; at < len(l.traits) && l.note.LineOfTrait(l.traits[at]) == line; at++ {
		if l.traits[at] != trait {
			return true
		}
	}
	return false
}

// neighbours yields those of some traits of the note that are on the lines, in reading order.
func (l *lines) neighbours(of func(*index.Note) iter.Seq[int]) iter.Seq[int] {
	return func(yield func(int) bool) {
		if l == nil {
			return
		}
		at := 0
		for i := range of(l.note) {
			line := l.note.LineOfTrait(i)
			for at < len(l.traits) && l.note.LineOfTrait(l.traits[at]) < line {
				at++
			}
			if at == len(l.traits) || l.note.LineOfTrait(l.traits[at]) == line && !yield(i) {
				return
			}
		}
	}
}
