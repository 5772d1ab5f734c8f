package vault_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

const schema = `version: 2
types:
  person:
    description: Somebody
    default_path: people
    name_field: name
    fields:
      name: {type: string, required: true}
      company: {type: reference, target: company}
      rating:
        type: number
        min: 1
        max: 5
      tags: {type: "string[]"}
      level: string
    traits: [due, priority, unknown]
  company:
    default_path: firms/
    fields:
      name:
  task:
    fields:
      title: {type: string}
      state: {type: enum, values: [todo, done, 3], default: todo}
      urgent: {type: boolean, required: true, default: false}
    traits:
      priority: {required: true, default: high}
      due: {required: true}
      flag:
    templates: [short]
    default_template: short
  daily:
    fields:
      mood: {type: string}
traits:
  due: {type: date, description: Due date}
  priority: {type: enum, values: [low, medium, high], default: medium}
  flag:
  highlight: {type: boolean, default: false}
  remind: datetime
core:
  date:
    default_template: day
templates:
  short: {file: templates/short.md, description: Short}
unknown: {future: [thing]}
`

func parse(t *testing.T, text string) *vault.Schema {
	t.Helper()
	s, err := vault.ParseSchema([]byte(text))
	require.NoError(t, err)
	return s
}

func typeOf(t *testing.T, s *vault.Schema, name string) *vault.Type {
	t.Helper()
	typ, ok := s.Type(name)
	require.True(t, ok, name)
	return typ
}

func TestParseSchema(t *testing.T) {
	s := parse(t, schema)
	require.Equal(t, 2, s.Version)
	require.Equal(t, []string{"person", "company", "task", "daily", "page", "section"}, s.TypeNames())
	require.Equal(t, []string{"due", "priority", "flag", "highlight", "remind"}, s.TraitNames())
	require.Equal(t, []string{"person", "task"}, s.UsedBy("priority"))
	require.Equal(t, []string{}, s.UsedBy("remind"))

	person := typeOf(t, s, "person")
	require.Equal(t, "people/", person.DefaultPath)
	require.Equal(t, "Somebody", person.Description)
	require.Equal(t, "name", person.NameField())
	require.Equal(t, []string{"name", "company", "rating", "tags", "level"}, person.FieldNames())
	require.Equal(t, []string{"due", "priority", "unknown"}, person.TraitNames())
	require.Equal(t, []string{"name"}, person.RequiredFields())
	company, _ := person.Field("company")
	require.Equal(t, &vault.Field{Name: "company", Type: "ref", Target: "company"}, company)
	rating, _ := person.Field("rating")
	require.InDelta(t, 1, *rating.Min, 0)
	require.InDelta(t, 5, *rating.Max, 0)
	tags, _ := person.Field("tags")
	require.Equal(t, "string[]", tags.Type)
	_, ok := person.Field("unknown")
	require.False(t, ok, "a trait that is not defined is no field")

	require.Equal(t, "name", typeOf(t, s, "company").NameField())
}

func TestParseSchemaTraits(t *testing.T) {
	s := parse(t, schema)
	task := typeOf(t, s, "task")
	require.Equal(t, "title", task.NameField())
	require.Equal(t, "short", task.DefaultTemplate)
	require.Equal(t, []string{"short"}, task.Templates)
	template, ok := s.Template("short")
	require.True(t, ok)
	require.Equal(t, "templates/short.md", template.File)

	state, _ := task.Field("state")
	require.Equal(t, []string{"todo", "done", "3"}, state.Values)
	require.Equal(t, "todo", state.Default)
	priority, _ := task.Field("priority")
	require.Equal(t, "high", priority.Default, "the type's default wins over the trait's")
	require.True(t, priority.Required)
	flag, _ := task.Field("flag")
	require.Equal(t, "bool", flag.Type)

	for name, written := range map[string]string{
		"due": "date", "flag": "boolean", "highlight": "boolean", "remind": "datetime",
	} {
		trait, ok := s.Trait(name)
		require.True(t, ok)
		require.Equal(t, written, trait.Written)
	}
	highlight, _ := s.Trait("highlight")
	require.Equal(t, "bool", highlight.Type)
	require.Equal(t, false, highlight.Default)
	require.True(t, highlight.HasDefault)
}

func TestBuiltinTypes(t *testing.T) {
	s := parse(t, schema)
	daily := typeOf(t, s, "date")
	require.Equal(t, "daily", daily.Name)
	require.True(t, daily.Builtin)
	require.Equal(t, []string{"date", "mood"}, daily.FieldNames(), "the file adds to a built-in type")
	require.Equal(t, "day", daily.DefaultTemplate)
	require.Equal(t, "daily/", daily.DefaultPath)
	require.Equal(t, []string{}, typeOf(t, s, "page").FieldNames())
	require.Equal(t, []string{"title", "level"}, typeOf(t, s, "section").FieldNames())

	moved := s.WithFolders(vault.Config{DailyDirectory: "journal"})
	require.Equal(t, "journal/", typeOf(t, moved, "daily").DefaultPath)
	require.Equal(t, "daily/", typeOf(t, s, "daily").DefaultPath)

	placed := s.WithFolders(vault.Config{Directories: vault.Directories{Type: "objects/"}})
	require.Equal(t, "objects/", typeOf(t, placed, "page").DefaultPath)
	require.Empty(t, typeOf(t, placed, "section").DefaultPath, "a section has no path of its own")

	for _, text := range []string{"", "# nothing\n", "---\n", "types:\n", "version: 1\n", "null"} {
		require.Equal(t, []string{"daily", "page", "section"}, parse(t, text).TypeNames(), "%q", text)
	}
	require.Equal(t, vault.NewSchema().TypeNames(), parse(t, "").TypeNames())
}

func TestSchemaAnchors(t *testing.T) {
	s := parse(t, "types:\n  a: &a\n    fields:\n      x: &x {type: number}\n  b: *a\n")
	x, ok := typeOf(t, s, "b").Field("x")
	require.True(t, ok)
	require.Equal(t, "number", x.Type)
}

func TestSchemaProblems(t *testing.T) {
	rows := []struct {
		text, says string
		line       int
	}{
		{"types:\n  person:\n    fields:\n      tags: { type: string[] }\n", `quoted`, 4},
		{"types:\n  person:\n    fields:\n      tags: { type: [string] }\n", `quoted`, 4},
		{"types:\n\tperson:\n", "not valid YAML", 2},
		{"types: [\n", "not valid YAML", 2},
		{"- a\n", "the schema must be a mapping", 1},
		{"types: [a]\n", "types must be a mapping", 1},
		{"types:\n  a: text\n", "type a must be a mapping", 2},
		{"types:\n  a:\n  a:\n", `types has "a" twice`, 3},
		{"types:\n  daily:\n  date:\n", "are one type", 3},
		{"types:\n  a:\n    default_path: ../x\n", "default_path", 3},
		{"types:\n  a:\n    default_path: [x]\n", "must be a text", 3},
		{"types:\n  a:\n    name_field: n\n", "name_field must name a field", 2},
		{"types:\n  a:\n    name_field: n\n    fields:\n      n: number\n", "name_field", 2},
		{"types:\n  a:\n    fields: [x]\n", "fields must be a mapping", 3},
		{"types:\n  a:\n    fields:\n      x: text\n", "'text' is not a value type", 4},
		{"types:\n  a:\n    fields:\n      x: {type: \"string[][]\"}\n", "is not a value type", 4},
		{"types:\n  a:\n    fields:\n      x: {required: maybe}\n", "true or false", 4},
		{"types:\n  a:\n    fields:\n      x: {type: number, min: low}\n", "must be a number", 4},
		{"types:\n  a:\n    fields:\n      x: {type: number, min: 3, max: 2}\n", "over its max", 4},
		{"types:\n  a:\n    fields:\n      x:\n        type: enum\n", "must list its values", 4},
		{"types:\n  a:\n    fields:\n      x: {default: {a: b}}\n", "must be a text, a number", 4},
		{"types:\n  a:\n    fields:\n      x: {values: {a: b}}\n", "must be a list", 4},
		{"types:\n  ? [a]\n  : b\n", "plain word", 2},
		{"types:\n  \"a\\0b\": {}\n", "one line of text", 2},
		{"types:\n  \"\": {}\n", "one line of text", 2},
		{"traits:\n  \"\":\n", "one line of text", 2},
		{"types:\n  a:\n    fields:\n      \"x\\ny\": string\n", "one line of text", 4},
		{"traits:\n  due: time\n", "'time' is not a value type", 2},
		{"a: &a [x]\ntypes:\n  t:\n    fields:\n      x: {default: [*a]}\n", "must be a text", 5},
		{"a: &a [*a]\ntypes:\n  t:\n    fields:\n      x: {default: *a}\n", "", 0},
	}
	for _, r := range rows {
		s, err := vault.ParseSchema([]byte(r.text))
		require.True(t, fault.Is(err, fault.SchemaError), "%q: %v", r.text, err)
		require.Nil(t, s)
		f := fault.Of(err)
		require.Contains(t, f.Message, r.says, "%q", r.text)
		require.Equal(t, "schema.yaml", f.Location.File, "%q", r.text)
		if r.line > 0 {
			require.Equal(t, r.line, f.Location.Line, "%q: %s", r.text, f.Message)
		}
	}
}

func TestSchemaWithoutEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("f: &f\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  f%d: {type: string}\n", i)
	}
	b.WriteString("t: &t {fields: *f}\ntypes:\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  t%d: *t\n", i)
	}
	_, err := vault.ParseSchema([]byte(b.String()))
	var says []string
	for _, problem := range fault.Of(err).Errors {
		says = append(says, problem.Message)
	}
	require.Contains(t, strings.Join(says, "\n"), "more than 100000 entries")
}

// TestSchemaOfManyTypes checks that a schema above a limit is refused with the limit, and that one
// at the limit is accepted.
func TestSchemaOfManyTypes(t *testing.T) {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, head := range []string{"types:\n", "traits:\n", "types:\n a:\n  fields:\n", "types:\n a:\n  traits:\n"} {
		format := map[bool]string{true: "   x%d: {}\n", false: " x%d: {}\n"}[strings.Contains(head, "a:")]
		s, err := vault.ParseSchema([]byte(head + lines(2000, format)))
		require.NoError(t, err, head)
		require.Positive(t, len(s.Types)+len(s.Traits))
		_, err = vault.ParseSchema([]byte(head + lines(2001, format)))
		require.ErrorContains(t, err, "has 2001 entries; a schema has at most 2000", head)
	}
	_, err := vault.ParseSchema([]byte("types:\n" + lines(70_000, " x%d: {}\n")))
	require.ErrorContains(t, err, "at most 2000")
}

func TestSchemaWithManyProblems(t *testing.T) {
	_, err := vault.ParseSchema([]byte("types:\n" + strings.Repeat("  a: 1\n", 1000)))
	require.Len(t, fault.Of(err).Errors, fault.MaxProblems)
}

func TestSchemaProblemsTogether(t *testing.T) {
	_, err := vault.ParseSchema([]byte("types:\n  a:\n    fields:\n      x: text\ntraits:\n  b: text\n"))
	f := fault.Of(err)
	require.Equal(t, fault.SchemaError, f.Code)
	require.Len(t, f.Errors, 2)
	require.Equal(t, 4, f.Errors[0].Location.Line)
	require.Equal(t, 6, f.Errors[1].Location.Line)
}

func TestUnknownNames(t *testing.T) {
	s := parse(t, schema)
	f := s.NoType("persn")
	require.Equal(t, fault.InvalidType, f.Code)
	require.Equal(t, s.TypeNames(), f.Details["available_types"])
	require.Equal(t, []string{"did you mean person?"}, f.Fixes)
	f = s.NoTrait("zzzzzz")
	require.Equal(t, fault.InvalidTrait, f.Code)
	require.Equal(t, s.TraitNames(), f.Details["available_traits"])
	require.Empty(t, f.Fixes)
	require.Contains(t, vault.NewSchema().NoTrait("due").Message, "none")
}
