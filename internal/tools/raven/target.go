package raven

import (
	"maps"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/markdown"
	"rookery/internal/tools/mutate"
	"rookery/internal/vault"
)

// wrongTargets are the problems of the references in the fields of a call; see wrongTarget.
func wrongTargets(idx *index.Index, t *vault.Type, fields map[string]any) []*fault.Fault {
	var problems []*fault.Fault
	for _, given := range sorted(fields) {
		if f, ok := t.Field(given.Key); ok {
			if problem := wrongTarget(idx, f, given.Value); problem != nil {
				problems = append(problems, problem)
			}
		}
	}
	return problems
}

// wrongTarget is INVALID_FIELD for a value of a field, or of a trait, that leads to an object of
// another type than the schema says; nil if it does not. A reference that leads to nothing, or to
// several things, breaks no rule: warnRefs tells of it.
func wrongTarget(idx *index.Index, f *vault.Field, v any) *fault.Fault {
	if !f.IsRef() || f.Target == "" {
		return nil
	}
	d := newDrawer(idx, slim)
	for _, v := range mutate.Listed(v) {
		ref, ok := v.(markdown.Ref)
		if !ok {
			continue
		}
		to := d.refs.Resolve(string(ref))
		if to.ID == "" {
			continue
		}
		if typ, _ := d.called(to); typ != f.Target {
			return fault.New(fault.InvalidField, "Field '%s' must lead to a %s; %s is a %s",
				f.Name, f.Target, to.ID, typ).With("field", f.Name).With("value", to.ID).
				With("constraint", map[string]any{"target": f.Target})
		}
	}
	return nil
}

// byIDs are values of fields as they are written; see byID.
func byIDs(idx *index.Index, t *vault.Type, fields map[string]any) map[string]any {
	all := maps.Clone(fields)
	for name, v := range fields {
		if f, ok := t.Field(name); ok {
			all[name] = byID(idx, f, v)
		}
	}
	return all
}

// byID is a value of a field, or of a trait, as it is written: a reference says the id of what it
// leads to, which no other note can take from it, as it can a name (raven.md §6.7). One that leads to
// nothing, or to several things, says what the caller said.
func byID(idx *index.Index, f *vault.Field, v any) any {
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
			list[i] = byID(idx, f, v[i])
		}
		return list
	}
	return v
}
