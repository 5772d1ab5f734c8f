package markdown_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

func TestSetFields(t *testing.T) {
	list := []any{"a", ref("b/c")}
	cases := []struct {
		name, old string
		key       string
		value     any
		want      string
	}{
		{"plain", "a: 1\nb: x # note\nc: 2\n", "b", "v", "a: 1\nb: v # note\nc: 2\n"},
		{"spacing stays", "a:   1   # n\n", "a", 2.5, "a:   2.5   # n\n"},
		{"same value", "a:    \"x\"  \n", "a", "x", "a:    \"x\"  \n"},
		{"same date", "a: 2025-2-1\n", "a", "2025-02-01", "a: 2025-2-1\n"},
		{"same list", "a: [ x,\n  1 ]\n", "a", []any{"x", 1.0}, "a: [ x,\n  1 ]\n"},
		{"same reference", "a: '[[x|X]]'\n", "a", ref("x"), "a: '[[x|X]]'\n"},
		{"what is shown", "a: \"[[x|X]]\"\n", "a", "[[x|Y]]", "a: \"[[x|Y]]\"\n"},
		{"double quotes", "a: \"x\" # c\n", "a", "y \"z\"", "a: \"y \\\"z\\\"\" # c\n"},
		{"single quotes", "a: 'x'\n", "a", "it's", "a: 'it''s'\n"},
		{"single to double", "a: 'x'\n", "a", "x\ny", "a: \"x\\ny\"\n"},
		{"needs quotes", "a: x\n", "a", "y: z", "a: \"y: z\"\n"},
		{"text like a number", "a: 1\n", "a", "12", "a: \"12\"\n"},
		{"text like a bool", "a: x\n", "a", "yes", "a: \"yes\"\n"},
		{"empty text", "a: x\n", "a", "", "a: \"\"\n"},
		{"date", "a: x\n", "a", "2025-02-01", "a: 2025-02-01\n"},
		{"datetime", "a: x\n", "a", "2025-02-01T09:30", "a: 2025-02-01T09:30\n"},
		{"quoted date", "a: \"x\"\n", "a", "2025-02-01", "a: \"2025-02-01\"\n"},
		{"text like a time", "a: x\n", "a", "2025-02-01T09:30:00Z", "a: \"2025-02-01T09:30:00Z\"\n"},
		{"reference", "a: x\n", "a", ref("p/q"), "a: \"[[p/q]]\"\n"},
		{"reference in single quotes", "a: '[[x]]'\n", "a", ref("p/q"), "a: '[[p/q]]'\n"},
		{"bare reference", "a: [[x]]\n", "a", ref("p/q"), "a: \"[[p/q]]\"\n"},
		{"bool", "a: \"x\"\n", "a", true, "a: true\n"},
		{"null", "a: x # c\n", "a", nil, "a: # c\n"},
		{"null of a list", "a: # c\n  - x\nb: 1\n", "a", nil, "a: # c\nb: 1\n"},
		{"from null", "a:\nb: 1\n", "a", "x", "a: x\nb: 1\n"},
		{"from null with blanks", "a: \t\nb: 1\n", "a", "x", "a: x\nb: 1\n"},
		{"text of lines from null", "a:\nb: 1\n", "a", "p\nq", "a: |-\n  p\n  q\nb: 1\n"},
		{"from null with comment", "a:   # c\n", "a", "x", "a: x   # c\n"},
		{"from tilde", "a: ~\n", "a", 3, "a: 3\n"},
		{"several plain lines", "a: x\n  y\n\n  z # c\nb: 1\n", "a", "w", "a: w # c\nb: 1\n"},
		{"several quoted lines", "a: \"x\n\n  # y\"  # c\nb: 1\n", "a", "w", "a: \"w\"  # c\nb: 1\n"},
		{"on the next line", "a: # c\n  x\nb: 1\n", "a", "w", "a: w # c\nb: 1\n"},
		{"literal", "a: |\n  x\n  y\n\nb: 1\n", "a", "p\nq\n", "a: |\n  p\n  q\n\nb: 1\n"},
		{"literal to one line", "a: |\n  x\nb: 1\n", "a", "p", "a: |-\n  p\nb: 1\n"},
		{"folded", "a: >-\n  x\n  y\n# c\nb: 1\n", "a", "p\nq", "a: >-\n  p\n\n  q\n# c\nb: 1\n"},
		{"literal with a fence", "a: |\n  x\n", "a", "p\n---\nq", "a: \"p\\n---\\nq\"\n"},
		{"literal to number", "a: |\n  x\n # c\nb: 1\n", "a", 1.0, "a: 1\n # c\nb: 1\n"},
		{"literal to list", "a: |\n  x\nb: 1\n", "a", list, "a:\n  - a\n  - \"[[b/c]]\"\nb: 1\n"},
		{"text of lines", "a: x\n", "a", "p\nq", "a: |-\n  p\n  q\n"},
		{"text of lines, comment", "a: x # c\n", "a", "p\nq", "a: \"p\\nq\" # c\n"},
		{"text with CR", "a: x\n", "a", "p\r\nq", "a: \"p\\r\\nq\"\n"},
		{"list from null", "a: # c\nb: 1\n", "a", list, "a: # c\n  - a\n  - \"[[b/c]]\"\nb: 1\n"},
		{"list from text", "a: x # c\nb: 1\n", "a", list, "a: # c\n  - a\n  - \"[[b/c]]\"\nb: 1\n"},
		{"flow list", "a: [x, y] # c\n", "a", list, "a: [a, \"[[b/c]]\"] # c\n"},
		{"flow list of lines", "a: [\n  x, # d\n  y,\n] # c\nb: 1\n", "a", list,
			"a: [a, \"[[b/c]]\"] # c\nb: 1\n"},
		{"flow item with comma", "a: [x]\n", "a", []any{"p, q", "[r"}, "a: [\"p, q\", \"[r\"]\n"},
		{"empty list", "a:\n- x\n- y\nb: 1\n", "a", []any{}, "a: []\nb: 1\n"},
		{"longer list", "a:\n- x # 1\n# 2\n- y\nb: 1\n", "a", []any{"x", "y", "z"},
			"a:\n- x # 1\n# 2\n- y\n- z\nb: 1\n"},
		{"item in the middle", "a:\n    - x # 1\n    - \"y\"\n    - z # 3\n", "a", []any{"x", "w", "z"},
			"a:\n    - x # 1\n    - w\n    - z # 3\n"},
		{"item at the front", "a:\n  - x # 1\n", "a", []any{"w", "x"}, "a:\n  - w\n  - x # 1\n"},
		{"item gone", "a:\n  - x\n  - |\n    y\n  - z\n", "a", []any{"x", "z"}, "a:\n  - x\n  - z\n"},
		{"dash alone", "a:\n  -\n    x\n  - y\n", "a", []any{"x", "z"}, "a:\n  - x\n  - z\n"},
		{"nested list", "a:\n  - x\n", "a", []any{"x", []any{"v", nil, []any{}}},
			"a:\n  - x\n  - [v, null, []]\n"},
		{"list to text", "a: # c\n  - x\n  # d\n  - y\nb: 1\n", "a", "w", "a: w # c\nb: 1\n"},
		{"quoted key", "\"a b\" : 'x'\n", "a b", "y", "\"a b\" : 'y'\n"},
		{"number as key", "1: x\n", "1", "v", "1: v\n"},
		{"indented mapping", "  a: 1\n  b: 2\n", "c", list,
			"  a: 1\n  b: 2\n  c:\n    - a\n    - \"[[b/c]]\"\n"},
		{"new field", "a: 1 # c\n# end\n", "b", "x", "a: 1 # c\n# end\nb: x\n"},
		{"new null", "a: 1\n", "b", nil, "a: 1\nb:\n"},
		{"new key in quotes", "a: 1\n", "b: c", 1, "a: 1\n\"b: c\": 1\n"},
		{"new key like merge", "a: 1\n", "<<", 1, "a: 1\n\"<<\": 1\n"},
		{"new text of lines", "a: 1\n", "b", "p\n q\n", "a: 1\nb: |\n  p\n   q\n"},
		{"tagged", "a: !!str 1\n", "a", "x", "a: x\n"},
		{"umlauts before", "ä: é # ü\nb: ö\n", "b", "x", "ä: é # ü\nb: x\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				note := func(inner string) string {
					return strings.ReplaceAll("\ufeff---\n"+inner+"---\n# T  \n\n- x", "\n", eol)
				}
				out, err := markdown.SetFields([]byte(note(c.old)), pairs(c.key, c.value))
				require.NoError(t, err)
				require.Equal(t, note(c.want), string(out))
			}
		})
	}
}

func TestSetFieldsMakesFrontmatter(t *testing.T) {
	cases := []struct{ old, want string }{
		{"", "---\na: 1\n---\n"},
		{"text", "---\na: 1\n---\ntext"},
		{"\ufefftext\r\nmore\n", "\ufeff---\r\na: 1\r\n---\r\ntext\r\nmore\n"},
		{"---\ntype: x\n", "---\na: 1\n---\n---\ntype: x\n"},
		{"---\n---\n", "---\na: 1\n---\n"},
		{"---\n# c\n---", "---\n# c\na: 1\n---"},
	}
	for _, c := range cases {
		out, err := markdown.SetFields([]byte(c.old), pairs("a", 1))
		require.NoError(t, err)
		require.Equal(t, c.want, string(out))
	}
}

func TestSetFieldsSeveral(t *testing.T) {
	out, err := markdown.SetFields([]byte("---\na: 1\n---\nb"), pairs("b", "x", "a", json.Number("2"), "c", []string{"p"}, "b", "v"))
	require.NoError(t, err)
	require.Equal(t, "---\na: 2\nb: v\nc:\n  - p\n---\nb", string(out))
}

// TestSetFieldsKeepsDigits checks that an integer of any length is written with all of its digits.
func TestSetFieldsKeepsDigits(t *testing.T) {
	for digits, want := range map[string]string{
		"9007199254740992": "9.007199254740992e+15", "9007199254740993": `"9007199254740993"`,
		"12345678901234567890": `"12345678901234567890"`, "-123456789012345678901": `"-123456789012345678901"`,
	} {
		out, err := markdown.SetFields([]byte("b"), pairs("a", json.Number(digits)))
		require.NoError(t, err)
		require.Equal(t, "---\na: "+want+"\n---\nb", string(out))
	}
	_, err := markdown.SetFields([]byte("b"), pairs("a", json.Number("1e400")))
	require.True(t, fault.Is(err, fault.InvalidValue))
}

func TestUnsetFields(t *testing.T) {
	cases := []struct{ name, old, key, want string }{
		{"first", "a: 1 # c\nb: 2\n", "a", "b: 2\n"},
		{"comment above stays", "# about\na: 1\n\nb: 2\n", "a", "# about\n\nb: 2\n"},
		{"last", "a: 1\n# c\n", "a", "# c\n"},
		{"list", "a:\n- x # 1\n# 2\n- y\n# 3\nb: 1\n", "a", "# 3\nb: 1\n"},
		{"literal", "a: |+\n  x\n\nb: 1\n", "a", "b: 1\n"},
		{"flow", "a: [x,\n y]\nb: 1\n", "a", "b: 1\n"},
		{"null", "b: 1\na:\n", "a", "b: 1\n"},
		{"blank lines that a text above would take", "b: |+\n  x\n\na: 1\n\n  \n# c\n\nd: 1\n", "a",
			"b: |+\n  x\n\n# c\n\nd: 1\n"},
		{"not there", "a: 1\n", "b", "a: 1\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				note := func(inner string) string {
					return strings.ReplaceAll("---\n"+inner+"---\n\n# T\n", "\n", eol)
				}
				out, err := markdown.UnsetFields([]byte(note(c.old)), []string{c.key})
				require.NoError(t, err)
				require.Equal(t, note(c.want), string(out))
			}
		})
	}
	out, err := markdown.UnsetFields([]byte("# no frontmatter"), []string{"a"})
	require.NoError(t, err)
	require.Equal(t, "# no frontmatter", string(out))
}

func TestFieldsRefused(t *testing.T) {
	good := "---\na: 1\n---\n"
	cases := []struct {
		name, text string
		key        string
		value      any
		code       fault.Code
		line       any
	}{
		{"quarantined", "---\na: 1\nb: [1\n---\n", "a", 2, fault.InvalidValue, 4},
		{"not UTF-8", good + "\xff", "a", 2, fault.InvalidValue, 4},
		{"braces", "---\n{a: 1}\n---\n", "a", 2, fault.InvalidValue, 2},
		{"braces, new field", "---\n{a: 1}\n---\n", "b", 2, fault.InvalidValue, 1},
		{"question mark", "---\n? a\n: 1\n---\n", "a", 2, fault.InvalidValue, 2},
		{"empty key", good, "", 2, fault.InvalidField, nil},
		{"key of two lines", good, "a\nb", 2, fault.InvalidField, nil},
		{"mapping", good, "a", map[string]any{}, fault.InvalidValue, nil},
		{"mapping in a list", good, "a", []any{map[string]any{}}, fault.InvalidValue, nil},
		{"infinite", good, "a", math.Inf(1), fault.InvalidValue, nil},
		{"text not UTF-8", good, "a", "\xff", fault.InvalidValue, nil},
		{"empty reference", good, "a", ref(""), fault.InvalidValue, nil},
		{"reference with bar", good, "a", ref("a|b"), fault.InvalidValue, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := markdown.SetFields([]byte(c.text), pairs(c.key, c.value))
			require.Equal(t, c.code, fault.Of(err).Code)
			require.Equal(t, c.line, fault.Of(err).Details["line"])
		})
	}
	for _, text := range []string{"---\na: [1\n---\n", "---\n{a: 1}\n---\n", "---\n? a\n: 1\n---\n"} {
		_, err := markdown.UnsetFields([]byte(text), []string{"a"})
		require.True(t, fault.Is(err, fault.InvalidValue), "%q", text)
	}
}

func TestCompose(t *testing.T) {
	out, err := markdown.Compose(pairs("type", "person", "name", "Freya", "alias", []any{}, "born", nil,
		"tags", []any{"x", "#y"}, "boss", ref("people/odin"), "note", "a\nb"), "---\nnot: a field\n---\n")
	require.NoError(t, err)
	require.Equal(t, "---\ntype: person\nname: Freya\nalias: []\nborn:\ntags:\n  - x\n  - \"#y\"\n"+
		"boss: \"[[people/odin]]\"\nnote: |-\n  a\n  b\n---\n---\nnot: a field\n---\n", string(out))
	out, err = markdown.Compose(nil, "# T\n")
	require.NoError(t, err)
	require.Equal(t, "# T\n", string(out))
	_, err = markdown.Compose(pairs("a", struct{}{}), "")
	require.True(t, fault.Is(err, fault.InvalidValue))
}
