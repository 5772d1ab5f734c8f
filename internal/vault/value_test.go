package vault_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

var clock = vault.Clock{
	Now: time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC), Zone: time.UTC, WeekStart: time.Monday,
}

func number(n float64) *float64 { return &n }

func TestRead(t *testing.T) {
	type list = []any
	type text = vault.Text
	ref := func(s string) markdown.Ref { return markdown.Ref(s) }
	enum := vault.Field{Type: "enum", Values: []string{"low", "3", "true"}}
	enums := enum
	enums.Type = "enum[]"
	rows := []struct {
		f       vault.Field
		in, out any
	}{
		{vault.Field{Type: "string"}, "a", "a"},
		{vault.Field{Type: "string"}, text(" a, b "), " a, b "},
		{vault.Field{Type: "string"}, text("5"), "5"},
		{vault.Field{Type: "string"}, text(""), nil},
		{vault.Field{Type: "string"}, nil, nil},
		{vault.Field{Type: "string"}, ref("a"), ref("a")},
		{vault.Field{Type: "number"}, 5.5, 5.5},
		{vault.Field{Type: "number"}, json.Number("9007199254740992"), json.Number("9007199254740992")},
		{vault.Field{Type: "number"}, text("-5e2"), -500.0},
		{vault.Field{Type: "number"}, text(""), nil},
		{vault.Field{Type: "number", Min: number(1), Max: number(5)}, 5.0, 5.0},
		{vault.Field{Type: "bool"}, true, true},
		{vault.Field{Type: "bool"}, text("false"), false},
		{vault.Field{Type: "date"}, "2026-02-28", "2026-02-28"},
		{vault.Field{Type: "date"}, "today", "2026-03-02"},
		{vault.Field{Type: "date"}, text("tomorrow"), "2026-03-03"},
		{vault.Field{Type: "date"}, "yesterday", "2026-03-01"},
		{vault.Field{Type: "datetime"}, "2026-03-02T09:00", "2026-03-02T09:00"},
		{vault.Field{Type: "datetime"}, "2026-03-02T09:00:30", "2026-03-02T09:00:30"},
		{vault.Field{Type: "datetime"}, "2026-03-02T09:00:00+02:00", "2026-03-02T09:00:00+02:00"},
		{vault.Field{Type: "datetime"}, "2026-03-02", "2026-03-02"},
		{vault.Field{Type: "url"}, "https://example.test/a?b", "https://example.test/a?b"},
		{vault.Field{Type: "url"}, "mailto:a@example.test", "mailto:a@example.test"},
		{enum, "low", "low"},
		{enum, 3.0, 3.0},
		{enum, true, true},
		{enum, text("3"), "3"},
		{enums, text("low,3"), list{"low", "3"}},
		{vault.Field{Type: "ref"}, "people/freya", ref("people/freya")},
		{vault.Field{Type: "ref"}, "[[people/freya]]", ref("people/freya")},
		{vault.Field{Type: "ref"}, text(" [[people/freya|F]] "), ref("people/freya")},
		{vault.Field{Type: "ref"}, ref("people/freya"), ref("people/freya")},
		{vault.Field{Type: "ref"}, list{list{"people/freya"}}, ref("people/freya")},
		{vault.Field{Type: "ref", Target: "daily"}, "today", ref("2026-03-02")},
		{vault.Field{Type: "ref", Target: "person"}, "today", ref("today")},
		{vault.Field{Type: "string[]"}, list{"a", "b"}, list{"a", "b"}},
		{vault.Field{Type: "string[]"}, []string{"a"}, list{"a"}},
		{vault.Field{Type: "string[]"}, list{}, list{}},
		{vault.Field{Type: "string[]"}, text("a, b,,c"), list{"a", "b", "c"}},
		{vault.Field{Type: "string[]"}, text("one"), list{"one"}},
		{vault.Field{Type: "string[]"}, text("[a, 2]"), list{"a", "2"}},
		{vault.Field{Type: "string[]"}, text(`["a, b", 'c']`), list{"a, b", "c"}},
		{vault.Field{Type: "number[]"}, text("1,2.5"), list{1.0, 2.5}},
		{vault.Field{Type: "bool[]"}, text("[true,false]"), list{true, false}},
		{vault.Field{Type: "date[]"}, list{"today"}, list{"2026-03-02"}},
		{vault.Field{Type: "ref[]"}, text("a/b,[[c, d]],[[e|f]]"), list{ref("a/b"), ref("c, d"), ref("e")}},
		{vault.Field{Type: "ref[]"}, text("[[[a]], [[b]]]"), list{ref("a"), ref("b")}},
		{vault.Field{Type: "ref[]"}, text("[[a]]"), list{ref("a")}},
		{vault.Field{Type: "ref[]"}, list{"a", list{list{"b"}}}, list{ref("a"), ref("b")}},
	}
	for _, r := range rows {
		out, err := r.f.Read(r.in, clock)
		require.NoError(t, err, "%s ← %#v", r.f.Type, r.in)
		require.Equal(t, r.out, out, "%s ← %#v", r.f.Type, r.in)
	}
}

func TestReadRefuses(t *testing.T) {
	enum := []string{"low", "high"}
	rows := []struct {
		f  vault.Field
		in any
	}{
		{vault.Field{Type: "string"}, 5.0},
		{vault.Field{Type: "string"}, true},
		{vault.Field{Type: "string"}, []any{"a"}},
		{vault.Field{Type: "string"}, map[string]any{"a": 1}},
		{vault.Field{Type: "number"}, "5"},
		{vault.Field{Type: "number"}, vault.Text("five")},
		{vault.Field{Type: "number"}, vault.Text("NaN")},
		{vault.Field{Type: "number"}, vault.Text("1e999")},
		{vault.Field{Type: "number"}, vault.Text("9007199254740993")},
		{vault.Field{Type: "number"}, json.Number("9007199254740993")},
		{vault.Field{Type: "number[]"}, []any{1.0, json.Number("9007199254740993")}},
		{vault.Field{Type: "bool"}, "true"},
		{vault.Field{Type: "bool"}, 1.0},
		{vault.Field{Type: "bool"}, vault.Text("yes")},
		{vault.Field{Type: "date"}, "2026-02-30"},
		{vault.Field{Type: "date"}, "2026-3-2"},
		{vault.Field{Type: "date"}, "this-week"},
		{vault.Field{Type: "date"}, "2026-03-02T10:00"},
		{vault.Field{Type: "date"}, 20260302.0},
		{vault.Field{Type: "datetime"}, "09:00"},
		{vault.Field{Type: "url"}, "example.test"},
		{vault.Field{Type: "url"}, "https://"},
		{vault.Field{Type: "url"}, ":"},
		{vault.Field{Type: "enum", Values: enum}, "Low"},
		{vault.Field{Type: "enum", Values: enum}, 1.0},
		{vault.Field{Type: "enum", Values: enum}, []any{"low"}},
		{vault.Field{Type: "ref"}, "a]b"},
		{vault.Field{Type: "ref"}, "[[a]"},
		{vault.Field{Type: "ref"}, ""},
		{vault.Field{Type: "ref"}, "[[ ]]"},
		{vault.Field{Type: "ref"}, 5.0},
		{vault.Field{Type: "string[]"}, "a"},
		{vault.Field{Type: "string[]"}, []any{"a", 5.0}},
		{vault.Field{Type: "ref[]"}, []any{nil}},
		{vault.Field{Type: "enum[]", Values: enum}, []any{"low", "none"}},
	}
	for _, r := range rows {
		r.f.Name = "state"
		_, err := r.f.Read(r.in, clock)
		require.True(t, fault.Is(err, fault.InvalidValue), "%s ← %#v: %v", r.f.Type, r.in, err)
		f := fault.Of(err)
		require.Equal(t, "state", f.Details["field"])
		require.NotContains(t, f.Details, "value")
		if r.f.Values != nil {
			require.Equal(t, enum, f.Details["allowed"])
		}
	}
}

func TestReadBounds(t *testing.T) {
	for message, f := range map[string]vault.Field{
		"Field 'rating' must be between 1 and 5": {Min: number(1), Max: number(5)},
		"Field 'rating' must be at least 11":     {Min: number(11)},
		"Field 'rating' must be at most 9.5":     {Max: number(9.5)},
	} {
		f.Name, f.Type = "rating", "number"
		_, err := f.Read(10.0, clock)
		require.True(t, fault.Is(err, fault.InvalidField))
		require.Equal(t, message, fault.Of(err).Message)
		require.InDelta(t, 10, fault.Of(err).Details["value"], 0)
		require.NotEmpty(t, fault.Of(err).Details["constraint"])

		f.Type = "number[]"
		_, err = f.Read([]any{10.0}, clock)
		require.True(t, fault.Is(err, fault.InvalidField))
	}
}

func TestCheck(t *testing.T) {
	person := typeOf(t, parse(t, schema), "person")
	got := person.Check(map[string]any{
		"name": vault.Text("Freya"), "rating": 9.0, "company": "firms/a", "tags": vault.Text("x,y"),
		"due": "today", "zeta": vault.Text("5"), "beta": vault.Text("[[a]]"), "alias": "f",
		"gamma": map[string]any{}, "delta": vault.Text("[a, 2]"), "eta": vault.Text("a: b"),
	}, clock)
	require.Equal(t, map[string]any{
		"name": "Freya", "company": markdown.Ref("firms/a"), "tags": []any{"x", "y"},
		"due": "2026-03-02", "zeta": 5.0, "beta": markdown.Ref("a"), "alias": "f",
		"delta": []any{"a", 2.0}, "eta": "a: b",
	}, got.Fields)
	require.Equal(t, []string{"beta", "delta", "eta", "zeta"}, got.Unknown)
	require.Len(t, got.Problems, 2)
	require.Equal(t, "gamma", got.Problems[0].Details["field"])
	require.Equal(t, "rating", got.Problems[1].Details["field"])

	page := typeOf(t, vault.NewSchema(), "page")
	require.Empty(t, page.Check(map[string]any{"anything": 1.0}, clock).Unknown)
}

func TestCheckUndeclaredText(t *testing.T) {
	task := typeOf(t, parse(t, schema), "task")
	for in, out := range map[string]any{
		"": nil, "null": nil, "~": nil, "5": 5.0, "true": true, "yes": "yes", "2026-03-02": "2026-03-02",
		"plain text": "plain text", "#tag": "#tag", "a # b": "a # b", "|": "|", ">": ">", "- x": "- x",
		`"5"`: "5", "'it''s'": "it's", `"open`: `"open`, "a: b": "a: b", "{a: b}": "{a: b}",
		"*x": "*x", "&x y": "&x y", "[a": "[a", "[]": []any{}, " x ": " x ", "a\nb": "a\nb",
		"---": "---", "!!int 5": 5.0, "[[a|b]]": markdown.Ref("a"), "[1, x]": []any{1.0, "x"},
	} {
		got := task.Check(map[string]any{"any": vault.Text(in)}, clock)
		require.Equal(t, map[string]any{"any": out}, got.Fields, "%q", in)
	}
}

func TestCheckTags(t *testing.T) {
	task := typeOf(t, parse(t, schema), "task")
	for _, in := range []any{
		"a, #b", vault.Text("a,b"), vault.Text("#a #b"), vault.Text("[a, b]"), []any{"a", "b"},
	} {
		got := task.Check(map[string]any{"tags": in}, clock)
		require.Empty(t, got.Problems)
		require.Equal(t, map[string]any{"tags": []any{"a", "b"}}, got.Fields, "%#v", in)
		require.Empty(t, got.Unknown)
	}
	got := task.Check(map[string]any{"tags": vault.Text("")}, clock)
	require.Equal(t, map[string]any{"tags": nil}, got.Fields)
	require.Len(t, task.Check(map[string]any{"tags": 5.0}, clock).Problems, 1)
}

func TestCheckObject(t *testing.T) {
	s := parse(t, schema)
	person, task := typeOf(t, s, "person"), typeOf(t, s, "task")
	require.Empty(t, person.CheckObject(map[string]any{"name": nil}, clock), "null is there")
	problems := person.CheckObject(map[string]any{"rating": 0.0}, clock)
	require.Len(t, problems, 2)
	require.Equal(t, fault.MissingRequired, problems[0].Code)
	require.Equal(t, "Field 'name' is required for type 'person'", problems[0].Message)
	require.Equal(t, fault.InvalidField, problems[1].Code)

	missing := task.Missing(nil)
	require.Len(t, missing, 1, "what has a default is not missing")
	require.Equal(t, "due", missing[0].Details["field"])
}

func TestDefaults(t *testing.T) {
	task := typeOf(t, parse(t, schema), "task")
	given := map[string]any{"state": nil}
	filled, names := task.Defaults(given)
	require.Equal(t, map[string]any{"state": nil, "urgent": false, "priority": "high"}, filled)
	require.Equal(t, []string{"urgent", "priority"}, names)
	require.Len(t, given, 1)
	filled, _ = task.Defaults(nil)
	require.Equal(t, "todo", filled["state"])
}
