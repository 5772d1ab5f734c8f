package raven_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSchemaSubcommand holds that the argument of the first Raven is refused with the tools that do what it did.
func TestSchemaSubcommand(t *testing.T) {
	t.Parallel()
	p := open(t, soundNotes())
	raw, err := p.call("raven_schema", args{"subcommand": "types"})
	require.Error(t, err)
	require.Contains(t, string(raw), "no argument \\\"subcommand\\\"")
	require.Contains(t, string(raw), `raven_schema_types {`)
}

// TestSchemaShowsSettings holds what the answer has of folders and templates.
func TestSchemaShowsSettings(t *testing.T) {
	t.Parallel()
	p := open(t, map[string]string{
		"schema.yaml": "types:\n  person: {templates: [short], default_template: short}\n" +
			"templates:\n  short: {file: t/short.md, description: Short}\n",
		"raven.yaml": "directories: {type: objects, template: t}\nprotected_prefixes: [locked/]\n", "t/short.md": "x\n",
	})
	var data struct {
		Templates []map[string]any
		Types     []map[string]any
		Config    map[string]any
	}
	p.must(t, "raven_schema", nil, &data)
	require.Equal(t, []map[string]any{{"id": "short", "file": "t/short.md", "description": "Short"}}, data.Templates)
	require.Equal(t, map[string]any{"daily": "daily/", "type": "objects/", "page": nil, "template": "t/"}, data.Config["directories"])
	require.Equal(t, []any{"locked/"}, data.Config["protected_prefixes"])
	for _, typ := range data.Types {
		if typ["name"] == "person" {
			require.Equal(t, []any{"short"}, typ["templates"])
			require.Equal(t, "short", typ["default_template"])
			return
		}
	}
	t.Fatal("no type person")
}
