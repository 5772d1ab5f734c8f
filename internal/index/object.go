package index

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An Object is a note, an object that is embedded in a note, or a plain section. It is a small
// value that refers to one state of a note: the same object in two states of the vault has
// different pointers. Compare ids, or UIDs, across states. The zero Object is none.
type Object struct {
	Note    *Note
	Section *Section // nil for the note as a whole
}

// ID returns the object's id: that of the note and, for a section, # and its slug.
func (o Object) ID() string {
	if o.Section == nil {
		return o.Note.ID
	}
	return o.Note.ID + "#" + o.Section.Slug
}

// Type returns the type of the object in the vault's schema.
func (o Object) Type() string {
	if o.Section == nil {
		return o.Note.Type
	}
	return o.Section.Type()
}

// Location returns the location of the object in lists. A note comes before everything in it.
func (o Object) Location() Location {
	if o.Section == nil {
		return Location{Path: o.Note.Path}
	}
	return Location{Path: o.Note.Path, Line: o.Section.Line()}
}

// Fields returns the fields of the object; a plain section has none.
func (o Object) Fields() []Field {
	if o.Section == nil {
		return o.Note.Fields
	}
	return o.Section.Fields()
}

// Field returns the first field with a name.
func (o Object) Field(name string) (Field, bool) { return find(o.Fields(), name) }

// Values returns the fields as a map.
func (o Object) Values() map[string]any { return values(o.Fields()) }

// Parent returns the object that directly contains this one. For a note it returns false.
func (o Object) Parent() (Object, bool) {
	switch {
	case o.Section == nil:
		return Object{}, false
	case o.Section.Parent() < 0:
		return Object{Note: o.Note}, true
	}
	return Object{o.Note, &o.Note.Sections[o.Section.Parent()]}, true
}

// Parents yields the objects that contain this one, from the innermost to the note.
func (o Object) Parents() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for above, ok := o.Parent(); ok && yield(above); above, ok = above.Parent() {
		}
	}
}

// Typed returns the object itself or, for a plain section, the innermost object around it that is
// not one. It is never a plain section, because a note is not one.
func (o Object) Typed() Object {
	for o.Section != nil && o.Section.Type() == vault.Section {
		o, _ = o.Parent()
	}
	return o
}

// within reports whether the object is the other one or is in it.
func (o Object) within(other Object) bool {
	if o.Note != other.Note {
		return false
	}
	if other.Section == nil || o.Section == other.Section {
		return true
	}
	for above := range o.Parents() {
		if above.Section == other.Section {
			return true
		}
	}
	return false
}

// Number returns the position of the object's section in the note, -1 for the note itself.
func (o Object) Number() int {
	if o.Section == nil {
		return -1
	}
	return int(o.Section.number)
}

// Object returns the object of a section, by its position in the note; for -1, the note itself.
func (n *Note) Object(section int) Object {
	if section < 0 {
		return Object{Note: n}
	}
	return Object{n, &n.Sections[section]}
}

// Find returns the object that an id names. The note's id can be followed by `.md`. A daily note is
// also found by its date, and a note with its title's slug as a fragment (reference/raven.md §6.2,
// §6.5). Unlike Resolve, it accepts no other names: it is for ids that were returned before.
func (x *Index) Find(id string) (Object, bool) {
	name, slug, inside := strings.Cut(id, "#")
	name = strings.TrimSuffix(name, ".md")
	n, ok := x.ByID(name)
	if daily, alias := x.Config().DailyID(name); !ok && alias {
		n, ok = x.ByID(daily)
	}
	if !ok {
		return Object{}, false
	}
	if !inside {
		return Object{Note: n}, true
	}
	return n.at(slug)
}

// at returns the object that a fragment of the note's id names.
func (n *Note) at(slug string) (Object, bool) {
	if slug != "" && slug == n.TitleSlug {
		return Object{Note: n}, true
	}
	s, ok := n.Section(slug)
	return Object{n, s}, ok
}

// NameOf returns the display name of an object: the value of its type's name field, else its title
// or heading, else the last segment of its id (reference/raven.md §6.2).
func (x *Index) NameOf(o Object) string {
	if name := x.NameField(o); name != "" {
		return name
	}
	title := o.Note.Title
	if o.Section != nil {
		title = o.Section.Title
	}
	if title != "" {
		return title
	}
	return lastSegment(o.ID())
}

// NameField returns the text in the name field of the object's type; "" if there is none.
func (x *Index) NameField(o Object) string {
	t, ok := x.schema.Type(o.Type())
	if !ok || t.NameField() == "" {
		return ""
	}
	f, _ := o.Field(t.NameField())
	return textOf(f.Value)
}

// textOf returns a value that is a text or a reference as a text, "" for any other value.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case markdown.Ref:
		return string(v)
	}
	return ""
}

// lastSegment returns the part of an id or path after the last slash.
func lastSegment(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// Objects yields the objects of a type after a location, by path, then line: notes and embedded
// objects. The type section yields plain sections, and the empty type everything except plain
// sections. These two go through all notes after the location. Any other type goes through the
// notes that have an object of the type, and takes time in proportion to these.
func (x *Index) Objects(typ string, after Location) iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for n := range x.NotesWith(typ, after.Path) {
			for o := range n.ObjectsAfter(typ, after) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// NotesWith yields, by path and from a path on, the notes that are or contain objects of a type.
// For the types section and "" it yields all notes, because most of them contain some.
func (x *Index) NotesWith(typ, from string) iter.Seq[*Note] {
	if typ == vault.Section || typ == "" {
		return x.notesFrom(from)
	}
	return x.notesBy(byType.name(typ), from)
}

// NotesWithField yields, by path and from a path on, the notes that are or contain an object that
// has a field with this name or is of one of these types. It collects the paths before it yields
// the first note.
func (x *Index) NotesWithField(name string, types []string, from string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		paths := slices.Collect(x.entries.paths(byField.name(clean(name)), from))
		for _, t := range types {
			paths = merged(paths, x.entries.paths(byType.name(t), from))
		}
		c := x.cursor()
		for _, path := range paths {
			if !yield(c.note(path)) {
				return
			}
		}
	}
}

// merged returns the sorted union of two sorted lists, without duplicates. Each list must be
// without duplicates.
func merged(list []string, other iter.Seq[string]) []string {
	all, i := make([]string, 0, len(list)), 0
	for text := range other {
		for i < len(list) && list[i] < text {
			all = append(all, list[i])
			i++
		}
		if i < len(list) && list[i] == text {
			i++
		}
		all = append(all, text)
	}
	return append(all, list[i:]...)
}

// ObjectsAfter yields the objects of a type after a location in the note, like Index.Objects.
func (n *Note) ObjectsAfter(typ string, after Location) iter.Seq[Object] {
	return func(yield func(Object) bool) {
		marks, mark := n.objectMarks(), markOfType(typ)
		first := n.firstAfter(after, len(marks), func(i int) Location { return n.Object(i - 1).Location() })
		for i := first; i < len(marks); i++ {
			if typ == "" && typeMark(marks[i]) == noType || typ != "" && typeMark(marks[i]) != mark {
				continue
			}
			// The mark of plain sections is unique, so only the marks of other types need a check.
			o := n.Object(i - 1)
			if (mark == noType || typ == "" || o.isOf(typ)) && !yield(o) {
				return
			}
		}
	}
}

// isOf reports whether Objects yields the object for a type.
func (o Object) isOf(typ string) bool {
	if typ == "" {
		return o.Type() != vault.Section
	}
	return o.Type() == typ
}

// notesFrom yields the notes from a path on, by path.
func (x *Index) notesFrom(path string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		x.files.Ascend(path, func(_ string, f *File) bool { return f.Note == nil || yield(f.Note) })
	}
}

// A Location is a position in the order of lists: by path, then line, then position in the line. A
// list that starts after a Location continues where a page ended. The Location itself need not
// exist any more: the list continues with the next thing, so a page stays valid when the vault
// changes. The zero Location is before everything. A Location with only a path is that of the note,
// before everything in it.
type Location struct {
	Path     string
	Line     int
	Position int
}

// key returns the location as a text that sorts like locations: the path, NUL, and the line and the
// position as four bytes each, big-endian. The zero Location has the key "".
func (s Location) key() string {
	if s == (Location{}) {
		return ""
	}
	b := make([]byte, 0, len(s.Path)+9)
	b = append(append(b, s.Path...), 0)
	b = binary.BigEndian.AppendUint32(b, uint32(s.Line))
	return string(binary.BigEndian.AppendUint32(b, uint32(s.Position)))
}

// After reports whether s comes after t in the order of lists.
func (s Location) After(t Location) bool {
	if s.Path != t.Path {
		return s.Path > t.Path
	}
	if s.Line != t.Line {
		return s.Line > t.Line
	}
	return s.Position > t.Position
}
