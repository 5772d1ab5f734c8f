package merge

import (
	"reflect"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A note is a plain text, divided into its frontmatter and its body.
type note struct {
	head head
	body string
}

// A head is the frontmatter of a note as it is written; there is none if raw is empty.
type head struct {
	raw         string
	open, close string // the lines of the two `---`
	fields      []field
	tail        string // the lines after the last field
}

// A field is a key of the frontmatter with all its lines.
type field struct {
	key   string
	value any
	above string // the comments and blank lines before it
	lines string // the lines of the key and of its value
}

// readNote divides a plain text. ok is false if the frontmatter does not parse, or is not written
// key by key.
func readNote(text string) (note, bool) {
	end := headEnd(text)
	if end == 0 {
		return note{body: text}, true
	}
	d := markdown.Parse([]byte(text[:end]))
	// The parser must agree on the end of the frontmatter.
	if d.Frontmatter == nil || d.Problem != nil || d.Body != end {
		return note{}, false
	}
	inner := d.Frontmatter.Inner
	h := head{raw: text[:end], open: text[:inner.Start], close: text[inner.End:end]}
	at := inner.Start
	for _, e := range d.Frontmatter.Entries {
		// Entries must have lines of their own, in order: not if several keys share a line.
		if e.Lines.Start < at || e.Lines.End <= e.Lines.Start || e.Lines.End > inner.End {
			return note{}, false
		}
		h.fields = append(h.fields,
			field{e.Key, e.Value, text[at:e.Lines.Start], text[e.Lines.Start:e.Lines.End]})
		at = e.Lines.End
	}
	h.tail = text[at:inner.End]
	return note{h, text[end:]}, true
}

// headEnd returns the end of the second `---` of a frontmatter, or 0 if there is none. It makes
// parsing the rest of a note unnecessary.
func headEnd(text string) int {
	fences, at := 0, 0
	for line := range strings.Lines(text) {
		at += len(line)
		if strings.TrimSpace(line) == "---" {
			fences++
		}
		// A frontmatter begins in the first line of a note.
		switch fences {
		case 0:
			return 0
		case 2:
			return at
		}
	}
	return 0
}

// get returns the field with a key; the zero field if there is none.
func (h head) get(key string) field {
	i := slices.IndexFunc(h.fields, func(f field) bool { return f.key == key })
	if i < 0 {
		return field{}
	}
	return h.fields[i]
}

// equal reports whether two heads have the same text, keys and values.
func (h head) equal(other head) bool {
	return h.raw == other.raw && slices.EqualFunc(h.fields, other.fields, func(f, g field) bool {
		return f.key == g.key && reflect.DeepEqual(f.value, g.value)
	})
}

// write sets raw from the other fields.
func (h *head) write() {
	var b strings.Builder
	b.WriteString(h.open)
	for _, f := range h.fields {
		b.WriteString(f.above + f.lines)
	}
	b.WriteString(h.tail + h.close)
	h.raw = b.String()
}
