package query

import (
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// ofField returns the term of a test of a field.
//
// A test of a field whose value is missing does not pass, except a negated one.
func (e *evaluator) ofField(b Branch, t *Test) term {
	get, check := e.getter(b, t.Field), e.onField(b, t)
	out := term{most: unknown, cost: cheap}
	if t.Op.matchesText() || t.Op.quantifies() {
		out.cost = expensive
	}
	out.holds = func(i Item) bool { return check(i, get(i)) }
	if b.Kind == Traits && t.Field == "value" {
		return e.traitValueTerm(b, t, out)
	}
	e.narrow(b, t, &out)
	return out
}

// getter returns a function that returns the value of a field of an item; nil if the item has
// none.
//
// For objects of any type, a field that the object's own type declares takes precedence over the
// built-in one.
func (e *evaluator) getter(b Branch, name string) func(Item) any {
	d, _ := e.schema.field(b, name)
	switch {
	case b.Kind == Traits && name == "value":
		return func(i Item) any { return e.traitValue(b.Name, i.Trait.TraitValue) }
	case d.get != nil && (b.Kind != Objects || b.Name != Any):
		return func(i Item) any { return d.get(e, i) }
	case d.get != nil: // a type can declare a field with the same name
		return func(i Item) any {
			if own := e.defOf(i, name); own.get == nil && !own.open {
				return e.schemaValue(i.Object, name)
			}
			return d.get(e, i)
		}
	}
	return func(i Item) any { return e.schemaValue(i.Object, name) }
}

// traitValue returns the value of traits of a type, converted to the type that the schema
// declares. References stay as written.
func (e *evaluator) traitValue(typ string, s *index.TraitValue) any {
	def, ok := e.schema.Trait(typ)
	if !ok {
		return s.Value()
	}
	v, _ := def.Typed(s.Value())
	return v
}

// defOf returns the definition of a field by the type of an object.
func (e *evaluator) defOf(i Item, name string) fieldDef {
	t, ok := e.schema.Type(i.Object.Type())
	if !ok {
		return undeclared
	}
	d, _ := ofType(t, name)
	return d
}

// onField returns the test of the value of a field of an item. Objects of any type are tested by
// the definition of their own type, because types can define a field differently. The predicates of
// the types are compiled when they are first needed.
func (e *evaluator) onField(b Branch, t *Test) func(Item, any) bool {
	if b.Kind != Objects || b.Name != Any {
		d, _ := e.schema.field(b, t.Field)
		p := e.predicate(t, d)
		where := func(i Item) *index.Note { return i.note() }
		if b.Kind == Traits && t.Field == "value" {
			where = func(Item) *index.Note { return nil } // references do not depend on it
		}
		return func(i Item, v any) bool { return p(v, where(i)) }
	}
	byType := map[string]predicate{}
	return func(i Item, v any) bool {
		typ := i.Object.Type()
		p, known := byType[typ]
		if !known {
			p = e.predicate(t, e.defOf(i, t.Field))
			byType[typ] = p
		}
		return p(v, i.note())
	}
}

// predicate returns the test of a value that can be nil or a list. A list passes if an element
// does, except for !=, where all elements must differ.
//
// For nil, no operation passes, not even !=. For !exists(.field), Not negates the result, so it
// passes.
func (e *evaluator) predicate(t *Test, d fieldDef) predicate {
	switch {
	case t.Op == Exists:
		return func(v any, _ *index.Note) bool { return v != nil }
	case t.Op.quantifies():
		return e.quantified(t, d)
	case t.Op == Differs:
		// A value that is nil does not differ: it passes neither == nor !=.
		same := e.single(&Test{Op: Equal, Values: t.Values}, d)
		return func(v any, n *index.Note) bool {
			list, isList := v.([]any)
			if !isList {
				return v != nil && !same(v, n)
			}
			return len(list) > 0 &&
				!slices.ContainsFunc(list, func(each any) bool { return each != nil && same(each, n) })
		}
	}
	one := e.single(t, d)
	return func(v any, n *index.Note) bool {
		list, isList := v.([]any)
		if !isList {
			return v != nil && one(v, n)
		}
		return slices.ContainsFunc(list, func(each any) bool { return each != nil && one(each, n) })
	}
}

// single returns the test of a value that is neither nil nor a list.
func (e *evaluator) single(t *Test, d fieldDef) predicate {
	switch {
	case t.Op.matchesText():
		return e.inText(t, d.class == refClass)
	case t.Op == OneOf:
		var each []predicate
		for _, v := range t.Values {
			each = append(each, e.compare(Equal, e.literal(v, d), d))
		}
		return func(v any, n *index.Note) bool {
			return slices.ContainsFunc(each, func(p predicate) bool { return p(v, n) })
		}
	}
	return e.compare(t.Op, e.literal(t.Values[0], d), d)
}

// quantified returns the test of the elements of a list. A single value of a list field counts as
// a list of one element; other values that are not lists fail.
func (e *evaluator) quantified(t *Test, d fieldDef) predicate {
	one := e.element(t.Parts[0], d)
	return func(v any, n *index.Note) bool {
		list, isList := v.([]any)
		// In YAML, a list of one element is often written without brackets.
		if !isList && d.list && v != nil {
			list, isList = []any{v}, true
		}
		passes := func(each any) bool { return one(each, n) }
		switch {
		case !isList:
			return false
		case t.Op == AllOf:
			return !slices.ContainsFunc(list, func(each any) bool { return !passes(each) })
		}
		return slices.ContainsFunc(list, passes) == (t.Op == AnyOf)
	}
}

// element returns the test of an element. Elements that are nil or lists fail a comparison, but can
// pass its negation.
func (e *evaluator) element(t *Test, d fieldDef) predicate {
	var parts []predicate
	for _, part := range t.Parts {
		parts = append(parts, e.element(part, d))
	}
	switch t.Op {
	case And:
		return func(v any, n *index.Note) bool {
			return !slices.ContainsFunc(parts, func(p predicate) bool { return !p(v, n) })
		}
	case Or:
		return func(v any, n *index.Note) bool {
			return slices.ContainsFunc(parts, func(p predicate) bool { return p(v, n) })
		}
	case Not:
		return func(v any, n *index.Note) bool { return !parts[0](v, n) }
	}
	one := e.single(t, d)
	return func(v any, n *index.Note) bool {
		_, isList := v.([]any)
		return v != nil && !isList && one(v, n)
	}
}

// traitValueTerm sets the functions of a term that tests the values of traits. Traits with the same
// value are tested once. If the index has the set of traits that pass, the notes of the term are
// known.
func (e *evaluator) traitValueTerm(b Branch, t *Test, out term) term {
	check, tried := e.onField(b, t), map[*index.TraitValue]bool{}
	out.passesValue = func(s *index.TraitValue) bool {
		holds, known := tried[s]
		if !known {
			holds = check(Item{}, e.traitValue(b.Name, s))
			tried[s] = holds
		}
		return holds
	}
	out.holds = func(i Item) bool { return out.passesValue(i.Trait.TraitValue) }
	if set, ok := e.traitSet(b, t); ok {
		out.most, out.count, out.passesValue = set.Count(), set.Count, set.Has
		out.walk = set.Notes
		out.notes = func() []*index.Note { return slices.Collect(set.Notes("")) }
	}
	return out
}

// traitSet returns the set of the traits of a branch whose value passes a test; false if the index
// does not have it.
//
// The index has each distinct value of a trait once. Values other than references are tested one by
// one, which takes time in proportion to their number and not to that of the traits. For
// references, only == has a set. Lists, functions and values of another kind than the trait have
// none.
func (e *evaluator) traitSet(b Branch, t *Test) (index.TraitSet, bool) {
	def, ok := e.schema.Trait(b.Name)
	if !ok || strings.HasSuffix(def.Type, "[]") || t.Op.matchesText() || t.Op == Exists || t.Op.quantifies() {
		return index.TraitSet{}, false
	}
	if slices.ContainsFunc(t.Values, func(v Value) bool { return v.Ref }) && def.Type != "ref" {
		return index.TraitSet{}, false
	}
	if def.Type != "ref" {
		d := schemaField(&def.Field)
		p := e.predicate(t, d)
		if def == taskTrait {
			return e.taskSet(p)
		}
		from, to := e.daysAround(t, d)
		sure := e.daysWithin(t, d)
		return e.Index.TraitsBetween(b.Name, from, to, func(value string) bool {
			switch {
			case value == "":
				return false
			case sure.has(value):
				return true
			}
			v, _ := def.Typed(value)
			return p(v, nil)
		}), true
	}
	if t.Op != Equal {
		return index.TraitSet{}, false
	}
	id := e.Index.ResolveArg(t.Values[0].Text, e.Clock).ID
	return e.Index.TraitsWith(b.Name, id), id != ""
}

// taskSet returns the set of the checkboxes whose value passes a test; false if the index does not
// have it: it has one for each value, and one for all.
func (e *evaluator) taskSet(p predicate) (index.TraitSet, bool) {
	var pass []string
	for _, value := range index.TaskValues() {
		if p(value, nil) {
			pass = append(pass, value)
		}
	}
	switch len(pass) {
	case 1:
		return e.Index.Tasks(pass[0]), true
	case len(index.TaskValues()):
		return e.Index.Tasks(""), true
	}
	return index.TraitSet{}, false
}

// farZones is the maximum number of days between the dates of one instant in two time zones.
const farZones = 2

// daysAround returns bounds of the texts of all values that pass a comparison with a time. Dates
// and times sort like their texts. "" is an open bound.
//
// The bounds include a margin of farZones, because values can be in other time zones.
func (e *evaluator) daysAround(t *Test, d fieldDef) (from, to string) {
	if d.class != moment || !t.Op.compares() || t.Op == Differs {
		return "", ""
	}
	x, err := vault.ParseTime(t.Values[0].Text, e.Clock)
	if err != nil {
		return "", ""
	}
	if !x.From.IsZero() && t.Op != Less && t.Op != AtMost {
		from = string(vault.DateOf(x.From.In(e.zone)).Add(-farZones))
	}
	if !x.To.IsZero() && t.Op != More && t.Op != AtLeast {
		to = string(vault.DateOf(x.To.In(e.zone)).Add(farZones + 1))
	}
	if len(from) > len(sampleDate) || len(to) > len(sampleDate) {
		return "", "" // years of five digits do not sort as texts
	}
	return from, to
}

// A dayRange is the days from one on, up to but not including another, as texts. An empty from or to
// leaves that end open. The zero value has no days.
type dayRange struct {
	from, to string
	known    bool
}

// daysWithin returns days that all pass a comparison with a time. Others can pass too.
func (e *evaluator) daysWithin(t *Test, d fieldDef) (r dayRange) {
	if d.class != moment || !t.Op.compares() || t.Op == Differs {
		return r
	}
	x, err := vault.ParseTime(t.Values[0].Text, e.Clock)
	if err != nil {
		return r
	}
	from, to := x.From, x.To
	switch t.Op {
	case Less:
		from, to = time.Time{}, x.From
	case AtMost:
		from = time.Time{}
	case More:
		from, to = x.To, time.Time{}
	case AtLeast:
		to = time.Time{}
	}
	// The day of a bound is only partly on its side.
	if !from.IsZero() {
		r.from = string(vault.DateOf(from.In(e.zone)).Add(1))
	}
	if !to.IsZero() {
		r.to = string(vault.DateOf(to.In(e.zone)))
	}
	// Check refuses a comparison without any bound.
	r.known = r.from+r.to != "" && max(len(r.from), len(r.to)) <= len(sampleDate)
	return r
}

// has reports whether a text is a day of the range, except for the last days of months, which it
// does not know.
func (r dayRange) has(text string) bool {
	return r.known && text >= r.from && (r.to == "" || text < r.to) && isEarlyDay(text)
}

// isEarlyDay reports whether a text is a date up to the 28th of a month.
func isEarlyDay(s string) bool {
	if len(s) != len(sampleDate) {
		return false
	}
	for i := range len(s) {
		if i == 4 || i == 7 {
			if s[i] != '-' {
				return false
			}
		} else if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	month, day := s[5:7], s[8:]
	return "01" <= month && month <= "12" && "01" <= day && day <= "28"
}

// sampleDate has the length of every date.
const sampleDate = "2026-03-02"

// narrow restricts a term to notes that the index finds by the value of a field.
//
// The term still tests each item of these notes: narrowing only saves visits.
func (e *evaluator) narrow(b Branch, t *Test, out *term) {
	d, _ := e.schema.field(b, t.Field)
	// Other operators exclude too few notes, except comparisons of times.
	if t.Op != Equal && (d.class != moment || t.Op == Differs || !t.Op.compares()) {
		return
	}
	switch {
	case d.get != nil && t.Field == "id" && b.Kind != Traits:
		// Ids are compared without case, so several notes can match.
		id, _, _ := strings.Cut(t.Values[0].Text, "#")
		notes := e.Index.NotesFolded(id + ".md")
		out.most, out.notes = len(notes), func() []*index.Note { return notes }
	case d.get != nil && t.Field == "tags" && !t.Values[0].Ref:
		tag := t.Values[0].Text
		out.most = e.Index.TagCount(tag)
		out.notes = func() []*index.Note {
			var notes []*index.Note
			for found := range e.Index.Tagged(tag, "") {
				notes = append(notes, found.Note)
			}
			return notes
		}
	case d.get != nil && d.class == moment:
		e.sinceTime(t, out)
	}
}

// manyNotes is the divisor of the number of notes: sinceTime is used only if at most 1/manyNotes
// of the notes changed.
const manyNotes = 32

// sinceTime restricts a term to the notes that were modified after a time, if they are few. Items
// in other notes cannot pass: nothing in a note is created or modified after the note itself.
func (e *evaluator) sinceTime(t *Test, out *term) {
	x, err := vault.ParseTime(t.Values[0].Text, e.Clock)
	if err != nil || t.Op == Less || t.Op == AtMost || x.From.IsZero() {
		return
	}
	since := x.From
	// An interval is compared with days, so begin with the whole first day.
	if !x.Instant() {
		since = vault.DateOf(since.In(e.zone)).Start(e.zone)
	}
	few, ok := firstNotes(e.Index.Modified(since, time.Time{}), e.Index.Totals().Notes/manyNotes)
	if !ok {
		return
	}
	notes := byPath(few)
	out.most, out.notes = len(notes), func() []*index.Note { return notes }
}

// firstNotes returns the notes of a sequence; false if there are more than most.
func firstNotes(all iter.Seq[*index.Note], most int) ([]*index.Note, bool) {
	var few []*index.Note
	for n := range all {
		if few = append(few, n); len(few) > most {
			return nil, false
		}
	}
	return few, true
}

// byPath sorts notes by path and removes duplicates, in place.
func byPath(notes []*index.Note) []*index.Note {
	sort.Slice(notes, func(i, j int) bool { return notes[i].Path < notes[j].Path })
	return slices.Compact(notes)
}
