package mutation

import (
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// TypedFields returns the values of an argument in the form that the schema reads. Text that a person
// typed becomes a vault.Text, which the schema converts to the type of the field. The result is a
// new map, never nil.
func TypedFields(in tool.Fields) map[string]any {
	out := make(map[string]any, len(in))
	for name, v := range in {
		out[name] = typedValue(v)
	}
	return out
}

// typedValue is TypedFields for a single value, or for the elements of a list.
func typedValue(v any) any {
	switch v := v.(type) {
	case tool.Text:
		return vault.Text(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = typedValue(v[i])
		}
		return list
	}
	return v
}

// SortedFields returns fields in alphabetical order of their names, as edits need them. The order makes
// the text of a draft reproducible.
func SortedFields(fields map[string]any) []markdown.Field {
	var all []markdown.Field
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, markdown.Field{Key: name, Value: fields[name]})
	}
	return all
}

// WrongTargets returns a WrongTarget fault for each field of a call that has one, in alphabetical
// order. It ignores fields that the type does not have.
func WrongTargets(idx *index.Index, t *vault.Type, fields map[string]any) []*fault.Fault {
	var problems []*fault.Fault
	for _, given := range SortedFields(fields) {
		if f, ok := t.Field(given.Key); ok {
			if problem := WrongTarget(idx, f, given.Value); problem != nil {
				problems = append(problems, problem)
			}
		}
	}
	return problems
}

// WrongTarget returns INVALID_FIELD if v, the value of a field or trait, refers to an object of
// another type than the schema requires, and nil otherwise. For a list it reports the first such
// element. A reference without a target, or with several candidates, is not an error here: WarnRefs
// warns of it.
func WrongTarget(idx *index.Index, f *vault.Field, v any) *fault.Fault {
	if !f.IsRef() || f.Target == "" {
		return nil
	}
	refs := idx.Resolver()
	for _, v := range AsList(v) {
		ref, ok := v.(markdown.Ref)
		if !ok {
			continue
		}
		to := refs.Resolve(string(ref))
		if to.ID == "" {
			continue
		}
		typ := vault.Daily // a day without a note of its own
		if to.Object.Note != nil {
			typ = to.Object.Type()
		}
		if typ != f.Target {
			return fault.New(fault.InvalidField, "Field '%s' must refer to a %s; %s is a %s",
				f.Name, f.Target, to.ID, typ).With("field", f.Name).With("value", to.ID).
				With("constraint", map[string]any{"target": f.Target})
		}
	}
	return nil
}

// ByIDs returns a copy of the fields in the form in which they are written; see ByID.
func ByIDs(idx *index.Index, t *vault.Type, fields map[string]any) map[string]any {
	all := maps.Clone(fields)
	for name, v := range fields {
		if f, ok := t.Field(name); ok {
			all[name] = ByID(idx, f, v)
		}
	}
	return all
}

// ByID returns a value of a field or trait in the form in which it is written. A reference becomes
// the id of its target, because another note can later get the same name but not the same id
// (raven.md §6.7). A reference without a target, or with several candidates, stays as the caller
// wrote it.
func ByID(idx *index.Index, f *vault.Field, v any) any {
	if !f.IsRef() {
		return v
	}
	switch v := v.(type) {
	case markdown.Ref:
		to := idx.Resolve(string(v))
		if to.ID != "" && idx.Resolve(to.ID).ID == to.ID {
			return markdown.Ref(to.ID)
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = ByID(idx, f, v[i])
		}
		return list
	}
	return v
}
