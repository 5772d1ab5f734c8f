package index

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// An auditEntry has the fields of a line of an audit log that importedTimes needs, in the format of
// spec/raven-agent-improvements.md, "Audit Log Format".
type auditEntry struct {
	TS         time.Time                  `json:"ts"`
	Op         string                     `json:"op"`
	Entity     string                     `json:"entity"`
	ID         string                     `json:"id"`
	Parent     string                     `json:"parent"`
	Trait      string                     `json:"trait"`
	Content    string                     `json:"content"`
	Line       int                        `json:"line"`
	Changes    map[string]json.RawMessage `json:"changes"`
	File       string                     `json:"file"`
	Discovered []string                   `json:"discovered"`
	Modified   []string                   `json:"modified"`
	Removed    []string                   `json:"removed"`
}

// An auditState is the state after the lines of an audit log that were read so far.
//
// It replays the log: an entry that renames or deletes something changes the state so far, and
// the state at the end is used. Ids are those that the log has, which the notes of the vault need
// not have any more; identify matches the traits by their text.
type auditState struct {
	objects map[string]span         // by id
	traits  map[string]*loggedTrait // by id; the parent is the whole id
	order   []string                // ids of traits, by first line; can contain duplicates
	seen    map[string]bool         // ids of the notes in the lines that were read
}

// resume adds the times of a note that came from earlier audit logs.
func (a *auditState) resume(note string, s importedTimes) {
	a.objects[note] = s.span
	for fragment, seen := range s.sections {
		a.objects[note+"#"+fragment] = seen
	}
	for _, t := range s.traits {
		if t.parent == "" {
			t.parent = note
		} else {
			t.parent = note + "#" + t.parent
		}
		a.traits[t.id] = &t
		a.order = append(a.order, t.id)
	}
}

// read applies the lines of an audit log. It skips lines that it cannot parse, because other
// programs wrote them.
func (a *auditState) read(log []byte) {
	for line := range bytes.Lines(log) {
		var e auditEntry
		if json.Unmarshal(line, &e) == nil && !e.TS.IsZero() {
			e.TS = e.TS.UTC()
			a.apply(e)
		}
	}
}

// apply applies one entry. A change of anything in a note counts as a change of the note.
func (a *auditState) apply(e auditEntry) {
	switch {
	case e.Op == "reindex":
		a.reindex(e)
	case e.Entity == "object" && e.Op == "delete":
		a.remove(e.ID)
		// The deletion of a section changes its note; the deletion of a note leaves nothing to
		// change.
		if strings.Contains(e.ID, "#") {
			a.extendNote(e.ID, e.TS)
		}
	case e.Entity == "object":
		a.move(e.Changes["id"])
		a.extend(e.ID, e.TS)
	case e.Entity == "trait" && e.Op == "delete":
		delete(a.traits, e.ID)
		a.extendNote(e.Parent, e.TS)
	case e.Entity == "trait":
		a.trait(e)
	}
}

// move renames a note, and everything in it, if an entry says that its id changed. It ignores ids
// of sections. change is the JSON of the change of the id, with old and new; it may be nil. It goes
// through everything that is known so far, because moves are rare.
func (a *auditState) move(change json.RawMessage) {
	var id struct{ Old, New string }
	if json.Unmarshal(change, &id) != nil || id.Old == "" || id.New == "" || strings.Contains(id.Old+id.New, "#") {
		return
	}
	renamed := func(name string) (string, bool) {
		note, rest, inside := strings.Cut(name, "#")
		if inside {
			rest = "#" + rest
		}
		return id.New + rest, note == id.Old
	}
	for name, s := range maps.Clone(a.objects) {
		if now, moved := renamed(name); moved {
			delete(a.objects, name)
			a.objects[now] = s
		}
	}
	for _, t := range a.traits {
		if now, moved := renamed(t.parent); moved {
			t.parent = now
		}
	}
	a.seen[id.New] = true
}

// remove forgets an object and everything in it.
func (a *auditState) remove(id string) {
	delete(a.objects, id)
	maps.DeleteFunc(a.traits, func(_ string, t *loggedTrait) bool {
		return t.parent == id || strings.HasPrefix(t.parent, id+"#")
	})
	maps.DeleteFunc(a.objects, func(other string, _ span) bool {
		return strings.HasPrefix(other, id+"#")
	})
}

// trait applies an entry that creates or changes a trait.
func (a *auditState) trait(e auditEntry) {
	t := a.traits[e.ID]
	if t == nil {
		t = &loggedTrait{id: e.ID}
		a.traits[e.ID] = t
		a.order = append(a.order, e.ID)
	}
	amend(&t.typ, e.Trait, nil)
	amend(&t.parent, e.Parent, e.Changes["parent"])
	amend(&t.text, e.Content, e.Changes["content"])
	amend(&t.line, e.Line, e.Changes["line"])
	t.extend(e.TS)
	a.extendNote(t.parent, e.TS)
}

// amend sets a value to said, unless that is the zero value, and then to the new value in change,
// if there is one.
func amend[T comparable](value *T, said T, change json.RawMessage) {
	var none T
	if said != none {
		*value = said
	}
	var to struct{ New *T }
	if json.Unmarshal(change, &to) == nil && to.New != nil {
		*value = *to.New
	}
}

// reindex applies an entry that lists the changes found in a file that was edited by another
// program.
func (a *auditState) reindex(e auditEntry) {
	if e.File != "" {
		a.extend(strings.TrimSuffix(e.File, ".md"), e.TS)
	}
	for _, name := range append(e.Discovered, e.Modified...) {
		if id, ok := strings.CutPrefix(name, "object:"); ok {
			// The move comes first, so that the times before it are known under the new id.
			a.moveNamed(e, name)
			a.extend(id, e.TS)
		}
		if id, ok := strings.CutPrefix(name, "trait:"); ok {
			a.reindexTrait(id, e)
		}
	}
	for _, name := range e.Removed {
		if id, ok := strings.CutPrefix(name, "object:"); ok {
			a.remove(id)
		}
		if id, ok := strings.CutPrefix(name, "trait:"); ok {
			delete(a.traits, id)
		}
	}
}

// moveNamed renames the note with this name in a reindex entry, if the entry says that its id
// changed.
func (a *auditState) moveNamed(e auditEntry, name string) {
	var changes map[string]json.RawMessage
	if json.Unmarshal(e.Changes[name], &changes) == nil {
		a.move(changes["id"])
	}
}

// reindexTrait applies the part of a reindex entry about one trait. It skips a trait that is
// neither known nor described by the entry, because it cannot be matched with one of a note.
func (a *auditState) reindexTrait(id string, e auditEntry) {
	name := "trait:" + id
	var changes map[string]json.RawMessage
	told := json.Unmarshal(e.Changes[name], &changes) == nil && changes["trait"] != nil
	// Without its parent and text, it could not be matched with a trait of a note.
	if a.traits[id] == nil && !told {
		return
	}
	own := auditEntry{TS: e.TS, ID: id, Changes: changes}
	amend(&own.Trait, "", changes["trait"])
	a.trait(own)
}

// extend records that an object, and with it its note, existed at a time.
func (a *auditState) extend(id string, at time.Time) {
	if strings.Contains(id, "#") {
		s := a.objects[id]
		s.extend(at)
		a.objects[id] = s
	}
	a.extendNote(id, at)
}

// extendNote records that the note of an object existed at a time.
func (a *auditState) extendNote(id string, at time.Time) {
	note, _, _ := strings.Cut(id, "#")
	if note == "" {
		return
	}
	a.seen[note] = true
	s := a.objects[note]
	s.extend(at)
	a.objects[note] = s
}

// extend extends a span to include a time.
func (s *span) extend(at time.Time) {
	if s.first.IsZero() || at.Before(s.first) {
		s.first = at
	}
	if at.After(s.last) {
		s.last = at
	}
}

// importedTimes returns the collected times by the id of the note. Traits are in the order of their
// first line. The audit must not be used afterwards, because it is taken apart.
func (a *auditState) importedTimes() map[string]importedTimes {
	all := map[string]importedTimes{}
	for id, s := range a.objects {
		note, fragment, inside := strings.Cut(id, "#")
		known := all[note]
		if !inside {
			known.span = s
		} else {
			if known.sections == nil {
				known.sections = map[string]span{}
			}
			known.sections[fragment] = s
		}
		all[note] = known
	}
	for _, id := range a.order {
		t := a.traits[id]
		if t == nil {
			continue
		}
		delete(a.traits, id) // an id can be in order twice: deleted and created again
		note, fragment, _ := strings.Cut(t.parent, "#")
		known, ok := all[note]
		if !ok {
			continue
		}
		t.parent = fragment
		known.traits = append(known.traits, *t)
		all[note] = known
	}
	return all
}
