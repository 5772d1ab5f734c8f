package index

import (
	"encoding/binary"
	"hash/crc32"
	"iter"
	"unsafe"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A typeMark is a one-byte hash of the name of a type: things with different marks have different
// types. The marks of a note are next to each other in memory, so a walk that looks for a type
// fetches only the things that may have it.
type typeMark byte

// noType is the mark of plain sections, and of annotations that are not traits. Nothing else has
// it.
const noType typeMark = 0

// markOfType returns the mark of a type of objects.
func markOfType(name string) typeMark {
	if name == vault.Section {
		return noType
	}
	sum := crc32.Update(0, castagnoli, unsafe.Slice(unsafe.StringData(name), len(name)))
	return typeMark(sum>>8%255 + 1)
}

// traitMark returns the mark of a type of traits. It is never noType, even for a trait that is
// called section.
func traitMark(typ string) typeMark { return max(noType+1, markOfType(typ)) }

// placeSize is the size of the place of an annotation in bytes: the position of the section that
// contains it, plus 1, and the position of the first annotation on its line, both as uint16. A note
// has at most MaxThings annotations in its text and as many in its fields, so both fit.
const placeSize = 4

// markTypes sets the marks of a note: one byte for the note, one for each section, and one for each
// annotation, and then the places of the annotations. Annotations that the schema does not define
// keep noType. marks must have the length markCount, and be zero. It must be called after the types
// are final.
func (n *Note) markTypes(marks []byte) {
	n.typeMarks = marks
	n.typeMarks[0] = byte(markOfType(n.Type))
	for i := range n.Sections {
		n.typeMarks[1+i] = byte(markOfType(n.Sections[i].Type()))
	}
	traits := n.traitMarks()
	for i, s := range n.EachAnnotation {
		if s.Defined {
			traits[i] = byte(traitMark(s.Type))
		}
	}
	places, first := n.traitPlaces(), 0
	for i, t := range n.EachAnnotation {
		if begin := &n.Annotations[first]; t.Field != begin.Field || !t.Field && t.Line() != begin.Line() {
			first = i
		}
		binary.LittleEndian.PutUint16(places[placeSize*i:], uint16(t.Scope()+1))
		binary.LittleEndian.PutUint16(places[placeSize*i+2:], uint16(first))
	}
}

// markCount returns the length of the marks of a note in bytes.
func (n *Note) markCount() int { return 1 + len(n.Sections) + (1+placeSize)*len(n.Annotations) }

// objectMarks returns the marks of the note and of its sections.
func (n *Note) objectMarks() []byte { return n.typeMarks[:1+len(n.Sections)] }

// traitMarks returns the marks of the annotations.
func (n *Note) traitMarks() []byte {
	from := 1 + len(n.Sections)
	return n.typeMarks[from : from+len(n.Annotations)]
}

// traitPlaces returns the places of the annotations; see placeSize.
func (n *Note) traitPlaces() []byte { return n.typeMarks[1+len(n.Sections)+len(n.Annotations):] }

// TraitNumbers yields the positions in Annotations of the traits that TraitsAfter yields from the
// beginning of the note on. It does not read the traits themselves, so it is faster where their
// scope or line is all that is needed; see TraitScope and LineOfTrait.
func (n *Note) TraitNumbers(typ string, holds func(*TraitValue) bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		marks, mark := n.traitMarks(), noType
		if typ != "" {
			mark = traitMark(typ)
		}
		for i := nextMark(marks, 0, mark); i < len(marks); i = nextMark(marks, i+1, mark) {
			s := n.Annotations[i].TraitValue
			if (typ == "" || s.Type == typ) && (holds == nil || holds(s)) && !yield(i) {
				return
			}
		}
	}
}

// AllTraitNumbers returns a function that yields TraitNumbers of a type in notes of the index,
// whatever the values. Unless another trait of the schema has the same mark, it reads nothing but
// the marks.
func (x *Index) AllTraitNumbers(typ string) func(*Note) iter.Seq[int] {
	mark, unique := traitMark(typ), typ == TaskType || traitMark(TaskType) != traitMark(typ)
	for _, other := range x.schema.Traits {
		unique = unique && (other.Name == typ || traitMark(other.Name) != mark)
	}
	if !unique {
		return func(n *Note) iter.Seq[int] { return n.TraitNumbers(typ, nil) }
	}
	return func(n *Note) iter.Seq[int] {
		return func(yield func(int) bool) {
			for i, m := range n.traitMarks() {
				if typeMark(m) == mark && !yield(i) {
					return
				}
			}
		}
	}
}

// TraitScope returns the Scope of the annotation at a position.
func (n *Note) TraitScope(i int) int {
	return int(binary.LittleEndian.Uint16(n.traitPlaces()[placeSize*i:])) - 1
}

// LineOfTrait returns the position of the first annotation on the line of the one at a position. It
// is equal for two annotations if they are on one line; the fields of the note are one line.
func (n *Note) LineOfTrait(i int) int {
	return int(binary.LittleEndian.Uint16(n.traitPlaces()[placeSize*i+2:]))
}
