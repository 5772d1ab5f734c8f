package markdown

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// SetArguments sets fields of a section's declaration, in parentheses or in lines as the
// declaration is written, and returns the new note. An existing field is changed in place. A new
// one is added in alphabetical order if the keys are in that order, and otherwise at the end. A
// section without a declaration gets `::section(key=value)` below its heading. Nothing else
// changes, and Parse returns the given values for the new note.
//
// If several sections have the slug, the first is changed; see SetArgumentsAt. It returns NOT_FOUND
// if the note has no section with the slug. A key or a value that a declaration cannot contain is
// INVALID_FIELD or INVALID_VALUE; so is a declaration that cannot be changed in place.
func SetArguments(text []byte, slug string, fields []Field) ([]byte, error) {
	at, err := Parse(text).headingOf(slug)
	if err != nil {
		return nil, err
	}
	return SetArgumentsAt(text, at, fields)
}

// SetArgumentsAt is SetArguments for a section that is named by the index of its heading in
// Doc.Headings, because declarations can repeat an id. It returns NOT_FOUND if the note has no such
// heading.
func SetArgumentsAt(text []byte, heading int, fields []Field) ([]byte, error) {
	e, err := newDeclarationEditor(text, heading)
	if err != nil {
		return nil, err
	}
	if err := e.setAll(fields); err != nil {
		return nil, err
	}
	return e.text, nil
}

// UnsetArgumentsAt removes fields from the declaration of a section, which is named as for
// SetArgumentsAt, and returns the new note. A declaration of type section without fields is removed
// with its line; any other becomes its bare name. Keys that the declaration does not have are
// ignored. The errors are those of SetArgumentsAt.
func UnsetArgumentsAt(text []byte, heading int, keys []string) ([]byte, error) {
	e, err := newDeclarationEditor(text, heading)
	if err != nil {
		return nil, err
	}
	if err := e.unsetAll(keys); err != nil {
		return nil, err
	}
	return e.text, nil
}

// A declarationEditor changes the declaration of one heading.
//
// Its methods compute patches from doc and h; accept applies the result, after which doc, text and
// h are those of the new note.
type declarationEditor struct {
	doc   *Doc
	text  []byte
	index int // of the heading
	h     Heading
	eol   string
}

// newDeclarationEditor returns the editor of the declaration of the i-th heading, or NOT_FOUND.
func newDeclarationEditor(text []byte, i int) (*declarationEditor, error) {
	d := Parse(text)
	if i < 0 || i >= len(d.Headings) {
		return nil, noHeading()
	}
	return &declarationEditor{d, text, i, d.Headings[i], lineBreak(text)}, nil
}

// checkArgument returns INVALID_FIELD for a key that a declaration cannot have.
func checkArgument(key string) error {
	if isKey(key) {
		return nil
	}
	return fault.New(fault.InvalidField, "a field has a key that a declaration cannot contain; "+
		"a key has letters, digits, - and _").With("field", key)
}

// setAll changes and adds fields in one pass, and parses the new note once. A field that has the
// value already keeps its bytes. It returns an error and changes nothing if any field is invalid.
func (e *declarationEditor) setAll(fields []Field) error {
	fields, err := normalAll(fields, checkArgument)
	if err != nil {
		return err
	}
	have := e.arguments()
	block := e.h.Declaration != nil && e.h.Declaration.block
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
			patches = append(patches, e.replacePatch(old, spelled))
		} else {
			more = append(more, spelledField{f.Key, spelled})
		}
		changed[f.Key] = f.Value
	}
	if len(changed) == 0 {
		return nil
	}
	return e.accept(apply(e.text, append(patches, e.addPatches(more)...)), changed)
}

// arguments returns the fields by key; an empty map for a section without a declaration.
func (e *declarationEditor) arguments() map[string]Argument {
	all := map[string]Argument{}
	if e.h.Declaration != nil {
		for _, a := range e.h.Declaration.Fields {
			all[a.Key] = a
		}
	}
	return all
}

// replacePatch returns the patch that replaces the value of a field. A field without a value has no
// position for one, so the value is added after the key, with the blank that the notation of lines
// requires. To remove the value, the blanks before it are removed as well.
func (e *declarationEditor) replacePatch(old Argument, spelled string) patch {
	if old.Text.Start == old.Text.End {
		if e.h.Declaration.block && spelled != "" {
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

// A spelledField is a field that a declaration does not have yet, with its value as text.
type spelledField struct{ key, value string }

// addPatches returns the patches that add fields to the declaration: in alphabetical order if the keys
// are in that order, and otherwise at the end. It depends on the notation: without a declaration, a
// new one of type section is written; a bare type gets parentheses; and in lines each field gets a
// line.
func (e *declarationEditor) addPatches(more []spelledField) []patch {
	d := e.h.Declaration
	if len(more) == 0 {
		return nil
	}
	if d == nil || d.isSorted() {
		slices.SortStableFunc(more, func(a, b spelledField) int { return strings.Compare(a.key, b.key) })
	}
	switch {
	case d == nil:
		return []patch{e.declarePatch("::section(" + joined(more) + ")")}
	case d.block:
		return e.addLinePatches(more)
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

// joined returns fields as arguments in parentheses, without the parentheses.
func joined(fields []spelledField) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.key+"="+f.value)
	}
	return strings.Join(all, ", ")
}

// declarePatch returns the patch that adds a declaration directly below the heading. A declaration is a
// whole paragraph, so a blank line is added if text follows.
func (e *declarationEditor) declarePatch(declaration string) patch {
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

// addLinePatches returns the patches that add lines to the declaration, with the indentation of the
// lines around them. It includes the markers of a quote or a list, because the margin is copied
// from an existing line. The declaration has at least one field.
func (e *declarationEditor) addLinePatches(more []spelledField) []patch {
	d := e.h.Declaration
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

// isSorted reports whether the keys are in alphabetical order.
func (e *Declaration) isSorted() bool { return slices.IsSortedFunc(e.Fields, byKey) }

// byKey compares two fields by their keys, as bytes.
func byKey(a, b Argument) int { return strings.Compare(a.Key, b.Key) }

// next returns a function that returns the index of the field before which a new one is added, or
// the number of fields for the end.
func (e *Declaration) next() func(key string) int {
	sorted := e.isSorted()
	return func(key string) int {
		if !sorted {
			return len(e.Fields)
		}
		i, _ := slices.BinarySearchFunc(e.Fields, Argument{Key: key}, byKey)
		return i
	}
}

// unsetAll removes fields in one pass, and parses the new note once. It changes nothing if the
// declaration has none of the keys.
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
	return e.accept(apply(e.text, e.removePatches(gone)), gone)
}

// removePatches returns the patches that remove some fields of the declaration.
//
// With all fields removed, nothing of the arguments stays: a declaration of type section is removed
// with its line, because it has no meaning without fields, and the parentheses of any other are
// removed. Otherwise a field in lines is removed with its line, and one in parentheses with one
// comma: the comma after it if another field that stays follows, and else the one before it.
func (e *declarationEditor) removePatches(gone map[string]any) []patch {
	d := e.h.Declaration
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
	last := len(d.Fields) - 1 // the last field that stays
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

// accept makes text the note of the editor if it parses as the old one with the fields at their new
// values, where nil is a removed field. Otherwise it returns INVALID_VALUE, and the editor keeps
// its note.
func (e *declarationEditor) accept(text []byte, fields map[string]any) error {
	after := e.doc.Reparse(text)
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
	if !sameArguments(e.h.Declaration, now.h.Declaration, fields) {
		return e.cannotEdit(keys[0])
	}
	e.doc, e.text, e.h = after, text, now.h
	return nil
}

// sameOutline reports whether two notes have the same headings and traits, except for the text and
// the declaration of the i-th heading.
//
// Levels and titles of all headings are compared, and their texts and whether they have a
// declaration except for the i-th. i may be -1: then all are compared.
func sameOutline(before, after *Doc, i int) bool {
	if len(before.Headings) != len(after.Headings) || len(before.Traits) != len(after.Traits) {
		return false
	}
	for k, h := range before.Headings {
		other := after.Headings[k]
		if h.Level != other.Level || h.Title != other.Title {
			return false
		}
		if k != i && (h.Text != other.Text || (h.Declaration == nil) != (other.Declaration == nil)) {
			return false
		}
	}
	return slices.EqualFunc(before.Traits, after.Traits, sameTrait)
}

// sameTrait reports whether two traits have the same name, written value and visible line. Their
// positions can differ.
func sameTrait(a, b Trait) bool {
	return a.Name == b.Name && a.Raw == b.Raw && a.ContentText == b.ContentText
}

// sameArguments reports whether two declarations have the same fields, except for some keys.
func sameArguments(before, after *Declaration, keys map[string]any) bool {
	a, b := arguments(before, keys), arguments(after, keys)
	return slices.EqualFunc(a, b, func(x, y Argument) bool {
		return x.Key == y.Key && equal(x.Value, y.Value)
	})
}

// arguments returns a copy of the fields of a declaration, except for some keys. e may be nil.
func arguments(e *Declaration, keys map[string]any) []Argument {
	if e == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Fields), func(a Argument) bool {
		_, aside := keys[a.Key]
		return aside
	})
}

// cannotEdit returns the error for a declaration that cannot be changed in place.
func (e *declarationEditor) cannotEdit(key string) error {
	return fault.New(fault.InvalidValue, "the field %q cannot be changed in the declaration of its "+
		"section; write it as `::type(key=value)` below the heading first", key).With("line", e.h.Line)
}
