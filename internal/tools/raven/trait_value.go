package raven

import (
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/vault"
)

// lookupOf finds the traits that a text stands for: those with exactly this value or, of dates and
// times, those whose day lies in the time that it names (raven.md §6.10). A list has the value if one
// of its elements has it. Without a text it is nil.
func lookupOf(v view, def *vault.Trait, text string) (traitLookup, error) {
	switch {
	case text == "":
		return nil, nil
	case def.IsTime():
		return lookupTime(v, def, text)
	}
	one := elementOf(def)
	want, err := valueText(one, text, v.clock)
	if err != nil {
		return nil, fault.Of(err).With("argument", "value")
	}
	if one.Type == def.Type {
		return func(after index.Spot) iter.Seq[*index.Trait] {
			return v.idx.TraitsWith(def.Name, want, after)
		}, nil
	}
	if to := v.idx.Resolve(want); one.IsRef() && to.ID != "" {
		want = to.ID // as TraitValue tells the elements
	}
	return elements(v.idx, def, func(e any) bool { return index.ValueText(e) == want }), nil
}

// elementOf is what the schema says of one value of a trait. Bounds do not matter to who looks for
// one.
func elementOf(def *vault.Trait) *vault.Field {
	one := def.Field
	one.Type = strings.TrimSuffix(one.Type, "[]")
	one.Min, one.Max = nil, nil
	return &one
}

// valueText is a value, as somebody types it, as the index finds it. One that no trait of the kind can
// have is INVALID_VALUE; any text can be that of a text.
func valueText(one *vault.Field, text string, c vault.Clock) (string, error) {
	if one.Type == "string" || one.Type == "url" {
		return text, nil
	}
	read, err := one.Read(vault.Text(text), c)
	return index.ValueText(read), err
}

// elements yields the traits with an element for which a test holds.
func elements(idx *index.Index, def *vault.Trait, holds func(any) bool) traitLookup {
	has := func(t *index.Trait) bool {
		value, _ := idx.TraitValue(t)
		list, _ := value.([]any)
		return slices.ContainsFunc(list, holds)
	}
	return func(after index.Spot) iter.Seq[*index.Trait] {
		return only(idx.Traits(def.Name, after), has)
	}
}

// lookupTime finds the traits of dates or times whose day lies in a time.
func lookupTime(v view, def *vault.Trait, text string) (traitLookup, error) {
	i, err := vault.ParseTime(text, v.clock)
	if err != nil {
		return nil, fault.Of(err).With("argument", "value")
	}
	zone := local(v.clock).Location()
	covered := func(value any) bool {
		day, ok := vault.DayOf(value)
		return ok && i.Covers(day, zone)
	}
	if strings.HasSuffix(def.Type, "[]") {
		return elements(v.idx, def, covered), nil
	}
	var found []*index.Trait
	from, to := daysOf(i, zone)
	for t := range v.idx.TraitsBetween(def.Name, from, to) {
		if value, _ := v.idx.TraitValue(t); covered(value) {
			found = append(found, t)
		}
	}
	sort.Slice(found, func(a, b int) bool { return found[b].Spot().Behind(found[a].Spot()) })
	return func(after index.Spot) iter.Seq[*index.Trait] {
		first := sort.Search(len(found), func(i int) bool { return found[i].Spot().Behind(after) })
		return slices.Values(found[first:])
	}, nil
}

// behindDay stands behind every time of a day, as values are sorted.
const behindDay = "~"

// daysOf are texts between which all days of a time lie, and the times of these days. An empty one is
// open.
func daysOf(i vault.Interval, zone *time.Location) (from, to string) {
	if !i.From.IsZero() {
		from = string(vault.DateOf(i.From.In(zone)))
	}
	switch {
	case i.Instant():
		to = from + behindDay
	case !i.To.IsZero():
		to = string(vault.DateOf(i.To.In(zone).Add(-time.Nanosecond))) + behindDay
	}
	return from, to
}

// A traitReader reads values that are to be written for traits, and gathers what is wrong with them.
type traitReader struct {
	idx      *index.Index
	schema   *vault.Schema
	clock    vault.Clock
	problems []*fault.Fault
}

// read is the value that a trait of this name is to be given.
func (r *traitReader) read(name string, v any) any {
	def, ok := r.schema.Trait(name)
	if !ok {
		r.problems = append(r.problems, r.schema.NoTrait(name))
		return nil
	}
	return r.readAs(&def.Field, v)
}

// readAs is the value by what the schema says of it. Nothing is good for what has a default, and for
// what says enough by being there.
func (r *traitReader) readAs(def *vault.Field, v any) any {
	read, err := def.Read(v, r.clock)
	switch b, isBool := read.(bool); {
	case err != nil:
		r.problems = append(r.problems, fault.Of(err))
	case read == nil && !speaksBare(def):
		r.problems = append(r.problems, fault.New(fault.MissingRequired,
			"Trait '%s' needs a value: it has no default", def.Name).With("field", def.Name))
	case isBool && def.Type != "bool":
		return strconv.FormatBool(b) // one of an enum, which must not become a bare annotation
	default:
		if f := wrongTarget(r.idx, def, read); f != nil {
			r.problems = append(r.problems, f)
		}
	}
	return byID(r.idx, def, read)
}

// speaksBare reports whether a trait without a value has one all the same.
func speaksBare(def *vault.Field) bool { return def.Type == "bool" || def.HasDefault }
