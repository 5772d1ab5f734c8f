package raven_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestValidate covers each type of input: what it is made into, and what is wrong with it.
func TestValidate(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	before := p.texts(t)
	for name, c := range map[string]struct {
		typ   string
		input any
		want  string
	}{
		"an object": {"object", args{"type": "person", "title": "Sif", "fields": args{"rating": 3}},
			`{"valid":true,"normalized":{"type":"person","path":"people/sif","fields":{"name":"Sif","rating":3}}}`},
		"fields as text": {"object", args{"type": "project", "path": "projects/x", "fields": list{"lead=freya"}},
			`{"valid":true,"normalized":{"fields":{"lead":"people/freya"}}}`},
		"with content": {"object", args{"type": "page", "path": "a", "content": "# A\n"},
			`{"valid":true,"normalized":{"path":"a","content":"# A\n"}}`},
		"taken and wrong": {"object", args{"type": "person", "path": "people/freya", "fields": args{"rating": 9}},
			`{"valid":false,"errors":[{"code":"INVALID_FIELD","field":"rating","expected":"between 1 and 5","location":{"file":"people/freya.md","line":1}},{"code":"MISSING_REQUIRED","field":"name"},{"code":"DUPLICATE_ID"}]}`},
		"no such type":    {"object", args{"type": "persn", "title": "x"}, `{"valid":false,"errors":[{"code":"INVALID_TYPE","nearest":["person"]}]}`},
		"a change":        {"object", args{"id": "freya", "set": args{"rating": "2"}, "unset": list{"email"}}, `{"valid":false,"errors":[{"code":"INVALID_VALUE","field":"rating"}]}`},
		"a good change":   {"object", args{"id": "freya", "set": args{"rating": 2}, "unset": list{"email"}}, `{"valid":true,"normalized":{"id":"people/freya","set":{"rating":2},"unset":["email"]}}`},
		"nothing to set":  {"object", args{"id": "freya"}, `{"valid":false,"errors":[{"code":"MISSING_REQUIRED","field":"set"}]}`},
		"unknown":         {"object", args{"type": "page", "pth": "a"}, `{"valid":false,"errors":[{"code":"INVALID_VALUE","field":"pth","nearest":["path"]}]}`},
		"no object":       {"object", list{}, `{"valid":false,"errors":[{"code":"INVALID_VALUE","field":"input","expected":"an object"}]}`},
		"a text":          {"trait", "x", `{"valid":false,"errors":[{"code":"INVALID_VALUE"}]}`},
		"a trait":         {"trait", args{"trait_type": "due", "value": "tomorrow", "parent_id": "freya", "content": " Review "}, `{"valid":true,"normalized":{"trait_type":"due","value":"2026-03-03","parent_id":"people/freya","content":"Review"}}`},
		"of today":        {"trait", args{"trait_type": "due", "value": "today", "parent_id": "today", "content": "x", "other_traits": args{"status": "done"}}, `{"valid":true,"normalized":{"parent_id":"daily/2026-03-02","other_traits":{"status":"done"}}}`},
		"a wrong trait":   {"trait", args{"trait_type": "status", "value": "tod", "parent_id": "gone", "content": "x\ny"}, `{"valid":false,"errors":[{"code":"INVALID_VALUE","field":"status","allowed":["todo","done"]},{"code":"INVALID_VALUE","field":"content"},{"code":"NOT_FOUND"}]}`},
		"a trait changes": {"trait", args{"id": "call", "set": args{"value": "today", "status": "done"}}, `{"valid":true,"normalized":{"id":"call","set":{"value":"2026-03-02","status":"done"},"unset":[]}}`},
		"a batch": {"batch", args{"operations": list{
			op("create", "object", args{"type": "page", "path": "m"}),
			op("create", "trait", args{"trait_type": "due", "value": "today", "parent_id": "m", "content": "x"}),
			op("add", "", args{"text": "y", "to": "m"}),
		}}, `{"valid":true,"normalized":{"operations":[{"index":0,"op":"create","entity":"object","data":{"path":"m"}},{"index":1,"data":{"value":"2026-03-02"}},{"index":2,"op":"add","entity":"object","data":{"text":"y"}}]}}`},
		"a wrong batch": {"batch", args{"operations": list{
			op("make", "object", args{}), op("update", "object", args{"id": "gone", "set": args{"a": 1}}), op("create", "object", args{"type": "page", "path": "m"}),
		}}, `{"valid":false,"errors":[{"code":"INVALID_VALUE","index":0},{"code":"NOT_FOUND","index":1}]}`},
		"an empty batch": {"batch", args{"operations": list{}}, `{"valid":false,"errors":[{"code":"MISSING_REQUIRED"}]}`},
		"a note": {"note", args{"path": "people/sif.md", "text": "---\ntype: person\nname: Sif\n---\n\nSee [[freya]].\n"},
			`{"valid":true,"normalized":{"path":"people/sif.md","type":"person","fields":{"name":"Sif"}}}`},
		"a wrong note": {"note", args{"path": "people/sif", "text": "---\ntype: person\nrating: 9\nmood: dark\n---\n\nSee [[nobody]].\n\n- @due(soon) x\n- @fear y\n- @due z\n"},
			`{"valid":false,"errors":[{"code":"MISSING_REQUIRED","field":"name"},{"code":"INVALID_FIELD","field":"mood","details":{"raven_code":"unknown_frontmatter_key"}},{"code":"INVALID_FIELD","field":"rating","location":{"file":"people/sif.md","line":3}},{"code":"INVALID_VALUE","field":"due"},{"code":"INVALID_REF"}],"warnings":[{"code":"INVALID_TRAIT"},{"code":"INVALID_VALUE"}]}`},
		"no YAML":    {"note", args{"path": "x", "text": "---\na: [\n---\n"}, `{"valid":false,"errors":[{"code":"FILE_ERROR"}]}`},
		"a bad path": {"note", args{"path": "../x", "text": ""}, `{"valid":false,"errors":[{"code":"INVALID_PATH"}]}`},
		"no text":    {"note", args{"path": "x"}, `{"valid":false,"errors":[{"code":"INVALID_VALUE"}]}`},
		"no type":    {"note", args{"path": "x", "text": "---\ntype: persn\n---\n"}, `{"valid":false,"errors":[{"code":"INVALID_TYPE"}]}`},
	} {
		e := p.must(t, "raven_validate", args{"type": c.typ, "input": c.input}, nil)
		require.Empty(t, tooltest.Missing(json.RawMessage(c.want), e.Data), "%s: %s", name, e.Data)
	}
	require.Equal(t, before, p.texts(t), "nothing is written")
	require.Equal(t, fault.InvalidValue, p.answer(t, "raven_validate", args{"type": "file", "input": args{}}).Error.Code)
	require.Equal(t, fault.MissingRequired, p.answer(t, "raven_validate", args{"type": "note"}).Error.Code)
}

// TestValidIsWhatSucceeds covers that an input is valid exactly if its call succeeds.
func TestValidIsWhatSucceeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, tool string
		in        args
	}{
		{"object", "raven_new", args{"type": "person", "title": "Sif"}},
		{"object", "raven_new", args{"type": "person", "title": "Freya"}},
		{"object", "raven_set", args{"id": "people/freya", "set": args{"rating": 6}}},
		{"object", "raven_set", args{"id": "people/freya", "set": args{"rating": 4}}},
		{"trait", "raven_trait_create", args{"trait_type": "due", "value": "never", "parent_id": "freya", "content": "x"}},
		{"trait", "raven_trait_create", args{"trait_type": "due", "value": "today", "parent_id": "freya", "content": "x"}},
		{"trait", "raven_trait_update", args{"id": "call", "set": args{"status": "late"}}},
		{"trait", "raven_trait_update", args{"id": "call", "set": args{"status": "done"}}},
		{"batch", "raven_batch", args{"operations": operations("ww")}},
		{"batch", "raven_batch", args{"operations": operations("wx")}},
	} {
		p := open(t, batchVault)
		var out struct{ Valid bool }
		p.must(t, "raven_validate", args{"type": c.typ, "input": c.in}, &out)
		require.Equal(t, p.answer(t, c.tool, c.in).OK, out.Valid, "%s %v", c.tool, c.in)
	}
}
