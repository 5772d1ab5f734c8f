package markdown

import (
	"bytes"
	"strings"
	"time"
)

// pinName is the name of the annotation that sets the id of a trait. It is not a trait itself.
const pinName = "id"

// A Trait is an annotation `@name` or `@name(value)` in a paragraph, a list item or a quote. In
// headings, code, HTML and the frontmatter it is text, except in a heading in a list item.
type Trait struct {
	Name  string
	Value any    // nil, string, Ref, or []any of strings, Refs and lists
	Kind  Kind   // the form of the value
	Raw   string // the value as it is written; empty for a bare annotation and empty parentheses

	// Pin is the id of the `@id(…)` on the line; empty if there is none. It is the same for all
	// traits of the line, and is meant for the first of them that the schema defines.
	Pin string

	Content     string // the line, without the markers of lists and quotes
	ContentText string // the visible line, without annotations, with blanks collapsed

	Scope int  // the index of the heading of its section, -1 for the note itself
	Line  int  // of the file
	Span  Span // of the annotation, including the @
	Text  Span // of the value between the parentheses; empty if there are none

	removable bool // the whole line can be removed if it contains nothing else
	pin       Span // of the annotation that sets the id; empty if there is none
}

// A Kind is the form of a trait's value. Its meaning is defined by the schema.
type Kind int

// The kinds of values.
const (
	KindNone     Kind = iota // a bare annotation
	KindString               // any text, including numbers and the words true and false
	KindRef                  // `[[target]]`
	KindList                 // `[a, "b, c", [[d]]]`
	KindDate                 // a valid date, YYYY-MM-DD
	KindDateTime             // as in RFC 3339, or YYYY-MM-DDTHH:MM with or without seconds
)

// An annotation is a trait in a rendered line, before its value is parsed. Its spans are in two
// texts: whole is in the rendered line, so that rendered.without can remove it, and src and value
// are in the text of the block, so that they can be converted to offsets in the note.
type annotation struct {
	name  string
	whole Span // in the rendered line
	src   Span // in the text of the block
	value Span // in the text of the block, between the parentheses
}

// annotations appends the traits of a rendered line.
func (p *prose) annotations(r *rendered, into []annotation) []annotation {
	for i := 0; i < len(r.text); i++ {
		next := bytes.IndexByte(r.text[i:], '@')
		if next < 0 || len(into) > maxFound {
			break
		}
		i += next
		if !p.begins(r, i, " \t\r\n\v\f-*([{>") {
			continue
		}
		if a, ok := p.annotation(r, i); ok {
			into = append(into, a)
			i = a.whole.End - 1
		}
	}
	return into
}

// begins reports whether the byte at the offset is text, and is at the beginning of the line or
// after a byte of the set.
func (p *prose) begins(r *rendered, at int, behind string) bool {
	return p.marks[r.from[at]] == plain &&
		(at == 0 || strings.IndexByte(behind, r.text[at-1]) >= 0)
}

// annotation returns the trait that begins with the @ at the offset of the rendered line. Its name
// must not contain markup in the source. Its value ends at the first closing parenthesis of the
// line; without one, the annotation is bare. Blanks may be between the name and the opening
// parenthesis, but no markup. ok is false if no name follows the @.
func (p *prose) annotation(r *rendered, at int) (annotation, bool) {
	end := at + 1
	for end < len(r.text) && isWord(r.text[end]) && r.from[end] == r.from[end-1]+1 {
		end++
	}
	name := string(r.text[at+1 : end])
	start, last := r.from[at], r.from[end-1]+1
	a := annotation{name, Span{at, end}, Span{start, last}, Span{last, last}}
	open := end
	for open < len(r.text) && (r.text[open] == ' ' || r.text[open] == '\t') {
		open++
	}
	if open == len(r.text) || r.text[open] != '(' || r.from[open]-r.from[end-1] != open-end+1 {
		return a, name != ""
	}
	if end = r.closing(open); end < len(r.text) {
		a.whole.End = end + 1
		a.value = Span{r.from[open] + 1, r.from[end]}
		a.src.End = a.value.End + 1
	}
	return a, name != ""
}

// traits adds the traits of a line of the block. All traits of the line have the same pin and
// content; only the fields that trait sets differ.
func (b *bodyReader) traits(r *rendered, l blockLine) {
	b.found = b.prose.annotations(r, b.found[:0])
	if len(b.found) == 0 {
		return
	}
	t := Trait{
		Scope: b.scope(), Line: l.number, removable: l.removable,
		Content: valid(bytes.TrimSpace(b.prose.src[l.Start:l.End])),
	}
	// The id is searched first, because it can be anywhere on the line and all traits have it.
	for _, a := range b.found {
		if a.name == pinName && t.Pin == "" {
			t.Pin = b.pinned(a)
			t.pin = Span{a.src.Start + l.shift, a.src.End + l.shift}
		}
	}
	t.ContentText = r.without(b.found)
	for _, a := range b.found {
		if a.name != pinName && !b.full() {
			b.doc.Traits = append(roomFor(b, b.doc.Traits, "@"), t)
			b.trait(&b.doc.Traits[len(b.doc.Traits)-1], a, l)
		}
	}
}

// itemBytes is the smallest number of bytes of text per item for which roomFor allocates.
const itemBytes = 32

// roomFor returns a list of items of the note. Before the first item, it allocates room for an estimate
// of their number: that of the texts with which they begin.
func roomFor[T any](b *bodyReader, all []T, start string) []T {
	if all != nil {
		return all
	}
	rest := b.text[b.at:]
	return make([]T, 0, 1+min(bytes.Count(rest, []byte(start)), len(rest)/itemBytes, maxFound))
}

// trait sets the fields of t that differ from trait to trait of a line.
func (b *bodyReader) trait(t *Trait, a annotation, l blockLine) {
	t.Name = a.name
	t.Raw = valid(bytes.TrimSpace(b.prose.src[a.value.Start:a.value.End]))
	t.Value, t.Kind = traitValue(t.Raw)
	t.Span = Span{a.src.Start + l.shift, a.src.End + l.shift}
	t.Text = Span{a.value.Start + l.shift, a.value.End + l.shift}
}

// pinned returns the id that an annotation sets, or "".
func (b *bodyReader) pinned(a annotation) string {
	value, _ := traitValue(valid(bytes.TrimSpace(b.prose.src[a.value.Start:a.value.End])))
	id, _ := value.(string)
	return strings.TrimSpace(id)
}

// maxListed is the length in bytes up to which the value of a trait is parsed.
const maxListed = 64 << 10

// traitValue returns the value of a trait and its kind, by the form of the text. A text longer than
// maxListed is a string. A date must be written without quotes: a quoted text is always a string.
func traitValue(raw string) (any, Kind) {
	if len(raw) > maxListed {
		return raw, KindString
	}
	value := readValue(raw, false)
	switch v := value.(type) {
	case nil:
		return nil, KindNone
	case Ref:
		return value, KindRef
	case []any:
		return value, KindList
	case string:
		if v == raw {
			return value, timeKind(v)
		}
	}
	return value, KindString
}

// timeKind returns KindDate, KindDateTime, or KindString for other texts. A text of the form of a
// date that is not in the calendar, such as 2026-02-30, is a string.
func timeKind(s string) Kind {
	if len(s) < len(time.DateOnly) || s[4] != '-' {
		return KindString
	}
	if len(s) == len(time.DateOnly) {
		if _, err := time.Parse(time.DateOnly, s); err == nil {
			return KindDate
		}
		return KindString
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if _, err := time.Parse(layout, s); err == nil {
			return KindDateTime
		}
	}
	return KindString
}
