package relink

import (
	"bytes"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A bareValue is a value that can contain references without brackets: that of a field or a trait
// which the schema declares as a reference or a list of references.
type bareValue struct {
	value  any           // a type of markdown.Parse
	at     markdown.Span // place of the value in the text
	line   int
	source index.Object
	field  string
	read   func(*markdown.Doc) any // returns the value in a parsed text
	// write returns a text with another value; nil if there is no such function
	write func(text []byte, value any) ([]byte, error)
}

// values rewrites the references without brackets. It runs before references, because an edit of a
// value replaces the references in brackets that the value also contains.
func (w *rewriting) values() {
	for i := -1; i < len(w.note.Sections); i++ {
		o := w.note.Object(i)
		t, ok := w.after.Schema().Type(o.Type())
		if !ok || o.Type() == vault.Section {
			continue
		}
		for _, f := range o.Fields() {
			if def, ok := t.Field(f.Name); ok && def.IsRef() {
				w.fieldValue(o, f.Name)
			}
		}
	}
	for i, t := range w.doc.Traits {
		if def, ok := w.after.Schema().Trait(t.Name); ok && def.IsRef() {
			w.traitValue(i, t)
		}
	}
}

// fieldValue rewrites a field of the frontmatter or of a declaration. An object without a section
// has its fields in the frontmatter of the note, another one as arguments of the declaration at its
// heading. It does nothing if the field is not there.
func (w *rewriting) fieldValue(o index.Object, name string) {
	if o.Section == nil {
		if e, ok := w.doc.Frontmatter.Get(name); ok {
			w.bare(bareValue{
				value: e.Value, at: e.Text, line: e.Line, source: o, field: name,
				read: func(d *markdown.Doc) any { e, _ := d.Frontmatter.Get(name); return e.Value },
				write: func(text []byte, v any) ([]byte, error) {
					return markdown.SetFields(text, []markdown.Field{{Key: name, Value: v}})
				},
			})
		}
		return
	}
	slug := o.Section.Slug
	declared := func(d *markdown.Doc) markdown.Argument {
		h, _ := d.Section(slug)
		a, _ := h.Declaration.Get(name)
		return a
	}
	if a := declared(w.doc); a.Value != nil {
		w.bare(bareValue{
			value: a.Value, at: a.Text, line: a.Line, source: o, field: name,
			read: func(d *markdown.Doc) any { return declared(d).Value },
			write: func(text []byte, v any) ([]byte, error) {
				return markdown.SetArguments(text, slug, []markdown.Field{{Key: name, Value: v}})
			},
		})
	}
}

// traitValue rewrites the value of a trait in the text.
func (w *rewriting) traitValue(i int, t markdown.Trait) {
	w.bare(bareValue{
		value: t.Value, at: t.Text, line: t.Line, source: w.traitParent(i), field: t.Name,
		read: func(d *markdown.Doc) any {
			if len(d.Traits) != len(w.doc.Traits) {
				return nil
			}
			return d.Traits[i].Value
		},
	})
}

// traitParent returns the object that contains the i-th trait of the text.
func (w *rewriting) traitParent(i int) index.Object {
	for _, a := range w.note.EachAnnotation {
		if !a.Field && a.Line() == w.doc.Traits[i].Line && a.Type == w.doc.Traits[i].Name {
			return a.Parent()
		}
	}
	return w.note.Object(-1)
}

// bare rewrites the references in a value, if one without brackets must change. It finds the words
// of the references in the text of the value and replaces only these; if that is not possible, the
// edit writes the whole value in another way.
func (w *rewriting) bare(b bareValue) {
	list, isList := elements(b.value)
	want, spans, found := make([]any, len(list)), []edit{}, true
	changed, at := false, b.at.Start
	for i, v := range list {
		want[i] = v
		written, bare := textOf(v)
		if written == "" {
			continue
		}
		// The elements are looked for in order, each after the one before.
		span, ok := token(w.text, markdown.Span{Start: at, End: b.at.End}, written)
		if ok {
			at = span.End
		}
		now, rewrite := w.bareTarget(written, b.line, bare)
		if !rewrite {
			continue
		}
		found = found && ok
		spans = append(spans, edit{at: span, with: now})
		if want[i] = markdown.Ref(now); bare {
			changed, want[i] = true, now
		}
	}
	// References in brackets are rewritten by references, unless this edit replaces the whole
	// value.
	if changed {
		w.whole = append(w.whole, b.at)
		w.edits = append(w.edits, b.edit(w.text, want, isList, spans, found))
	}
}

// elements returns the elements of a value, and whether it is a list. Any other value is its only
// element.
func elements(value any) (all []any, isList bool) {
	if all, isList = value.([]any); isList {
		return all, true
	}
	return []any{value}, false
}

// edit returns an edit that replaces the whole value. spans has the edits of its parts; found
// reports whether all of them were found in the text. If not, the edit leaves the text as it is,
// fails its test, and is made by write instead.
func (b bareValue) edit(text []byte, list []any, isList bool, spans []edit, found bool) edit {
	var want any = list
	if !isList {
		want = list[0]
	}
	e := edit{
		at: b.at, with: string(text[b.at.Start:b.at.End]), line: b.line, source: b.source, field: b.field,
		holds: func(d *markdown.Doc) bool { return reflect.DeepEqual(b.read(d), want) },
	}
	if b.write != nil {
		e.alternative = func(text []byte) ([]byte, error) { return b.write(text, want) }
	}
	if found {
		e.with = string(apply(text[:b.at.End], spans)[b.at.Start:])
	}
	return e
}

// textOf returns the reference in an element of a value, and whether it has no brackets. The
// reference is "" if the element is not one.
func textOf(v any) (target string, bare bool) {
	switch v := v.(type) {
	case markdown.Ref:
		return string(v), false
	case string:
		if ref, ok := vault.ParseRef(v); ok && string(ref) == strings.TrimSpace(v) {
			return string(ref), true
		}
	}
	return "", false
}

// bareTarget returns the new spelling of a reference in a value, and whether it differs from the
// old one.
func (w *rewriting) bareTarget(written string, line int, bare bool) (string, bool) {
	if !w.enterPassage(line) {
		return "", false
	}
	was := w.resolveBefore.From(w.from, written)
	if bare {
		w.countGained(was, written)
	}
	if was.ID == "" || !w.rewrites(line, written, was) {
		return "", false
	}
	for _, target := range w.targets(written, was) {
		if w.leadsSame(target, was) {
			return target, true
		}
	}
	if bare {
		w.unwritable = append(w.unwritable, line)
	}
	return "", false
}

// token returns the first place of a word in a span of a text where it is not part of a longer
// word. A path is a word here: `people` is not found in `people/freya`.
func token(text []byte, in markdown.Span, word string) (markdown.Span, bool) {
	for at := in.Start; at < in.End; {
		i := bytes.Index(text[at:in.End], []byte(word))
		if i < 0 {
			break
		}
		start, end := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRune(text[in.Start:start])
		after, _ := utf8.DecodeRune(text[end:in.End])
		if (start == in.Start || !isWord(before)) && (end == in.End || !isWord(after)) {
			return markdown.Span{Start: start, End: end}, true
		}
		at = start + 1
	}
	return markdown.Span{}, false
}

// isWord reports whether a character can be part of a path.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-/.#", r)
}
