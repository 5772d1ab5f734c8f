package vault

import (
	"maps"
	"slices"
	"strings"

	"rookery/internal/fault"
)

// ReservedFields are the keys of a frontmatter that mean the same in every type.
func ReservedFields() []string { return []string{"type", "tags", "alias", "id"} }

// Checked is what Type.Check found of the fields of an object.
type Checked struct {
	Fields   map[string]any // as they are to be written
	Unknown  []string       // those that the type does not declare, by name
	Problems []*fault.Fault // of single fields, by name
}

// Check reads the given fields of an object of the type. It does not ask which are missing. Fields
// that the type does not declare are read as YAML would; every field is known to a page.
func (t *Type) Check(fields map[string]any, c Clock) Checked {
	out := Checked{Fields: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v, err := t.read(name, fields[name], c)
		if err != nil {
			out.Problems = append(out.Problems, fault.Of(err))
			continue
		}
		out.Fields[name] = v
		if !t.knows(name) {
			out.Unknown = append(out.Unknown, name)
		}
	}
	return out
}

// knows reports whether nobody needs to be told of a field of this name.
func (t *Type) knows(name string) bool {
	_, declared := t.Field(name)
	return declared || t.Name == Page || slices.Contains(ReservedFields(), name)
}

func (t *Type) read(name string, v any, c Clock) (any, error) {
	if f, ok := t.Field(name); ok {
		return f.Read(v, c)
	}
	if name == "tags" {
		return readTags(v, c)
	}
	return readUndeclared(name, v)
}

// readTags reads tags, which may be a list or a text of words (reference/raven.md §1.8).
func readTags(v any, c Clock) (any, error) {
	tags := &Field{Name: "tags", Type: "string[]"}
	if t, ok := v.(Text); ok && !strings.HasPrefix(string(t), "[") {
		v = string(t)
	}
	if s, ok := v.(string); ok {
		var list []any
		for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }) {
			list = append(list, strings.TrimPrefix(word, "#"))
		}
		if list == nil {
			return nil, nil
		}
		return list, nil
	}
	return tags.Read(v, c)
}

// readUndeclared reads a field of which the schema says nothing.
func readUndeclared(name string, v any) (any, error) {
	switch given := v.(type) {
	case Text:
		v = given.yaml()
	case []any:
		v = readTexts(given)
	}
	if _, ok := v.(map[string]any); ok {
		return nil, fault.New(fault.InvalidValue,
			"Field %s must be a text, a number, true or false, null, or a list of these", quote(name)).
			With("field", name)
	}
	return v, nil
}

// readTexts is a list with the texts that people typed read as YAML would.
func readTexts(list []any) []any {
	read := make([]any, len(list))
	for i, v := range list {
		if t, ok := v.(Text); ok {
			v = t.yaml()
		}
		read[i] = v
	}
	return read
}

// Missing is a MISSING_REQUIRED for each field that an object of the type must have and that is not
// there, in the order of the schema. One that has a default is never missing; one that is null is
// there.
func (t *Type) Missing(fields map[string]any) []*fault.Fault {
	var problems []*fault.Fault
	for _, f := range t.all() {
		if _, ok := fields[f.Name]; !ok && f.Required && !f.HasDefault {
			problems = append(problems, f.missing(t))
		}
	}
	return problems
}

// missing is the fault of a field that is not there.
func (f *Field) missing(t *Type) *fault.Fault {
	return fault.New(fault.MissingRequired, "Field %s is required for type %s",
		quote(f.Name), quote(t.Name)).With("field", f.Name).With("type", t.Name)
}

// CheckObject is everything that is wrong with the fields of an object of the type: a required one
// that is missing, and each value that its field does not take.
func (t *Type) CheckObject(fields map[string]any, c Clock) []*fault.Fault {
	return append(t.Missing(fields), t.Check(fields, c).Problems...)
}

// Defaults is the fields with the defaults of the type for those that are not there, and the names
// of what it added, in the order of the schema. The fields given stay as they are.
func (t *Type) Defaults(fields map[string]any) (filled map[string]any, names []string) {
	filled = maps.Clone(fields)
	for _, f := range t.all() {
		if _, ok := fields[f.Name]; ok || !f.HasDefault {
			continue
		}
		if filled == nil {
			filled = map[string]any{}
		}
		filled[f.Name] = f.Default
		names = append(names, f.Name)
	}
	return filled, names
}
