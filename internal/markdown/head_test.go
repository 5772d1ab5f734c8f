package markdown_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestHeadValues holds the values that reference/notes-and-orientation.md A1 and families-build §2.2 name.
func TestHeadValues(t *testing.T) {
	for yaml, want := range map[string]string{
		"a: 2025-03-01":                               `{"a":"2025-03-01T00:00:00.000Z"}`,
		"a: 2025-03-01 10:00:00":                      `{"a":"2025-03-01T10:00:00.000Z"}`,
		"a: 2025-03-01T10:00:00+02:00":                `{"a":"2025-03-01T08:00:00.000Z"}`,
		"a: 2025-03-01t10:00:00.25-1:30":              `{"a":"2025-03-01T11:30:00.250Z"}`,
		"a: \"2025-03-01\"":                           `{"a":"2025-03-01"}`,
		"a: 2025-3-1":                                 `{"a":"2025-3-1"}`,
		"a: 2025-02-30":                               `{"a":"2025-03-02T00:00:00.000Z"}`,
		"a: true\nb: yes\nc: FALSE":                   `{"a":true,"b":"yes","c":false}`,
		"a:\nb: ~\nc: Null\nd: ''":                    `{"a":null,"b":null,"c":null,"d":""}`,
		"a: 017\nb: 0x1F\nc: 0b11\nd: 0o17\ne: 1_000": `{"a":17,"b":31,"c":3,"d":15,"e":1000}`,
		"a: 12345678901234567890":                     `{"a":12345678901234567890}`,
		"a: 1.0\nb: -0.0\nc: 1e3\nd: .5\ne: 1e400":    `{"a":1,"b":0,"c":1000,"d":0.5,"e":null}`,
		"a: .inf\nb: -.INF\nc: .NaN":                  `{"a":null,"b":null,"c":null}`,
		"a: {b: [1, {c: d}]}":                         `{"a":{"b":[1,{"c":"d"}]}}`,
		"z: 1\na: 2\n\"1\": 3":                        `{"z":1,"a":2,"1":3}`,
		"a: &x [1]\nb: *x":                            `{"a":[1],"b":[1]}`,
		"a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}":       `{"a":{"p":1,"q":2},"b":{"q":3,"p":1}}`,
		"a: !!str 1\nb: !!float 1":                    `{"a":"1","b":1}`,
		"a: |\n  x\n  y\nb: >\n  1":                   `{"a":"x\ny\n","b":"1\n"}`,
		"1: a\ntrue: b\nnull: c":                      `{"1":"a","true":"b","null":"c"}`,
		"a: 1\na: 2":                                  `{}`,
		"a: 1\n\"a\": 2":                              `{}`,
		"? [a]\n: 1":                                  `{}`,
		"a: !x 1":                                     `{}`,
		"a: !!int x":                                  `{}`,
		"- a\n- b":                                    `{}`,
		"text":                                        `{}`,
		"a: [":                                        `{}`,
		"# nothing":                                   `{}`,
		"a: &x [*x]":                                  `{}`,
	} {
		head, body := markdown.StrictHead([]byte("---\n" + yaml + "\n---\nbody\n"))
		data, err := json.Marshal(head)
		require.NoError(t, err)
		require.Equal(t, want, string(data), yaml)
		require.Equal(t, len(yaml)+9, body, yaml)
		data, err = json.Marshal(markdown.Parse([]byte("---\n" + yaml + "\n---\nbody\n")).Head())
		require.NoError(t, err)
		require.Equal(t, want, string(data), yaml)
	}
}

// TestStrictHead holds which texts have a head (A1), and that the other reading is as before.
func TestStrictHead(t *testing.T) {
	for text, want := range map[string]string{
		"---\na: 1\n---\nb":           `{"a":1} "b"`,
		"---\r\na: 1\r\n---\r\n\r\nb": `{"a":1} "\r\nb"`,
		"---\na: 1\n---\n":            `{"a":1} ""`,
		"---\n\n---\nb":               `{} "b"`,
		"---\na: [\n---\nb":           `{} "b"`,
		"---\na: 1\n---":              `{} "---\na: 1\n---"`,
		"---\n---\nb":                 `{} "---\n---\nb"`,
		"--- \na: 1\n---\n":           `{} "--- \na: 1\n---\n"`,
		"---\na: 1\n--- \n":           `{} "---\na: 1\n--- \n"`,
		"---\na: 1\n...\n":            `{} "---\na: 1\n...\n"`,
		"\ufeff---\na: 1\n---\n":      `{} "\ufeff---\na: 1\n---\n"`,
		"\n---\na: 1\n---\n":          `{} "\n---\na: 1\n---\n"`,
		"---\na: 1\n---\n---\n":       `{"a":1} "---\n"`,
		"":                            `{} ""`,
	} {
		head, body := markdown.StrictHead([]byte(text))
		data, err := json.Marshal(head)
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprintf("%s %q", data, text[body:]), "%q", text)
	}
	data, err := json.Marshal(markdown.Parse([]byte("\ufeff---\na: 1\n---")).Head())
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(data))
}

// TestAliasesAreBounded holds that a small head makes no huge value.
func TestAliasesAreBounded(t *testing.T) {
	text := "---\na0: &a0 [x, x]\n"
	for i := 1; i < 40; i++ {
		text += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	head, _ := markdown.StrictHead([]byte(text + "---\n"))
	require.Empty(t, head.Keys)
}

// TestHeadReadsJSON compares heads with a second reading: JSON is YAML.
func TestHeadReadsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, err := json.Marshal(map[string]any{"k": jsonValue(3).Draw(t, "value")})
		require.NoError(t, err)
		head, _ := markdown.StrictHead([]byte("---\n" + string(want) + "\n---\n"))
		got, err := json.Marshal(head)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got))
	})
}

// jsonValue draws a value that JSON has.
func jsonValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 5
		if depth == 0 {
			most = 3
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Float64().Draw(t, "number")
		case 3:
			return rapid.StringMatching(`[ -~é日🙂\n\t]*`).Draw(t, "text")
		case 4:
			return rapid.SliceOfN(jsonValue(depth-1), 0, 4).Draw(t, "list")
		}
		return rapid.MapOfN(rapid.StringMatching(`[a-z0-9: é-]{1,5}`), jsonValue(depth-1), 0, 4).Draw(t, "map")
	})
}

func FuzzHead(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add([]byte("---\na: {<<: [{b: 1}, {c: 2}], d: !!timestamp 2025-1-1}\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		head, body := markdown.StrictHead(text)
		require.LessOrEqual(t, body, len(text))
		for _, m := range []*markdown.Map{head, markdown.Parse(text).Head()} {
			data, err := json.Marshal(m)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(data), "{"))
			require.Len(t, m.Values, len(m.Keys))
		}
	})
}
