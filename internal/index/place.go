package index

import (
	"strings"
	"unicode"
)

// rareTexts are texts of the lines of a note that most notes do not have. They are immutable after
// the note was read.
type rareTexts struct {
	pins   map[int]string // text of `@id(…)`, by line
	places []rareText
}

// A rareText is the text of a place whose text is not a part of its content, as in
// `Call @due(today) Freya`, or whose checkbox has a mark outside of ASCII.
type rareText struct{ text, checkbox string }

// pin returns the pin on a line, "" if there is none or r is nil.
func (r *rareTexts) pin(line int) string {
	if r == nil {
		return ""
	}
	return r.pins[line]
}

// rareTexts returns the rareTexts of a note that is being read.
func (n *Note) rareTexts() *rareTexts {
	if n.rare == nil {
		n.rare = &rareTexts{}
	}
	return n.rare
}

// Line returns the number of the line in the file, from 1.
func (p *Place) Line() int { return int(p.line) }

// Scope returns the position of the section that contains the line; -1 for the note.
func (p *Place) Scope() int { return int(p.scope) }

// ContentText returns Content without annotations.
func (p *Place) ContentText() string {
	if p.isRare {
		return p.Note.rare.places[p.start].text
	}
	return p.Content[p.start:p.end]
}

// Checkbox returns the mark of the checkbox at the beginning of the line; "" if there is none.
func (p *Place) Checkbox() string {
	switch {
	case p.isRare:
		return p.Note.rare.places[p.start].checkbox
	case p.mark == 0:
		return ""
	}
	return string([]byte{p.mark})
}

// setTexts sets the text and the checkbox of a place that is being read, whose note and content are
// set. at is the offset of the text in the content; -1 if it is no part of it.
func (p *Place) setTexts(text string, at int, checkbox string) {
	mark := asciiMark(checkbox)
	if at >= 0 && (mark != 0 || checkbox == "") {
		p.start, p.end, p.mark = small[int32](at), small[int32](at+len(text)), mark
		return
	}
	r := p.Note.rareTexts()
	p.isRare, p.start = true, small[int32](len(r.places))
	r.places = append(r.places, rareText{strings.Clone(text), strings.Clone(checkbox)})
}

// asciiMark returns a mark of one ASCII character; 0 for any other.
func asciiMark(checkbox string) byte {
	if len(checkbox) != 1 || checkbox[0] > unicode.MaxASCII {
		return 0
	}
	return checkbox[0]
}

// equal reports whether two places have the same members.
func (p *Place) equal(other *Place) bool {
	return p == other || p.Note == other.Note && p.line == other.line && p.scope == other.scope &&
		p.Content == other.Content && p.ContentText() == other.ContentText() && p.Checkbox() == other.Checkbox()
}

// small returns a number of a note in the type in which the index has it. A note has less than 2 GiB,
// so lines and offsets fit in 32 bits, and at most MaxThings sections, so that their positions fit in
// 16. It panics for a number that does not fit.
func small[T int8 | int16 | int32](n int) T {
	if t := T(n); int(t) == n {
		return t
	}
	panic("index: a number of a note is out of range")
}
