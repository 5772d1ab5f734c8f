package vault

import (
	"maps"
	"reflect"
	"slices"
)

// Definitions returns the parts of a schema that can change independently, by name: `types.person`,
// `types.person.fields.email`, `types.person.traits.due`, `traits.due`, `templates.short`. Each
// value is a JSON object; that of a type excludes its fields and traits. Attributes that the file
// does not set are omitted, so that two schemas which differ only in formatting have equal
// definitions.
func (s *Schema) Definitions() map[string]any {
	all := map[string]any{}
	for _, t := range s.Types {
		t.define("types."+t.Name, all)
	}
	for _, t := range s.Traits {
		all["traits."+t.Name] = t.definition(t.Written)
	}
	for _, t := range s.Templates {
		one := map[string]any{"file": t.File}
		put(one, "description", t.Description, t.Description != "")
		all["templates."+t.ID] = one
	}
	return all
}

// define adds the definitions of a type under the name `at`. A built-in type without declarations
// of its own is omitted.
func (t *Type) define(at string, all map[string]any) {
	one := map[string]any{}
	put(one, "description", t.Description, t.Description != "")
	put(one, "default_path", t.DefaultPath, t.DefaultPath != "")
	put(one, "name_field", t.nameField, t.nameField != "")
	put(one, "templates", t.Templates, len(t.Templates) > 0)
	put(one, "default_template", t.DefaultTemplate, t.DefaultTemplate != "")
	put(one, "template", t.Template, t.Template != "")
	if !t.Builtin || len(one) > 0 {
		all[at] = one
	}
	for _, f := range t.Fields {
		all[at+".fields."+f.Name] = f.definition(f.Type)
	}
	for _, u := range t.Traits {
		use := map[string]any{"required": u.Required}
		put(use, "default", u.Default, u.HasDefault)
		all[at+".traits."+u.Name] = use
	}
}

// definition returns the definition of a field or a trait. written is its type as the file spells
// it.
func (f *Field) definition(written string) map[string]any {
	one := map[string]any{"type": written}
	put(one, "required", true, f.Required)
	put(one, "default", f.Default, f.HasDefault)
	put(one, "values", f.Values, len(f.Values) > 0)
	put(one, "target", f.Target, f.Target != "")
	if f.Min != nil {
		one["min"] = *f.Min
	}
	if f.Max != nil {
		one["max"] = *f.Max
	}
	put(one, "description", f.Description, f.Description != "")
	return one
}

// put sets a key if said is true.
func put(m map[string]any, key string, value any, said bool) {
	if said {
		m[key] = value
	}
}

// A SchemaChange is the old and the new definition of a part of a schema, as Definitions returns
// it; nil where there is none: a nil Old is an addition, and a nil New a removal.
type SchemaChange struct{ Old, New any }

// SchemaChanges returns the differences between two schema.yaml texts, by the names of Definitions.
// It returns false if one of them is invalid.
func SchemaChanges(old, now []byte) (map[string]SchemaChange, bool) {
	was, err := ParseSchema(old)
	if err != nil {
		return nil, false
	}
	is, err := ParseSchema(now)
	if err != nil {
		return nil, false
	}
	return was.ChangesTo(is), true
}

// ChangesTo returns the differences between two schemas, by the names of Definitions. The map is
// empty if there are none. The order of types and fields does not count.
func (s *Schema) ChangesTo(next *Schema) map[string]SchemaChange {
	was, is := s.Definitions(), next.Definitions()
	changes := map[string]SchemaChange{}
	names := slices.Collect(maps.Keys(was))
	for _, name := range slices.AppendSeq(names, maps.Keys(is)) {
		if !reflect.DeepEqual(was[name], is[name]) {
			changes[name] = SchemaChange{was[name], is[name]}
		}
	}
	return changes
}
