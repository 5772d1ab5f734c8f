package markdown

import (
	"bytes"

	"rookery/internal/fault"
)

// A Subtree is a section of a note with all sections under it: what is moved, copied and kept as a whole. Only headings
// at the top of the note have one (Heading.Top); those in quotes and lists are part of the text.
type Subtree struct {
	Text  []byte // from its heading on, without blank lines at its end
	Level int    // of its heading
	At    Span   // where it is in the note that it comes from, the blank lines behind it included; see SubtreeAt

	headings []Heading    // as they read in that note
	outside  []Definition // of that note, outside of the subtree
}

// SubtreeAt returns the subtree of a section of a note, by its position among the headings that are not the title, from
// 1. A section that is not at the top, one whose last block stays open, and a note that has more than is read are
// INVALID_VALUE with the reason malformed_markdown.
func SubtreeAt(text []byte, section int) (Subtree, error) {
	d := Parse(text)
	i := d.headingAt(section)
	if i < 0 || i >= len(d.Headings) || !d.Headings[i].Top || d.Crowded {
		return Subtree{}, malformed("the section is in a list or a quote, or the note has more than is read")
	}
	at := d.subtree(i)
	if at.End == len(text) && Unclosed(text) {
		return Subtree{}, malformed("a block at the end of the section stays open; close its fence").
			With("line", d.Headings[i].Line)
	}
	return d.cut(text, i, at), nil
}

// cut is the subtree of a heading.
func (d *Doc) cut(text []byte, i int, at Span) Subtree {
	return Subtree{
		Text:  bytes.Clone(bytes.TrimRight(text[at.Start:at.End], " \t\r\n")),
		Level: d.Headings[i].Level, At: at,
		headings: d.inside(at),
		outside:  definitionsIn(text, d.Body, &at),
	}
}

// NewSubtree returns the subtree that a text is, whose first line is its heading. A text that begins otherwise, or has
// another heading of that level or higher, or a last block that stays open, is INVALID_VALUE with the reason
// body_escapes_section or malformed_markdown.
func NewSubtree(text []byte) (Subtree, error) {
	d := Parse(text)
	if len(d.Headings) == 0 || d.Headings[0].Own.Start != 0 || d.Crowded {
		return Subtree{}, notPlain()
	}
	if at := d.subtree(0); at.End != len(text) {
		return Subtree{}, fault.New(fault.InvalidValue, "the headings in the text are deeper than level %d",
			d.Headings[0].Level).With("reason", "body_escapes_section")
	}
	if Unclosed(text) {
		return Subtree{}, malformed("the last block of the text stays open; close its fence")
	}
	return d.cut(text, 0, Span{0, len(text)}), nil
}

// malformed is the fault of a text that cannot be taken apart, or put together, as Markdown.
func malformed(message string) *fault.Fault {
	return fault.New(fault.InvalidValue, "%s", message).With("reason", "malformed_markdown")
}

// headingAt is the index of a section among the headings, by its position among those that are not the title, from 1.
func (d *Doc) headingAt(section int) int {
	if _, titled := d.title(); titled {
		return section
	}
	return section - 1
}

// subtree is where a heading at the top is with all under it, up to the next one at the top of its level or higher.
func (d *Doc) subtree(i int) Span {
	for _, h := range d.Headings[i+1:] {
		if h.Top && h.Level <= d.Headings[i].Level {
			return Span{d.Headings[i].Own.Start, h.Own.Start}
		}
	}
	return Span{d.Headings[i].Own.Start, d.size}
}

// below are the indexes of the headings directly below a section at the top, 0 for the note, and where they are
// together; the end of all of the section if there are none.
func (d *Doc) below(section int) (children []int, at Span) {
	parent, from, end := -1, 0, d.size
	if section > 0 {
		parent = d.headingAt(section)
		end, from = d.subtree(parent).End, parent+1
	}
	for i := from; i < len(d.Headings) && d.Headings[i].Own.Start < end; i++ {
		if h := d.Headings[i]; h.Top && !h.Title && h.TopParent == parent {
			children = append(children, i)
		}
	}
	if len(children) == 0 {
		return nil, Span{end, end}
	}
	return children, Span{d.Headings[children[0]].Own.Start, end}
}

// Tops returns how many sections at the top the subtree has, itself among them.
func (s Subtree) Tops() (n int) {
	for _, h := range s.headings {
		if h.Top {
			n++
		}
	}
	return n
}

// Sections returns how many headings the subtree has, those in quotes and lists too.
func (s Subtree) Sections() int { return len(s.headings) }

// Alone returns the text of the subtree as it is somewhere else: with the definitions that it uses of its note.
func (s Subtree) Alone() []byte {
	own := map[string]bool{}
	for _, d := range definitionsIn(s.Text, 0, nil) {
		own[d.Label] = true
	}
	var lacking []Definition
	for _, d := range usedIn(s.Text, s.outside) {
		if !own[d.Label] {
			lacking = append(lacking, d)
		}
	}
	return withDefinitions(s.Text, lacking, lineBreak(s.Text))
}

// Own returns the section alone, without those under it.
func (s Subtree) Own() (Subtree, error) {
	for _, h := range s.headings[1:] {
		if h.Top {
			one, err := NewSubtree(bytes.TrimRight(s.Text[:h.Own.Start-s.At.Start], " \t\r\n"))
			one.outside = s.outside
			return one, err
		}
	}
	return s, nil
}
