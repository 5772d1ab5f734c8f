package markdown

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Field is a key of the frontmatter or of a declaration, and its new value: a string, a Ref, a
// number (float64, int, int64 or json.Number), a bool, nil, or a list of these. A string that is a
// whole wikilink is read back as a Ref. Lists can be nested up to maxNesting deep.
type Field struct {
	Key   string
	Value any
}

// SetFields sets fields of the frontmatter, and returns the new note. An existing field is changed
// in place and keeps its quotes or its kind of list; a field that has the value already keeps its
// bytes. A new field is added at the end. A note without frontmatter gets one. Nothing else
// changes, and Parse returns the given values for the new note.
//
// It returns INVALID_VALUE with the line for a frontmatter that does not parse, or in which the
// field cannot be changed in place. A key or a value that frontmatter cannot contain is
// INVALID_FIELD or INVALID_VALUE.
//
// If a key occurs twice in fields, the last value counts. The given text is not changed.
func SetFields(text []byte, fields []Field) ([]byte, error) {
	e, err := newEditor(text)
	if err != nil {
		return nil, err
	}
	return e.setAll(fields)
}

// UnsetFields removes fields from the frontmatter with all their lines, and returns the new note. A
// comment above a field stays, and so does a frontmatter without fields. Keys that the note does
// not have are ignored. It returns INVALID_VALUE in the same cases as SetFields.
func UnsetFields(text []byte, keys []string) ([]byte, error) {
	e, err := newEditor(text)
	if err != nil {
		return nil, err
	}
	if err := e.unsetAll(keys); err != nil {
		return nil, err
	}
	return e.result(), nil
}

// Compose returns a new note with fields in the given order, followed by a body, whose bytes stay
// the same. Without fields the note is the body. Errors are those of SetFields.
func Compose(fields []Field, body string) ([]byte, error) {
	text := []byte(body)
	e := &editor{text: text, eol: lineBreak(text)}
	return e.setAll(fields)
}

// ReplaceBody replaces the text after the frontmatter, and returns the new note. The line breaks of
// the body become those of the note. A blank line is added before the body unless it begins with
// one. Errors are those of SetFields.
func ReplaceBody(text []byte, body string) ([]byte, error) {
	e, err := newEditor(text)
	if err != nil {
		return nil, err
	}
	body = withBreaks(body, e.eol)
	first, _, _ := strings.Cut(body, "\n")
	taken := e.fm == nil && readHead([]byte(body)).end > 0 // it would be parsed as a frontmatter
	switch blank := strings.TrimSpace(first) == ""; {
	case e.fm != nil && !bytes.HasSuffix(e.head, []byte{'\n'}):
		body = e.eol + e.eol + body
	case e.fm != nil && !blank, taken:
		body = e.eol + body
	}
	return append(bytes.Clone(e.head), body...), nil
}

// An editor changes the frontmatter of a note, and keeps its body. Each method that changes it
// parses the new head and compares it with the old one before it takes it over, so head always
// parses.
type editor struct {
	head []byte // the text before the body
	fm   *Frontmatter
	text []byte // the original note
	body int    // the offset of the body in it
	eol  string
}

// newEditor returns the editor of a note, or INVALID_VALUE if its frontmatter does not parse. Such
// a frontmatter is never edited, because its fields have no reliable positions.
func newEditor(text []byte) (*editor, error) {
	h := readHead(text)
	if line := invalidLine(text); line > 0 {
		h.problem = &Problem{line, notUTF8}
	}
	if h.problem != nil {
		return nil, fault.New(fault.InvalidValue, "the fields of the note cannot be changed, because of "+
			"its line %d: %s", h.problem.Line, h.problem.Message).With("line", h.problem.Line)
	}
	return &editor{
		head: text[:h.end], fm: h.fm, text: text, body: h.end, eol: lineBreak(text),
	}, nil
}

// setAll changes and adds fields in one pass, and returns the note. It parses the new frontmatter
// once.
//
// Existing fields are replaced in place and new ones are added as lines at the end of the
// frontmatter, all as patches of the old head. A field that has the value already is skipped, so
// that setting a field twice does not change the notation that the user chose. If no field changes,
// the note is returned as it is.
func (e *editor) setAll(fields []Field) ([]byte, error) {
	fields, err := normalAll(fields, checkKey)
	if err != nil {
		return nil, err
	}
	var patches []patch
	var lines []byte // of new fields
	var changed []Field
	w, have := writer{e.eol, e.indent()}, e.entries()
	for _, f := range fields {
		entry, ok := have[f.Key]
		switch {
		case ok && sameValue(f.Value, entry.node):
			continue
		case ok && entry.colon == 0:
			return nil, cannotEdit(f.Key, entry.Line)
		case ok:
			patches = append(patches, w.replace(newChange(e.head, e.fm, entry), f.Value))
		default:
			lines = append(lines, w.entry(f.Key, f.Value)...)
		}
		changed = append(changed, f)
	}
	if len(lines) > 0 {
		patches = append(patches, e.addPatch(lines))
	}
	if len(changed) == 0 {
		return e.result(), nil
	}
	if err := e.accept(apply(e.head, patches), changed); err != nil {
		return nil, err
	}
	return e.result(), nil
}

// normalAll returns the fields with values of the types that decode returns, so that they can be
// compared with parsed ones. If a key occurs twice, the last value counts, at the position of the
// first. check returns an error for an invalid key.
func normalAll(fields []Field, check func(key string) error) ([]Field, error) {
	var all []Field
	at := make(map[string]int, len(fields))
	for _, f := range fields {
		if err := check(f.Key); err != nil {
			return nil, err
		}
		value, err := normal(f)
		if err != nil {
			return nil, err
		}
		i, twice := at[f.Key]
		if !twice {
			i, all = len(all), append(all, Field{Key: f.Key})
			at[f.Key] = i
		}
		all[i].Value = value
	}
	return all, nil
}

// result returns the new note: the head and the unchanged body, as a new slice.
func (e *editor) result() []byte {
	return append(bytes.Clone(e.head), e.text[e.body:]...)
}

// entries returns the fields by key.
func (e *editor) entries() map[string]Entry {
	if e.fm == nil {
		return nil
	}
	all := make(map[string]Entry, len(e.fm.Entries))
	for _, entry := range e.fm.Entries {
		all[entry.Key] = entry
	}
	return all
}

// indent returns the number of columns before each key, which new keys must have as well; 0 without
// a frontmatter.
func (e *editor) indent() int {
	if e.fm == nil {
		return 0
	}
	return e.fm.indent
}

// addPatch returns the patch that adds lines of fields at the end of the frontmatter. If there is
// none, the patch adds a new one after the byte order mark.
func (e *editor) addPatch(lines []byte) patch {
	if e.fm != nil {
		return patch{Span{e.fm.Inner.End, e.fm.Inner.End}, lines}
	}
	fence := []byte("---" + e.eol)
	return patch{Span{len(e.head), len(e.head)}, slices.Concat(fence, lines, fence)}
}

// unsetAll removes fields in one pass. It parses the new frontmatter once or, if the removal would
// change a text above a field, twice. It returns INVALID_VALUE and changes nothing if a field is
// not on lines of its own.
func (e *editor) unsetAll(keys []string) error {
	gone, have := map[string]bool{}, e.entries()
	for _, key := range keys {
		entry, ok := have[key]
		if ok && entry.colon == 0 {
			return cannotEdit(key, entry.Line)
		}
		if ok {
			gone[key] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	head := e.without(gone, nil)
	h := readHead(head)
	if spoilt := e.changedKeys(h, head, gone); len(spoilt) > 0 {
		head = e.without(gone, spoilt)
		h = readHead(head)
	}
	if !e.agrees(h, head, gone) || len(h.fm.Entries) != len(e.fm.Entries)-len(gone) {
		for _, entry := range e.fm.Entries {
			if gone[entry.Key] {
				return cannotEdit(entry.Key, entry.Line)
			}
		}
	}
	e.head, e.fm = head, h.fm
	return nil
}

// without returns the head without the lines of the fields in gone. Fields after one in spoilt are
// removed with the blank lines after them.
func (e *editor) without(gone, spoilt map[string]bool) []byte {
	var cuts []patch
	blank := false
	for _, entry := range e.fm.Entries {
		if !gone[entry.Key] {
			blank = spoilt[entry.Key]
			continue
		}
		lines := entry.Lines
		if blank {
			lines = e.withBlank(lines)
		}
		cuts = append(cuts, patch{at: lines})
	}
	return apply(e.head, cuts)
}

// changedKeys returns the keys of the fields, other than those in gone, that have another value in the
// new head.
//
// A removal can change the field above: a block text that keeps its trailing line breaks (`|+`)
// would then also contain the blank lines that followed the removed field. It returns nil if the
// new head cannot be compared; agrees reports that case.
func (e *editor) changedKeys(h head, text []byte, gone map[string]bool) map[string]bool {
	if h.problem != nil || h.fm == nil || h.end != len(text) {
		return nil
	}
	before, spoilt := fieldsExcept(e.fm.Entries, gone), map[string]bool{}
	after := fieldsExcept(h.fm.Entries, nil)
	for i := range min(len(before), len(after)) {
		if !reflect.DeepEqual(before[i], after[i]) {
			spoilt[before[i].Key] = true
		}
	}
	return spoilt
}

// withBlank returns lines with the blank lines after them. Otherwise a block text above the field
// that keeps trailing line breaks would include them.
func (e *editor) withBlank(lines Span) Span {
	rest := e.head[lines.End:e.fm.Inner.End]
	blank := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
	return Span{lines.Start, lineStart(e.head, lines.End+blank)}
}

// accept makes head the head of the editor if it parses as the old one with the fields at their new
// values. Otherwise it returns INVALID_VALUE for the first field that does not have its value.
func (e *editor) accept(head []byte, fields []Field) error {
	h := readHead(head)
	after := (&editor{fm: h.fm}).entries()
	keys := make(map[string]bool, len(fields))
	for _, f := range fields {
		keys[f.Key] = true
		if entry, ok := after[f.Key]; !ok || !sameValue(f.Value, entry.node) {
			return e.cannotSet(f.Key)
		}
	}
	if !e.agrees(h, head, keys) {
		return e.cannotSet(fields[0].Key)
	}
	e.head, e.fm = head, h.fm
	return nil
}

// cannotSet returns cannotEdit for a field that may be new. The line of a new one is 1.
func (e *editor) cannotSet(key string) error {
	entry, _ := e.fm.Get(key)
	return cannotEdit(key, max(1, entry.Line))
}

// agrees reports whether a new head is complete, and has the fields of the old one, except for some
// keys, in the same order and with the same values. h is the parsed text. A head that ends before
// its text is not complete: a line of a field has become its end.
func (e *editor) agrees(h head, text []byte, keys map[string]bool) bool {
	if h.problem != nil || h.fm == nil || h.end != len(text) {
		return false
	}
	var before []Entry
	if e.fm != nil {
		before = e.fm.Entries
	}
	return reflect.DeepEqual(fieldsExcept(before, keys), fieldsExcept(h.fm.Entries, keys))
}

// fieldsExcept returns the keys and values of all entries, except for some keys. It is never nil, so that
// two results can be compared with reflect.DeepEqual.
func fieldsExcept(entries []Entry, keys map[string]bool) []Field {
	all := []Field{}
	for _, e := range entries {
		if !keys[e.Key] {
			all = append(all, Field{e.Key, e.Value})
		}
	}
	return all
}

// cannotEdit returns INVALID_VALUE for a field that is written in an unusual way, such as in braces
// or with a key that is not first in its line.
func cannotEdit(key string, line int) error {
	return fault.New(fault.InvalidValue, "the field %q cannot be changed in place; "+
		"write the frontmatter as lines of `key: value` first", key).With("line", line)
}

// A patch replaces a span of a text. An empty span inserts; an empty with removes.
type patch struct {
	at   Span
	with []byte
}

// apply returns a text with patches applied. Their spans refer to the given text and must not
// overlap. Patches at the same offset are applied in the given order. It sorts patches in place and
// does not change text.
func apply(text []byte, patches []patch) []byte {
	slices.SortStableFunc(patches, func(a, b patch) int { return cmp.Compare(a.at.Start, b.at.Start) })
	var out []byte
	at := 0
	for _, p := range patches {
		out = append(append(out, text[at:max(at, p.at.Start)]...), p.with...)
		at = max(at, p.at.End)
	}
	return append(out, text[at:]...)
}

// splice returns a copy of a text with a span replaced.
func splice(text []byte, at Span, with []byte) []byte {
	return bytes.Join([][]byte{text[:at.Start], with, text[at.End:]}, nil)
}
