package index

import (
	"hash/crc32"
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

// markTypes sets the marks of a note: one byte for the note, one for each section, and one for each
// annotation. Annotations that the schema does not define keep noType. marks must have the length
// markCount, and be zero. It must be called after the types are final.
func (n *Note) markTypes(marks []byte) {
	n.typeMarks = marks
	n.typeMarks[0] = byte(markOfType(n.Type))
	for i := range n.Sections {
		n.typeMarks[1+i] = byte(markOfType(n.Sections[i].Type))
	}
	traits := n.traitMarks()
	for i, s := range n.traitValues {
		if s.Defined {
			traits[i] = byte(traitMark(s.Type))
		}
	}
}

// markCount returns the number of marks of a note.
func (n *Note) markCount() int { return 1 + len(n.Sections) + len(n.traitValues) }

// objectMarks returns the marks of the note and of its sections.
func (n *Note) objectMarks() []byte { return n.typeMarks[:1+len(n.Sections)] }

// traitMarks returns the marks of the annotations.
func (n *Note) traitMarks() []byte { return n.typeMarks[1+len(n.Sections):] }
