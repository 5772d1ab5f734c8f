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
