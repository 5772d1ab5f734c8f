package index

import (
	"bytes"
	"iter"
	"sort"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Trait is an annotation of a note, or a field of it that its type lists among its traits
// (reference/raven.md §6.3). It never changes. Much of it is shared: with the traits of its line, and
// with all that say the same.
type Trait struct {
	*Place
	*TraitValue
	*Times
	ID       string // unique in the vault (§6.4)
	Position int    // the offset of the annotation; of a field, its number
	Field    bool   // it is a field of the frontmatter

	claims bool // it is the one that the pin of its line is meant for
}

// A Place is where the traits of a line stand.
type Place struct {
	Note        *Note
	Line        int
	Scope       int    // position of the section that it stands in; -1: the note
	Content     string // the line without the markers of lists and quotes; of a field, the note's id
	ContentText string // and without annotations
	Checkbox    string // the mark of the checkbox that the line begins with; "" if there is none
}

// A TraitValue is what a trait says.
type TraitValue struct {
	Type    string
	Raw     string // the value as it is written; "" for a bare annotation
	Defined bool   // the schema has the type: otherwise it is only text
	Task    bool   // it is a checkbox, and no annotation; see TaskType

	value any          // where it is not the text as it is written
	entry string       // the name of the entry by which the trait is found
	days  []vault.Date // that it names, if its type is a date or a time
}

// Times are when something was first seen, and when it last changed.
type Times struct{ Created, Modified time.Time }

// Value is the value by its form: nil, a string, markdown.Ref, or a list; a field's is typed.
func (s *TraitValue) Value() any {
	switch {
	case s.value != nil:
		return s.value
	case s.Raw == "":
		return nil
	}
	return s.Raw
}

// Pin is what `@id(…)` on the line of the trait says, "" if there is none.
func (t *Trait) Pin() string {
	if t.Field {
		return ""
	}
	return t.Note.pins[t.Line]
}

// Parent is the object that the trait stands in.
func (t *Trait) Parent() Object { return t.Note.Object(t.Scope) }

// Location is where the trait stands in lists.
func (t *Trait) Spot() Location { return Location{t.Note.Path, t.Line, t.Position} }

// Pinned reports whether the trait has its id from an `@id(…)` on its line.
func (t *Trait) Pinned() bool { return t.claims && t.ID == t.Pin() }

// fragment is the part of the parent's id that names the section, "" for the note.
func (t *Trait) fragment() string {
	if t.Scope < 0 {
		return ""
	}
	return t.Note.Sections[t.Scope].Slug
}

// Traits yields the traits of the note, in reading order.
func (n *Note) Traits() iter.Seq[*Trait] {
	return func(yield func(*Trait) bool) {
		for _, t := range n.Annotations {
			if t.Defined && !yield(t) {
				return
			}
		}
	}
}

// TraitsBehind yields those of Traits that have a type, stand behind a spot, and say what holds reports true for. The
// empty type is any; without holds, all are yielded. It does not look at the others.
func (n *Note) TraitsBehind(typ string, after Location, holds func(*TraitValue) bool) iter.Seq[*Trait] {
	return func(yield func(*Trait) bool) {
		all, marks := n.Annotations, n.traitMarks()
		first := n.firstBehind(after, len(all), func(i int) Location { return all[i].Spot() })
		mark := noType
		if typ != "" {
			mark = traitMark(typ)
		}
		for i := nextMark(marks, first, mark); i < len(all); i = nextMark(marks, i+1, mark) {
			s := n.said[i]
			if (typ == "" || s.Type == typ) && (holds == nil || holds(s)) && !yield(all[i]) {
				return
			}
		}
	}
}

// nextMark returns the position, from one on, of the first mark that is a given one; of noType, of the first that is
// another. It returns the number of marks if there is none.
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

// TraitIDs are the ids of all annotations of the note in reading order, of those too that the schema
// does not know: what a commit of the note must keep, and Change.TraitIDs takes.
func (n *Note) TraitIDs() []string {
	var ids []string
	for _, t := range n.Annotations {
		ids = append(ids, t.ID)
	}
	return ids
}

// Siblings are the other annotations on the line of a trait, in order; of a field, the other fields that
// are traits.
func (t *Trait) Siblings() []*Trait {
	var all []*Trait
	for _, other := range t.OnLine() {
		if other != t && other.Defined && !other.Task {
			all = append(all, other)
		}
	}
	return all
}

// OnLine are the annotations on the line of a trait, itself among them, or the fields that are traits; those
// too that the schema does not know.
func (t *Trait) OnLine() []*Trait {
	all := t.Note.Annotations
	body := sort.Search(len(all), func(i int) bool { return !all[i].Field })
	if t.Field {
		return all[:body]
	}
	all = all[body:]
	first := sort.Search(len(all), func(i int) bool { return all[i].Line >= t.Line })
	last := first
	for last < len(all) && all[last].Line == t.Line {
		last++
	}
	return all[first:last]
}

// Traits are the traits in the object's own text and among its fields, in reading order.
func (o Object) Traits() []*Trait {
	var all []*Trait
	for t := range o.Note.Traits() {
		if t.Scope == o.Number() {
			all = append(all, t)
		}
	}
	return all
}

// Trait finds a trait by its id.
func (x *Index) Trait(id string) (*Trait, bool) {
	n, ok := x.Note(x.traitIDs.get(id))
	if !ok {
		return nil, false
	}
	t := n.annotation(id)
	return t, t != nil && t.Defined
}

// annotation is the annotation of the note that has an id, nil if none has.
func (n *Note) annotation(id string) *Trait {
	for _, t := range n.Annotations {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Traits yields the traits of a type behind a spot, by path, line and position; of the empty type,
// all, for which it goes through the notes behind the spot.
func (x *Index) Traits(typ string, after Location) iter.Seq[*Trait] {
	if typ == "" {
		return traitsOf(x.notesFrom(after.Path), "", after, nil)
	}
	return traitsOf(x.NotesWithTrait(typ, after.Path), typ, after, nil)
}

// traitsOf yields the traits of notes that Note.TraitsBehind yields.
func traitsOf(notes iter.Seq[*Note], typ string, after Location, holds func(*TraitValue) bool) iter.Seq[*Trait] {
	return func(yield func(*Trait) bool) {
		for n := range notes {
			for t := range n.TraitsBehind(typ, after, holds) {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// TraitCount is the number of traits of a type.
func (x *Index) TraitCount(typ string) int { return x.count(byTrait, typ) }

// TraitValue is the value of a trait as its schema types it: true and false, a number, the text, or
// a reference as the id that it resolves to, else as it is written. A bare annotation has the default
// of its trait, and fromDefault says so, or nil.
func (x *Index) TraitValue(t *Trait) (value any, fromDefault bool) { return x.ValueOf(t.TraitValue) }

// ValueOf is the TraitValue of the traits that say this.
func (x *Index) ValueOf(s *TraitValue) (value any, fromDefault bool) {
	def, ok := x.schema.Trait(s.Type)
	if !ok {
		return s.Value(), false
	}
	value, fromDefault = def.Typed(s.Value())
	return x.plain(value), fromDefault
}

// plain is a value in which ids stand for references.
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
