package index

import (
	"bytes"
	"reflect"
	"strings"

	"rookery/internal/vault"
)

// An Event is one entry of the audit log, without time and author: what was done to what, with old
// and new values (raven.md §6.9).
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

// Lines is how the text of a note changed: the numbers of lines that came and went.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Texts are the texts of a file before and after a change; nil where there was none.
type Texts struct{ Old, New []byte }

// Events are the events of a change of one file, from one index to the next.
func Events(before, after *Index, path string, t Texts) []Event {
	was, existed := before.File(path)
	is, exists := after.File(path)
	if strings.HasPrefix(path, vault.Trash) || path == vault.AuditLog {
		return nil // the trash is told of by what went there
	}
	switch {
	case existed && exists:
		return update(was, is, t)
	case exists:
		return []Event{describe("create", is)}
	case existed:
		e := describe("delete", was)
		if was.Note != nil && len(was.Note.Fields) > 0 {
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

// update is the event of a file that changed: its fields, its type, and its own text.
func update(was, is *File, t Texts) []Event {
	e := describe("update", is)
	e.Changes = map[string]any{}
	if was.Note != nil && is.Note != nil {
		compare(e.Changes, was.Note, is.Note)
	}
	if lines := difference(body(was, t.Old), body(is, t.New)); lines != (Lines{}) {
		e.Changes["content"] = lines
	}
	if len(e.Changes) == 0 {
		return nil
	}
	return []Event{e}
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

// difference counts the lines that are in one text and not in the other. Lines that only moved do
// not count.
func difference(old, now []byte) Lines {
	count := map[string]int{}
	for line := range bytes.Lines(old) {
		count[string(bytes.TrimRight(line, "\r\n"))]--
	}
	for line := range bytes.Lines(now) {
		count[string(bytes.TrimRight(line, "\r\n"))]++
	}
	var l Lines
	for _, n := range count {
		l.Added += max(n, 0)
		l.Removed += max(-n, 0)
	}
	return l
}

// cutObject is the id in a name such as object:people/freya.
func cutObject(name string) (string, bool) { return strings.CutPrefix(name, "object:") }
