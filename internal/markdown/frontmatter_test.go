package markdown_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

type ref = markdown.Ref

// pairs makes fields of keys and values in turn.
func pairs(keysAndValues ...any) []markdown.Field {
	var all []markdown.Field
	for i := 0; i < len(keysAndValues); i += 2 {
		key := keysAndValues[i].(string)
		all = append(all, markdown.Field{Key: key, Value: keysAndValues[i+1]})
	}
	return all
}

// fields are the keys and values of a note, in order.
func fields(d *markdown.Doc) []markdown.Field {
	var all []markdown.Field
	if d.Frontmatter == nil {
		return nil
	}
	for _, e := range d.Frontmatter.Entries {
		all = append(all, markdown.Field{Key: e.Key, Value: e.Value})
	}
	return all
}

// TestFrontmatterRows is the table F of Raven's parser cases. The differences column says what the
// older Ravens, S and M, read otherwise, and where ours is not the current one's, C.
func TestFrontmatterRows(t *testing.T) {
	cases := []struct {
		row, text   string
		differences string
		fields      []markdown.Field
		sections    string // "" = none
	}{
		{"F1", "# T\n\nhello @due(2025-02-01) [[people/a]]",
			"C, M: the section #t is an object; S: trait and ref belong to the file; ours: the title",
			nil, "t L1-eof/eof title"},
		{"F2", "---\nn: 3\nf: 4.5\nb: true\nnul:\n---\n", "", pairs("n", 3.0, "f", 4.5, "b", true, "nul", nil), ""},
		{"F3", "---\nd: 2025-02-01\nq: \"2025-02-01\"\n---\n", "", pairs("d", "2025-02-01", "q", "2025-02-01"), ""},
		{"F4", "---\ndt: 2025-02-01T09:30:00Z\ndt2: 2025-02-01T09:30\n---\n",
			"S: dt is 2025-02-01", pairs("dt", "2025-02-01T09:30", "dt2", "2025-02-01T09:30"), ""},
		{"F4 seconds", "---\ndt: 2025-02-01T09:30:15+02:00\n---\n", "S: 2025-02-01",
			pairs("dt", "2025-02-01T09:30:15"), ""},
		{"F5", "---\nh: 2025-02-01T00:00:00Z\no: 2025-2-1\n---\n", "", pairs("h", "2025-02-01", "o", "2025-02-01"), ""},
		{"F6", "---\ni: 09:00\nj: yes\nl: 0x10\nm: 1e3\nn: \"12\"\nk: ~\n---\n", "",
			pairs("i", "09:00", "j", "yes", "l", 16.0, "m", 1000.0,
				"n", "12", "k", nil), ""},
		{"F7", "---\nr: \"[[people/a]]\"\nr2: \"[[people/a|Alice]]\"\n---\n",
			"S: r2 is people/a|Alice", pairs("r", ref("people/a"), "r2", ref("people/a")), ""},
		{"F8", "---\nr3: [[people/a]]\n---\n", "", pairs("r3", []any{[]any{"people/a"}}), ""},
		{"F9", "---\nc: \"[[]]\"\nd: \"[[  ]]\"\n---\n", "S: refs to \"\" and \"  \"",
			pairs("c", "[[]]", "d", "[[  ]]"), ""},
		{"F10", "---\nf: [\"[[p/q]]\", plain, \"[[r/s|R]]\"]\n---\n", "S: the last is r/s|R",
			pairs("f", []any{ref("p/q"), "plain", ref("r/s")}), ""},
		{"F11", "---\ng: \"pre [[m/n]] post\"\n---\n", "", pairs("g", "pre [[m/n]] post"), ""},
		{"F12", "---\ndesc: see [[a/b]] and `[[c/d]]`\n---\n", "", pairs("desc", "see [[a/b]] and `[[c/d]]`"), ""},
		{"F13", "---\ntitle: \"@due(2025-01-01) x\"\n---\n", "", pairs("title", "@due(2025-01-01) x"), ""},
		{"F14", "---\ntags: [a, b]\n---\n", "S: the tags of the object", pairs("tags", []any{"a", "b"}), ""},
		{"F15", "---\nid: custom\n---\n", "", pairs("id", "custom"), ""},
		{"F16", "---\n---\n# H", "C, M, S: a section; ours: the title", nil,
			"h L3-eof/eof title"},
		{"F17", "---\ntype: person\n# H\n@due(2025-01-01)", "", nil, "h L3-eof/eof"},
		{"F18", "\n---\ntype: person\n---\n# H", "", nil,
			"type-person L3-4/4\nh L5-eof/eof"},
		{"F19", "\ufeff---\ntype: person\n---\n# H",
			"C, M, S: one section type-person; ours: a byte order mark is skipped",
			pairs("type", "person"), "h L4-eof/eof title"},
		{"F22", "---\ntype: person\n---\n", "", pairs("type", "person"), ""},
		{"F23", "", "", nil, ""},
		{"F24", "---\r\ntype: person\r\nname: Freya\r\n---\r\n\r\n# Head One\r\n\r\n" +
			"- @due(2025-02-01) do it [[p/q]]\r\n\r\n# Two\r\n", "",
			pairs("type", "person", "name", "Freya"),
			"head-one L6-9/9\ntwo L10-eof/eof"},
		{"F25", "# H\n\n---\ntype: x\n---\nafter @a",
			"C, M, S: type-x stands under h; ours: h is the title", nil,
			"h L1-3/eof title\ntype-x L4-eof/eof"},
	}
	for _, c := range cases {
		t.Run(c.row, func(t *testing.T) {
			d := markdown.Parse([]byte(c.text))
			require.Nil(t, d.Problem)
			require.Equal(t, c.fields, fields(d))
			require.Equal(t, c.sections, sections(d))
		})
	}
}

// TestProblems are the notes whose frontmatter is not used. F20 and F21 are errors of the file in C
// and M too; S reads the mapping of F20 as null.
func TestProblems(t *testing.T) {
	cases := []struct {
		name, text string
		line       int
		says       string
	}{
		{"F21", "---\nt: x\na: [1\n---\nb\n", 4, "not valid YAML"},
		{"twice", "---\na: 1\nb: 2\na: 3\n---\n", 4, "twice"},
		{"alias", "---\na: *x\n---\n", 2, "not valid YAML"},
		{"two documents", "---\na: 1\n...\nb: 1\n---\n", 2, "not valid YAML"},
		{"tab", "---\na: 1\n\tb: 1\n---\n", 3, "not valid YAML"},
		{"NUL", "---\na: \x00\n---\n", 2, "not valid YAML"},
		{"deep", "---\na: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n---\n",
			2, "too deep"},
		{"very deep", "---\na: " + strings.Repeat("[", 90000), 0, ""},
		{"not UTF-8", "---\na: 1\n---\nbody\n\xff\n", 5, "UTF-8"},
		{"billion laughs", laughs(9), 6, "too many values"},
		{"mapping with a key twice", "---\na: 1\nm: {b: 1, b: 2}\n---\n", 3, "twice"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := markdown.Parse([]byte(c.text))
			if c.line == 0 {
				require.Nil(t, d.Problem)
				return
			}
			require.NotNil(t, d.Problem)
			require.Contains(t, d.Problem.Message, c.says)
			require.Equal(t, c.line, d.Problem.Line)
			require.Nil(t, d.Frontmatter)
		})
	}
}

// laughs is a frontmatter in which every line repeats the one before it ten times.
func laughs(lines int) string {
	text := "---\na0: &a0 x\n"
	for i := 1; i < lines; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	return text + "---\n"
}

// TestHeadsOfAnyShape has frontmatter as people and their plugins write it. Only what has a plain key is a
// field; the rest is no reason to read nothing.
func TestHeadsOfAnyShape(t *testing.T) {
	cases := []struct {
		name, yaml string
		want       any
	}{
		{"F20: a mapping", "t: x\nm:\n  a: 1\n  b: [y]\n", pairs("t", "x", "m", nested(`{"a":1,"b":["y"]}`))},
		{"a list", "- a\n", pairs()},
		{"a word", "hello\n", pairs()},
		{"an anchor", "b: 2\na: &x 1\nc: *x\n", pairs("b", 2.0, "a", 1.0, "c", 1.0)},
		{"a merge", "<<: 1\na: 1\n", pairs("a", 1.0)},
		{"a list as key", "[a]: 1\nb: 2\n", pairs("b", 2.0)},
		{"a mapping in a list", "a:\n  - b: 1\n  - c\n", pairs("a", []any{nested(`{"b":1}`), "c"})},
		{"a few laughs", "a: &a [x, x]\nb: [*a, *a]\n",
			pairs("a", []any{"x", "x"}, "b", []any{[]any{"x", "x"}, []any{"x", "x"}})},
		{"a placeholder", "date: {{date}}\ntitle: \"{{title}}\"\nlist: [{{a}}, b]\n",
			pairs("date", "{{date}}", "title", "{{title}}", "list", []any{"{{a}}", "b"})},
		{"a placeholder beside signs", "a: \"~< {{b}}\"\n", pairs("a", "~< {{b}}")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := markdown.Parse([]byte("---\n" + c.yaml + "---\nbody\n"))
			require.Nil(t, d.Problem)
			require.Equal(t, c.want, fields(d))
		})
	}
}

func nested(json string) markdown.Nested { return markdown.Nested(json) }

// TestNamesOfABrokenHead says that a head which is no YAML still tells how its note is called.
func TestNamesOfABrokenHead(t *testing.T) {
	d := markdown.Parse([]byte("---\ntitle: a: b\naliases:\n  - One\n  - Two\ntags: [x, y]\ntags: [z]\nalias: [\n---\n"))
	require.NotNil(t, d.Problem)
	require.Equal(t, pairs("aliases", []any{"One", "Two"}, "tags", []any{"x", "y"}), fields(d))
}

func TestProblemsKeepTheRest(t *testing.T) {
	d := markdown.Parse([]byte("---\na: [secretword\n---\n# One\n\n# Two\n"))
	require.Equal(t, "one L4-5/5\ntwo L6-eof/eof", sections(d))
	require.NotContains(t, d.Problem.Message, "secretword")
}

func TestValues(t *testing.T) {
	cases := []struct {
		yaml string
		want any
	}{
		{".inf", ".inf"}, {"-.inf", "-.inf"}, {".nan", ".nan"}, {"1e999", "1e999"},
		{"9007199254740992", 9007199254740992.0},
		{"9007199254740993", "9007199254740993"},
		{"18446744073709551615", "18446744073709551615"},
		{"12345678901234567890123", "12345678901234567890123"},
		{"1_000", 1000.0}, {"-7", -7.0}, {"True", true}, {"null", nil}, {"''", ""},
		{"2025-02-30", "2025-02-30"}, {"!!str 12", "12"}, {"!!int abc", "abc"},
		{"\" [[ a/b ]] \"", ref("a/b")}, {"\"[[a|]]\"", "[[a|]]"}, {"\"[[a]] [[b]]\"", "[[a]] [[b]]"},
		{"[]", []any{}}, {"[a, [1, ~]]", []any{"a", []any{1.0, nil}}},
		{"|\n  a\n  b\n", "a\nb\n"}, {">-\n  a\n  b", "a b"},
	}
	for _, c := range cases {
		t.Run(c.yaml, func(t *testing.T) {
			d := markdown.Parse([]byte("---\nk: " + c.yaml + "\n---\n"))
			require.Nil(t, d.Problem)
			require.Equal(t, pairs("k", c.want), fields(d))
			_, err := json.Marshal(fields(d))
			require.NoError(t, err)
		})
	}
}

func TestEntriesSayWhereTheyStand(t *testing.T) {
	text := "\ufeff---\n# about\na: 1 # one\n\n\"b c\": 'x ''y'' # z'\nlist:\n  - é # first\n  - b\n" +
		"# end\ntext: |\n  t\n\n  u\n\nnull:\nflow: [a, \"]\", # c\n  b ]\n---\nbody"
	d := markdown.Parse([]byte(text))
	require.Nil(t, d.Problem)
	type row struct {
		key         string
		line        int
		value, rows string
	}
	var got []row
	for _, e := range d.Frontmatter.Entries {
		got = append(got, row{e.Key, e.Line,
			text[e.Text.Start:e.Text.End], text[e.Lines.Start:e.Lines.End]})
	}
	require.Equal(t, []row{
		{"a", 3, "1", "a: 1 # one\n"},
		{"b c", 5, "'x ''y'' # z'", "\"b c\": 'x ''y'' # z'\n"},
		{"list", 6, "- é # first\n  - b", "list:\n  - é # first\n  - b\n"},
		{"text", 10, "|\n  t\n\n  u", "text: |\n  t\n\n  u\n"},
		{"null", 15, "", "null:\n"},
		{"flow", 16, "[a, \"]\", # c\n  b ]", "flow: [a, \"]\", # c\n  b ]\n"},
	}, got)
	require.Equal(t, "body", text[d.Body:])
	require.Equal(t, 19, d.BodyLine)
	require.Equal(t, 19, d.LineCount)
}

func TestLineCount(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\n\n": 2, "a\r\nb": 2} {
		require.Equal(t, want, markdown.Parse([]byte(text)).LineCount, "%q", text)
	}
}
