package query

import (
	"slices"
	"sort"

	"rookery/internal/index"
)

// An objectSet is a set of notes and of what is in them under headings: a bit for each.
type objectSet struct {
	of     map[*index.Note]*bits
	notes  []*index.Note // in the order in which they came
	sorted bool          // they came by path

	at   *index.Note // the note that was asked for last: things of a note come together
	here *bits       // and its members; nil: none
}

// bits are the members of a set in one note: bit 0 is the note, bit n+1 its section n.
type bits struct {
	low  uint64
	high []uint64 // of the bits from 64 on
}

func newObjectSet() *objectSet { return &objectSet{of: map[*index.Note]*bits{}, sorted: true} }

// add puts an object into the set, by the position of its section in the note; -1: the note.
func (s *objectSet) add(n *index.Note, scope int) {
	b := s.in(n)
	if b == nil {
		b = &bits{}
		s.of[n], s.here = b, b
		s.sorted = s.sorted && (len(s.notes) == 0 || s.notes[len(s.notes)-1].Path < n.Path)
		s.notes = append(s.notes, n)
	}
	b.set(scope + 1)
}

// in are the members in a note; nil if there are none.
func (s *objectSet) in(n *index.Note) *bits {
	if s.at != n {
		s.at, s.here = n, s.of[n]
	}
	return s.here
}

// addAll puts an object into the set, and all that it is in.
func (s *objectSet) addAll(n *index.Note, scope int) {
	for ; scope >= 0; scope = n.Sections[scope].Parent {
		s.add(n, scope)
	}
	s.add(n, -1)
}

// has reports whether an object is in the set.
func (s *objectSet) has(n *index.Note, scope int) bool {
	b := s.in(n)
	return b != nil && b.has(scope+1)
}

// hasAround reports whether something is in the set that an object is or is in.
func (s *objectSet) hasAround(n *index.Note, scope int) bool {
	b := s.in(n)
	if b == nil {
		return false
	}
	for ; scope >= 0; scope = n.Sections[scope].Parent {
		if b.has(scope + 1) {
			return true
		}
	}
	return b.has(0)
}

// list are the notes of the set, by path.
func (s *objectSet) list() []*index.Note {
	if !s.sorted {
		s.notes, s.sorted = byPath(s.notes), true
	}
	return s.notes
}

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

func (b *bits) has(i int) bool {
	if i < 64 {
		return b.low&(1<<i) != 0
	}
	return i/64-1 < len(b.high) && b.high[i/64-1]&(1<<(i%64)) != 0
}

// parentOf is the position of the section that a section is in; -1: the note. Of the note there is none.
func parentOf(n *index.Note, scope int) (parent int, ok bool) {
	if scope < 0 {
		return 0, false
	}
	return n.Sections[scope].Parent, true
}

// A lineSet is a set of traits, by the lines on which they are.
type lineSet struct {
	of    map[*index.Note]*[]*index.Trait // of each note, by line
	notes []*index.Note

	at   *index.Note // the note that was asked for last
	here *[]*index.Trait
}

// lineOf is the line on which a trait is together with others; 0: the fields of the note.
func lineOf(t *index.Trait) int {
	if t.Field {
		return 0
	}
	return t.Line
}

// in are the traits of the set in a note; nil if there are none.
func (s *lineSet) in(n *index.Note) *[]*index.Trait {
	if s.at != n {
		s.at, s.here = n, s.of[n]
	}
	return s.here
}

// add puts a trait into the set. Those of a note come by line, or the note is sorted when it is needed.
func (s *lineSet) add(t *index.Trait) {
	list := s.in(t.Note)
	if list == nil {
		list = &[]*index.Trait{}
		s.of[t.Note], s.here = list, list
		s.notes = append(s.notes, t.Note)
	}
	at := len(*list)
	for at > 0 && lineOf((*list)[at-1]) > lineOf(t) {
		at--
	}
	*list = slices.Insert(*list, at, t)
}

// hasOther reports whether another trait than this one is in the set, on its line.
func (s *lineSet) hasOther(t *index.Trait) bool {
	list := s.in(t.Note)
	if list == nil {
		return false
	}
	line := lineOf(t)
	at := sort.Search(len(*list), func(i int) bool { return lineOf((*list)[i]) >= line })
	for ; at < len(*list) && lineOf((*list)[at]) == line; at++ {
		if (*list)[at] != t {
			return true
		}
	}
	return false
}
