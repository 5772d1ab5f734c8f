package index

import (
	"bytes"
	"iter"
	"sort"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Trait is an annotation of a note, or a field that the type of the note declares as a trait
// (reference/raven.md §6.3). It is immutable. Its parts are shared: the Place with the other traits
// on its line, and the TraitValue with all traits of equal text.
type Trait struct {
	*Place
	*TraitValue
	*Times
	ID    string // unique in the vault (reference/raven.md §6.4)
	Field bool   // it is a field of the frontmatter

	claims   bool // it claims the pin of its line as its id
	position int32
}

// A Place is the position and the text of the line of some traits.
type Place struct {
	Note    *Note  // the note that contains the line
	Content string // the line without the markers of lists and quotes; for a field, the note's id

	line   int32
	scope  int16
	mark   byte  // the checkbox if isRare is not set; 0 if there is none
	isRare bool  // the text and the checkbox are in the rareTexts of the note, at the position start
	start  int32 // the text is the part of Content from start to end
	end    int32
}

// A TraitValue is the type and value of a trait.
type TraitValue struct {
	Type    string // name of the trait, in the spelling of the schema if it is defined
	Raw     string // the value as written; "" for a bare annotation
	Defined bool   // it is a trait; otherwise the annotation is only text
	Task    bool   // it is a checkbox and not an annotation; see TaskType

	value any          // nil if the value is the text as written
	entry string       // name of the entry by which the trait is found
	days  []vault.Date // the days of the value, if the type is a date or a time
}

// Times are the time of creation and the time of the last change of a thing in the index, in UTC.
type Times struct{ Created, Modified time.Time }

// Value returns the value by its syntax: nil for none, a string, a markdown.Ref, or a list. The
// value of a field has the type that YAML gives it.
func (s *TraitValue) Value() any {
	switch {
	case s.value != nil:
		return s.value
	case s.Raw == "":
		return nil
	}
	return s.Raw
}

// Pin returns the text of the `@id(…)` on the line of the trait, "" if there is none.
func (t *Trait) Pin() string {
	if t.Field {
		return ""
	}
	return t.Note.rare.pin(t.Line())
}

// Position returns the offset of the annotation in the text; for a field, its number.
func (t *Trait) Position() int { return int(t.position) }

// NumberOf returns the position of an annotation of the note in Annotations.
func (n *Note) NumberOf(t *Trait) int {
	all, here := n.Annotations, t.Location()
	at := 0
	if !t.Field {
		at = sort.Search(len(all), func(i int) bool { return !all[i].Field && !here.After(all[i].Location()) })
	}
	for at < len(all) && &all[at] != t {
		at++
	}
	return at
}

// Parent returns the object that contains the trait.
func (t *Trait) Parent() Object { return t.Note.Object(t.Scope()) }

// Location returns the location of the trait in lists.
func (t *Trait) Location() Location { return Location{t.Note.Path, t.Line(), t.Position()} }

// Pinned reports whether the id of the trait is that of an `@id(…)` on its line.
func (t *Trait) Pinned() bool { return t.claims && t.ID == t.Pin() }

// fragment returns the part of the parent's id that names the section, "" for the note.
func (t *Trait) fragment() string {
	if t.Scope() < 0 {
		return ""
	}
	return t.Note.Sections[t.Scope()].Slug
}

// EachAnnotation yields the positions and the addresses of Annotations; none for a nil note. A trait
// must not be copied: it is compared by its address.
func (n *Note) EachAnnotation(yield func(int, *Trait) bool) {
	if n == nil {
		return
	}
	for i := range n.Annotations {
		if !yield(i, &n.Annotations[i]) {
			return
		}
	}
}

// Traits yields the traits of the note, in reading order.
func (n *Note) Traits() iter.Seq[*Trait] {
	return func(yield func(*Trait) bool) {
		for _, t := range n.EachAnnotation {
			if t.Defined && !yield(t) {
				return
			}
		}
	}
}

// TraitsAfter yields the traits after a location that have a type and for whose values holds
// returns true. The empty type means any, and a nil holds means all. It does not read the traits of
// other types.
func (n *Note) TraitsAfter(typ string, after Location, holds func(*TraitValue) bool) iter.Seq[*Trait] {
	return func(yield func(*Trait) bool) {
		all, marks := n.Annotations, n.traitMarks()
		first := n.firstAfter(after, len(all), func(i int) Location { return all[i].Location() })
		mark := noType
		if typ != "" {
			mark = traitMark(typ)
		}
		for i := nextMark(marks, first, mark); i < len(all); i = nextMark(marks, i+1, mark) {
			s := all[i].TraitValue
			if (typ == "" || s.Type == typ) && (holds == nil || holds(s)) && !yield(&all[i]) {
				return
			}
		}
	}
}

// nextMark returns the position of the first mark at or after from that equals mark or, for noType,
// that differs from it. It returns len(marks) if there is none. It reads one byte for each
// annotation.
func nextMark(marks []byte, from int, mark typeMark) int {
	if mark == noType {
		for from < len(marks) && typeMark(marks[from]) == noType {
			from++
		}
		return from
	}
	at := bytes.IndexByte(marks[from:], byte(mark))
	if at < 0 {
		return len(marks)
	}
	return from + at
}

// TraitIDs returns the ids of all annotations of the note in reading order, including those that
// the schema does not define. A commit of the note must store them; Change.TraitIDs takes them.
func (n *Note) TraitIDs() []string {
	var ids []string
	for _, t := range n.EachAnnotation {
		ids = append(ids, t.ID)
	}
	return ids
}

// Siblings returns the other traits on the line of a trait, in order, without checkboxes; for a
// field, the other fields that are traits.
func (t *Trait) Siblings() []*Trait {
	var all []*Trait
	line := t.OnLine()
	for i := range line {
		if other := &line[i]; other != t && other.Defined && !other.Task {
			all = append(all, other)
		}
	}
	return all
}

// OnLine returns all annotations on the line of a trait, including the trait itself and those that
// the schema does not define; for a field, the fields that are traits. The result is part of the
// note and must not be changed. It relies on the order of Annotations: fields first, then by line.
func (t *Trait) OnLine() []Trait {
	all := t.Note.Annotations
	body := sort.Search(len(all), func(i int) bool { return !all[i].Field })
	if t.Field {
		return all[:body]
	}
	all = all[body:]
	first := sort.Search(len(all), func(i int) bool { return all[i].Line() >= t.Line() })
	last := first
	for last < len(all) && all[last].Line() == t.Line() {
		last++
	}
	return all[first:last]
}

// Trait returns the trait with an id. It does not return annotations that the schema does not
// define.
func (x *Index) Trait(id string) (*Trait, bool) {
	n, ok := x.Note(x.traitIDs.get(id))
	if !ok {
		return nil, false
	}
	t := n.annotation(id)
	return t, t != nil && t.Defined
}

// annotation returns the annotation of the note with an id, nil if there is none.
func (n *Note) annotation(id string) *Trait {
	for _, t := range n.EachAnnotation {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Traits yields the traits of a type after a location, by path, line and position. For the empty
// type it yields all traits, and goes through all notes after the location.
func (x *Index) Traits(typ string, after Location) iter.Seq[*Trait] {
	if typ == "" {
		return traitsOf(x.notesFrom(after.Path), "", after, nil)
	}
	return traitsOf(x.NotesWithTrait(typ, after.Path), typ, after, nil)
}

// traitsOf yields the results of Note.TraitsAfter for each of the notes.
func traitsOf(notes iter.Seq[*Note], typ string, after Location, holds func(*TraitValue) bool) iter.Seq[*Trait] {
	return func(yield func(*Trait) bool) {
		for n := range notes {
			for t := range n.TraitsAfter(typ, after, holds) {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// TraitCount returns the number of traits of a type.
func (x *Index) TraitCount(typ string) int { return x.count(byTrait, typ) }

// TraitValue returns the value of a trait as its schema types it: a boolean, a number, a text, or a
// reference as the id of its object, or as written if it does not resolve. For a bare annotation it
// returns the default of its trait with fromDefault true, or nil if there is no default.
func (x *Index) TraitValue(t *Trait) (value any, fromDefault bool) { return x.ValueOf(t.TraitValue) }

// ValueOf returns the TraitValue of the traits with this value.
func (x *Index) ValueOf(s *TraitValue) (value any, fromDefault bool) {
	def, ok := x.schema.Trait(s.Type)
	if !ok {
		return s.Value(), false
	}
	value, fromDefault = def.Typed(s.Value())
	return x.plain(value), fromDefault
}

// plain returns a value in which references are replaced by ids.
func (x *Index) plain(v any) any {
	switch v := v.(type) {
	case markdown.Ref:
		if r := x.Resolve(string(v)); r.ID != "" {
			return r.ID
		}
		return string(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = x.plain(v[i])
		}
		return list
	}
	return v
}
