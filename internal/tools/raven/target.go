package raven

import (
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/markdown"
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
	for _, v := range listed(v) {
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
