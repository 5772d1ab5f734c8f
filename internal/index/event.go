package index

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// An Event is one entry of the audit log, without time and author: an operation on an object, a
// trait or a file, with old and new values (reference/raven.md §6.9).
type Event struct {
	Op     string `json:"op"`     // create, update, delete
	Entity string `json:"entity"` // object, trait; file, for a file that is not a note
	ID     string `json:"id"`
	Type   string `json:"type,omitempty"` // of an object
	// Parent, Trait, Value, Content and Line are set for a trait. Parent is the id of the object
	// that contains it.
	Parent  string         `json:"parent,omitempty"`
	Trait   string         `json:"trait,omitempty"`   // its type
	Value   any            `json:"value,omitempty"`   // as the schema types it
	Content string         `json:"content,omitempty"` // without annotations
	Line    int            `json:"line,omitempty"`
	Changes map[string]any `json:"changes,omitempty"` // values are OldNew, or Lines for the content of an object
	Fields  map[string]any `json:"fields,omitempty"`  // of the deleted object
}

// An OldNew is the change of a field. A value is null if the field did not exist before, or does
// not exist after the change.
type OldNew struct {
	Old any `json:"old"`
	New any `json:"new"`
}

// A Lines is the size of a change of a text: the numbers of lines that were added and removed.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Texts are the texts of a file before and after a change; nil if there was none.
type Texts struct {
	Old, New []byte

	// From is the path from which the change moves the note, empty if it does not. Old is then the
	// text of the note at From.
	From string

	// MovedAway says that the change moves the note away from this path. The change at its new path
	// has the events.
	MovedAway bool
}

// Events returns the events of a change of the file at path, between two states of the vault: those
// of the note, of the objects and sections in it, and of its traits.
//
// The text of a trait is part of the event of the trait. Every other change of a text is part of
// the event of the object to whose own text it belongs. Each change has at least one event.
// Exceptions, which have none, are changes in the trash, because the deletion has the events;
// changes of the audit log itself; and the change at the path that a moved note leaves. A moved
// note is updated: its id changes, and with it the ids of everything in it.
func Events(before, after *Index, path string, t Texts) []Event {
	if t.MovedAway || strings.HasPrefix(path, vault.Trash) || vault.Path(path).Kind() == vault.KindAudit {
		return nil
	}
	was, existed := before.File(cmp.Or(t.From, path))
	is, exists := after.File(path)
	if !existed && !exists || existed && exists && was.Digest == is.Digest && was.Path == is.Path {
		return nil
	}
	c := fileEvents{before: before, after: after}
	switch {
	case !existed:
		c.addCreated(is)
	case !exists:
		c.addDeleted(was)
	// Either the file is not a note, or the setting exclude hides it before or after the change.
	case was.Note == nil || is.Note == nil:
		c.add(fileUpdate(is, t))
	default:
		c.notes(was.Note, is.Note, t)
		// Only the spelling changed, for example the order of fields. Each change has at least one
		// event.
		if len(c.events) == 0 {
			c.add(fileUpdate(is, t))
		}
	}
	return c.events
}

// A fileEvents collects the events of the change of one file. before and after are the states of
// the vault, from which the values of traits are computed.
type fileEvents struct {
	before, after *Index
	events        []Event
}

// add appends an event.
func (c *fileEvents) add(e Event) { c.events = append(c.events, e) }

// expect reserves memory for the events of everything in a note, so that a large new note does not
// copy them repeatedly.
func (c *fileEvents) expect(n *Note) {
	c.events = slices.Grow(c.events, 1+len(n.Annotations))
}

// addCreated adds the events of a new file, and of the objects and traits in it. Plain sections
// have no event, because they are text of the note.
func (c *fileEvents) addCreated(f *File) {
	if f.Note == nil {
		c.add(describe("create", f))
		return
	}
	c.expect(f.Note)
	c.add(describe("create", f))
	for o := range f.Note.typed {
		if o.Section != nil {
			c.add(describeObject("create", o))
		}
	}
	for t := range f.Note.eventTraits {
		c.add(describeTrait("create", c.after, t))
	}
}

// addDeleted adds the events of a deleted file, and of the objects and traits that were in it. The
// event of an object has its fields, because they are recorded nowhere else in the audit log.
func (c *fileEvents) addDeleted(f *File) {
	e := describe("delete", f)
	if f.Note == nil {
		c.add(e)
		return
	}
	c.expect(f.Note)
	e.Fields = f.Note.Values()
	c.add(e)
	for o := range f.Note.typed {
		if o.Section != nil {
			c.add(deleteEvent(o))
		}
	}
	for t := range f.Note.eventTraits {
		c.add(describeTrait("delete", c.before, t))
	}
}

// describe returns an event for a whole file: for a note with its id, for another file with its
// path.
func describe(op string, f *File) Event {
	if f.Note == nil {
		return Event{Op: op, Entity: "file", ID: f.Path}
	}
	return describeObject(op, Object{Note: f.Note})
}

// describeObject returns an event for an object, without its fields.
func describeObject(op string, o Object) Event {
	return Event{Op: op, Entity: "object", ID: o.ID(), Type: o.Type()}
}

// deleteEvent returns the event of the deletion of an object, with the fields that it had. Those of
// a plain section are its title and level.
func deleteEvent(o Object) Event {
	e := describeObject("delete", o)
	e.Fields = o.Values()
	if o.Type() == vault.Section {
		e.Fields["title"], e.Fields["level"] = o.Section.Title, o.Section.Level()
	}
	return e
}

// describeTrait returns an event for a trait in the state x of the vault.
func describeTrait(op string, x *Index, t *Trait) Event {
	value, _ := x.TraitValue(t)
	return Event{
		Op: op, Entity: "trait", ID: t.ID, Parent: t.Parent().ID(), Trait: t.Type, Value: value,
		Content: t.ContentText(), Line: t.Line(),
	}
}

// fileUpdate returns an update of a file as a whole. It is used if no object or trait in it has an
// event, as for a change of spelling only, and for files that are not notes. For the schema, it
// lists each changed definition; see vault.Schema.Definitions.
func fileUpdate(f *File, t Texts) Event {
	e := describe("update", f)
	e.Changes = map[string]any{"content": diffLines(t.Old, t.New)}
	if f.Path != vault.SchemaFile {
		return e
	}
	changes, _ := vault.SchemaChanges(t.Old, t.New)
	for name, c := range changes {
		e.Changes[name] = OldNew{c.Old, c.New}
	}
	return e
}

// notes adds the events of a changed note: those of its objects, in order, then those of its
// traits. An object is the same before and after if it has the same fragment in the note, so a
// moved note has one event for the change of its id, and an object with another id is deleted and
// created.
func (c *fileEvents) notes(was, is *Note, t Texts) {
	old, now := newNoteLines(was, t.Old), newNoteLines(is, t.New)
	had, has := objectsOf(was), objectsOf(is)
	for _, k := range has.order {
		o := has.objects[k]
		before, existed := had.objects[k]
		if !existed {
			c.add(describeObject("create", o))
			continue
		}
		c.object(before, o, ownTexts(old, now, before, o))
	}
	for _, k := range had.order {
		if _, stays := has.objects[k]; !stays {
			c.add(deleteEvent(had.objects[k]))
		}
	}
	c.traits(was, is)
}

// A fragmentKey identifies an object in its note by its fragment and, because a note can declare an
// id twice, by the number of earlier objects with the same fragment.
type fragmentKey struct {
	fragment string
	nth      int
}

// A noteObjects has the objects of a note by key, plain sections included.
type noteObjects struct {
	order   []fragmentKey
	objects map[fragmentKey]Object
}

// objectsOf returns the objects of a note, in text order: the note itself, with the empty fragment,
// and then its sections.
func objectsOf(n *Note) noteObjects {
	size := 1 + len(n.Sections)
	all := noteObjects{make([]fragmentKey, 0, size), make(map[fragmentKey]Object, size)}
	seen := make(map[string]int, size)
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		k := fragmentKey{fragmentOf(o), seen[fragmentOf(o)]}
		seen[k.fragment]++
		all.order = append(all.order, k)
		all.objects[k] = o
	}
	return all
}

// fragmentOf returns the part of the id of o that names the section, "" for a note.
func fragmentOf(o Object) string {
	if o.Section == nil {
		return ""
	}
	return o.Section.Slug
}

// object adds an event for an object that exists before and after the change, if its fields, its
// type, its own text or, for a note, its id changed. own has the two texts without the lines that
// events of traits cover; see ownTexts.
func (c *fileEvents) object(was, is Object, own Texts) {
	e := describeObject("update", is)
	e.Changes = map[string]any{}
	compare(e.Changes, was, is)
	if was.Section == nil && was.ID() != is.ID() {
		e.Changes["id"] = OldNew{was.ID(), is.ID()}
	}
	if !bytes.Equal(own.Old, own.New) {
		e.Changes["content"] = withField(diffLines(own.Old, own.New), e.Changes["content"])
	}
	if len(e.Changes) > 0 {
		c.add(e)
	}
}

// withField returns the change of a text, combined with that of a field that is also called
// content, if there is one.
func withField(l Lines, field any) any {
	if f, ok := field.(OldNew); ok {
		return struct {
			OldNew
			Lines
		}{f, l}
	}
	return l
}

// compare adds to changes the fields that differ, and the type. It leaves out fields that are
// traits, which have their own events.
func compare(changes map[string]any, was, is Object) {
	old, now := plainFields(was), plainFields(is)
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
	if was.Type() != is.Type() {
		changes["type"] = OldNew{was.Type(), is.Type()}
	}
}

// plainFields returns the fields of an object, without those that are traits.
func plainFields(o Object) map[string]any {
	fields := o.Values()
	if o.Section == nil {
		for t := range o.Note.Traits() {
			if t.Field {
				delete(fields, t.Type)
			}
		}
	}
	return fields
}

// traits adds the events of the traits that were created, changed or deleted. A trait that only
// moved to another line has none.
func (c *fileEvents) traits(was, is *Note) {
	had := make(map[string]*Trait, len(was.Annotations))
	for t := range was.eventTraits {
		had[t.ID] = t
	}
	for t := range is.eventTraits {
		before := had[t.ID]
		delete(had, t.ID)
		if before == nil {
			c.add(describeTrait("create", c.after, t))
			continue
		}
		c.trait(before, t)
	}
	for t := range was.eventTraits {
		// The comparison of pointers skips an annotation that shares its id with another one.
		if had[t.ID] == t {
			c.add(describeTrait("delete", c.before, t))
		}
	}
}

// trait adds an event for a trait that exists before and after the change, if its value, its
// content or its parent changed. Then a changed line is in the event too, but a line alone causes
// none: an inserted line would give an event to every trait below it.
func (c *fileEvents) trait(was, is *Trait) {
	said := was.TraitValue == is.TraitValue || reflect.DeepEqual(was.Value(), is.Value())
	if said && was.ContentText() == is.ContentText() && was.fragment() == is.fragment() {
		return
	}
	old, now := describeTrait("update", c.before, was), describeTrait("update", c.after, is)
	changes := map[string]any{}
	if !said {
		changes["value"] = OldNew{old.Value, now.Value}
	}
	if old.Content != now.Content {
		changes["content"] = OldNew{old.Content, now.Content}
	}
	if old.Parent != now.Parent {
		changes["parent"] = OldNew{old.Parent, now.Parent}
	}
	if old.Line != now.Line {
		changes["line"] = OldNew{old.Line, now.Line}
	}
	c.add(Event{
		Op: "update", Entity: "trait", ID: is.ID, Parent: now.Parent, Trait: is.Type, Changes: changes,
	})
}
