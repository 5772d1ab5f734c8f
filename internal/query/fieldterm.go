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

// ofField makes the term of a test of a field.
func (e *evaluator) ofField(b Branch, t *Test) term {
	get, check := e.getter(b, t.Field), e.onField(b, t)
	out := term{most: unknown, price: cheap}
	if t.Op.matchesText() || t.Op.quantifies() {
		out.price = dear
	}
	out.holds = func(i Item) bool { return check(i, get(i)) }
	if b.Kind == Traits && t.Field == "value" {
		return e.ofSaying(b, t, out)
	}
	e.narrow(b, t, &out)
	return out
}

// getter makes the function that returns the value of a field of a thing.
func (e *evaluator) getter(b Branch, name string) func(Item) any {
	d, _ := e.schema.field(b, name)
	switch {
	case b.Kind == Traits && name == "value":
		return func(i Item) any { return e.traitValue(b.Name, i.Trait.TraitValue) }
	case d.get != nil && (b.Kind != Objects || b.Name != Any):
		return func(i Item) any { return d.get(e, i) }
	case d.get != nil: // a type may have a field of its own of that name
		return func(i Item) any {
			if own := e.defOf(i, name); own.get == nil && !own.open {
				return e.schemaValue(i.Object, name)
			}
			return d.get(e, i)
		}
	}
	return func(i Item) any { return e.schemaValue(i.Object, name) }
}

// traitValue is what traits of a type that say something have as their value, with references as they are
// written.
func (e *evaluator) traitValue(typ string, s *index.TraitValue) any {
	def, ok := e.schema.Trait(typ)
	if !ok {
		return s.Value()
	}
	v, _ := def.Typed(s.Value())
	return v
}

// defOf is the field that an object has under a name, by its own type.
func (e *evaluator) defOf(i Item, name string) fieldDef {
	t, ok := e.schema.Type(i.Object.Type())
	if !ok {
		return undeclared
	}
	d, _ := ofType(t, name)
	return d
}

// onField makes the test of the value of a field of a thing. Of objects of every type each is tested by
// the definition of its own type.
func (e *evaluator) onField(b Branch, t *Test) func(Item, any) bool {
	if b.Kind != Objects || b.Name != Any {
		d, _ := e.schema.field(b, t.Field)
		p := e.predicate(t, d)
		where := func(i Item) *index.Note { return i.note() }
		if b.Kind == Traits && t.Field == "value" {
			where = func(Item) *index.Note { return nil } // as its answer tells the value
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

// predicate makes the test of a value, which may be null or a list.
func (e *evaluator) predicate(t *Test, d fieldDef) predicate {
	switch {
	case t.Op == Exists:
		return func(v any, _ *index.Note) bool { return v != nil }
	case t.Op.quantifies():
		return e.quantified(t, d)
	case t.Op == Differs:
		same := e.single(&Test{Op: Equal, Values: t.Values}, d)
		return func(v any, n *index.Note) bool {
			list, isList := v.([]any)
			if !isList {
				return v != nil && !same(v, n)
			}
			return len(list) > 0 && !slices.ContainsFunc(list, func(each any) bool { return each != nil && same(each, n) })
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

// single makes the test of one value that is not null and no list.
func (e *evaluator) single(t *Test, d fieldDef) predicate {
	switch {
	case t.Op.matchesText():
		return e.inText(t, d.class == leads)
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

// quantified makes the test of the elements of a list. A single value of a field that is a list is one of
// one element; any other value is no list.
func (e *evaluator) quantified(t *Test, d fieldDef) predicate {
	one := e.element(t.Parts[0], d)
	return func(v any, n *index.Note) bool {
		list, isList := v.([]any)
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

// element makes the test of an element.
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

// ofSaying makes the term of a test of the values of traits: what traits say alike is tested once, and the
// notes with what passes are known.
func (e *evaluator) ofSaying(b Branch, t *Test, out term) term {
	check, tried := e.onField(b, t), map[*index.TraitValue]bool{}
	out.says = func(s *index.TraitValue) bool {
		holds, known := tried[s]
		if !known {
			holds = check(Item{}, e.traitValue(b.Name, s))
			tried[s] = holds
		}
		return holds
	}
	out.holds = func(i Item) bool { return out.says(i.Trait.TraitValue) }
	if set, ok := e.traitSet(b, t); ok {
		out.most, out.set, out.says = set.Count(), &set, set.Has
		out.notes = func() []*index.Note { return slices.Collect(set.Notes("")) }
	}
	return out
}

// traitSet is the set of the traits of a branch whose value passes a test, if the index has it.
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
		from, to := e.daysAround(t, d)
		return e.Index.TraitsBetween(b.Name, from, to, func(value string) bool {
			if value == "" {
				return false
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

// farZones is how many days apart one instant is in any two zones, at most.
const farZones = 2

// daysAround are texts between which all values are that pass a comparison with a time: dates and instants
// sort as texts do. The empty text is an open end.
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
		return "", "" // a year of five digits does not sort
	}
	return from, to
}

// sampleDate has the length of all dates.
const sampleDate = "2026-03-02"

// narrow gives a term the notes that the index finds by a field.
func (e *evaluator) narrow(b Branch, t *Test, out *term) {
	d, _ := e.schema.field(b, t.Field)
	if t.Op != Equal && (d.class != moment || t.Op == Differs || !t.Op.compares()) {
		return
	}
	switch {
	case d.get != nil && t.Field == "id" && b.Kind != Traits:
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

// manyNotes is the share of the notes from which on it is no use to know those that were modified.
const manyNotes = 32

// sinceTime gives a term the notes that changed after a time, if they are few: nothing in another passes.
func (e *evaluator) sinceTime(t *Test, out *term) {
	x, err := vault.ParseTime(t.Values[0].Text, e.Clock)
	if err != nil || t.Op == Less || t.Op == AtMost || x.From.IsZero() {
		return
	}
	since := x.From
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

// firstNotes are the notes of a sequence, if there are not more than a number.
func firstNotes(all iter.Seq[*index.Note], most int) ([]*index.Note, bool) {
	var few []*index.Note
	for n := range all {
		if few = append(few, n); len(few) > most {
			return nil, false
		}
	}
	return few, true
}

// byPath sorts notes by path, each once.
func byPath(notes []*index.Note) []*index.Note {
	sort.Slice(notes, func(i, j int) bool { return notes[i].Path < notes[j].Path })
	return slices.Compact(notes)
}
