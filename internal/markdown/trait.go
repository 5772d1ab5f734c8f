package markdown

import (
	"bytes"
	"strings"
	"time"
)

// pinName is the name of the annotation that gives a trait its id. It is no trait.
const pinName = "id"

// A Trait is an annotation `@name` or `@name(value)` in the text of a note. They stand in paragraphs,
// list items and quotes; those in headings, code, HTML and the frontmatter are text, but for a heading
// in a list item.
type Trait struct {
	Name  string
	Value any    // nil, string, Ref, or []any of strings, Refs and lists
	Kind  Kind   // what the value looks like
	Raw   string // the value as it is written; a bare annotation and empty parentheses have none

	// Pin is the id that `@id(…)` on the line gives, the same for all traits of the line: it is
	// meant for the first of them that the schema knows. Empty if there is none.
	Pin string

	Content     string // the line, without the markers of lists and quotes
	ContentText string // the line as it is shown, without annotations, blanks collapsed

	Scope int  // the index of the heading that it stands under, -1 for the note itself
	Line  int  // of the file
	Span  Span // of the annotation, from the @
	Text  Span // of the value between its parentheses; empty where there are none

	lone bool // the whole line can go if nothing else is on it
	pin  Span // of the annotation that gives the id; empty if there is none
}

// A Kind is the form of a trait's value. The schema says what it means.
type Kind int

// The kinds of values.
const (
	KindNone     Kind = iota // a bare annotation
	KindString               // any text, numbers and the words true and false too
	KindRef                  // `[[target]]`
	KindList                 // `[a, "b, c", [[d]]]`
	KindDate                 // a day that exists, YYYY-MM-DD
	KindDateTime             // as in RFC 3339, or YYYY-MM-DDTHH:MM with or without seconds
)

// An annotation is a trait in a rendered line.
type annotation struct {
	name  string
	whole Span // in the rendered line
	src   Span // in the text of the block
	value Span // likewise, between the parentheses
}

// annotations finds the traits of a rendered line.
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

// begins reports whether the byte is text, and stands at the beginning of the line or behind one of
// the set.
func (p *prose) begins(r *rendered, at int, behind string) bool {
	return p.marks[r.from[at]] == plain &&
		(at == 0 || strings.IndexByte(behind, r.text[at-1]) >= 0)
}

// annotation reads the trait that begins with the @ at the offset. Its value ends at the first
// closing parenthesis of the line.
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

// traits are the traits of a line of the block.
func (b *bodyReader) traits(r *rendered, l blockLine) {
	b.found = b.prose.annotations(r, b.found[:0])
	if len(b.found) == 0 {
		return
	}
	t := Trait{
		Scope: b.scope(), Line: l.number, lone: l.lone,
		Content: valid(bytes.TrimSpace(b.prose.src[l.Start:l.End])),
	}
	for _, a := range b.found {
		if a.name == pinName && t.Pin == "" {
			t.Pin = b.pinned(a)
			t.pin = Span{a.src.Start + l.shift, a.src.End + l.shift}
		}
	}
	t.ContentText = r.without(b.found)
	for _, a := range b.found {
		if a.name != pinName && !b.full() {
			b.doc.Traits = append(b.roomForTraits(), t)
			b.trait(&b.doc.Traits[len(b.doc.Traits)-1], a, l)
		}
	}
}

// traitBytes is how many bytes of a text there are to a trait, in one that has many.
const traitBytes = 32

// roomForTraits are the traits of the note, before the first with room for what may follow.
func (b *bodyReader) roomForTraits() []Trait {
	if b.doc.Traits != nil {
		return b.doc.Traits
	}
	rest := b.text[b.at:]
	return make([]Trait, 0, 1+min(bytes.Count(rest, []byte{'@'}), len(rest)/traitBytes, maxFound))
}

// trait fills in what is a trait's own.
func (b *bodyReader) trait(t *Trait, a annotation, l blockLine) {
	t.Name = a.name
	t.Raw = valid(bytes.TrimSpace(b.prose.src[a.value.Start:a.value.End]))
	t.Value, t.Kind = traitValue(t.Raw)
	t.Span = Span{a.src.Start + l.shift, a.src.End + l.shift}
	t.Text = Span{a.value.Start + l.shift, a.value.End + l.shift}
}

// pinned is the id that an annotation gives.
func (b *bodyReader) pinned(a annotation) string {
	value, _ := traitValue(valid(bytes.TrimSpace(b.prose.src[a.value.Start:a.value.End])))
	id, _ := value.(string)
	return strings.TrimSpace(id)
}

// maxListed is the longest list that the value of a trait is read as, in bytes.
const maxListed = 64 << 10

// traitValue types the value of a trait by its form. A very long one is a text, whatever its form.
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

// timeKind tells a date and a time from other texts.
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
