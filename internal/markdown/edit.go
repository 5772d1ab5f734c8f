package markdown

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strings"

	"rookery/internal/fault"
)

// A Field is a key of the frontmatter and the value that it is to have: a string, a Ref, a number, a
// bool, nil, or a list of these. A string that is a whole wikilink is the Ref that it reads as.
type Field struct {
	Key   string
	Value any
}

// SetFields gives fields of the frontmatter new values. A field that is there is changed where it
// stands, in the quotes or the kind of list that it has; one that has the value already keeps its
// bytes; a new one is added at the end, and a frontmatter is made for it if there is none. Nothing
// else changes, and Parse reads back what was given.
//
// A note whose frontmatter does not parse, or is written so that a field cannot be changed in place,
// is INVALID_VALUE with its line; a key or a value that frontmatter cannot hold is INVALID_FIELD or
// INVALID_VALUE.
func SetFields(text []byte, fields []Field) ([]byte, error) {
	e, err := newEditor(text)
	if err != nil {
		return nil, err
	}
	return e.setAll(fields)
}

// UnsetFields removes fields from the frontmatter, each with its lines; a comment above one stays,
// and so does a frontmatter that becomes empty. A key that is not there is no error. INVALID_VALUE is as
// for SetFields.
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

// Compose makes a note of fields, in their order, and a body, which follows the frontmatter as it is
// given. Without fields the note is the body. Errors are as for SetFields.
func Compose(fields []Field, body string) ([]byte, error) {
	text := []byte(body)
	e := &editor{text: text, eol: lineBreak(text)}
	return e.setAll(fields)
}

// ReplaceBody gives a note another text behind its frontmatter, with the note's line breaks, after a blank
// line unless it begins with one. Errors are as for SetFields.
func ReplaceBody(text []byte, body string) ([]byte, error) {
	e, err := newEditor(text)
	if err != nil {
		return nil, err
	}
	body = withBreaks(body, e.eol)
	first, _, _ := strings.Cut(body, "\n")
	taken := e.fm == nil && readHead([]byte(body)).end > 0 // it would be read as a frontmatter
	switch blank := strings.TrimSpace(first) == ""; {
	case e.fm != nil && !bytes.HasSuffix(e.head, []byte{'\n'}):
		body = e.eol + e.eol + body
	case e.fm != nil && !blank, taken:
		body = e.eol + body
	}
	return append(bytes.Clone(e.head), body...), nil
}

// An editor changes the head of a note, and keeps its body.
type editor struct {
	head []byte // up to the body
	fm   *Frontmatter
	text []byte // the note as it was
	body int    // where the body begins in it
	eol  string
}

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

// setAll changes and adds fields in one pass, and returns the note. It reads the new head once.
func (e *editor) setAll(fields []Field) ([]byte, error) {
	fields, err := normalAll(fields, checkKey)
	if err != nil {
		return nil, err
	}
	var patches []patch
	var lines []byte // of the fields that are new
	var changed []Field
	w, have := writer{e.eol, e.indent()}, e.entries()
	for _, f := range fields {
		entry, ok := have[f.Key]
		switch {
		case ok && same(f.Value, entry.node):
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
		patches = append(patches, e.added(lines))
	}
	if len(changed) == 0 {
		return e.result(), nil
	}
	if err := e.accept(apply(e.head, patches), changed); err != nil {
		return nil, err
	}
	return e.result(), nil
}

// normalAll are fields with values as decode gives them; of several of a key the last.
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

func (e *editor) result() []byte {
	return append(bytes.Clone(e.head), e.text[e.body:]...)
}

// entries are the fields by their keys.
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

// indent is the columns before each key.
func (e *editor) indent() int {
	if e.fm == nil {
		return 0
	}
	return e.fm.indent
}

// added is the patch that adds lines of fields.
func (e *editor) added(lines []byte) patch {
	if e.fm != nil {
		return patch{Span{e.fm.Inner.End, e.fm.Inner.End}, lines}
	}
	fence := []byte("---" + e.eol)
	return patch{Span{len(e.head), len(e.head)}, slices.Concat(fence, lines, fence)}
}

// unsetAll removes fields in one pass. It reads the new head once or, where that would change a text above
// a field, twice.
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
	if spoilt := e.spoilt(h, head, gone); len(spoilt) > 0 {
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

// without is the head without the lines of some fields. Those that follow a field whose text would be
// spoilt go with the blank lines behind them.
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

// spoilt are the keys of the fields that a head reads otherwise than the old one, some that are gone
// aside.
func (e *editor) spoilt(h head, text []byte, gone map[string]bool) map[string]bool {
	if h.problem != nil || h.fm == nil || h.end != len(text) {
		return nil
	}
	before, spoilt := others(e.fm.Entries, gone), map[string]bool{}
	after := others(h.fm.Entries, nil)
	for i := range min(len(before), len(after)) {
		if !reflect.DeepEqual(before[i], after[i]) {
			spoilt[before[i].Key] = true
		}
	}
	return spoilt
}

// withBlank is the lines with the blank ones behind them. A text above the field that keeps its last
// line breaks would take them for its own.
func (e *editor) withBlank(lines Span) Span {
	rest := e.head[lines.End:e.fm.Inner.End]
	blank := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
	return Span{lines.Start, lineStart(e.head, lines.End+blank)}
}

// accept takes a new head if it reads as the old one with the fields at their new values.
func (e *editor) accept(head []byte, fields []Field) error {
	h := readHead(head)
	after := (&editor{fm: h.fm}).entries()
	keys := make(map[string]bool, len(fields))
	for _, f := range fields {
		keys[f.Key] = true
		if entry, ok := after[f.Key]; !ok || !same(f.Value, entry.node) {
			return e.cannotSet(f.Key)
		}
	}
	if !e.agrees(h, head, keys) {
		return e.cannotSet(fields[0].Key)
	}
	e.head, e.fm = head, h.fm
	return nil
}

// cannotSet is cannotEdit for a field that may be there.
func (e *editor) cannotSet(key string) error {
	entry, _ := e.fm.Get(key)
	return cannotEdit(key, max(1, entry.Line))
}

// agrees reports whether the head is a whole one whose fields are those before, some keys aside, in the
// same order.
func (e *editor) agrees(h head, text []byte, keys map[string]bool) bool {
	if h.problem != nil || h.fm == nil || h.end != len(text) {
		return false
	}
	var before []Entry
	if e.fm != nil {
		before = e.fm.Entries
	}
	return reflect.DeepEqual(others(before, keys), others(h.fm.Entries, keys))
}

// others are the keys and values of all entries but some.
func others(entries []Entry, keys map[string]bool) []Field {
	all := []Field{}
	for _, e := range entries {
		if !keys[e.Key] {
			all = append(all, Field{e.Key, e.Value})
		}
	}
	return all
}

// cannotEdit is the refusal to change a field that is written in an unusual way.
func cannotEdit(key string, line int) error {
	return fault.New(fault.InvalidValue, "the field %q cannot be changed where it stands; "+
		"write the frontmatter as lines of `key: value` first", key).With("line", line)
}

// A patch replaces a span of a text.
type patch struct {
	at   Span
	with []byte
}

// apply makes patches of a text at once. Their spans do not overlap; of those at one offset the first comes
// first.
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

// splice replaces a span of a text.
func splice(text []byte, at Span, with []byte) []byte {
	return bytes.Join([][]byte{text[:at.Start], with, text[at.End:]}, nil)
}
