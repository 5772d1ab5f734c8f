package raven

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// valueCondition returns the test of traits for a requested value: traits with exactly this value
// or, for dates and times, those whose day is in the requested time (raven.md §6.10). A list
// matches if one of its elements does.
func valueCondition(v view, def *vault.Trait, text string) (query.Condition, error) {
	if def.IsTime() {
		return timeCondition(v, def, text)
	}
	one := elementOf(def)
	want, err := valueText(one, text, v.Clock)
	if err != nil {
		return query.Condition{}, fault.Of(err).With("argument", "value")
	}
	if one.Type == def.Type {
		return inSet(v.Index.TraitsWith(def.Name, want)), nil
	}
	if to := v.Index.Resolve(want); one.IsRef() && to.ID != "" {
		want = to.ID // TraitValue has the ids of targets
	}
	return withElement(v.Index, def, func(e any) bool { return index.ValueText(e) == want }), nil
}

// taskCondition returns the test of checkboxes for a value. A value that no task has is
// INVALID_VALUE.
func taskCondition(idx *index.Index, value string) (query.Condition, error) {
	if _, ok := index.TaskMark(value); !ok {
		return query.Condition{}, noTaskValue()
	}
	return inSet(idx.Tasks(value)), nil
}

// inSet returns the test that a trait is in a set.
func inSet(set index.TraitSet) query.Condition {
	return query.Condition{Says: set.Has, Notes: set.Notes, Most: set.Count(), Count: set.Count}
}

// noTaskValue returns the fault of a value that a task cannot have.
func noTaskValue() *fault.Fault {
	return fault.New(fault.InvalidValue, "the value of a task is one of: %s",
		strings.Join(index.TaskValues(), ", ")).With("argument", "value").With("allowed", index.TaskValues())
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

// withElement returns the test that a trait has a list with an element for which holds returns
// true. It tests equal values only once.
func withElement(idx *index.Index, def *vault.Trait, holds func(any) bool) query.Condition {
	tried := map[*index.TraitValue]bool{}
	return query.Condition{Says: func(s *index.TraitValue) bool {
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
	}}
}

// timeCondition returns the test of dates and times whose day is in a period.
func timeCondition(v view, def *vault.Trait, text string) (query.Condition, error) {
	i, err := vault.ParseTime(text, v.Clock)
	if err != nil {
		return query.Condition{}, fault.Of(err).With("argument", "value")
	}
	zone := state.Local(v.Clock).Location()
	covered := func(value any) bool {
		day, ok := vault.DayOf(value)
		return ok && i.Covers(day, zone)
	}
	if strings.HasSuffix(def.Type, "[]") {
		return withElement(v.Index, def, covered), nil
	}
	from, to := daysOf(i, zone)
	return inSet(v.Index.TraitsBetween(def.Name, from, to, func(value string) bool { return covered(value) })), nil
}

// afterDay, appended to a day, sorts after all times of that day.
const afterDay = "~"

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
		to = from + afterDay
	case !i.To.IsZero():
		to = string(vault.DateOf(i.To.In(zone).Add(-time.Nanosecond))) + afterDay
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
	case read == nil && !allowsNoValue(def):
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

// allowsNoValue reports whether a trait has a meaning without a written value.
func allowsNoValue(def *vault.Field) bool { return def.Type == "bool" || def.HasDefault }
