package index

import (
	"encoding/binary"
	"iter"
	"strings"
	"time"

	"rookery/internal/vault"
)

// A Dated is a place where a day is named: a field or a trait whose type is a date or a time.
type Dated struct {
	Day    vault.Date
	Object Object
	Field  string // of the object; of a trait, its type
	Trait  *Trait // nil: it is a field
}

// A dating is a Dated as its note keeps it.
type dating struct {
	day     vault.Date
	section int
	field   string
	trait   int // position among the annotations; -1: it is a field
	line    int
}

// datings are the days that the fields and the traits of a note name. A field that is a trait counts
// once, as a trait.
func (x *Index) datings(n *Note) []dating {
	var all []dating
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		t, ok := x.schema.Type(o.Type())
		if !ok || len(o.Fields()) == 0 {
			continue
		}
		for _, f := range o.Fields() {
			if def, ok := t.Field(f.Name); ok && def.IsTime() && !isTrait(n, f, i) {
				for _, day := range daysOf(f.Value) {
					all = append(all, dating{day, i, f.Name, -1, f.Line})
				}
			}
		}
	}
	for i, t := range n.Annotations {
		if def, ok := x.schema.Trait(t.Type); ok && def.IsTime() {
			value, _ := def.Typed(t.Value)
			for _, day := range daysOf(value) {
				all = append(all, dating{day, t.Scope, t.Type, i, t.Line})
			}
		}
	}
	return all
}

// isTrait reports whether a field of the note is one of its traits.
func isTrait(n *Note, f Field, section int) bool {
	for _, t := range n.Annotations {
		if !t.Field {
			break
		}
		if section < 0 && t.Type == f.Name {
			return t.Defined
		}
	}
	return false
}

// daysOf are the days that a value names.
func daysOf(v any) []vault.Date {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var days []vault.Date
	for _, v := range list {
		if day, ok := vault.DayOf(v); ok {
			days = append(days, day)
		}
	}
	return days
}

// dated is a dating for everybody.
func (n *Note) dated(d dating) Dated {
	out := Dated{Day: d.day, Object: n.Object(d.section), Field: d.field}
	if d.trait >= 0 {
		out.Trait = n.Annotations[d.trait]
	}
	return out
}

// key is the place of the i-th dating of a note.
func (d dating) key(path string, i int) string {
	return key(string(d.day), Spot{path, d.line, i}.key())
}

// Dates yields where the days from one to another are named, both included, by day, path and line.
func (x *Index) Dates(from, to vault.Date) iter.Seq[Dated] {
	return func(yield func(Dated) bool) {
		x.dates.Ascend(string(from), func(_ string, d Dated) bool { return d.Day <= to && yield(d) })
	}
}

// Created yields the notes that were made in [from, to), by time, then path. A zero end is open.
func (x *Index) Created(from, to time.Time) iter.Seq[*Note] { return between(&x.created, from, to) }

// Modified yields the notes that were last changed in [from, to), by time, then path. A zero end is
// open. Nothing in a note has changed after it.
func (x *Index) Modified(from, to time.Time) iter.Seq[*Note] { return between(&x.modified, from, to) }

func between(t *tree[*Note], from, to time.Time) iter.Seq[*Note] {
	first, last := "", "\xff"
	if !from.IsZero() {
		first = timeKey(from)
	}
	if !to.IsZero() {
		last = timeKey(to)
	}
	return func(yield func(*Note) bool) {
		t.Ascend(first, func(k string, n *Note) bool { return k < last && yield(n) })
	}
}

// timeKey is a time as a text that sorts as times do.
func timeKey(t time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.Unix())^1<<63)
	return string(binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond())))
}

// A TaggedIn is a note that has a tag, and where it first stands.
type TaggedIn struct {
	Note *Note
	Tag  Tag
}

// Tagged yields the notes behind a path that have a tag, by path. Case counts.
func (x *Index) Tagged(tag, after string) iter.Seq[TaggedIn] {
	prefix := key(clean(tag), "")
	first := prefix + after
	return func(yield func(TaggedIn) bool) {
		x.tags.Ascend(first, func(k string, t TaggedIn) bool {
			return strings.HasPrefix(k, prefix) && (k == first && after != "" || yield(t))
		})
	}
}

// Tags yields all tags with the number of notes that have them, by name.
func (x *Index) Tags() iter.Seq2[string, int] { return x.tagCounts.Scan }

// TagCount is the number of notes that have a tag.
func (x *Index) TagCount(tag string) int {
	n, _ := x.tagCounts.Get(clean(tag))
	return n
}
