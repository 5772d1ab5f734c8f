package markdown

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A change is the replacement of the value of one field. It contains the positions of the old
// value; the methods of writer compute the patch for a new one.
//
// A value can be written in three notations: after its key, on lines below it, and as a list with
// one item per line. The new value is written in the notation of the old one if it can be, so that
// an edit changes as few bytes as possible.
type change struct {
	text  []byte
	inner Span // the frontmatter
	entry Entry
	key   int // the end of the line of the key
	rest  int // the end of the last line of the value
}

// newChange returns the change of an entry of the frontmatter of a text.
func newChange(text []byte, fm *Frontmatter, entry Entry) change {
	return change{
		text, fm.Inner, entry, lineEnd(text, entry.colon), lineEnd(text, entry.Text.End),
	}
}

// replace returns the patch that sets the field to its new value. A list that is not empty is
// written one item per line, unless the old value is in brackets; any other value is written after
// its key.
func (w writer) replace(c change, value any) patch {
	old := c.entry.node
	list, ok := value.([]any)
	if !ok || len(list) == 0 || old.Style&yaml.FlowStyle != 0 {
		return w.replaceInline(c, value)
	}
	if old.Kind == yaml.SequenceNode {
		if lines, ok := c.lines(); ok {
			return w.replaceItems(lines, list)
		}
	}
	return w.replaceByList(c, list)
}

// below reports whether the old value begins on a later line than its key.
func (c change) below() bool { return c.entry.Text.Start > c.key }

// replaceInline returns the patch that writes a value after the key. It keeps a comment there.
func (w writer) replaceInline(c change, value any) patch {
	at, s := c.entry.Text, style{Style: c.entry.node.Style}
	if c.entry.node.Kind == yaml.SequenceNode {
		s.Style = 0
	}
	if c.below() {
		s.oneLine = c.entry.colon < c.key || at.End < c.rest
		spelled := w.afterKey(value, s)
		comment := c.text[c.entry.colon:c.key]
		return patch{Span{c.entry.colon, at.End}, append(spelled, comment...)}
	}
	if len(bytes.Trim(c.text[at.End:c.rest], " \t")) == 0 && at.Start == at.End {
		at.End = c.rest // blanks behind the colon of an empty field
	}
	s.oneLine = at.End < c.rest
	if at.Start == c.entry.colon || value == nil {
		return patch{Span{c.entry.colon, at.End}, w.afterKey(value, s)}
	}
	return patch{at, []byte(w.inline(value, s))}
}

// afterKey returns a value with the blank before it, or nothing for nil.
func (w writer) afterKey(value any, s style) []byte {
	if value == nil {
		return nil
	}
	return []byte(" " + w.inline(value, s))
}

// replaceByList returns the patch that writes a list below the key, in place of another kind of
// value. A comment after the old value stays in the line of the key.
func (w writer) replaceByList(c change, list []any) patch {
	margin := string(bytes.Repeat([]byte{' '}, w.indent+2))
	lines := []byte(w.eol + w.items(list, margin))
	lines = lines[:len(lines)-len(w.eol)]
	if c.below() {
		return patch{Span{c.key, c.entry.Text.End}, lines}
	}
	comment := bytes.TrimRight(c.text[c.entry.Text.End:c.rest], " \t")
	return patch{Span{c.entry.colon, c.rest}, append(bytes.Clone(comment), lines...)}
}

// SetType sets the type of a note, and returns the new note. Nothing else changes. If the note has
// no type, the type becomes its first field. It returns INVALID_VALUE if the frontmatter does not
// parse.
//
// A new type is written first because SetFields would add it at the end. If that is not possible,
// such as in a frontmatter in braces, SetFields is the fallback.
func SetType(text []byte, typ string) ([]byte, error) {
	d := Parse(text)
	if _, says := d.Frontmatter.Get("type"); says || d.Frontmatter == nil || d.Problem != nil {
		return SetFields(text, []Field{{Key: "type", Value: typ}})
	}
	at := d.Frontmatter.Inner.Start
	line := writer{}.key("type") + ": " + typ + lineBreak(text)
	out := splice(text, Span{at, at}, []byte(line))
	after := Parse(out)
	if got, _ := after.Frontmatter.Get("type"); after.Problem == nil && got.Value == typ &&
		len(after.Frontmatter.Entries) == len(d.Frontmatter.Entries)+1 {
		return out, nil
	}
	return SetFields(text, []Field{{Key: "type", Value: typ}})
}

// SetDeclaredTypeAt sets the type in the declaration of a section, which is named as for
// SetArgumentsAt, and returns the new note. It returns INVALID_VALUE for a section without
// declaration, and VALIDATION_FAILED if the slug of the section would change.
func SetDeclaredTypeAt(text []byte, heading int, typ string) ([]byte, error) {
	d := Parse(text)
	if heading < 0 || heading >= len(d.Headings) {
		return nil, noHeading()
	}
	h := d.Headings[heading]
	slug := h.Slug
	if h.Declaration == nil {
		return nil, fault.New(fault.InvalidValue, "the section %q has no declaration", slug).With("line", h.Line)
	}
	old := []byte("::" + h.Declaration.Type)
	i := bytes.Index(text[h.Declaration.Span.Start:h.Declaration.Span.End], old)
	if i < 0 {
		return nil, fault.New(fault.InvalidValue, "the declaration of %q cannot be changed; edit the text", slug).
			With("line", h.Declaration.Line)
	}
	at := h.Declaration.Span.Start + i + len("::")
	out := splice(text, Span{at, at + len(h.Declaration.Type)}, []byte(typ))
	for _, now := range Parse(out).Headings {
		if now.Own.Start == h.Own.Start && now.Declaration != nil && now.Declaration.Type == typ && now.Slug == h.Slug {
			return out, nil
		}
	}
	return nil, fault.New(fault.ValidationFailed, "the id of the section %q would change, because it is derived "+
		"from its type; give its declaration an id first", slug).With("reason", "slug").With("section", slug)
}

// SetBody replaces the text after the frontmatter, and returns the new note. The line breaks of
// body become those of the note, and a line break is added at its end if it has none. Otherwise
// body and the frontmatter keep their bytes, even if the frontmatter has a Problem. A blank line is
// added before a body that would otherwise be parsed as a frontmatter. Unlike ReplaceBody, it never
// fails and adds no other blank line.
func SetBody(text []byte, body string) []byte {
	h := readHead(text)
	head, eol := text[:h.end], lineBreak(text)
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	added := []byte(withBreaks(body, eol))
	switch fenced := len(bytes.TrimPrefix(head, []byte(bom))) > 0; {
	case fenced && len(added) > 0 && !bytes.HasSuffix(head, []byte{'\n'}):
		added = slices.Concat([]byte(eol), added)
	case !fenced && isHead(head, added):
		added = slices.Concat([]byte(eol), added)
	}
	return slices.Concat(head, added)
}

// isHead reports whether a text after before would be parsed as a frontmatter. before has none.
func isHead(before, text []byte) bool {
	whole := slices.Concat(before, text)
	return readHead(whole).end > len(before)
}

// AddBytes appends a text to a note without changing its bytes. It adds a line break before the
// text only if the note ends with its frontmatter and without a line break, because the text would
// change the frontmatter.
func AddBytes(text []byte, more string) []byte {
	h := readHead(text)
	if fenced := h.end > len(bom); fenced && h.end == len(text) && !bytes.HasSuffix(text, []byte{'\n'}) {
		return slices.Concat(text, []byte(lineBreak(text)), []byte(more))
	}
	return slices.Concat(text, []byte(more))
}

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
