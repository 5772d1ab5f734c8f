package markdown

import (
	"bytes"
	"slices"

	"rookery/internal/fault"
)

// SetArguments gives fields of a section's declaration new values, in parentheses or in lines as it
// is written. A field that is there is changed where it stands; a new one goes where the alphabet has
// it if the keys are in its order, else to the end. A section without declaration gets
// `::section(key=value)` below its heading. Nothing else changes, and Parse reads back what was given.
//
// A slug that is none of the note's is NOT_FOUND; a key or a value that a declaration cannot hold is
// INVALID_FIELD or INVALID_VALUE; a declaration that cannot be changed in place is FILE_ERROR.
func SetArguments(text []byte, slug string, fields []Field) ([]byte, error) {
	e, err := newDeclarationEditor(text, slug)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		if err := e.set(f); err != nil {
			return nil, err
		}
	}
	return e.text, nil
}

// UnsetArguments removes fields from a section's declaration. One of type section that has none left
// is removed with its line, any other becomes its bare name. A key that is not there is no error.
// Other errors are as for SetArguments.
func UnsetArguments(text []byte, slug string, keys []string) ([]byte, error) {
	e, err := newDeclarationEditor(text, slug)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := e.unset(key); err != nil {
			return nil, err
		}
	}
	return e.text, nil
}

// A declarationEditor changes the declaration of one heading, field by field.
type declarationEditor struct {
	text  []byte
	index int // of the heading
	h     Heading
	eol   string
}

func newDeclarationEditor(text []byte, slug string) (*declarationEditor, error) {
	d := Parse(text)
	i := slices.IndexFunc(d.Headings, func(h Heading) bool { return h.Slug == slug })
	if i < 0 {
		return nil, noSection(slug)
	}
	return &declarationEditor{text, i, d.Headings[i], lineBreak(text)}, nil
}

// set changes or adds one field.
func (e *declarationEditor) set(f Field) error {
	if !isKey(f.Key) {
		return fault.New(fault.InvalidField, "a field has a key that a declaration cannot hold; "+
			"a key is letters, digits, - and _").With("field", f.Key)
	}
	value, err := normal(f)
	if err != nil {
		return err
	}
	old, ok := e.h.Embedded.Get(f.Key)
	if ok && equal(old.Value, value) {
		return nil
	}
	block := e.h.Embedded != nil && e.h.Embedded.block
	spelled, why := spelling{typed: true, alone: block, block: block}.spell(value)
	if why != "" {
		return invalid(f.Key, why)
	}
	if ok {
		return e.accept(e.replaced(old, spelled), f.Key, value)
	}
	return e.accept(e.added(f.Key, spelled), f.Key, value)
}

// replaced is the note with the value of a field spelled anew.
func (e *declarationEditor) replaced(old Argument, spelled string) []byte {
	if old.Text.Start == old.Text.End {
		if e.h.Embedded.block && spelled != "" {
			spelled = " " + spelled
		}
		return splice(e.text, Span{old.Span.End, old.Span.End}, []byte(spelled))
	}
	if spelled == "" {
		before := bytes.TrimRight(e.text[:old.Text.Start], " \t")
		return splice(e.text, Span{len(before), old.Text.End}, nil)
	}
	return splice(e.text, old.Text, []byte(spelled))
}

// added is the note with one more field in the declaration.
func (e *declarationEditor) added(key, spelled string) []byte {
	d := e.h.Embedded
	if d == nil {
		return e.declared("::section(" + key + "=" + spelled + ")")
	}
	if d.block {
		return e.addedLine(key, spelled)
	}
	argument := key + "=" + spelled
	next := d.next(key)
	switch {
	case d.args.Start == 0:
		return splice(e.text, Span{d.name.End, d.name.End}, []byte("("+argument+")"))
	case next < len(d.Fields):
		at := d.Fields[next].Span.Start
		return splice(e.text, Span{at, at}, []byte(argument+", "))
	case len(d.Fields) > 0:
		at := d.Fields[len(d.Fields)-1].Span.End
		return splice(e.text, Span{at, at}, []byte(", "+argument))
	}
	return splice(e.text, d.args, []byte(argument))
}

// declared is the note with a declaration below the heading, kept apart from text that follows.
func (e *declarationEditor) declared(declaration string) []byte {
	at := e.h.Content
	before := ""
	if at > 0 && e.text[at-1] != '\n' {
		before = e.eol
	}
	if rest := bytes.TrimRight(e.text[at:lineEnd(e.text, at)], " \t"); len(rest) > 0 {
		declaration += e.eol
	}
	return splice(e.text, Span{at, at}, []byte(before+declaration+e.eol))
}

// addedLine is the note with one more line in the declaration, indented as the line before it.
func (e *declarationEditor) addedLine(key, spelled string) []byte {
	d := e.h.Embedded
	line := key + ":"
	if spelled != "" {
		line += " " + spelled
	}
	last := d.Fields[len(d.Fields)-1].Span
	margin := e.text[lineStart(e.text, last.Start):last.Start]
	if next := d.next(key); next < len(d.Fields) {
		at := d.Fields[next].Span.Start
		margin = e.text[lineStart(e.text, at):at]
		return splice(e.text, Span{at, at}, []byte(line+e.eol+string(margin)))
	}
	return splice(e.text, Span{last.End, last.End}, []byte(e.eol+string(margin)+line))
}

// next is the index of the field before which a new one goes, the number of fields if that is the end.
func (e *Embedded) next(key string) int {
	byKey := func(a, b Argument) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) }
	if !slices.IsSortedFunc(e.Fields, byKey) {
		return len(e.Fields)
	}
	i, _ := slices.BinarySearchFunc(e.Fields, Argument{Key: key}, byKey)
	return i
}

// unset removes one field.
func (e *declarationEditor) unset(key string) error {
	d := e.h.Embedded
	i := -1
	if d != nil {
		i = slices.IndexFunc(d.Fields, func(a Argument) bool { return a.Key == key })
	}
	if i < 0 {
		return nil
	}
	return e.accept(e.without(i), key, nil)
}

// without is the note without the i-th field of the declaration.
func (e *declarationEditor) without(i int) []byte {
	d := e.h.Embedded
	cut := d.Fields[i].Span
	switch {
	case len(d.Fields) == 1 && d.Type == "section":
		cut = Span{lineStart(e.text, d.Span.Start), lineNext(e.text, d.Span.End)}
	case d.block:
		cut.Start = lineEnd(e.text, lineStart(e.text, lineStart(e.text, cut.Start)-1))
	case len(d.Fields) == 1:
		cut = Span{d.args.Start - 1, d.args.End + 1}
	case i+1 < len(d.Fields):
		cut.End = d.Fields[i+1].Span.Start
	default:
		cut.Start = d.Fields[i-1].Span.End
	}
	return splice(e.text, cut, nil)
}

// accept takes a new note if it reads as the old one with the field at its new value.
func (e *declarationEditor) accept(text []byte, key string, value any) error {
	before, after := Parse(e.text), Parse(text)
	if !sameOutline(before, after, e.index) {
		return e.cannotEdit(key)
	}
	h := after.Headings[e.index]
	got, _ := h.Embedded.Get(key)
	if !equal(got.Value, readLink(value)) || !sameArguments(e.h.Embedded, h.Embedded, key) {
		return e.cannotEdit(key)
	}
	e.text, e.h = text, h
	return nil
}

// sameOutline reports whether two notes have the same headings and traits, but for the text and the
// declaration of the i-th heading.
func sameOutline(before, after *Doc, i int) bool {
	if len(before.Headings) != len(after.Headings) || len(before.Traits) != len(after.Traits) {
		return false
	}
	for k, h := range before.Headings {
		other := after.Headings[k]
		if h.Level != other.Level || h.Title != other.Title {
			return false
		}
		if k != i && (h.Text != other.Text || (h.Embedded == nil) != (other.Embedded == nil)) {
			return false
		}
	}
	return slices.EqualFunc(before.Traits, after.Traits, sameTrait)
}

// sameTrait reports whether two traits differ in nothing but their places.
func sameTrait(a, b Trait) bool {
	return a.Name == b.Name && a.Raw == b.Raw && a.ContentText == b.ContentText
}

// sameArguments reports whether two declarations have the same fields, key aside.
func sameArguments(before, after *Embedded, key string) bool {
	a, b := arguments(before, key), arguments(after, key)
	return slices.EqualFunc(a, b, func(x, y Argument) bool {
		return x.Key == y.Key && equal(x.Value, y.Value)
	})
}

// arguments are the fields of a declaration but one.
func arguments(e *Embedded, key string) []Argument {
	if e == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Fields), func(a Argument) bool { return a.Key == key })
}

func (e *declarationEditor) cannotEdit(key string) error {
	return fault.New(fault.FileError, "the field %q cannot be changed in the declaration of its "+
		"section; write it as `::type(key=value)` below the heading first", key).With("line", e.h.Line)
}
