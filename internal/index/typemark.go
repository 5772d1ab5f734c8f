package index

import (
	"hash/crc32"
	"unsafe"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A typeMark is one byte made from the name of a type: things with different marks have different types. The marks of
// the things of a note are beside each other in memory, so that a walk that looks for a type fetches only what may
// have it.
type typeMark byte

// noType marks plain sections, and annotations that are no traits. Nothing else has this mark.
const noType typeMark = 0

// markOfType returns the mark of a type.
func markOfType(name string) typeMark {
	if name == vault.Section {
		return noType
	}
	sum := crc32.Update(0, castagnoli, unsafe.Slice(unsafe.StringData(name), len(name)))
	return typeMark(sum>>8%255 + 1)
}

// traitMark returns the mark of traits of a type. A trait may have the name that plain sections have as their type.
func traitMark(typ string) typeMark { return max(noType+1, markOfType(typ)) }

// markTypes fills in the marks of a note, which has as many as it and its sections and annotations are.
func (n *Note) markTypes(marks []byte) {
	n.typeMarks = marks
	n.typeMarks[0] = byte(markOfType(n.Type))
	for i := range n.Sections {
		n.typeMarks[1+i] = byte(markOfType(n.Sections[i].Type))
	}
	traits := n.traitMarks()
	for i, s := range n.said {
		if s.Defined {
			traits[i] = byte(traitMark(s.Type))
		}
	}
}

// markCount returns how many marks a note has.
func (n *Note) markCount() int { return 1 + len(n.Sections) + len(n.said) }

// objectMarks returns the marks of the note, and of its sections.
func (n *Note) objectMarks() []byte { return n.typeMarks[:1+len(n.Sections)] }

// traitMarks returns the marks of the annotations.
func (n *Note) traitMarks() []byte { return n.typeMarks[1+len(n.Sections):] }
