package markdown

import "rookery/internal/fault"

// RemoveSection takes a section out of a note with all that stands under its heading, and says what
// went: the text from the start of its line to the next heading of its level or higher. Nothing else
// changes; where what stands before would run into the heading behind, a blank line parts them. Of
// the headings that stay, one that has its slug from a number behind the text may get another.
//
// A slug that is none of the note's, or the title's, is NOT_FOUND. A section that cannot go without a
// change of another heading is INVALID_VALUE.
func RemoveSection(text []byte, slug string) (out, removed []byte, err error) {
	d := Parse(text)
	h, ok := d.Section(slug)
	if !ok || h.Title {
		return nil, nil, noSection(slug)
	}
	stays := d.without(h.Subtree)
	for _, between := range []string{"", lineBreak(text)} {
		out = splice(text, h.Subtree, []byte(between))
		if now := Parse(out); now.Body == d.Body && sameHeadings(stays, now.Headings) {
			return out, text[h.Subtree.Start:h.Subtree.End:h.Subtree.End], nil
		}
	}
	return nil, nil, fault.New(fault.InvalidValue, "the section %q cannot be removed without a change of "+
		"the headings around it; edit the text", slug).With("line", h.Line)
}

// without are the headings that do not begin in a span.
func (d *Doc) without(s Span) []Heading {
	var rest []Heading
	for _, h := range d.Headings {
		if h.Own.Start < s.Start || h.Own.Start >= s.End {
			rest = append(rest, h)
		}
	}
	return rest
}

// sameHeadings reports whether two lists of headings say the same.
func sameHeadings(a, b []Heading) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Level != b[i].Level || a[i].Text != b[i].Text {
			return false
		}
	}
	return true
}
