package markdown

import (
	"bytes"
	"slices"
)

// SwapSection replaces a section of a note, with everything under it, with a section of another
// text, such as an earlier one of the same note. Positions are those of SubtreeAt. The new section
// keeps its level if its siblings allow that. If nothing but the section differs between the texts,
// the result is the other text, byte for byte. Otherwise the rules are those of Reorder, as are the
// errors; those of SubtreeAt are returned for either section.
//
// The result is computed twice. Reorder normalizes blank lines between sections; a plain
// replacement of bytes keeps those of the other text, so that a section that is restored is exact.
// The latter is returned if it differs from the former only in blank lines and has the expected
// headings.
func SwapSection(text []byte, section int, other []byte, of int) (ReorderResult, Subtree, error) {
	d := Parse(text)
	was, err := d.SubtreeAt(section)
	if err != nil {
		return ReorderResult{}, was, err
	}
	s, err := SubtreeAt(other, of)
	if err != nil {
		return ReorderResult{}, s, err
	}
	parent, at, order := d.siblingsOf(section)
	order[at] = Sibling{New: &s, Keep: true}
	r, err := newReordering(d, parent, order)
	if err != nil {
		return ReorderResult{}, s, err
	}
	if err := r.level(); err != nil {
		return ReorderResult{}, s, err
	}
	r.write()
	res, err := r.result()
	if err != nil || res.Titled || r.eol != lineBreak(other) {
		return res, s, err
	}
	if exact := spliced(text, was, other, s); sameButBlanks(exact.Text, res.Text) {
		if exact.Doc = d.Reparse(exact.Text); r.reads(exact.Doc) {
			exact.Conflicts = res.Conflicts
			return exact, s, nil
		}
	}
	return res, s, nil
}

// spliced returns a text in which a subtree is replaced with that of another text, with the blank
// lines after it. If only one of them is at the end of its text, those after the old subtree stay.
func spliced(text []byte, was Subtree, other []byte, s Subtree) ReorderResult {
	block := other[s.At.Start:s.At.End]
	if (was.At.End == len(text)) != (s.At.End == len(other)) {
		old := text[was.At.Start:was.At.End]
		block = slices.Concat(s.Text, old[len(bytes.TrimRight(old, " \t\r\n")):])
	}
	var r reordering
	r.keep(text[:was.At.Start], Span{0, was.At.Start})
	r.out = append(r.out, block...)
	r.part(1, Span{0, len(s.Text)}, len(block))
	r.keep(text[was.At.End:], Span{was.At.End, len(text)})
	r.Text = r.out
	return r.ReorderResult
}

// sameButBlanks reports whether two texts differ only in their blank lines.
func sameButBlanks(a, b []byte) bool {
	for len(a) > 0 || len(b) > 0 {
		var line, other []byte
		line, a = nextLine(a)
		other, b = nextLine(b)
		if !bytes.Equal(line, other) {
			return false
		}
	}
	return true
}

// nextLine returns the first line of a text that is not blank, without the blanks at its end, and
// the text after it.
func nextLine(text []byte) (line, rest []byte) {
	for len(text) > 0 {
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if line = bytes.TrimRight(line, " \t\r"); len(line) > 0 {
			return line, text
		}
	}
	return nil, nil
}

// reads reports whether a text has the headings that the result must have.
func (r *reordering) reads(after *Doc) bool {
	return after.Body == r.d.Body && sameStructure(r.want, after.Headings) &&
		(len(r.want) == 0 || after.Headings[0].Title == r.want[0].Title)
}
