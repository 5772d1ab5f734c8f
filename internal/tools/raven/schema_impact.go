package raven

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxConcerned is the maximum number of places that a fault about a change of the schema lists.
const maxConcerned = 200

// inUse returns the fault of a change of the schema that would break parts of the vault. problems
// has one fault for each place.
func inUse(problems []*fault.Fault, why string) *fault.Fault {
	f := fault.New(fault.ValidationFailed, "%s: %s", why, mutation.Count(len(problems), "place")).
		With("total", len(problems))
	if len(problems) > maxConcerned {
		f.Message += fmt.Sprintf("; the first %d are listed", maxConcerned)
	}
	f.Errors = firstOf(problems, maxConcerned)
	return f
}

// impact returns a fault for each place in the vault that is valid now and would be invalid with
// the schema `is`: values that a field or trait would not accept, missing required fields, and
// fields that a type would lose with a trait.
//
// Only definitions that became narrower are examined, and of these only the objects or traits that
// they apply to. A place that is invalid already is not counted: the change does not break it.
func (e *schemaEdit) impact(idx *index.Index, is *vault.Schema, c vault.Clock) []*fault.Fault {
	var problems []*fault.Fault
	for _, t := range is.Types {
		if was, ok := e.was.Type(t.Name); ok {
			problems = append(problems, typeImpact(idx, was, t, c)...)
		}
	}
	for _, t := range is.Traits {
		if was, ok := e.was.Trait(t.Name); ok && narrows(&was.Field, &t.Field) {
			problems = append(problems, traitImpact(idx, was, t, c)...)
		}
	}
	return problems
}

// narrows reports whether the definition `is` could reject values that `was` accepts. It may return
// true for a change that rejects nothing; the values are then read and accepted.
func narrows(was, is *vault.Field) bool {
	return was.Type != is.Type || !reflect.DeepEqual(was.Values, is.Values) ||
		!reflect.DeepEqual(was.Min, is.Min) || !reflect.DeepEqual(was.Max, is.Max)
}

// typeImpact returns the impact of a changed type.
//
// A field that becomes required, or loses its default, breaks objects without it. A trait that the
// type loses leaves its field undeclared.
func typeImpact(idx *index.Index, was, is *vault.Type, c vault.Clock) []*fault.Fault {
	var required []*vault.Field
	values := map[string][2]*vault.Field{}
	gone := map[string]bool{}
	for _, name := range append(is.FieldNames(), is.TraitNames()...) {
		f, ok := is.Field(name)
		if !ok {
			continue
		}
		old, had := was.Field(name)
		if f.Required && !f.HasDefault && (!had || !old.Required || old.HasDefault) {
			required = append(required, f)
		}
		if had && narrows(old, f) && fieldIn(is, name) {
			values[name] = [2]*vault.Field{old, f}
		}
	}
	for _, name := range was.TraitNames() {
		_, stays := is.Field(name)
		gone[name] = !stays && hasTrait(was, name) && !hasTrait(is, name)
		if !gone[name] {
			delete(gone, name)
		}
	}
	if len(required)+len(values)+len(gone) == 0 {
		return nil
	}
	var problems []*fault.Fault
	for o := range idx.Objects(is.Name, index.Location{}) {
		problems = append(problems, objectImpact(o, required, values, gone, c)...)
	}
	return problems
}

// fieldIn reports whether the type itself defines a field.
func fieldIn(t *vault.Type, name string) bool {
	return slices.ContainsFunc(t.Fields, func(f *vault.Field) bool { return f.Name == name })
}

// hasTrait reports whether a type has a trait that the schema defines.
func hasTrait(t *vault.Type, name string) bool {
	for _, u := range t.Traits {
		if u.Name == name {
			return u.Trait != nil
		}
	}
	return false
}

// objectImpact returns the impact on one object. required are the newly required fields, values the
// old and new definitions of changed fields, and gone the fields that the type loses.
func objectImpact(
	o index.Object, required []*vault.Field, values map[string][2]*vault.Field, gone map[string]bool, c vault.Clock,
) []*fault.Fault {
	var problems []*fault.Fault
	place := func(f *fault.Fault, line int) {
		problems = append(problems, f.With("id", o.ID()).At(o.Note.Path, max(line, 1)))
	}
	for _, f := range required {
		if _, has := o.Field(f.Name); !has {
			missing := fault.New(fault.MissingRequired, "%s has no %s", o.ID(), f.Name).With("field", f.Name)
			place(missing, o.Location().Line)
		}
	}
	for _, field := range o.Fields() {
		if gone[field.Name] {
			place(fault.New(fault.InvalidField, "%s has the field %s", o.ID(), field.Name).
				With("field", field.Name), field.Line)
		}
		both, ok := values[field.Name]
		if !ok {
			continue
		}
		// An invalid value is not broken by the change.
		if _, err := both[0].Read(field.Value, c); err != nil {
			continue
		}
		if _, err := both[1].Read(field.Value, c); err != nil {
			place(fault.Of(err), field.Line)
		}
	}
	return problems
}

// traitImpact returns the impact of a changed trait.
func traitImpact(idx *index.Index, was, is *vault.Trait, c vault.Clock) []*fault.Fault {
	var problems []*fault.Fault
	for t := range idx.Traits(is.Name, index.Location{}) {
		if t.Raw == "" && !t.Field {
			continue
		}
		// An invalid value is not broken by the change.
		if _, err := was.Read(t.Value(), c); err != nil {
			continue
		}
		if _, err := is.Read(t.Value(), c); err != nil {
			problems = append(problems, fault.Of(err).With("id", t.ID).At(t.Note.Path, t.Line()))
		}
	}
	return problems
}

// removable returns a fault if the field is required, or is the name field of a type with objects.
func (e *schemaEdit) removable(idx *index.Index) error {
	if e.item.Kind != kindField {
		return nil
	}
	t, _ := e.was.Type(e.item.Type)
	f := fieldNamed(e.was, e.item.Type, e.item.Name)
	problem := fault.New(fault.ValidationFailed, "the field is required; make it optional first")
	switch {
	case f.Required:
		return problem.With("field", f.Name).Try("raven_schema_update", fault.Args{
			"kind": kindField, "type": t.Name, "name": f.Name, "required": false,
		})
	case t.NameField() == f.Name && idx.Count(t.Name) > 0:
		problem.Message = "the field is the name field of a type that has objects"
		return problem.With("field", f.Name).With("total", idx.Count(t.Name)).
			Fix("give the type another name_field first")
	}
	return nil
}

// users returns a fault for each use of the type, trait or field in the vault and in the rest of
// the schema.
//
// The list is complete, whatever its length; inUse shortens it for the answer.
func (e *schemaEdit) users(idx *index.Index) []*fault.Fault {
	var all []*fault.Fault
	name := e.item.Name
	inSchema := func(code fault.Code, where string) {
		all = append(all, fault.New(code, "%s uses it", where).With("where", where).At(vault.SchemaFile, 0))
	}
	switch e.item.Kind {
	case kindType:
		for _, where := range targetsOf(e.was, name) {
			inSchema(fault.InvalidType, where)
		}
		for o := range idx.Objects(name, index.Location{}) {
			all = append(all, fault.New(fault.InvalidType, "%s has the type", o.ID()).With("id", o.ID()).
				At(o.Note.Path, max(o.Location().Line, 1)))
		}
	case kindTrait:
		for _, owner := range e.was.UsedBy(name) {
			inSchema(fault.InvalidTrait, "types."+owner+".traits")
		}
		for t := range idx.Traits(name, index.Location{}) {
			all = append(all, fault.New(fault.InvalidTrait, "%s has the trait", t.ID).With("id", t.ID).
				At(t.Note.Path, t.Line()))
		}
	default:
		for o := range idx.Objects(e.item.Type, index.Location{}) {
			if f, has := o.Field(name); has {
				all = append(all, fault.New(fault.InvalidField, "%s has the field", o.ID()).With("id", o.ID()).
					At(o.Note.Path, max(f.Line, 1)))
			}
		}
	}
	return all
}

// targetsOf returns the keys of the fields and traits that refer to a type, without those of the
// type itself.
func targetsOf(s *vault.Schema, name string) []string {
	var all []string
	for _, t := range s.Types {
		for _, f := range t.Fields {
			if f.Target == name && t.Name != name {
				all = append(all, "types."+t.Name+".fields."+f.Name)
			}
		}
	}
	for _, t := range s.Traits {
		if t.Target == name {
			all = append(all, "traits."+t.Name)
		}
	}
	return all
}

// removalEffects returns sentences about the effects of a removal on its users. It must be called
// before the edit, on the schema and the index that still have the definition.
func (e *schemaEdit) removalEffects(idx *index.Index) []string {
	effects := []string{}
	add := func(n int, what, one, many string) {
		if n > 0 {
			effects = append(effects, mutation.Count(n, what)+" "+mutation.Plural(n, one, many))
		}
	}
	name := e.item.Name
	switch e.item.Kind {
	case kindType:
		add(idx.Count(name), "object", "becomes a page; its text is kept", "become pages; their texts are kept")
		add(len(targetsOf(e.was, name)), "reference field", "accepts any type", "accept any type")
	case kindTrait:
		add(idx.TraitCount(name), "annotation", "becomes plain text", "become plain text")
		add(len(e.was.UsedBy(name)), "type", "loses the trait", "lose the trait")
	default:
		add(len(e.users(idx)), "object", "keeps the key as an unknown field", "keep the key as an unknown field")
	}
	return effects
}

// additionEffects returns sentences about existing text in the vault that a new type or trait
// applies to. It visits only the notes with such text.
func (e *schemaEdit) additionEffects(idx *index.Index) []string {
	effects, n := []string{}, 0
	switch name := e.item.Name; e.item.Kind {
	case kindType:
		for note := range idx.Declaring(name, "") {
			if note.DeclaredType == name {
				n++
			}
			for i := range note.Sections {
				if note.Sections[i].DeclaredType() == name {
					n++
				}
			}
		}
		if n > 0 {
			effects = append(effects, mutation.Count(n, "object")+" that "+mutation.Plural(n, "says", "say")+
				" this type "+mutation.Plural(n, "is", "are")+" of it")
		}
	case kindTrait:
		for note := range idx.NotesWithTrait(name, "") {
			for _, t := range note.EachAnnotation {
				if t.Type == name && !t.Field {
					n++
				}
			}
		}
		if n > 0 {
			effects = append(effects, mutation.Count(n, "annotation")+" "+
				mutation.Plural(n, "is a trait", "are traits")+" now: "+strings.TrimSpace("@"+name))
		}
	}
	return effects
}
