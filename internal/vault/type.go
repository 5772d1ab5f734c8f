package vault

import "slices"

// Field returns the field with this name. The traits of the type count as fields: notes may have
// them in their frontmatter. The result of a trait is a new copy.
func (t *Type) Field(name string) (*Field, bool) {
	if f, ok := t.fields[name]; ok {
		return f, true
	}
	if u, ok := t.uses[name]; ok && u.Trait != nil {
		return u.field(), true
	}
	return nil, false
}

// index builds the lookup tables of fields. It must be called after the last change.
func (t *Type) index() {
	t.fields = make(map[string]*Field, len(t.Fields))
	t.uses = make(map[string]*TraitUse, len(t.Traits))
	for _, f := range slices.Backward(t.Fields) { // the first of two with the same name wins
		t.fields[f.Name] = f
	}
	for _, u := range slices.Backward(t.Traits) {
		t.uses[u.Name] = u
	}
}

// field returns the trait as a field of the type that uses it, with the required and default
// attributes of the use. The schema must declare the trait. The result is a copy.
func (u *TraitUse) field() *Field {
	f := u.Trait.Field
	f.Required = u.Required
	if u.HasDefault {
		f.Default, f.HasDefault = u.Default, true
	}
	return &f
}

// all returns the fields of the type, followed by its traits as fields.
func (t *Type) all() []*Field {
	fields := append([]*Field(nil), t.Fields...)
	for _, u := range t.Traits {
		if u.Trait != nil {
			fields = append(fields, u.field())
		}
	}
	return fields
}

// FieldNames returns the names of the fields in the order of the schema, without traits.
func (t *Type) FieldNames() []string {
	names := []string{}
	for _, f := range t.Fields {
		names = append(names, f.Name)
	}
	return names
}

// TraitNames returns the names of the type's traits in the order of the schema.
func (t *Type) TraitNames() []string {
	names := []string{}
	for _, u := range t.Traits {
		names = append(names, u.Name)
	}
	return names
}

// RequiredFields returns the names of the required fields in the order of the schema, without
// traits.
func (t *Type) RequiredFields() []string {
	names := []string{}
	for _, f := range t.Fields {
		if f.Required {
			names = append(names, f.Name)
		}
	}
	return names
}

// NameField returns the field that contains the name of an object: the one that the schema
// specifies, else `name` or `title` if it is a text, in this order. It returns "" if there is none.
func (t *Type) NameField() string {
	if t.nameField != "" {
		return t.nameField
	}
	for _, name := range []string{"name", "title"} {
		for _, f := range t.Fields {
			if f.Name == name && f.Type == "string" {
				return name
			}
		}
	}
	return ""
}
