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

// A traitLookup finds the traits of a type that a value stands for, or all of the type.
type traitLookup struct {
	idx   *index.Index
	typ   string
	notes noteWalk // those that may have such a trait
	has   func(*index.TraitValue) bool
	count func() int // how many there are; nil: that takes going through the notes
}

// most is more than there are, or as many.
func (l traitLookup) most() int {
	if l.count != nil {
		return l.count()
	}
	return l.idx.TraitCount(l.typ)
}

// lookupOf finds the traits that a text stands for: those with exactly this value or, of dates and
// times, those whose day lies in the time that it names (raven.md §6.10). A list has the value if one
// of its elements has it. Without a text it is all of the type.
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
		want = to.ID // as TraitValue tells the elements
	}
	return elements(v.Index, def, func(e any) bool { return index.ValueText(e) == want }), nil
}

// lookupAll finds all traits of a type.
func lookupAll(idx *index.Index, typ string) traitLookup {
	return traitLookup{
		idx: idx, typ: typ,
		notes: func(from string) iter.Seq[*index.Note] { return idx.NotesWithTrait(typ, from) },
		has:   func(s *index.TraitValue) bool { return s.Type == typ },
		count: func() int { return idx.TraitCount(typ) },
	}
}

// lookupTasks finds the lines with checkboxes, all or those of a value. A value that no task has is INVALID_VALUE.
func lookupTasks(idx *index.Index, value string) (traitLookup, error) {
	if _, ok := index.TaskMark(value); value != "" && !ok {
		return traitLookup{}, noTaskValue()
	}
	set := idx.Tasks(value)
	return traitLookup{idx, index.TaskType, set.Notes, set.Has, set.Count}, nil
}

// noTaskValue is the fault of a value that no task has.
func noTaskValue() *fault.Fault {
	return fault.New(fault.InvalidValue, "the value of a task is one of: %s",
		strings.Join(index.TaskValues(), ", ")).With("argument", "value").With("allowed", index.TaskValues())
}

// lookupSet finds the traits of a set.
func lookupSet(idx *index.Index, def *vault.Trait, set index.TraitSet) traitLookup {
	return traitLookup{idx, def.Name, set.Notes, set.Has, set.Count}
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

// elements finds the traits with an element for which a test holds. Of all that say the same it tries
// one.
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

// lookupTime finds the traits of dates or times whose day lies in a time.
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
		if f := mutation.WrongTarget(r.idx, def, read); f != nil {
			r.problems = append(r.problems, f)
		}
	}
	return mutation.ByID(r.idx, def, read)
}

// speaksBare reports whether a trait without a value has one all the same.
func speaksBare(def *vault.Field) bool { return def.Type == "bool" || def.HasDefault }
