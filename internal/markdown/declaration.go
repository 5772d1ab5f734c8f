package markdown

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// A Declaration is the declaration below a heading that makes an object of its section:
//
//	::meeting(id=standup, attendees=[[[people/freya]], [[people/thor]]])
//
// or the name alone and a line for each field:
//
//	::meeting
//	attendees: [[people/freya]], [[people/thor]]
//
// It is the whole paragraph that follows the heading (reference/raven.md §1.5).
type Declaration struct {
	Type   string
	ID     string     // the `id` that it declares, which is the heading's slug; empty if none
	Fields []Argument // in text order, `id` included
	Line   int        // the line of the file in which it begins
	Span   Span       // from the colons to the end of its last line

	name  Span // the type
	args  Span // between the parentheses; empty if there are none
	block bool // its fields are lines
}

// An Argument is one field of a declaration.
type Argument struct {
	Key   string
	Value any // as of an Entry, but a date is a string
	Line  int
	Span  Span // the field as it is written, its key included
	Text  Span // its value as it is written
}

// Get returns the field with a key, and whether there is one. It may be called on nil.
func (e *Declaration) Get(key string) (Argument, bool) {
	if e == nil {
		return Argument{}, false
	}
	for _, a := range e.Fields {
		if a.Key == key {
			return a, true
		}
	}
	return Argument{}, false
}

// declarationLines returns the lines of a block that may be a declaration, without the blanks
// around each, or nil if the block cannot be one.
//
// body is the offset of the body in text; the spans are offsets in text. block may be nil, for a
// heading at the end of the note. The lines are not parsed yet; see readDeclaration.
func declarationLines(text []byte, body int, block ast.Node) []Span {
	p, ok := block.(*ast.Paragraph)
	if !ok || p.Lines().Len() == 0 {
		return nil
	}
	first := p.Lines().At(0)
	if !bytes.HasPrefix(bytes.TrimLeft(text[body+first.Start:body+first.Stop], " \t"), []byte("::")) {
		return nil
	}
	lines := make([]Span, p.Lines().Len())
	for i := range lines {
		s := p.Lines().At(i)
		lines[i] = trim(text, Span{body + s.Start, body + s.Stop})
	}
	return lines
}

// readDeclaration parses the lines of a paragraph that begins with two colons in the given line. It
// returns nil if they are not a declaration.
//
// The two notations exclude each other: arguments in parentheses must be on the only line, and
// fields on lines need a first line with nothing but the type. If any field is invalid, the whole
// paragraph is text. If a key occurs twice, the last one counts.
func readDeclaration(text []byte, lines []Span, line int) *Declaration {
	first := lines[0]
	e := &Declaration{Line: line, Span: Span{first.Start, lines[len(lines)-1].End}}
	e.name = Span{first.Start + 2, first.Start + 2}
	for e.name.End < first.End && isWord(text[e.name.End]) {
		e.name.End++
	}
	e.Type = string(text[e.name.Start:e.name.End])
	rest := Span{e.name.End, first.End}
	ok := e.Type != ""
	switch {
	case rest.Start < rest.End:
		ok = ok && len(lines) == 1 && e.readArguments(text, rest)
	default:
		e.block = len(lines) > 1
		for i, l := range lines[1:] {
			ok = ok && e.readLine(text, l, line+1+i)
		}
	}
	if !ok {
		return nil
	}
	e.Fields = lastOfEach(e.Fields)
	e.ID = e.id()
	return e
}

// id returns the id that the fields declare, or "". A number is accepted, as its digits, because an
// id such as 2024 needs no quotes.
func (e *Declaration) id() string {
	a, _ := e.Get("id")
	switch v := a.Value.(type) {
	case string:
		return v
	case float64:
		return number(v)
	}
	return ""
}

// readArguments parses `(key=value, …)` in the span at, adds the fields to e, and reports whether
// all of them are valid. An empty value is nil.
func (e *Declaration) readArguments(text []byte, at Span) bool {
	if text[at.Start] != '(' || text[at.End-1] != ')' || at.End-at.Start < 2 {
		return false
	}
	e.args = Span{at.Start + 1, at.End - 1}
	parts, ok := splitArguments(text[e.args.Start:e.args.End])
	for _, part := range parts {
		part = Span{e.args.Start + part.Start, e.args.Start + part.End}
		n := bytes.IndexByte(text[part.Start:part.End], '=')
		if n < 0 {
			return false
		}
		a := Argument{Line: e.Line, Span: part}
		a.Text = trim(text, Span{part.Start + n + 1, part.End})
		a.Key = string(bytes.TrimSpace(text[part.Start : part.Start+n]))
		if !isKey(a.Key) {
			return false
		}
		a.Value = readValue(valid(text[a.Text.Start:a.Text.End]), true)
		e.Fields = append(e.Fields, a)
	}
	return ok
}

// readLine parses `key: value` in the span at, adds the field to e, and reports whether it is
// valid. A blank must follow the colon unless the value is empty. References separated by commas
// are a list, also without brackets around it.
func (e *Declaration) readLine(text []byte, at Span, line int) bool {
	n := bytes.IndexByte(text[at.Start:at.End], ':')
	if n < 0 || !isKey(string(text[at.Start:at.Start+n])) {
		return false
	}
	a := Argument{Key: string(text[at.Start : at.Start+n]), Line: line, Span: at}
	a.Text = Span{at.Start + n + 1, at.End}
	if a.Text.Start < a.Text.End && !isBlank(text[a.Text.Start]) {
		return false
	}
	a.Text = trim(text, a.Text)
	value := text[a.Text.Start:a.Text.End]
	if a.Value = refs(value); a.Value == nil {
		a.Value = readValue(valid(value), true)
	}
	e.Fields = append(e.Fields, a)
	return true
}

// refs returns the list of a text of two or more references separated by commas, or nil for other
// texts.
func refs(text []byte) any {
	parts, ok := splitArguments(text)
	if !ok || len(parts) < 2 {
		return nil
	}
	list := make([]any, len(parts))
	for i, part := range parts {
		ref, ok := refOf(string(text[part.Start:part.End]))
		if !ok {
			return nil
		}
		list[i] = ref
	}
	return list
}

// lastOfEach returns the fields in order, without those whose key occurs again later. It overwrites
// fields.
func lastOfEach(fields []Argument) []Argument {
	last := make(map[string]int, len(fields))
	for i, a := range fields {
		last[a.Key] = i
	}
	kept := fields[:0]
	for i, a := range fields {
		if last[a.Key] == i {
			kept = append(kept, a)
		}
	}
	return kept
}

// isKey reports whether a text can be a key of a declaration: letters, marks, digits, _ and -.
func isKey(key string) bool {
	for _, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_' && r != '-' {
			return false
		}
	}
	return key != "" && utf8.ValidString(key)
}
