package vault

import "slices"

// Field finds a field of the type. A trait of the type is one too: its notes may hold it in their
// frontmatter.
func (t *Type) Field(name string) (*Field, bool) {
	if f, ok := t.fields[name]; ok {
		return f, true
	}
	if u, ok := t.uses[name]; ok && u.Trait != nil {
		return u.field(), true
	}
	return nil, false
}

// index makes what look-ups of fields need. It is called when everything else is there.
func (t *Type) index() {
	t.fields = make(map[string]*Field, len(t.Fields))
	t.uses = make(map[string]*TraitUse, len(t.Traits))
	for _, f := range slices.Backward(t.Fields) { // of two of a name the first counts
		t.fields[f.Name] = f
	}
	for _, u := range slices.Backward(t.Traits) {
		t.uses[u.Name] = u
	}
}

// field is the trait as a field of the type that uses it.
func (u *TraitUse) field() *Field {
	f := u.Trait.Field
	f.Required = u.Required
	if u.HasDefault {
		f.Default, f.HasDefault = u.Default, true
	}
	return &f
}

// all are the fields of the type, and its traits as fields.
func (t *Type) all() []*Field {
	fields := append([]*Field(nil), t.Fields...)
	for _, u := range t.Traits {
		if u.Trait != nil {
			fields = append(fields, u.field())
		}
	}
	return fields
}

// FieldNames are the names of the fields, in the order of the schema.
func (t *Type) FieldNames() []string {
	names := []string{}
	for _, f := range t.Fields {
		names = append(names, f.Name)
	}
	return names
}

// TraitNames are the names of the traits that the type has, in the order of the schema.
func (t *Type) TraitNames() []string {
	names := []string{}
	for _, u := range t.Traits {
		names = append(names, u.Name)
	}
	return names
}

// RequiredFields are the names of the fields that every object of the type must have, in the order
// of the schema.
func (t *Type) RequiredFields() []string {
	names := []string{}
	for _, f := range t.Fields {
		if f.Required {
			names = append(names, f.Name)
		}
	}
	return names
}

// NameField is the field that says what an object is called: the one that the schema names, else
// `name` or `title`, if it is a text. It is "" if there is none.
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
