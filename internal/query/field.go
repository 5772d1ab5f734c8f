package query

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A class determines how the values of a field are compared.
type class int

// The classes of fields.
const (
	text class = iota
	numeric
	truth    // true or false
	choice   // one of a list of words
	moment   // a date or a time
	refClass // a reference
)

// A fieldDef is the definition of a field of the items of a branch: how its values are read and
// compared.
//
// The zero value is a text field of the schema.
type fieldDef struct {
	class  class
	list   bool
	open   bool                // not declared by a type: can have any value
	exact  bool                // comparison is case-sensitive
	values []string            // of class choice, in order
	fold   func(string) string // normalizes texts that are compared for equality; nil: folded
	def    *vault.Field
	get    func(*evaluator, Item) any // nil for a field of the schema
}

// schemaField returns the definition of a field of the schema.
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
		d.class = refClass
	}
	return d
}

// undeclared is the definition of a field that no type declares.
var undeclared = fieldDef{open: true}

// builtins returns the fields that items of a kind have independently of the schema.
//
// The caller must not change the map.
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

// ofType returns the definition of a field of objects of a type. A built-in field takes
// precedence, except that a type can declare created and modified. Only pages have undeclared
// fields.
func ofType(t *vault.Type, name string) (fieldDef, bool) {
	def, declared := t.Field(name)
	builtin, known := objectFields[name]
	// A type can declare created and modified of its own.
	if known && (!declared || name != "created" && name != "modified") {
		return builtin, true
	}
	if declared {
		return schemaField(def), true
	}
	return undeclared, t.Name == vault.Page
}

// A schemaFields looks up the fields of the items of a branch.
type schemaFields struct{ *vault.Schema }

// taskTrait is the definition of the traits of checkboxes in a vault whose schema has no trait of
// that name.
var taskTrait = &vault.Trait{Field: vault.Field{Name: index.TaskType, Type: "enum", Values: index.TaskValues()}}

// Trait returns the definition of a trait of the schema, or of checkboxes.
func (s schemaFields) Trait(name string) (*vault.Trait, bool) {
	if t, ok := s.Schema.Trait(name); ok || name != index.TaskType {
		return t, ok
	}
	return taskTrait, true
}

// field returns the definition of a field of the items of a branch; false if there is none. For
// objects of any type, it is that of the first type with the field. For a name that is an argument,
// or that the schema does not define, every field is valid and undeclared: Check reports the name.
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

// ofAny returns the definition of a field from the first type that declares it; false if none
// does.
func (s schemaFields) ofAny(name string) (fieldDef, bool) {
	for _, t := range s.Types {
		if d, ok := ofType(t, name); ok && !d.open && t.Name != vault.Section {
			return d, true
		}
	}
	return undeclared, false
}

// defs returns the definitions of a field of the items of a branch. For objects of any type,
// there is one for each type that declares the field.
//
// It stops at a built-in field, whose definition is the same for all types.
func (s schemaFields) defs(b Branch, name string) []fieldDef {
	if b.Kind != Objects || b.Name != Any {
		d, _ := s.field(b, name)
		return []fieldDef{d}
	}
	var all []fieldDef
	for _, t := range s.Types {
		if d, ok := ofType(t, name); ok && !d.open && t.Name != vault.Section {
			if all = append(all, d); d.get != nil {
				break // a built-in field is the same for all types
			}
		}
	}
	return all
}

// names returns the names of the fields of the items of a branch.
//
// The fields and traits of types come first, in the order of the schema, then the built-in fields,
// sorted by name. For objects of any type, those of all types are sorted too.
func (s schemaFields) names(b Branch) []string {
	var names []string
	for name := range builtins(b.Kind) {
		names = append(names, name)
	}
	slices.Sort(names)
	// value depends on the trait, so it is not a built-in field.
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
