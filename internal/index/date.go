package index

import (
	"encoding/binary"
	"iter"
	"slices"
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
	Line   int
}

// datings are the days that the fields and the traits of a note name, by line. A field that is a trait
// counts once, as a trait.
func (x *Index) datings(n *Note) []Dated {
	var all []Dated
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		t, ok := x.schema.Type(o.Type())
		if !ok || len(o.Fields()) == 0 {
			continue
		}
		for _, f := range o.Fields() {
			if def, ok := t.Field(f.Name); ok && def.IsTime() && !isTrait(n, f, i) {
				for _, day := range daysOf(f.Value) {
					all = append(all, Dated{day, o, f.Name, nil, f.Line})
				}
			}
		}
	}
	for t := range n.Traits() {
		if def, ok := x.schema.Trait(t.Type); ok && def.IsTime() {
			value, _ := def.Typed(t.Value())
			for _, day := range daysOf(value) {
				all = append(all, Dated{day, t.Parent(), t.Type, t, t.Line})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Dated) int { return a.Line - b.Line })
	return all
}

// daysIn are the days that are named, each once.
func daysIn(all []Dated) []vault.Date {
	var days []vault.Date
	for _, d := range all {
		days = append(days, d.Day)
	}
	slices.Sort(days)
	return slices.Clip(slices.Compact(days))
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

// Dates yields where the days from one to another are named, both included, by day, path and line.
func (x *Index) Dates(from, to vault.Date) iter.Seq[Dated] {
	return func(yield func(Dated) bool) {
		x.dates.Ascend(string(from), func(k string, n *Note) bool {
			day, _, _ := strings.Cut(k, "\x00")
			if day > string(to) {
				return false
			}
			for _, d := range x.datings(n) {
				if string(d.Day) == day && !yield(d) {
					return false
				}
			}
			return true
		})
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
