package yamltext_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/yamltext"
)

// tasks is a saved query as the tools write it.
var tasks = yamltext.Map{{"description", "What is open"}, {"query", "trait:status .value==todo"}}

func TestSet(t *testing.T) {
	rows := []struct {
		name, text, path string
		value            any
		want             string
	}{
		{"nothing", "", "queries.tasks", tasks,
			"queries:\n  tasks:\n    description: What is open\n    query: \"trait:status .value==todo\"\n"},
		{"a comment", "# mine", "a", "b", "# mine\na: b\n"},
		{"null", "queries: # none yet\nother: 1\n", "queries.x", "y", "queries: # none yet\n  x: y\nother: 1\n"},
		{"last in lines", "queries:\n  # first\n  a: x # why\n\n  # end\nother: 1 # one\n", "queries.b", "y",
			"queries:\n  # first\n  a: x # why\n  b: y\n\n  # end\nother: 1 # one\n"},
		{"no line break", "a: 1", "b", "y", "a: 1\nb: y"},
		{"windows", "a: 1\r\n", "b", tasks,
			"a: 1\r\nb:\r\n  description: What is open\r\n  query: \"trait:status .value==todo\"\r\n"},
		{"four spaces", "queries:\n    a: x\n", "queries.b", "y", "queries:\n    a: x\n    b: y\n"},
		{"behind a literal", "q:\n  a: |\n    x: 1\n    # text\n\nz: 1\n", "q.b", "y",
			"q:\n  a: |\n    x: 1\n    # text\n  b: y\n\nz: 1\n"},
		{"behind a list", "q:\n  a:\n  - 1\n  - 2\nz: 1\n", "q.b", "y", "q:\n  a:\n  - 1\n  - 2\n  b: y\nz: 1\n"},
		{"replaced", "a: 1 # one\nb: 2\n", "a", "x", "a: x # one\nb: 2\n"},
		{"replaced quotes", `a: "x # y" # z` + "\n", "a", "n", "a: n # z\n"},
		{"replaced literal", "a: |\n  x\n  y\nb: 2\n", "a", "n", "a: n\nb: 2\n"},
		{"replaced list", "a:\n- 1\n- 2\nb: 2\n", "a", []string{"x", "y, z"}, "a: [x, \"y, z\"]\nb: 2\n"},
		{"text to mapping", "queries:\n  # c\n  tasks: \"trait:due\" # d\n  z: y\n", "queries.tasks", tasks,
			"queries:\n  # c\n  tasks: # d\n    description: What is open\n    query: \"trait:status .value==todo\"\n  z: y\n"},
		{"merged", "queries:\n  tasks:\n    query: x # old\n    mine: 1\n", "queries.tasks", tasks,
			"queries:\n  tasks:\n    query: \"trait:status .value==todo\" # old\n    mine: 1\n    description: What is open\n"},
		{"in braces", "queries: {a: x}  # c\n", "queries.b", "y", "queries: {a: x, b: y}  # c\n"},
		{"in empty braces", "queries: {}\n", "queries.b", tasks,
			"queries: {b: {description: What is open, query: \"trait:status .value==todo\"}}\n"},
		{"in braces over lines", "queries: {\n  a: 'x}', # c\n  b: [1, 2]\n}\n", "queries.c", "y",
			"queries: {\n  a: 'x}', # c\n  b: [1, 2], c: y\n}\n"},
		{"comma at the end", "q: {a: 1,}\n", "q.b", "y", "q: {a: 1, b: y}\n"},
		{"replaced in braces", "q: {a: [1, {b: c}], d: e}\n", "q.a", "n", "q: {a: n, d: e}\n"},
		{"braces all over", "{a: 1}\n", "b", "y", "{a: 1, b: y}\n"},
		{"other scripts", "größe: {ä: 1}\n日本: x # c\n", "日本", "東京", "größe: {ä: 1}\n日本: 東京 # c\n"},
		{"anchors elsewhere", "a: &x {b: 1}\nc: *x\n", "d", "y", "a: &x {b: 1}\nc: *x\nd: y\n"},
		{"odd values", "a: 1\n", "b", "yes: \"no\"\n\t\\", "a: 1\nb: \"yes: \\\"no\\\"\\n\\t\\\\\"\n"},
		{"like a number", "a: 1\n", "b", "1.5", "a: 1\nb: \"1.5\"\n"},
		{"odd keys", "a: 1\n", "b", yamltext.Map{{"x: y", true}}, "a: 1\nb:\n  \"x: y\": true\n"},
	}
	for _, r := range rows {
		got, err := yamltext.Set([]byte(r.text), strings.Split(r.path, "."), r.value)
		require.NoError(t, err, r.name)
		require.Equal(t, r.want, string(got), r.name)
	}
}

func TestRemove(t *testing.T) {
	rows := [][3]string{
		{"a: 1\nb: 2 # two\nc: 3\n", "b", "a: 1\nc: 3\n"},
		{"q:\n  # c\n  a: x\n  b:\n    d: 1\n    e: 2\n\n  f: 1\n", "q.b", "q:\n  # c\n  a: x\n\n  f: 1\n"},
		{"q:\n  a: x # c\nz: 1\n", "q.a", "q: {}\nz: 1\n"},
		{"q: {a: 1, b: [2, 3], c: 4}\n", "q.b", "q: {a: 1, c: 4}\n"},
		{"q: {a: 1, b: 2}\n", "q.b", "q: {a: 1}\n"},
		{"q: {a: 1}\n", "q.a", "q: {}\n"},
		{"a: 1\n", "b", "a: 1\n"},
		{"a: 1\n", "a.b", "a: 1\n"},
		{"a: 1", "a", ""},
	}
	for _, r := range rows {
		got, err := yamltext.Remove([]byte(r[0]), strings.Split(r[1], "."))
		require.NoError(t, err, r[0])
		require.Equal(t, r[2], string(got), r[0])
	}
}

// TestByHand covers texts in which an edit would change more than it should.
func TestByHand(t *testing.T) {
	for _, text := range []string{
		"a: [", "- a\n", "just a text\n", "x: 1\nx: 2\n", "a: *q\n", "base: &q {x: 1}\na: *q\n", "base: &b {y: 1}\na: {<<: *b}\n",
		"a: 1\n---\nb: 2\n", "a: &x 1\nb: *x\n", strings.Repeat("a", 2<<20),
	} {
		path := []string{"a", "x"}
		if strings.HasPrefix(text, "x: 1") || strings.HasPrefix(text, "a: &x") {
			path = []string{text[:1]}
		}
		got, err := yamltext.Set([]byte(text), path, "y")
		require.True(t, errors.Is(err, yamltext.ErrNotEditable), "%.40q: %s", text, got)
	}
}

// FuzzEdit says that an edit changes what is meant and nothing else, whatever the text is, or none.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{
		"", "a: 1\n", "queries:\n  a: x # c\n  b: {c: [1, 2]}\n", "queries: {a: x, b: 'y'}\n", "q:\n- a\n- b: c\n", "a: |\n  x\n",
		"a: >-\n  x\n  y\n\nb: &x {c: d}\ne: *x\n", "? a\n: b\n", "\"a\": 'b'\n", "a: \"b\n  c\"\n", "%YAML 1.2\n---\na: 1\n...\n",
	} {
		f.Add(text, "queries", "new", "trait:due .value==today")
		f.Add(text, "a", "c", "x")
	}
	f.Fuzz(func(t *testing.T, text, first, second, value string) {
		path := []string{first, second}
		now, err := yamltext.Set([]byte(text), path, value)
		if err != nil {
			require.True(t, errors.Is(err, yamltext.ErrNotEditable), "%v", err)
			return
		}
		var said map[string]any
		require.NoError(t, yaml.Unmarshal(now, &said), "%q", now)
		inner, ok := said[first].(map[string]any)
		if ok && isText(first) && isText(second) {
			require.Equal(t, value, inner[second], "%q", now)
		}
		gone, err := yamltext.Remove(now, path)
		if err != nil {
			require.True(t, errors.Is(err, yamltext.ErrNotEditable))
			return
		}
		again, err := yamltext.Remove(gone, path)
		require.NoError(t, err)
		require.Equal(t, string(gone), string(again))
	})
}

// isText reports whether a key is read as the text that it is.
func isText(key string) bool { return key != "" && strings.ToValidUTF8(key, "") == key }
