package query

import (
	"slices"
	"sort"

	"github.com/rookeryhq/rookery/internal/index"
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
	return s.in(n).has(scope + 1)
}

// hasAround reports whether something is in the set that an object is or is in.
func (s *objectSet) hasAround(n *index.Note, scope int) bool { return s.in(n).hasAround(n, scope) }

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
	if b == nil {
		return false
	}
	if i < 64 {
		return b.low&(1<<i) != 0
	}
	return i/64-1 < len(b.high) && b.high[i/64-1]&(1<<(i%64)) != 0
}

// hasAround reports whether something is a member that an object of the note is or is in.
func (b *bits) hasAround(n *index.Note, scope int) bool {
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

// parentOf is the position of the section that a section is in; -1: the note. Of the note there is none.
func parentOf(n *index.Note, scope int) (parent int, ok bool) {
	if scope < 0 {
		return 0, false
	}
	return n.Sections[scope].Parent, true
}

// perNote is something that is found in each note by itself when the note is looked at: once, if all that is asked
// about a note is asked before the next note, or if notes was called.
type perNote[T any] struct {
	find   func(*index.Note) *T // nil: there is none
	walked func() []*index.Note // all notes that may have some, by path

	known map[*index.Note]*T // nil: notes was not called
	at    *index.Note        // the note that was asked for last: things of a note come together
	here  *T                 // and what it has
}

// of is what a note has; nil: nothing.
func (p *perNote[T]) of(n *index.Note) *T {
	if p.at == n {
		return p.here
	}
	found, known := p.known[n]
	if !known {
		found = p.find(n)
		if p.known != nil {
			p.known[n] = found
		}
	}
	p.at, p.here = n, found
	return found
}

// notes are the notes that have some, by path.
func (p *perNote[T]) notes() []*index.Note {
	if p.known == nil {
		p.known = map[*index.Note]*T{}
	}
	return slices.DeleteFunc(p.walked(), func(n *index.Note) bool { return p.of(n) == nil })
}

// lines are traits of a note with the lines on which they are.
type lines []lined

type lined struct {
	line  int // 0: the fields of the note
	trait *index.Trait
}

// lineOf is the line on which a trait is together with others; 0: the fields of the note.
func lineOf(t *index.Trait) int {
	if t.Field {
		return 0
	}
	return t.Line
}

// add adds a trait. They come by line, but for those of several branches.
func (l *lines) add(t *index.Trait) {
	line, at := lineOf(t), len(*l)
	for at > 0 && (*l)[at-1].line > line {
		at--
	}
	*l = slices.Insert(*l, at, lined{line, t})
}

// hasOther reports whether another trait than this one is there, on its line.
func (l *lines) hasOther(t *index.Trait) bool {
	if l == nil {
		return false
	}
	line := lineOf(t)
	at := sort.Search(len(*l), func(i int) bool { return (*l)[i].line >= line })
	for ; at < len(*l) && (*l)[at].line == line; at++ {
		if (*l)[at].trait != t {
			return true
		}
	}
	return false
}

// neighbours are the traits of a type on the lines, in reading order.
func (l *lines) neighbours(typ string) []*index.Trait {
	if l == nil {
		return nil
	}
	var all []*index.Trait
	for i, each := range *l {
		if i > 0 && (*l)[i-1].line == each.line {
			continue
		}
		for _, t := range each.trait.OnLine() {
			if t.Type == typ && t.Defined {
				all = append(all, t)
			}
		}
	}
	return all
}
