package raven_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOldNames covers the names of tools and arguments that the first Raven had for changes of the schema.
func TestOldNames(t *testing.T) {
	t.Parallel()
	p := open(t, nil)
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"raven_schema_add_type", args{"name": "person", "default-path": "people"}},
		{"raven_schema_add_trait", args{"name": "mood", "type": "enum", "values": "good,bad"}},
		{"raven_schema_add_field", args{"type_name": "person", "field_name": "boss", "type": "ref", "target": "person"}},
		{"raven_schema_update_type", args{"name": "person", "add-trait": "mood"}},
		{"raven_schema_update_trait", args{"name": "mood", "default": "good"}},
		{"raven_schema_update_field", args{"type_name": "person", "field_name": "boss", "required": "true"}},
		{"raven_schema_update_field", args{"type_name": "person", "field_name": "boss", "required": "false"}},
	} {
		p.must(t, c.tool, c.in, nil)
	}
	require.Equal(t, `version: 1
types:
  person:
    default_path: people/
    fields:
      boss:
        type: ref
        target: person
        required: false
    traits: [mood]
traits:
  mood:
    type: enum
    values: [good, bad]
    default: good
`, p.texts(t)["schema.yaml"])
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"raven_schema_remove_field", args{"type_name": "person", "field_name": "boss"}},
		{"raven_schema_remove_trait", args{"name": "mood", "force": true}},
		{"raven_schema_remove_type", args{"name": "person"}},
	} {
		p.must(t, c.tool, c.in, nil)
	}
	require.Equal(t, "version: 1\ntypes: {}\ntraits: {}\n", p.texts(t)["schema.yaml"])
}
