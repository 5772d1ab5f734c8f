package index

import (
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A DateMention is one mention of a day: a field or a trait whose type is a date or a time.
type DateMention struct {
	// Day is the mentioned day, in the form 2026-12-01.
	Day vault.Date
	// Object has the field, or contains the trait.
	Object Object
	Field  string // name of the field; the type, for a trait
	Trait  *Trait // nil for a field
	Line   int
}

// dateMentions returns the fields and the traits of a note that mention a day, by line. A field
// that is a trait is in the result once, as a trait.
func (x *Index) dateMentions(n *Note, day vault.Date) []DateMention {
	// A note mentions few days, so all mentions are computed and filtered. The entry of the day has
	// found the note.
	all := slices.DeleteFunc(x.fieldDateMentions(n), func(d DateMention) bool { return d.Day != day })
	for t := range n.Traits() {
		for _, named := range t.days {
			if named == day {
				all = append(all, DateMention{day, t.Parent(), t.Type, t, t.Line()})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b DateMention) int { return a.Line - b.Line })
	return all
}

// fieldDateMentions returns the mentions of days in the fields that are not traits. A field counts
// if the type of its object defines it as a date or a time; a text that looks like a date does not.
func (x *Index) fieldDateMentions(n *Note) []DateMention {
	var all []DateMention
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		t, ok := x.schema.Type(o.Type())
		if !ok || len(o.Fields()) == 0 {
			continue
		}
		for _, f := range o.Fields() {
			if def, ok := t.Field(f.Name); ok && def.IsTime() && !isTrait(n, f, i) {
				for _, day := range daysOf(f.Value) {
					all = append(all, DateMention{day, o, f.Name, nil, f.Line})
				}
			}
		}
	}
	return all
}

// fieldDays returns the days of fieldDateMentions, with duplicates.
func (x *Index) fieldDays(n *Note) []vault.Date {
	var days []vault.Date
	for _, d := range x.fieldDateMentions(n) {
		days = append(days, d.Day)
	}
	return days
}

// isTrait reports whether a field is one of the traits of the note. section is the position of the
// object that has the field, -1 for the note: fields of sections are never traits.
func isTrait(n *Note, f Field, section int) bool {
	for _, t := range n.EachAnnotation {
		if !t.Field {
			break
		}
		if section < 0 && t.Type == f.Name {
			return t.Defined
		}
	}
	return false
}

// daysOf returns the days of a value, which can be a list. It skips values that are not dates or
// times.
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

// DatesOn yields the mentions of a day in the notes at or after a path, by path and line.
func (x *Index) DatesOn(day vault.Date, path string) iter.Seq[DateMention] {
	return func(yield func(DateMention) bool) {
		for n := range x.notesBy(byDay.name(string(day)), path) {
			for _, d := range x.dateMentions(n, day) {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// DateCount returns the number of mentions of a day.
func (x *Index) DateCount(day vault.Date) int { return x.count(byDay, string(day)) }

// Modified yields the notes that were last changed in [from, to), by time, then path. A zero time
// leaves that end open. The time of a note covers changes of everything in it.
func (x *Index) Modified(from, to time.Time) iter.Seq[*Note] { return x.between(byModified, from, to) }

// between yields the notes whose time of kind k is in [from, to), by time, then path.
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

// timeKey returns a time as 12 bytes that sort by time: the seconds since 1970 with the sign bit
// inverted, so that earlier times are smaller, and the nanoseconds, both big-endian.
func timeKey(t time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.Unix())^1<<63)
	return string(binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond())))
}

// A dayList is a list of days. It takes 8 bytes, because most notes have none.
type dayList struct{ days *[]vault.Date }

// newDayList returns a dayList of these days.
func newDayList(list []vault.Date) dayList {
	if len(list) == 0 {
		return dayList{}
	}
	own := list
	return dayList{&own}
}

// all returns the list of the days; nil if there are none.
func (l dayList) all() []vault.Date {
	if l.days == nil {
		return nil
	}
	return *l.days
}
