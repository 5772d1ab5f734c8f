package markdown

import (
	"bytes"
	"reflect"
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
// is FILE_ERROR; a key or a value that frontmatter cannot hold is INVALID_FIELD or INVALID_VALUE.
func SetFields(text []byte, fields []Field) ([]byte, error) {
	e, err := newEditor(text)
	if err != nil {
		return nil, err
	}
	return e.setAll(fields)
}

// UnsetFields removes fields from the frontmatter, each with its lines; a comment above one stays,
// and so does a frontmatter that becomes empty. A key that is not there is no error. FILE_ERROR is as
// for SetFields.
func UnsetFields(text []byte, keys []string) ([]byte, error) {
	e, err := newEditor(text)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := e.unset(key); err != nil {
			return nil, err
		}
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
		return nil, fault.New(fault.FileError, "the fields of the note cannot be changed, because of "+
			"its line %d: %s", h.problem.Line, h.problem.Message).With("line", h.problem.Line)
	}
	return &editor{
		head: text[:h.end], fm: h.fm, text: text, body: h.end, eol: lineBreak(text),
	}, nil
}

// setAll changes fields one by one, and returns the note.
func (e *editor) setAll(fields []Field) ([]byte, error) {
	for _, f := range fields {
		if err := e.set(f); err != nil {
			return nil, err
		}
	}
	return e.result(), nil
}

func (e *editor) result() []byte {
	return append(bytes.Clone(e.head), e.text[e.body:]...)
}

// set changes or adds one field.
func (e *editor) set(f Field) error {
	if err := checkKey(f.Key); err != nil {
		return err
	}
	value, err := normal(f)
	if err != nil {
		return err
	}
	entry, ok := e.fm.Get(f.Key)
	if ok && same(value, entry.node) {
		return nil
	}
	w := writer{e.eol, e.indent()}
	if !ok {
		return e.accept(e.added(w, f.Key, value), f.Key, value)
	}
	if entry.colon == 0 {
		return cannotEdit(f.Key, entry.Line)
	}
	return e.accept(w.replace(newChange(e.head, e.fm, entry), value), f.Key, value)
}

// indent is the columns before each key.
func (e *editor) indent() int {
	if e.fm == nil {
		return 0
	}
	return e.fm.indent
}

// added is the head with one more field.
func (e *editor) added(w writer, key string, value any) []byte {
	line := []byte(w.entry(key, value))
	if e.fm != nil {
		return splice(e.head, Span{e.fm.Inner.End, e.fm.Inner.End}, line)
	}
	fence := []byte("---" + e.eol)
	return bytes.Join([][]byte{e.head, fence, line, fence}, nil)
}

// unset removes one field.
func (e *editor) unset(key string) error {
	entry, ok := e.fm.Get(key)
	if !ok {
		return nil
	}
	if entry.colon > 0 && (e.cut(key, entry.Lines) || e.cut(key, e.withBlank(entry.Lines))) {
		return nil
	}
	return cannotEdit(key, entry.Line)
}

// cut removes the lines of a field, unless that would change another one.
func (e *editor) cut(key string, lines Span) bool {
	head := splice(e.head, lines, nil)
	h := readHead(head)
	if !e.agrees(h, head, key) || len(h.fm.Entries) != len(e.fm.Entries)-1 {
		return false
	}
	e.head, e.fm = head, h.fm
	return true
}

// withBlank is the lines with the blank ones behind them. A text above the field that keeps its last
// line breaks would take them for its own.
func (e *editor) withBlank(lines Span) Span {
	rest := e.head[lines.End:e.fm.Inner.End]
	blank := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
	return Span{lines.Start, lineStart(e.head, lines.End+blank)}
}

// accept takes a new head if it reads as the old one with the field at its new value.
func (e *editor) accept(head []byte, key string, value any) error {
	h := readHead(head)
	if e.agrees(h, head, key) {
		if entry, ok := h.fm.Get(key); ok && same(value, entry.node) {
			e.head, e.fm = head, h.fm
			return nil
		}
	}
	entry, _ := e.fm.Get(key)
	return cannotEdit(key, max(1, entry.Line))
}

// agrees reports whether the head is a whole one whose fields are those before, key aside, in the
// same order.
func (e *editor) agrees(h head, text []byte, key string) bool {
	if h.problem != nil || h.fm == nil || h.end != len(text) {
		return false
	}
	var before []Entry
	if e.fm != nil {
		before = e.fm.Entries
	}
	return reflect.DeepEqual(others(before, key), others(h.fm.Entries, key))
}

// others are the keys and values of all entries but one.
func others(entries []Entry, key string) []Field {
	all := []Field{}
	for _, e := range entries {
		if e.Key != key {
			all = append(all, Field{e.Key, e.Value})
		}
	}
	return all
}

// cannotEdit is the refusal to change a field that is written in an unusual way.
func cannotEdit(key string, line int) error {
	return fault.New(fault.FileError, "the field %q cannot be changed where it stands; "+
		"write the frontmatter as lines of `key: value` first", key).With("line", line)
}

// splice replaces a span of a text.
func splice(text []byte, at Span, with []byte) []byte {
	return bytes.Join([][]byte{text[:at.Start], with, text[at.End:]}, nil)
}
