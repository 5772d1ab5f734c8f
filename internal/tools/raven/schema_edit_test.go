package raven_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// editedSchema is a schema in many ways of writing, with comments that an edit must keep.
const editedSchema = `# ours
version: 1
types:
  person: # people
    default_path: people/
    name_field: name
    fields:
      name: {type: string, required: true}
      email: string # where
      # how good
      rating:
        type: number
        min: 1 # at least
        max: 5
    traits: [due]
  company:
    fields: { boss: { type: ref, target: person } }
    traits:
      due: {required: false}
      # mark
traits:
  due: date
  status:
    type: enum
    values:
      - todo # first
      - done
  lead: {type: ref, target: person}
  hot:
`

func editedVault() map[string]string {
	return map[string]string{
		"schema.yaml":     editedSchema,
		"people/freya.md": "---\ntype: person\nname: Freya\nrating: 4\n---\n\n- @status(done) a\n- @hot b\n",
		"people/sif.md":   "---\ntype: person\nname: Sif\nemail: s@example.test\n---\n",
		"acme.md":         "---\ntype: company\nboss: people/sif\n---\n\n## One\n\n- @lead(people/sif) @due(2026-01-01) c\n",
	}
}

// TestSchemaEdit covers what an edit writes: its lines, and no other byte.
func TestSchemaEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool     string
		in       args
		old, now string // a part of the text; old empty: now is added at the end of it
		changes  []string
	}{
		"type": {"raven_schema_add", args{"kind": "type", "name": "book", "default_path": "books", "name_field": "title",
			"fields": args{"rating": args{"type": "number", "max": 5}, "by": args{"type": "ref", "target": "person"}}, "traits": list{"due"}},
			"    traits:\n      due: {required: false}\n", "    traits:\n      due: {required: false}\n" +
				"  book:\n    default_path: books/\n    name_field: title\n    fields:\n      title:\n        type: string\n        required: true\n" +
				"      by:\n        type: ref\n        target: person\n      rating:\n        type: number\n        max: 5\n    traits: [due]\n",
			[]string{"types.book", "types.book.fields.title", "types.book.fields.by", "types.book.fields.rating", "types.book.traits.due"}},
		"trait": {"raven_schema_add", args{"kind": "trait", "name": "effort", "value_type": "enum", "values": list{"s", "l"}, "default": "s"},
			"  hot:\n", "  hot:\n  effort:\n    type: enum\n    default: s\n    values: [s, l]\n", []string{"traits.effort"}},
		"boolean": {"raven_schema_add", args{"kind": "trait", "name": "toread"},
			"  hot:\n", "  hot:\n  toread:\n    type: boolean\n", []string{"traits.toread"}},
		"field": {"raven_schema_add", args{"kind": "field", "type": "person", "name": "phone", "required": true, "default": "none"},
			"        max: 5\n", "        max: 5\n      phone:\n        type: string\n        required: true\n        default: none\n",
			[]string{"types.person.fields.phone"}},
		"field in braces": {"raven_schema_add", args{"kind": "field", "type": "company", "name": "names", "value_type": "string[]", "default": list{"a", "b, c"}},
			"target: person } }\n    traits:", "target: person }, names: {type: \"string[]\", default: [a, \"b, c\"]} }\n    traits:", nil},
		"update a word": {"raven_schema_update", args{"kind": "field", "type": "person", "name": "email", "value_type": "string", "description": "Mail"},
			"      email: string # where\n", "      email: # where\n        type: string\n        description: Mail\n", nil},
		"update a mapping": {"raven_schema_update", args{"kind": "field", "type": "person", "name": "rating", "min": 0, "unset": list{"max"}},
			"        min: 1 # at least\n        max: 5\n", "        min: 0 # at least\n", []string{"types.person.fields.rating"}},
		"values": {"raven_schema_update", args{"kind": "trait", "name": "status", "values": list{"todo", "done", "late"}},
			"      - done\n", "      - done\n      - late\n", []string{"traits.status"}},
		"fewer values": {"raven_schema_update", args{"kind": "trait", "name": "status", "values": list{"done"}},
			"      - todo # first\n", "", []string{"traits.status"}},
		"bare trait": {"raven_schema_update", args{"kind": "trait", "name": "hot", "description": "Hot"},
			"  hot:\n", "  hot:\n    type: boolean\n    description: Hot\n", []string{"traits.hot"}},
		"traits of a list": {"raven_schema_update", args{"kind": "type", "name": "person", "add_traits": list{"hot"}},
			"[due]", "[due, hot]", []string{"types.person.traits.hot"}},
		"traits of a mapping": {"raven_schema_update", args{"kind": "type", "name": "company", "traits": args{"hot": args{"default": true}}},
			"{required: false}\n", "{required: false}\n      hot:\n        default: true\n", []string{"types.company.traits.hot"}},
		"remove a trait of a type": {"raven_schema_update", args{"kind": "type", "name": "person", "remove_traits": list{"due"}},
			"[due]", "[]", []string{"types.person.traits.due"}},
		"a type": {"raven_schema_update", args{"kind": "type", "name": "person", "description": "Who", "unset": list{"default_path"},
			"fields": args{"email": args{"required": false}}},
			"    default_path: people/\n", "", nil},
		"remove a field": {"raven_schema_remove", args{"kind": "field", "type": "person", "name": "rating", "force": true},
			"      rating:\n        type: number\n        min: 1 # at least\n        max: 5\n", "", []string{"types.person.fields.rating"}},
		"remove a used trait": {"raven_schema_remove", args{"kind": "trait", "name": "due", "force": true},
			"", "", []string{"traits.due", "types.person.traits.due", "types.company.traits.due"}},
		"remove a used type": {"raven_schema_remove", args{"kind": "type", "name": "person", "force": true}, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, editedVault())
			var plan, done struct {
				Action     string
				Definition any
				Changes    map[string]any
			}
			before := p.texts(t)
			p.must(t, c.tool, with(c.in, args{"dry_run": true}), &plan)
			require.Equal(t, before, p.texts(t))
			e := p.must(t, c.tool, c.in, &done)
			require.Equal(t, "schema.yaml", e.Meta["file_modified"])
			require.Equal(t, plan.Changes, done.Changes)
			require.NotNil(t, done.Definition)
			for _, name := range c.changes {
				require.Contains(t, done.Changes, name)
			}
			if c.changes != nil {
				require.Len(t, done.Changes, len(c.changes))
			}
			after := p.texts(t)
			if c.old != "" && name != "a type" {
				require.Equal(t, strings.Replace(editedSchema, c.old, c.now, 1), after["schema.yaml"])
			}
			var valid struct{ Valid bool }
			p.must(t, "raven_schema_validate", nil, &valid)
			require.True(t, valid.Valid)
			before["schema.yaml"] = after["schema.yaml"]
			require.Equal(t, before, after)

			var log struct {
				Entries []struct {
					ID, Entity string
					Changes    map[string]any
				}
			}
			p.must(t, "raven_log", args{"id": "schema.yaml"}, &log)
			changes := log.Entries[len(log.Entries)-1].Changes
			require.Contains(t, changes, "content")
			delete(changes, "content")
			require.Equal(t, done.Changes, changes)
			if c.tool == "raven_schema_update" {
				if again := without(c.in, "unset", "remove_traits"); len(again) > 2 {
					p.must(t, c.tool, again, &done)
					require.Equal(t, "unchanged", done.Action)
				}
			}
		})
	}
}

// without are arguments without some.
func without(in args, names ...string) args {
	all := with(in, nil)
	for _, name := range names {
		delete(all, name)
	}
	return all
}

// TestSchemaRefuses covers what an edit is not done for.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	p := open(t, editedVault())
	before := p.texts(t)
	for i, c := range []struct {
		tool string
		in   args
		code fault.Code
		n    int // problems
	}{
		{"add", args{"kind": "type", "name": "person"}, fault.DuplicateID, 0},
		{"add", args{"kind": "type", "name": "page"}, fault.InvalidType, 0},
		{"add", args{"kind": "type", "name": "date"}, fault.InvalidType, 0},
		{"add", args{"kind": "type", "name": "2x"}, fault.InvalidValue, 0},
		{"add", args{"kind": "type", "name": "x", "value_type": "string"}, fault.InvalidValue, 0},
		{"add", args{"kind": "type", "name": "x", "traits": list{"nope"}}, fault.InvalidTrait, 0},
		{"add", args{"kind": "type", "name": "x", "fields": args{"a": args{"type": "ref", "target": "nope"}}}, fault.InvalidType, 0},
		{"add", args{"kind": "type", "name": "x", "fields": args{"a": args{"typ": "ref"}}}, fault.InvalidValue, 0},
		{"add", args{"kind": "type", "name": "x", "fields": args{"a": "number"}, "name_field": "a"}, fault.InvalidField, 0},
		{"add", args{"kind": "type", "name": "x", "default_path": "../y"}, fault.InvalidValue, 0},
		{"add", args{"kind": "trait", "name": "due"}, fault.DuplicateID, 0},
		{"add", args{"kind": "trait", "name": "id"}, fault.InvalidValue, 0},
		{"add", args{"kind": "trait", "name": "x", "value_type": "enum"}, fault.MissingRequired, 0},
		{"add", args{"kind": "trait", "name": "x", "value_type": "enumm"}, fault.InvalidValue, 0},
		{"add", args{"kind": "trait", "name": "x", "value_type": "number", "min": 3, "max": 1}, fault.InvalidValue, 0},
		{"add", args{"kind": "trait", "name": "x", "value_type": "number", "default": "many"}, fault.InvalidValue, 0},
		{"add", args{"kind": "trait", "name": "x", "value_type": "date", "values": list{"a"}}, fault.InvalidValue, 0},
		{"add", args{"kind": "field", "name": "x"}, fault.MissingRequired, 0},
		{"add", args{"kind": "field", "type": "nope", "name": "x"}, fault.InvalidType, 0},
		{"add", args{"kind": "field", "type": "page", "name": "x"}, fault.InvalidType, 0},
		{"add", args{"kind": "field", "type": "person", "name": "tags"}, fault.InvalidValue, 0},
		{"add", args{"kind": "field", "type": "person", "name": "x", "required": true}, fault.ValidationFailed, 2},
		{"update", args{"kind": "field", "type": "person", "name": "email", "required": true}, fault.ValidationFailed, 1},
		{"update", args{"kind": "field", "type": "person", "name": "email", "value_type": "number"}, fault.ValidationFailed, 1},
		{"update", args{"kind": "field", "type": "person", "name": "rating", "max": 3}, fault.ValidationFailed, 1},
		{"update", args{"kind": "field", "type": "person", "name": "name", "value_type": "number"}, fault.InvalidField, 0},
		{"update", args{"kind": "field", "type": "person", "name": "nme", "description": "x"}, fault.InvalidField, 0},
		{"update", args{"kind": "trait", "name": "status", "values": list{"todo"}}, fault.ValidationFailed, 1},
		{"update", args{"kind": "trait", "name": "status", "unset": list{"values"}}, fault.MissingRequired, 0},
		{"update", args{"kind": "trait", "name": "status"}, fault.MissingRequired, 0},
		{"update", args{"kind": "trait", "name": "status", "unset": list{"type"}}, fault.InvalidValue, 0},
		{"update", args{"kind": "type", "name": "person", "add_traits": list{"nope"}}, fault.InvalidTrait, 0},
		{"update", args{"kind": "type", "name": "person", "remove_traits": list{"hot"}}, fault.InvalidTrait, 0},
		{"update", args{"kind": "type", "name": "person", "traits": args{"due": args{"required": true}}}, fault.ValidationFailed, 2},
		{"remove", args{"kind": "type", "name": "nope"}, fault.InvalidType, 0},
		{"remove", args{"kind": "type", "name": "page"}, fault.InvalidType, 0},
		{"remove", args{"kind": "type", "name": "person"}, fault.ValidationFailed, 4},
		{"remove", args{"kind": "trait", "name": "due"}, fault.ValidationFailed, 3},
		{"remove", args{"kind": "field", "type": "person", "name": "name", "force": true}, fault.ValidationFailed, 0},
		{"remove", args{"kind": "field", "type": "person", "name": "rating"}, fault.ValidationFailed, 1},
	} {
		e := p.answer(t, "raven_schema_"+c.tool, c.in)
		require.False(t, e.OK, "%d %v", i, c.in)
		require.Equal(t, c.code, e.Error.Code, "%d %v: %s", i, c.in, e.Error.Message)
		require.Len(t, e.Error.Errors, c.n, "%d %v", i, c.in)
		for _, f := range e.Error.Errors {
			require.NotNil(t, f.Location, "%v", c.in)
		}
	}
	require.Equal(t, before, p.texts(t))
}

// TestSchemaInUse covers things that nobody uses, one does, and 201 do.
func TestSchemaInUse(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 201} {
		for _, in := range []args{
			{"kind": "type", "name": "thing"}, {"kind": "trait", "name": "mark"},
			{"kind": "field", "type": "thing", "name": "size"},
		} {
			files := map[string]string{"schema.yaml": "types:\n  thing:\n    fields: {size: number}\ntraits:\n  mark: boolean\n"}
			for i := range n {
				files[fmt.Sprintf("t/%d.md", i)] = "---\ntype: thing\nsize: 1\n---\n\n- @mark x\n"
			}
			p := open(t, files)
			e := p.answer(t, "raven_schema_remove", in)
			require.Equal(t, n == 0, e.OK, "%v", in)
			if n == 0 {
				continue
			}
			require.Equal(t, fault.ValidationFailed, e.Error.Code)
			require.Len(t, e.Error.Errors, min(n, 200))
			require.EqualValues(t, n, e.Error.Details["total"])
			texts := p.texts(t)
			p.must(t, "raven_schema_remove", with(in, args{"force": true}), nil)
			now := p.texts(t)
			delete(texts, "schema.yaml")
			delete(now, "schema.yaml")
			require.Equal(t, texts, now)
		}
	}
}

// TestSchemaByHand covers a schema that cannot be edited without changing more of it.
func TestSchemaByHand(t *testing.T) {
	t.Parallel()
	p := open(t, map[string]string{"schema.yaml": "types:\n  a: &a\n    fields: {x: string}\n  b: *a\n"})
	e := p.answer(t, "raven_schema_add", args{"kind": "field", "type": "a", "name": "y"})
	require.Equal(t, fault.FileError, e.Error.Code)
	p = open(t, map[string]string{"n.md": "---\ntype: thing\n---\n"})
	p.must(t, "raven_schema_add", args{"kind": "type", "name": "thing"}, nil)
	require.Equal(t, "version: 1\ntypes:\n  thing: {}\n", p.texts(t)["schema.yaml"])
}

// TestSchemaEditedByAPerson covers the log of a schema that somebody edits as a file.
func TestSchemaEditedByAPerson(t *testing.T) {
	t.Parallel()
	p := open(t, editedVault())
	p.write(t, map[string]string{"schema.yaml": strings.Replace(editedSchema, "max: 5", "max: 6", 1)})
	var log struct {
		Entries []struct {
			Changes map[string]struct{ Old, New map[string]any }
		}
	}
	p.must(t, "raven_log", args{"id": "schema.yaml"}, &log)
	changed := log.Entries[len(log.Entries)-1].Changes["types.person.fields.rating"]
	require.EqualValues(t, 5, changed.Old["max"])
	require.EqualValues(t, 6, changed.New["max"])
}
