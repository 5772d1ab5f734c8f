package index

import (
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A Dated is a place where a day is named: a field or a trait whose type is a date or a time.
type Dated struct {
	Day    vault.Date
	Object Object
	Field  string // of the object; of a trait, its type
	Trait  *Trait // nil: it is a field
	Line   int
}

// datings are where the fields and the traits of a note name a day, by line. A field that is a trait
// counts once, as a trait.
func (x *Index) datings(n *Note, day vault.Date) []Dated {
	all := slices.DeleteFunc(x.fieldDatings(n), func(d Dated) bool { return d.Day != day })
	for t := range n.Traits() {
		for _, named := range t.days {
			if named == day {
				all = append(all, Dated{day, t.Parent(), t.Type, t, t.Line})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Dated) int { return a.Line - b.Line })
	return all
}

// fieldDatings are those of the fields that are no traits.
func (x *Index) fieldDatings(n *Note) []Dated {
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
	return all
}

// fieldDays are the days of fieldDatings.
func (x *Index) fieldDays(n *Note) []vault.Date {
	var days []vault.Date
	for _, d := range x.fieldDatings(n) {
		days = append(days, d.Day)
	}
	return days
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
		for name := range x.summed(byDay.name(""), byDay.name(string(from))) {
			if vault.Date(name[1:]) > to {
				return
			}
			for d := range x.DatesOn(vault.Date(name[1:]), "") {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// DatesOn yields where a day is named in the notes from a path on, by path and line.
func (x *Index) DatesOn(day vault.Date, path string) iter.Seq[Dated] {
	return func(yield func(Dated) bool) {
		for n := range x.notesBy(byDay.name(string(day)), path) {
			for _, d := range x.datings(n, day) {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// DateCount is how often a day is named.
func (x *Index) DateCount(day vault.Date) int { return x.count(byDay, string(day)) }

// Created yields the notes that were made in [from, to), by time, then path. A zero end is open.
func (x *Index) Created(from, to time.Time) iter.Seq[*Note] { return x.between(byCreated, from, to) }

// Modified yields the notes that were last changed in [from, to), by time, then path. A zero end is
// open. Nothing in a note has changed after it.
func (x *Index) Modified(from, to time.Time) iter.Seq[*Note] { return x.between(byModified, from, to) }

func (x *Index) between(k kind, from, to time.Time) iter.Seq[*Note] {
	first, last := k.name(""), k.last()
	if !from.IsZero() {
		first = k.name(timeKey(from))
	}
	if !to.IsZero() {
		last = k.name(timeKey(to))
	}
	return func(yield func(*Note) bool) {
		for e := range x.entries.between(entry{name: first}, last) {
			if e.name >= last {
				return
			}
			if n, _ := x.Note(e.path); !yield(n) {
				return
			}
		}
	}
}

// timeKey is a time as a text that sorts as times do.
func timeKey(t time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.Unix())^1<<63)
	return string(binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond())))
}
