package index

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"rookery/internal/vault"
)

// An Event is one entry of the audit log, without time and author: what was done to what, with old
// and new values (reference/raven.md §6.9).
type Event struct {
	Op      string         `json:"op"`     // create, update, delete
	Entity  string         `json:"entity"` // object; of a file that is no note, file
	ID      string         `json:"id"`
	Type    string         `json:"type,omitempty"`
	Changes map[string]any `json:"changes,omitempty"` // by field: OldNew; content: Lines
	Fields  map[string]any `json:"fields,omitempty"`  // of what was deleted
}

// OldNew is how a field changed. Of a field that was not there before, or is no more, that value is
// null.
type OldNew struct {
	Old any `json:"old"`
	New any `json:"new"`
}

// Lines is how a text changed: the numbers of lines that came and went.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Texts are the texts of a file before and after a change; nil where there was none.
type Texts struct{ Old, New []byte }

// Events are the events of a change of one file, from one index to the next. There is one for every
// change of a text, but for the trash, of which the deletion tells, and for the audit log itself.
func Events(before, after *Index, path string, t Texts) []Event {
	if strings.HasPrefix(path, vault.Trash) || path == vault.AuditLog {
		return nil
	}
	was, existed := before.File(path)
	is, exists := after.File(path)
	switch {
	case existed && exists && was.Digest != is.Digest:
		return []Event{update(was, is, t)}
	case exists && !existed:
		return []Event{describe("create", is)}
	case existed && !exists:
		e := describe("delete", was)
		if was.Note != nil {
			e.Fields = was.Note.Values()
		}
		return []Event{e}
	}
	return nil
}

// describe names a file: a note by its id, another by its path.
func describe(op string, f *File) Event {
	if f.Note == nil {
		return Event{Op: op, Entity: "file", ID: f.Path}
	}
	return Event{Op: op, Entity: "object", ID: f.Note.ID, Type: f.Note.Type}
}

// update is the event of a file that changed: its fields, its type, and its own text. Where none of
// these did, the frontmatter is written otherwise, and its lines count as text.
func update(was, is *File, t Texts) Event {
	e := describe("update", is)
	e.Changes = map[string]any{}
	if was.Note != nil && is.Note != nil {
		compare(e.Changes, was.Note, is.Note)
	}
	old, now := body(was, t.Old), body(is, t.New)
	if len(e.Changes) == 0 && bytes.Equal(old, now) {
		old, now = t.Old, t.New
	}
	if !bytes.Equal(old, now) {
		e.Changes["content"] = withField(difference(old, now), e.Changes["content"])
	}
	return e
}

// withField is the change of the text, together with that of a field that is called content too.
func withField(l Lines, field any) any {
	if f, ok := field.(OldNew); ok {
		return struct {
			OldNew
			Lines
		}{f, l}
	}
	return l
}

// compare notes the fields that differ.
func compare(changes map[string]any, was, is *Note) {
	old, now := was.Values(), is.Values()
	for name, v := range now {
		if before, ok := old[name]; !ok || !reflect.DeepEqual(before, v) {
			changes[name] = OldNew{before, v}
		}
	}
	for name, v := range old {
		if _, ok := now[name]; !ok {
			changes[name] = OldNew{v, nil}
		}
	}
	if was.Type != is.Type {
		changes["type"] = OldNew{was.Type, is.Type}
	}
}

// body is the text without the frontmatter, whose changes are told field by field.
func body(f *File, text []byte) []byte {
	if f.Note == nil {
		return text
	}
	return text[min(f.Note.BodyStart, len(text)):]
}

// difference counts the lines that are in one text and not in the other. Where lines only changed
// places, or their ends did, those between the first and the last such line count as new.
func difference(old, now []byte) Lines {
	was, is := differing(slices.Collect(bytes.Lines(old)), slices.Collect(bytes.Lines(now)))
	count := map[string]int{}
	for _, line := range was {
		count[string(bytes.TrimRight(line, "\r\n"))]--
	}
	for _, line := range is {
		count[string(bytes.TrimRight(line, "\r\n"))]++
	}
	var l Lines
	for _, n := range count {
		l.Added += max(n, 0)
		l.Removed += max(-n, 0)
	}
	if l == (Lines{}) {
		return Lines{Added: len(is), Removed: len(was)}
	}
	return l
}

// differing is what is left of two lists of lines without what they begin and end with alike.
func differing(a, b [][]byte) (was, is [][]byte) {
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}
