package vault

import "github.com/rookeryhq/rookery/internal/fault"

// CheckObject returns all problems of the fields of an object: missing required fields in the order
// of the schema, then invalid values in the order of their names. The result is empty if there are
// none.
func (t *Type) CheckObject(fields map[string]any, c Clock) []*fault.Fault {
	return append(t.Missing(fields), t.Check(fields, c).Problems...)
}

// Ruleset returns the set of rules with this id.
func (t Tree) Ruleset(id string) (Ruleset, bool) {
	for _, s := range t.Rulesets {
		if s.ID == id {
			return s, true
		}
	}
	return Ruleset{}, false
}
