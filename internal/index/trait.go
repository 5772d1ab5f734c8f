package index

import (
	"iter"
	"strings"
	"time"

	"rookery/internal/markdown"
	"rookery/internal/vault"
)

// A Trait is an annotation of a note, or a field of it that its type lists among its traits
// (reference/raven.md §6.3). It never changes. Much of it is shared: with the traits of its line, and
// with all that say the same.
type Trait struct {
	*Place
	*Saying
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
}

// A Saying is what a trait says.
type Saying struct {
	Type    string
	Raw     string // the value as it is written; "" for a bare annotation
	Defined bool   // the schema has the type: otherwise it is only text

	value any          // where it is not the text as it is written
	entry string       // the name of the entry by which the trait is found
	days  []vault.Date // that it names, if its type is a date or a time
}

// Times are when something was first seen, and when it last changed.
type Times struct{ Created, Modified time.Time }

// Value is the value by its form: nil, a string, markdown.Ref, or a list; a field's is typed.
func (s *Saying) Value() any {
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

// Spot is where the trait stands in lists.
func (t *Trait) Spot() Spot { return Spot{t.Note.Path, t.Line, t.Position} }

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

// TraitIDs are the ids of all annotations of the note in reading order, of those too that the schema
// does not know: what a commit of the note must keep, and Change.TraitIDs takes.
func (n *Note) TraitIDs() []string {
	var ids []string
	for _, t := range n.Annotations {
		ids = append(ids, t.ID)
	}
	return ids
}

// Siblings are the other traits on the line of a trait, in order; of a field, the other fields that
// are traits.
func (t *Trait) Siblings() []*Trait {
	var all []*Trait
	for other := range t.Note.Traits() {
		if other != t && other.Field == t.Field && (t.Field || other.Line == t.Line) {
			all = append(all, other)
		}
	}
	return all
}

// Traits are the traits in the object's own text and among its fields, in reading order.
func (o Object) Traits() []*Trait {
	var all []*Trait
	for t := range o.Note.Traits() {
		if t.Scope == o.number() {
			all = append(all, t)
		}
	}
	return all
}

// Trait finds a trait by its id.
func (x *Index) Trait(id string) (*Trait, bool) {
	path, _ := x.traitIDs.Get(id)
	n, ok := x.Note(path)
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
func (x *Index) Traits(typ string, after Spot) iter.Seq[*Trait] {
	if typ == "" {
		return x.allTraits(after)
	}
	return x.traitsIn(byTrait.name(typ), after, func(t *Trait) bool { return t.Type == typ })
}

// allTraits goes through the notes.
func (x *Index) allTraits(after Spot) iter.Seq[*Trait] {
	return func(yield func(*Trait) bool) {
		for n := range x.notesFrom(after.Path) {
			for t := range n.Traits() {
				if t.Spot().after(after) && !yield(t) {
					return
				}
			}
		}
	}
}

// traitsIn yields the traits behind a spot that hold, of the notes that go by a name.
func (x *Index) traitsIn(name string, after Spot, holds func(*Trait) bool) iter.Seq[*Trait] {
	return func(yield func(*Trait) bool) {
		for n := range x.notesBy(name, after.Path) {
			for t := range n.Traits() {
				if holds(t) && t.Spot().after(after) && !yield(t) {
					return
				}
			}
		}
	}
}

// TraitCount is the number of traits of a type.
func (x *Index) TraitCount(typ string) int { return x.count(byTrait, typ) }

// TraitsWith yields the traits of a type that have a value, behind a spot, in the order of Traits.
// The value is a ValueText; for a trait that is a reference, any that leads to the same object.
func (x *Index) TraitsWith(typ, value string, after Spot) iter.Seq[*Trait] {
	def, ok := x.schema.Trait(typ)
	if ok && def.Type == "ref" {
		return x.traitsTo(typ, value, after)
	}
	return x.traitsBy(typ, clean(value), after)
}

// traitsBy yields the traits of a type that are found by a value.
func (x *Index) traitsBy(typ, value string, after Spot) iter.Seq[*Trait] {
	name := valueName(typ, value)
	return x.traitsIn(name, after, func(t *Trait) bool { return t.entry == name })
}

// valueName is the name of the entries of traits with a value.
func valueName(typ, value string) string { return byValue.name(typ + "\x00" + value) }

// TraitsBetween yields the traits of a type whose ValueTexts lie between two texts, both included, by
// value, then path, line and position. Dates sort as texts do. The empty end is open.
func (x *Index) TraitsBetween(typ, from, to string) iter.Seq[*Trait] {
	prefix := valueName(typ, "")
	return func(yield func(*Trait) bool) {
		for e := range x.entries.from(entry{name: prefix + clean(from)}) {
			value, ok := strings.CutPrefix(e.name, prefix)
			if !ok || to != "" && value > to {
				return
			}
			n, _ := x.Note(e.path)
			for t := range n.Traits() {
				if t.entry == e.name && !yield(t) {
					return
				}
			}
		}
	}
}

// traitsTo yields the traits of a type whose reference leads where the given one does.
func (x *Index) traitsTo(typ, value string, after Spot) iter.Seq[*Trait] {
	r := x.Resolver()
	want := r.Resolve(value).ID
	buckets := []string{bucketOf(value)}
	if o, ok := x.Find(want); ok {
		buckets = x.buckets(o.Note)
	}
	return func(yield func(*Trait) bool) {
		var lists []iter.Seq[*Trait]
		for _, b := range buckets {
			lists = append(lists, x.traitsBy(typ, b, after))
		}
		for t := range merge(lists, (*Trait).Spot) {
			same := t.target() == value
			if want != "" {
				same = r.Resolve(t.target()).ID == want
			}
			if same && !yield(t) {
				return
			}
		}
	}
}

// target is what the trait refers to, as it is written.
func (t *Trait) target() string {
	if ref, ok := t.Value().(markdown.Ref); ok {
		return string(ref)
	}
	ref, _ := vault.ParseRef(textOf(t.Value()))
	return string(ref)
}

// TraitValue is the value of a trait as its schema types it: true and false, a number, the text, or
// a reference as the id that it resolves to, else as it is written. A bare annotation has the default
// of its trait, and fromDefault says so, or nil.
func (x *Index) TraitValue(t *Trait) (value any, fromDefault bool) {
	def, ok := x.schema.Trait(t.Type)
	if !ok {
		return t.Value(), false
	}
	value, fromDefault = def.Typed(t.Value())
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
