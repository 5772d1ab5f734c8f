package raven

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A traitLookup finds the traits of a type, all of them or those with a value.
//
// has compares a TraitValue, which all traits with the same type and text share, so that a walk
// tests pointers instead of reading values.
type traitLookup struct {
	idx   *index.Index
	typ   string
	notes noteWalk // the notes that can have such a trait
	// has reports whether a trait has a wanted type and value.
	has   func(*index.TraitValue) bool
	count func() int // returns their number; nil: the notes must be walked to count them
}

// most returns an upper bound of the number of traits.
func (l traitLookup) most() int {
	if l.count != nil {
		return l.count()
	}
	return l.idx.TraitCount(l.typ)
}

// lookupOf returns the lookup for a requested value: traits with exactly this value or, for dates
// and times, those whose day is in the requested time (raven.md §6.10). A list matches if one of
// its elements does. An empty text selects all traits of the type.
//
// Single values are found through the index of values. Lists have no such index; all traits of the
// type are then tested.
func lookupOf(v view, def *vault.Trait, text string) (traitLookup, error) {
	switch {
	case text == "":
		return lookupAll(v.Index, def.Name), nil
	case def.IsTime():
		return lookupTime(v, def, text)
	}
	one := elementOf(def)
	want, err := valueText(one, text, v.Clock)
	if err != nil {
		return traitLookup{}, fault.Of(err).With("argument", "value")
	}
	if one.Type == def.Type {
		return lookupSet(v.Index, def, v.Index.TraitsWith(def.Name, want)), nil
	}
	if to := v.Index.Resolve(want); one.IsRef() && to.ID != "" {
		want = to.ID // TraitValue has the ids of targets
	}
	return elements(v.Index, def, func(e any) bool { return index.ValueText(e) == want }), nil
}

// lookupAll returns the lookup of all traits of a type.
func lookupAll(idx *index.Index, typ string) traitLookup {
	return traitLookup{
		idx: idx, typ: typ,
		notes: func(from string) iter.Seq[*index.Note] { return idx.NotesWithTrait(typ, from) },
		has:   func(s *index.TraitValue) bool { return s.Type == typ },
		count: func() int { return idx.TraitCount(typ) },
	}
}

// lookupTasks returns the lookup of lines with checkboxes: all, or those with a value. A value that
// no task has is INVALID_VALUE.
func lookupTasks(idx *index.Index, value string) (traitLookup, error) {
	if _, ok := index.TaskMark(value); value != "" && !ok {
		return traitLookup{}, noTaskValue()
	}
	set := idx.Tasks(value)
	return traitLookup{idx, index.TaskType, set.Notes, set.Has, set.Count}, nil
}

// noTaskValue returns the fault of a value that a task cannot have.
func noTaskValue() *fault.Fault {
	return fault.New(fault.InvalidValue, "the value of a task is one of: %s",
		strings.Join(index.TaskValues(), ", ")).With("argument", "value").With("allowed", index.TaskValues())
}

// lookupSet returns the lookup of a set of traits.
func lookupSet(idx *index.Index, def *vault.Trait, set index.TraitSet) traitLookup {
	return traitLookup{idx, def.Name, set.Notes, set.Has, set.Count}
}

// elementOf returns the definition of a single value of a trait, without bounds, which do not
// matter for a search.
func elementOf(def *vault.Trait) *vault.Field {
	one := def.Field
	one.Type = strings.TrimSuffix(one.Type, "[]")
	one.Min, one.Max = nil, nil
	return &one
}

// valueText returns a typed value in the form in which the index stores it. A value that the trait
// cannot have is INVALID_VALUE.
func valueText(one *vault.Field, text string, c vault.Clock) (string, error) {
	if one.Type == "string" || one.Type == "url" {
		return text, nil
	}
	read, err := one.Read(vault.Text(text), c)
	return index.ValueText(read), err
}

// elements returns the lookup of traits with a list that has an element for which holds returns
// true. It tests equal values only once.
func elements(idx *index.Index, def *vault.Trait, holds func(any) bool) traitLookup {
	all, tried := lookupAll(idx, def.Name), map[*index.TraitValue]bool{}
	has := func(s *index.TraitValue) bool {
		if s.Type != def.Name {
			return false
		}
		found, known := tried[s]
		if !known {
			value, _ := idx.ValueOf(s)
			list, _ := value.([]any)
			found = slices.ContainsFunc(list, holds)
			tried[s] = found
		}
		return found
	}
	return traitLookup{idx: idx, typ: def.Name, notes: all.notes, has: has}
}

// lookupTime returns the lookup of dates and times whose day is in a period.
func lookupTime(v view, def *vault.Trait, text string) (traitLookup, error) {
	i, err := vault.ParseTime(text, v.Clock)
	if err != nil {
		return traitLookup{}, fault.Of(err).With("argument", "value")
	}
	zone := state.Local(v.Clock).Location()
	covered := func(value any) bool {
		day, ok := vault.DayOf(value)
		return ok && i.Covers(day, zone)
	}
	if strings.HasSuffix(def.Type, "[]") {
		return elements(v.Index, def, covered), nil
	}
	from, to := daysOf(i, zone)
	return lookupSet(v.Index, def, v.Index.TraitsBetween(def.Name, from, to, func(value string) bool {
		return covered(value)
	})), nil
}

// behindDay, appended to a day, sorts after all times of that day.
const behindDay = "~"

// daysOf returns the first and last values, as texts, whose days are in a period. An empty text
// means no limit.
//
// The texts bound the values in the sorted index of values; the values between them are still
// tested.
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

// A traitReader reads values for traits, and collects the problems.
type traitReader struct {
	idx    *index.Index
	schema *vault.Schema
	clock  vault.Clock
	// problems are the problems of all values that were read so far.
	problems []*fault.Fault
}

// read returns the value for the trait with a name.
func (r *traitReader) read(name string, v any) any {
	def, ok := r.schema.Trait(name)
	if !ok {
		r.problems = append(r.problems, r.schema.NoTrait(name))
		return nil
	}
	return r.readAs(&def.Field, v)
}

// readAs returns the value as the definition reads it. A missing value is allowed if there is a
// default, or if the trait has a meaning without a value.
//
// A reference becomes the full id of its target. The result is meaningless if a problem was
// recorded.
func (r *traitReader) readAs(def *vault.Field, v any) any {
	read, err := def.Read(v, r.clock)
	switch b, isBool := read.(bool); {
	case err != nil:
		r.problems = append(r.problems, fault.Of(err))
	case read == nil && !speaksBare(def):
		r.problems = append(r.problems, fault.New(fault.MissingRequired,
			"Trait '%s' needs a value: it has no default", def.Name).With("field", def.Name))
	case isBool && def.Type != "bool":
		return strconv.FormatBool(b) // a value of an enum, which must be written out
	default:
		if f := mutation.WrongTarget(r.idx, def, read); f != nil {
			r.problems = append(r.problems, f)
		}
	}
	return mutation.ByID(r.idx, def, read)
}

// speaksBare reports whether a trait has a meaning without a written value.
func speaksBare(def *vault.Field) bool { return def.Type == "bool" || def.HasDefault }
