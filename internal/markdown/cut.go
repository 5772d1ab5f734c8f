package markdown

import "github.com/rookeryhq/rookery/internal/fault"

// RemoveSection removes a section with its subsections, and returns the new note and the removed
// text: from the heading's line to the next heading of its level or a higher one. Nothing else
// changes, except that a blank line is added if the text before would otherwise become part of the
// next heading. Slugs of other headings that end in a number may change.
//
// It returns NOT_FOUND if the note has no section with the slug, or if it is the title, and
// INVALID_VALUE if the section cannot be removed without changing another heading.
func RemoveSection(text []byte, slug string) (out, removed []byte, err error) {
	r, err := removeSection(text, slug)
	return r.text, r.gone, err
}

// DeleteSection removes a section as RemoveSection does. It returns VALIDATION_FAILED if another
// section would have another slug, or would become or cease to be the title.
func DeleteSection(text []byte, slug string) (out, removed []byte, err error) {
	r, err := removeSection(text, slug)
	if err != nil {
		return nil, nil, err
	}
	if err := sameSections(r.kept, r.now, 0, 0); err != nil {
		return nil, nil, err
	}
	return r.text, r.gone, nil
}

// A sectionRemoval is the result of removing a section: the text that is left and the removed text,
// and the headings that stay, as parsed before and after. The latter two have the same levels and
// texts, but their slugs can differ.
type sectionRemoval struct {
	text, gone []byte
	kept, now  []Heading
}

// removeSection removes a section, even if the slugs of other sections change. It tries the removal
// without and then with a line break in place of the section, and returns the first result in which
// all other headings are the same. The errors are those of RemoveSection.
func removeSection(text []byte, slug string) (r sectionRemoval, err error) {
	d := Parse(text)
	h, ok := d.Section(slug)
	if !ok || h.Title {
		return r, noSection(slug)
	}
	stay := d.headingsOutside(h.Subtree)
	for _, between := range []string{"", lineBreak(text)} {
		out := splice(text, h.Subtree, []byte(between))
		if now := Parse(out); now.Body == d.Body && sameHeadings(stay, now.Headings) {
			gone := text[h.Subtree.Start:h.Subtree.End:h.Subtree.End]
			return sectionRemoval{out, gone, stay, now.Headings}, nil
		}
	}
	return r, fault.New(fault.InvalidValue, "the section %q cannot be removed without changing "+
		"the headings around it; edit the text", slug).With("line", h.Line)
}

// headingsOutside returns the headings that do not begin in a span.
func (d *Doc) headingsOutside(s Span) []Heading {
	var rest []Heading
	for _, h := range d.Headings {
		if h.Own.Start < s.Start || h.Own.Start >= s.End {
			rest = append(rest, h)
		}
	}
	return rest
}

// sameHeadings reports whether two lists of headings have the same levels and texts. It ignores
// slugs and positions.
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
