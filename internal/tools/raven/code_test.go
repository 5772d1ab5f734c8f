package raven_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// codedVault has something of each kind that calls can be wrong about.
var codedVault = map[string]string{
	"schema.yaml": "types:\n  person:\n    name_field: name\n    default_path: people/\n" +
		"    fields: {name: {type: string, required: true}, rating: {type: number, min: 1, max: 5}, boss: {type: ref, target: person}}\n" +
		"  project: {default_path: projects/, fields: {title: string}}\n" +
		"traits: {due: date, priority: {type: enum, values: [low, high]}}\n",
	"raven.yaml":       "queries:\n  of: {query: \"type:person .name=={{args.who}}\"}\n",
	"people/freya.md":  "---\ntype: person\nname: Freya\nrating: 4\n---\n# Freya\n\n- @due(2026-03-02) one two two\n",
	"people/other.md":  "---\ntype: person\nname: Other\n---\n# Other\n",
	"a/twin.md":        "# Twin\n",
	"b/twin.md":        "# Twin\n",
	"projects/mill.md": "---\ntype: project\ntitle: Mill\n---\n# Mill\n",
}

// codedCalls are calls that fail, with the code of each and Raven's own name for it (reference/raven.md §1.17).
var codedCalls = []struct {
	tool string
	args string
	code fault.Code
	name string
}{
	{"raven_object_get", `{"id":"people/nobody"}`, fault.NotFound, "REF_NOT_FOUND"},
	{"raven_read", `{"path":"people/nobody"}`, fault.NotFound, "REF_NOT_FOUND"},
	{"raven_read", `{"path":"rookery.yaml"}`, fault.NotFound, "FILE_NOT_FOUND"},
	{"raven_check", `{"id":"nowhere/"}`, fault.NotFound, "FILE_NOT_FOUND"},
	{"raven_trait_get", `{"id":"due-00000000"}`, fault.NotFound, "REF_NOT_FOUND"},
	{"raven_query", `{"name":"nothing"}`, fault.NotFound, "QUERY_NOT_FOUND"},
	{"raven_query_remove", `{"name":"nothing"}`, fault.NotFound, "QUERY_NOT_FOUND"},
	{"raven_object_get", `{"vault":"other","id":"people/freya"}`, fault.NotFound, "VAULT_NOT_FOUND"},
	{"raven_query", `{"query":"person"}`, fault.InvalidQuery, "QUERY_INVALID"},
	{"raven_query", `{"filter":{"typ":"person"}}`, fault.InvalidQuery, "QUERY_INVALID"},
	{"raven_query", `{"query":"type:persn"}`, fault.InvalidType, "QUERY_INVALID"},
	{"raven_query", `{"filter":{"trait":"du"}}`, fault.InvalidTrait, "QUERY_INVALID"},
	{"raven_query", `{"query":"type:person .nme==x"}`, fault.InvalidField, "QUERY_INVALID"},
	{"raven_query", `{"query":"trait:priority .value==middle"}`, fault.InvalidValue, "QUERY_INVALID"},
	{"raven_query", `{"query":"type:person .boss==nobody"}`, fault.InvalidRef, "REF_NOT_FOUND"},
	{"raven_query", `{"query":"type:person refs(twin)"}`, fault.AmbiguousRef, "REF_AMBIGUOUS"},
	{"raven_query", `{"name":"of"}`, fault.MissingRequired, "INVALID_INPUT"},
	{"raven_read", `{"path":"twin"}`, fault.AmbiguousRef, "REF_AMBIGUOUS"},
	{"raven_new", `{"type":"persn","title":"X"}`, fault.InvalidType, "TYPE_NOT_FOUND"},
	{"raven_schema_type", `{"name":"persn"}`, fault.InvalidType, "TYPE_NOT_FOUND"},
	{"raven_schema_add", `{"kind":"type","name":"page"}`, fault.InvalidType, "INVALID_INPUT"},
	{"raven_schema_trait", `{"name":"du"}`, fault.InvalidTrait, "TRAIT_NOT_FOUND"},
	{"raven_schema_update", `{"kind":"type","name":"project","remove_traits":["due"]}`, fault.InvalidTrait, "INVALID_INPUT"},
	{"raven_schema_remove", `{"kind":"field","type":"person","name":"mood"}`, fault.InvalidField, "FIELD_NOT_FOUND"},
	{"raven_object_list", `{"type":"person","field":{"mood":"x"}}`, fault.InvalidField, "UNKNOWN_FIELD"},
	{"raven_set", `{"id":"people/freya","set":{"rating":9}}`, fault.InvalidField, "VALIDATION_FAILED"},
	{"raven_set", `{"id":"people/freya","set":{"boss":"projects/mill"}}`, fault.InvalidField, "VALIDATION_FAILED"},
	{"raven_set", `{"id":"people/freya","set":{"rating":"many"}}`, fault.InvalidValue, "VALIDATION_FAILED"},
	{"raven_set", `{"id":"people/freya","sett":{}}`, fault.InvalidValue, "INVALID_ARGS"},
	{"raven_object_list", `{"depth":7}`, fault.InvalidValue, "INVALID_INPUT"},
	{"raven_edit", `{"id":"people/freya","old_str":"three","new_str":"x"}`, fault.InvalidValue, "STRING_NOT_FOUND"},
	{"raven_edit", `{"id":"people/freya","old_str":"two","new_str":"x"}`, fault.InvalidValue, "MULTIPLE_MATCHES"},
	{"raven_new", `{"type":"page","path":"../x"}`, fault.InvalidPath, "INVALID_INPUT"},
	{"raven_set", `{"query":"type:person","set":{"rating":1}}`, fault.MissingRequired, "CONFIRMATION_REQUIRED"},
	{"raven_set", `{"id":"people/freya"}`, fault.MissingRequired, "MISSING_ARGUMENT"},
	{"raven_unset", `{"id":"people/freya","unset":["name"]}`, fault.MissingRequired, "REQUIRED_FIELD_MISSING"},
	{"raven_new", `{"type":"person","title":"Freya"}`, fault.DuplicateID, "FILE_EXISTS"},
	{"raven_schema_add", `{"kind":"type","name":"person"}`, fault.DuplicateID, "OBJECT_EXISTS"},
	{"raven_schema_remove", `{"kind":"type","name":"person"}`, fault.ValidationFailed, "CONFIRMATION_REQUIRED"},
	{"raven_schema_update", `{"kind":"field","type":"person","name":"rating","required":true}`, fault.ValidationFailed, "DATA_INTEGRITY_BLOCK"},
	{"raven_set", `{"id":"people/freya","set":{"rating":9,"boss":"projects/mill"}}`, fault.ValidationFailed, "VALIDATION_FAILED"},
	{"raven_batch", `{"operations":[{"op":"delete","entity":"object","data":{"id":"people/nobody"}}]}`, fault.BatchFailed, ""},
	{"raven_set", `{"id":"people/freya","set":{"rating":1},"if_version":"v1"}`, fault.Conflict, ""},
}

// TestRavenCodes covers that a fault says how Raven itself names it, wherever Raven has a name, also inside a
// fault that has several and in the answers of batches and validations.
func TestRavenCodes(t *testing.T) {
	p := open(t, codedVault)
	for _, c := range codedCalls {
		var in args
		require.NoError(t, json.Unmarshal([]byte(c.args), &in))
		e := p.answer(t, c.tool, in)
		require.NotNil(t, e.Error, "%s %s", c.tool, c.args)
		require.Equal(t, c.code, e.Error.Code, "%s %s: %s", c.tool, c.args, e.Error.Message)
		require.Equal(t, c.name, nameIn(e.Error), "%s %s: %v", c.tool, c.args, e.Error.Details)
		for _, one := range e.Error.Errors {
			require.NotEmpty(t, nameIn(one), "%s %s: %v", c.tool, c.args, one)
		}
	}
	p.write(t, map[string]string{"schema.yaml": "types: [\n"})
	e := p.answer(t, "raven_new", args{"type": "person", "title": "X"})
	require.Equal(t, "SCHEMA_INVALID", nameIn(e.Error))
	p.write(t, map[string]string{"schema.yaml": codedVault["schema.yaml"], "raven.yaml": "queries: [\n"})
	require.Equal(t, "CONFIG_INVALID", nameIn(p.answer(t, "raven_query_list", args{}).Error))
}

// TestRavenCodesInside covers the faults in the data of answers.
func TestRavenCodesInside(t *testing.T) {
	p := open(t, codedVault)
	e := p.answer(t, "raven_batch", args{"operations": list{
		args{"op": "edit", "data": args{"id": "people/freya", "old_str": "three", "new_str": "x"}},
		args{"op": "create", "entity": "object", "data": args{"type": "person", "title": "Freya"}},
	}, "options": args{"stop_on_error": false}})
	var results struct {
		Results []struct{ Error *fault.Fault }
	}
	require.NoError(t, json.Unmarshal(e.Data, &results))
	require.Len(t, results.Results, 2)
	require.Equal(t, "STRING_NOT_FOUND", nameIn(results.Results[0].Error))
	require.Equal(t, "FILE_EXISTS", nameIn(results.Results[1].Error))

	var checked struct{ Errors []*fault.Fault }
	p.must(t, "raven_validate", args{"type": "object", "input": args{"type": "persn", "title": "X"}}, &checked)
	require.Equal(t, "TYPE_NOT_FOUND", nameIn(checked.Errors[0]))
	p.must(t, "raven_validate", args{"type": "note", "input": args{"path": "x.md", "text": "---\ntype: persn\n---\n"}}, &checked)
	require.Equal(t, "unknown_type", nameIn(checked.Errors[0]), "what a check names, it names itself")
}

// nameIn is Raven's name in a fault.
func nameIn(f *fault.Fault) string {
	if f.Details["raven_code"] == nil {
		return ""
	}
	return fmt.Sprint(f.Details["raven_code"])
}
