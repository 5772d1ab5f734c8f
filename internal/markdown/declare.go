package markdown

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"rookery/internal/fault"
)

// SetArguments gives fields of a section's declaration new values, in parentheses or in lines as it
// is written. A field that is there is changed where it stands; a new one goes where the alphabet has
// it if the keys are in its order, else to the end. A section without declaration gets
// `::section(key=value)` below its heading. Nothing else changes, and Parse reads back what was given.
//
// A slug that is none of the note's is NOT_FOUND; a key or a value that a declaration cannot hold is
// INVALID_FIELD or INVALID_VALUE, and so is a declaration that cannot be changed in place.
func SetArguments(text []byte, slug string, fields []Field) ([]byte, error) {
	e, err := newDeclarationEditor(text, slug)
	if err != nil {
		return nil, err
	}
	if err := e.setAll(fields); err != nil {
		return nil, err
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
	if err := e.unsetAll(keys); err != nil {
		return nil, err
	}
	return e.text, nil
}

// A declarationEditor changes the declaration of one heading.
type declarationEditor struct {
	doc   *Doc
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
	return &declarationEditor{d, text, i, d.Headings[i], lineBreak(text)}, nil
}

// checkArgument says why a key cannot be one of a declaration.
func checkArgument(key string) error {
	if isKey(key) {
		return nil
	}
	return fault.New(fault.InvalidField, "a field has a key that a declaration cannot hold; "+
		"a key is letters, digits, - and _").With("field", key)
}

// setAll changes and adds fields in one pass. It reads the new note once.
func (e *declarationEditor) setAll(fields []Field) error {
	fields, err := normalAll(fields, checkArgument)
	if err != nil {
		return err
	}
	have := e.arguments()
	block := e.h.Embedded != nil && e.h.Embedded.block
	var patches []patch
	var more []spelledField
	changed := map[string]any{}
	for _, f := range fields {
		old, ok := have[f.Key]
		if ok && equal(old.Value, f.Value) {
			continue
		}
		spelled, why := spelling{typed: true, alone: block, block: block}.spell(f.Value)
		if why != "" {
			return invalid(f.Key, why)
		}
		if ok {
			patches = append(patches, e.replaced(old, spelled))
		} else {
			more = append(more, spelledField{f.Key, spelled})
		}
		changed[f.Key] = f.Value
	}
	if len(changed) == 0 {
		return nil
	}
	return e.accept(apply(e.text, append(patches, e.added(more)...)), changed)
}

// arguments are the fields by their keys.
func (e *declarationEditor) arguments() map[string]Argument {
	all := map[string]Argument{}
	if e.h.Embedded != nil {
		for _, a := range e.h.Embedded.Fields {
			all[a.Key] = a
		}
	}
	return all
}

// replaced is the patch that spells the value of a field otherwise.
func (e *declarationEditor) replaced(old Argument, spelled string) patch {
	if old.Text.Start == old.Text.End {
		if e.h.Embedded.block && spelled != "" {
			spelled = " " + spelled
		}
		return patch{Span{old.Span.End, old.Span.End}, []byte(spelled)}
	}
	if spelled == "" {
		before := bytes.TrimRight(e.text[:old.Text.Start], " \t")
		return patch{Span{len(before), old.Text.End}, nil}
	}
	return patch{old.Text, []byte(spelled)}
}

// A spelledField is a field that a declaration does not have yet.
type spelledField struct{ key, value string }

// added are the patches that add fields to the declaration: where the alphabet has them if the keys are in
// its order, else at the end.
func (e *declarationEditor) added(more []spelledField) []patch {
	d := e.h.Embedded
	if len(more) == 0 {
		return nil
	}
	if d == nil || d.isSorted() {
		slices.SortStableFunc(more, func(a, b spelledField) int { return strings.Compare(a.key, b.key) })
	}
	switch {
	case d == nil:
		return []patch{e.declared("::section(" + joined(more) + ")")}
	case d.block:
		return e.addedLines(more)
	case d.args.Start == 0:
		return []patch{{Span{d.name.End, d.name.End}, []byte("(" + joined(more) + ")")}}
	case len(d.Fields) == 0:
		return []patch{{d.args, []byte(joined(more))}}
	}
	var patches []patch
	place := d.next()
	for _, f := range more {
		argument := f.key + "=" + f.value
		if next := place(f.key); next < len(d.Fields) {
			at := d.Fields[next].Span.Start
			patches = append(patches, patch{Span{at, at}, []byte(argument + ", ")})
			continue
		}
		at := d.Fields[len(d.Fields)-1].Span.End
		patches = append(patches, patch{Span{at, at}, []byte(", " + argument)})
	}
	return patches
}

// joined are fields as arguments in parentheses.
func joined(fields []spelledField) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.key+"="+f.value)
	}
	return strings.Join(all, ", ")
}

// declared is the patch that puts a declaration below the heading, kept apart from text that follows.
func (e *declarationEditor) declared(declaration string) patch {
	at := e.h.Content
	before := ""
	if at > 0 && e.text[at-1] != '\n' {
		before = e.eol
	}
	if rest := bytes.TrimRight(e.text[at:lineEnd(e.text, at)], " \t"); len(rest) > 0 {
		declaration += e.eol
	}
	return patch{Span{at, at}, []byte(before + declaration + e.eol)}
}

// addedLines are the patches that add lines to the declaration, each indented as the line before it.
func (e *declarationEditor) addedLines(more []spelledField) []patch {
	d := e.h.Embedded
	last, place := d.Fields[len(d.Fields)-1].Span, d.next()
	var patches []patch
	for _, f := range more {
		line := f.key + ":"
		if f.value != "" {
			line += " " + f.value
		}
		if next := place(f.key); next < len(d.Fields) {
			at := d.Fields[next].Span.Start
			margin := e.text[lineStart(e.text, at):at]
			patches = append(patches, patch{Span{at, at}, []byte(line + e.eol + string(margin))})
			continue
		}
		margin := e.text[lineStart(e.text, last.Start):last.Start]
		patches = append(patches, patch{Span{last.End, last.End}, []byte(e.eol + string(margin) + line)})
	}
	return patches
}

// isSorted reports whether the keys are in the order of the alphabet.
func (e *Embedded) isSorted() bool { return slices.IsSortedFunc(e.Fields, byKey) }

func byKey(a, b Argument) int { return strings.Compare(a.Key, b.Key) }

// next returns a function that returns the index of the field before which a new one goes, the number of
// fields if that is the end.
func (e *Embedded) next() func(key string) int {
	sorted := e.isSorted()
	return func(key string) int {
		if !sorted {
			return len(e.Fields)
		}
		i, _ := slices.BinarySearchFunc(e.Fields, Argument{Key: key}, byKey)
		return i
	}
}

// unsetAll removes fields in one pass. It reads the new note once.
func (e *declarationEditor) unsetAll(keys []string) error {
	have, gone := e.arguments(), map[string]any{}
	for _, key := range keys {
		if _, ok := have[key]; ok {
			gone[key] = nil
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return e.accept(apply(e.text, e.without(gone)), gone)
}

// without are the patches that take some fields of the declaration away.
func (e *declarationEditor) without(gone map[string]any) []patch {
	d := e.h.Embedded
	whole := len(gone) == len(d.Fields)
	switch {
	case whole && d.Type == "section":
		return []patch{{at: Span{lineStart(e.text, d.Span.Start), lineNext(e.text, d.Span.End)}}}
	case whole && !d.block:
		return []patch{{at: Span{d.args.Start - 1, d.args.End + 1}}}
	}
	stays := func(f Argument) bool {
		_, goes := gone[f.Key]
		return !goes
	}
	last := len(d.Fields) - 1 // that stays
	for last >= 0 && !stays(d.Fields[last]) {
		last--
	}
	var cuts []patch
	for i, f := range d.Fields {
		if stays(f) {
			continue
		}
		cut := f.Span
		switch {
		case d.block:
			cut.Start = lineEnd(e.text, lineStart(e.text, lineStart(e.text, cut.Start)-1))
		case i < last:
			cut.End = d.Fields[i+1].Span.Start
		default:
			cut.Start = d.Fields[i-1].Span.End
		}
		cuts = append(cuts, patch{at: cut})
	}
	return cuts
}

// accept takes a new note if it reads as the old one with the fields at their new values.
func (e *declarationEditor) accept(text []byte, fields map[string]any) error {
	after := Parse(text)
	keys := slices.Sorted(maps.Keys(fields))
	if !sameOutline(e.doc, after, e.index) {
		return e.cannotEdit(keys[0])
	}
	now := &declarationEditor{h: after.Headings[e.index]}
	have := now.arguments()
	for _, key := range keys {
		if !equal(have[key].Value, readLink(fields[key])) {
			return e.cannotEdit(key)
		}
	}
	if !sameArguments(e.h.Embedded, now.h.Embedded, fields) {
		return e.cannotEdit(keys[0])
	}
	e.doc, e.text, e.h = after, text, now.h
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

// sameArguments reports whether two declarations have the same fields, some keys aside.
func sameArguments(before, after *Embedded, keys map[string]any) bool {
	a, b := arguments(before, keys), arguments(after, keys)
	return slices.EqualFunc(a, b, func(x, y Argument) bool {
		return x.Key == y.Key && equal(x.Value, y.Value)
	})
}

// arguments are the fields of a declaration but some.
func arguments(e *Embedded, keys map[string]any) []Argument {
	if e == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Fields), func(a Argument) bool {
		_, aside := keys[a.Key]
		return aside
	})
}

func (e *declarationEditor) cannotEdit(key string) error {
	return fault.New(fault.InvalidValue, "the field %q cannot be changed in the declaration of its "+
		"section; write it as `::type(key=value)` below the heading first", key).With("line", e.h.Line)
}
