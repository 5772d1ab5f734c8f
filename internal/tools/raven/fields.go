package raven

import (
	"fmt"
	"maps"
	"slices"

	"rookery/internal/fault"
	"rookery/internal/markdown"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

// typed are the values of an argument as the schema reads them: text that a person typed is marked
// as such.
func typed(in tool.Fields) map[string]any {
	out := make(map[string]any, len(in))
	for name, v := range in {
		if t, ok := v.(tool.Text); ok {
			v = vault.Text(t)
		}
		out[name] = v
	}
	return out
}

// unknownFields warns of the fields that a type does not declare: they are written all the same.
func unknownFields(a *tool.Aside, t *vault.Type, names []string) {
	for _, name := range names {
		a.Warn("UNKNOWN_FIELD", fmt.Sprintf("type %s declares no field %q", t.Name, name),
			map[string]any{"field": name, "allowed": t.FieldNames()})
	}
}

// sorted are fields in alphabetical order, as edits take them.
func sorted(fields map[string]any) []markdown.Field {
	var all []markdown.Field
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, markdown.Field{Key: name, Value: fields[name]})
	}
	return all
}

// noType refuses a change of the field `type`, which is no field.
func noType(fields map[string]any) *fault.Fault {
	if _, ok := fields["type"]; !ok {
		return nil
	}
	return fault.New(fault.InvalidField, "the type of an object is not one of its fields").
		With("field", "type")
}
