package index

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// An Event is one entry of the audit log, without time and author: what was done to what, with old
// and new values (reference/raven.md §6.9).
type Event struct {
	Op      string         `json:"op"`     // create, update, delete
	Entity  string         `json:"entity"` // object, trait; of a file that is no note, file
	ID      string         `json:"id"`
	Type    string         `json:"type,omitempty"`    // of an object
	Parent  string         `json:"parent,omitempty"`  // of a trait, as the rest that follows
	Trait   string         `json:"trait,omitempty"`   // its type
	Value   any            `json:"value,omitempty"`   // as the schema types it
	Content string         `json:"content,omitempty"` // without annotations
	Line    int            `json:"line,omitempty"`
	Changes map[string]any `json:"changes,omitempty"` // by field: OldNew; content of an object: Lines
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
type Texts struct {
	Old, New []byte

	// From is the path of a note that the change moves: what it was there, it is here, and Old is its text there.
	// Empty: nothing is moved.
	From string

	// Left says that the change moves the note elsewhere, where its events are told.
	Left bool
}

// Events are the events of a change of one file, from one index to the next: those of the note, of
// the objects and sections in it, and of its traits. What a line with a trait says is told by the
// trait's event; every other change of a text is one of the object whose own text it is. There is at
// least one event for every change, but for the trash, of which the deletion tells, for the audit
// log itself, and for the path that a note leaves. A note that moves is updated: its id changes, and with it those of
// all that is in it.
func Events(before, after *Index, path string, t Texts) []Event {
	if t.Left || strings.HasPrefix(path, vault.Trash) || vault.Path(path).Kind() == vault.KindAudit {
		return nil
	}
	was, existed := before.File(cmp.Or(t.From, path))
	is, exists := after.File(path)
	if !existed && !exists || existed && exists && was.Digest == is.Digest && was.Path == is.Path {
		return nil
	}
	c := change{before: before, after: after}
	switch {
	case !existed:
		c.begin(is)
	case !exists:
		c.end(was)
	case was.Note == nil || is.Note == nil:
		c.add(whole(is, t))
	default:
		c.notes(was.Note, is.Note, t)
		if len(c.events) == 0 {
			c.add(whole(is, t))
		}
	}
	return c.events
}

// A change collects the events of a file.
type change struct {
	before, after *Index
	events        []Event
}

func (c *change) add(e Event) { c.events = append(c.events, e) }

// expect makes room for the events of all that is in a note.
func (c *change) expect(n *Note) {
	c.events = slices.Grow(c.events, 1+len(n.Annotations))
}

// begin tells of a file that was not there, and of the objects and traits in it.
func (c *change) begin(f *File) {
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
	for t := range f.Note.told {
		c.add(describeTrait("create", c.after, t))
	}
}

// end tells of a file that is no more, and of the objects and traits that were in it.
func (c *change) end(f *File) {
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
			c.add(deleted(o))
		}
	}
	for t := range f.Note.told {
		c.add(describeTrait("delete", c.before, t))
	}
}

// describe names a file: a note by its id, another by its path.
func describe(op string, f *File) Event {
	if f.Note == nil {
		return Event{Op: op, Entity: "file", ID: f.Path}
	}
	return describeObject(op, Object{Note: f.Note})
}

func describeObject(op string, o Object) Event {
	return Event{Op: op, Entity: "object", ID: o.ID(), Type: o.Type()}
}

func deleted(o Object) Event {
	e := describeObject("delete", o)
	e.Fields = o.Values()
	if o.Type() == vault.Section {
		e.Fields["title"], e.Fields["level"] = o.Section.Title, o.Section.Level
	}
	return e
}

func describeTrait(op string, x *Index, t *Trait) Event {
	value, _ := x.TraitValue(t)
	return Event{
		Op: op, Entity: "trait", ID: t.ID, Parent: t.Parent().ID(), Trait: t.Type, Value: value,
		Content: t.ContentText, Line: t.Line,
	}
}

// whole is the event of a change that no object tells of: only how something is written, or a file
// that is no note. Of the schema it tells each definition that changed; see vault.Schema.Definitions.
func whole(f *File, t Texts) Event {
	e := describe("update", f)
	e.Changes = map[string]any{"content": difference(t.Old, t.New)}
	if f.Path != vault.SchemaFile {
		return e
	}
	changes, _ := vault.SchemaChanges(t.Old, t.New)
	for name, c := range changes {
		e.Changes[name] = OldNew{c.Old, c.New}
	}
	return e
}

// notes tells of a note that changed: of its objects in their order, then of its traits.
func (c *change) notes(was, is *Note, t Texts) {
	old, now := newLines(was, t.Old), newLines(is, t.New)
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
			c.add(deleted(had.objects[k]))
		}
	}
	c.traits(was, is)
}

// A fragmentKey names an object in its note: by its fragment and, for a note may declare an id twice,
// by how many before it have the same.
type fragmentKey struct {
	fragment string
	nth      int
}

// noteObjects are the objects of a note, sections too.
type noteObjects struct {
	order   []fragmentKey
	objects map[fragmentKey]Object
}

func objectsOf(n *Note) noteObjects {
	all, seen := noteObjects{objects: map[fragmentKey]Object{}}, map[string]int{}
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		k := fragmentKey{fragmentOf(o), seen[fragmentOf(o)]}
		seen[k.fragment]++
		all.order = append(all.order, k)
		all.objects[k] = o
	}
	return all
}

// fragmentOf is the part of an id that names the section, "" for a note.
func fragmentOf(o Object) string {
	if o.Section == nil {
		return ""
	}
	return o.Section.Slug
}

// object tells of an object that was there before: its fields, its type, and its own text.
func (c *change) object(was, is Object, own Texts) {
	e := describeObject("update", is)
	e.Changes = map[string]any{}
	compare(e.Changes, was, is)
	if was.Section == nil && was.ID() != is.ID() {
		e.Changes["id"] = OldNew{was.ID(), is.ID()}
	}
	if !bytes.Equal(own.Old, own.New) {
		e.Changes["content"] = withField(difference(own.Old, own.New), e.Changes["content"])
	}
	if len(e.Changes) > 0 {
		c.add(e)
	}
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

// compare notes the fields that differ. A field that is a trait is told of as one.
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

// plainFields are the fields of an object but for those that are traits.
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

// traits tells of the traits that came, changed and went. One that only moved did not change.
func (c *change) traits(was, is *Note) {
	had := make(map[string]*Trait, len(was.Annotations))
	for t := range was.told {
		had[t.ID] = t
	}
	for t := range is.told {
		before := had[t.ID]
		delete(had, t.ID)
		if before == nil {
			c.add(describeTrait("create", c.after, t))
			continue
		}
		c.trait(before, t)
	}
	for t := range was.told {
		if had[t.ID] == t {
			c.add(describeTrait("delete", c.before, t))
		}
	}
}

// trait tells of a trait that was there before, unless it is as it was.
func (c *change) trait(was, is *Trait) {
	said := was.TraitValue == is.TraitValue || reflect.DeepEqual(was.Value(), is.Value())
	if said && was.ContentText == is.ContentText && was.fragment() == is.fragment() {
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
