package query

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A class says how the values of a field are compared.
type class int

// The classes of values.
const (
	text class = iota
	numeric
	truth  // true or false
	choice // one of some words
	moment // a day or a time
	leads  // a reference
)

// A fieldDef is what is known of a field of a root.
type fieldDef struct {
	class  class
	list   bool
	open   bool                // no type declares it: it may have any value
	exact  bool                // the case of letters counts
	values []string            // of a choice
	fold   func(string) string // the form in which texts are equal; nil: folded
	def    *vault.Field
	get    func(*evaluator, Item) any // nil: it is a field of the schema
}

// schemaField is the definition of a field of the schema.
func schemaField(def *vault.Field) fieldDef {
	d := fieldDef{def: def, list: strings.HasSuffix(def.Type, "[]"), values: def.Values}
	switch strings.TrimSuffix(def.Type, "[]") {
	case "number":
		d.class = numeric
	case "bool":
		d.class = truth
	case "enum":
		d.class = choice
	case "date", "datetime":
		d.class = moment
	case "ref":
		d.class = leads
	}
	return d
}

// undeclared is a field that no type declares.
var undeclared = fieldDef{open: true}

// builtins are the fields that things of a kind have, whatever the schema says of them.
func builtins(k Kind) map[string]fieldDef {
	switch k {
	case Sections:
		return sectionFields
	case Traits:
		return traitFields
	case Links:
		return linkFields
	}
	return objectFields
}

// ofType is the field that objects of a type have under a name.
func ofType(t *vault.Type, name string) (fieldDef, bool) {
	def, declared := t.Field(name)
	builtin, known := objectFields[name]
	if known && (!declared || name != "created" && name != "modified") {
		return builtin, true
	}
	if declared {
		return schemaField(def), true
	}
	return undeclared, t.Name == vault.Page
}

// A schemaFields finds the fields of roots.
type schemaFields struct{ *vault.Schema }

// field is the field that things of a branch have under a name. Of objects of every type it is that of the
// first type that has it.
func (s schemaFields) field(b Branch, name string) (fieldDef, bool) {
	switch {
	case hasArgument(b.Name):
		return undeclared, true
	case b.Kind == Traits && name == "value":
		t, ok := s.Trait(b.Name)
		if !ok {
			return undeclared, true
		}
		return schemaField(&t.Field), true
	case b.Kind != Objects:
		d, ok := builtins(b.Kind)[name]
		return d, ok
	case b.Name == Any:
		return s.ofAny(name)
	}
	t, ok := s.Type(b.Name)
	if !ok {
		return undeclared, true
	}
	return ofType(t, name)
}

// ofAny is the field that some type has under a name.
func (s schemaFields) ofAny(name string) (fieldDef, bool) {
	for _, t := range s.Types {
		if d, ok := ofType(t, name); ok && !d.open && t.Name != vault.Section {
			return d, true
		}
	}
	return undeclared, false
}

// defs are the definitions that a field of a branch has: of objects of every type, one of each type that
// declares it.
func (s schemaFields) defs(b Branch, name string) []fieldDef {
	if b.Kind != Objects || b.Name != Any {
		d, _ := s.field(b, name)
		return []fieldDef{d}
	}
	var all []fieldDef
	for _, t := range s.Types {
		if d, ok := ofType(t, name); ok && !d.open && t.Name != vault.Section {
			if all = append(all, d); d.get != nil {
				break // it is the same for all
			}
		}
	}
	return all
}

// names are the fields that things of a branch have.
func (s schemaFields) names(b Branch) []string {
	var names []string
	for name := range builtins(b.Kind) {
		names = append(names, name)
	}
	slices.Sort(names)
	if b.Kind == Traits {
		return append([]string{"value"}, names...)
	}
	if b.Kind != Objects {
		return names
	}
	var own []string
	for _, t := range s.Types {
		if (b.Name == Any || t.Name == b.Name) && t.Name != vault.Section {
			own = append(own, slices.Concat(t.FieldNames(), t.TraitNames())...)
		}
	}
	if b.Name == Any {
		slices.Sort(own)
		own = slices.Compact(own)
	}
	return slices.Concat(own, names)
}
