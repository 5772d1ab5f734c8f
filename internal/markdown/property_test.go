package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A nasty note is put together from parts; each entry is the lines of one field.
type nasty struct {
	bom     string
	above   []string // a comment or a blank line above each entry, or ""
	entries []string
	keys    []string
	body    string
	eol     string
}

var nastyValues = []string{
	"", " ", " x", "  x  ", " x # c", " 'it''s' # c", " \"q \\\" # \\\\\"", " 12", " ~ # c", " 2025-2-1",
	" |\n  a\n   b\n", " |+\n  a\n\n", " >-  # c\n    a\n  \n    b", " a\n  b\n\n  c # d", " \"a\n\n  # b\" # c",
	"\n  - a # 1\n  # 2\n  - 'b'", "\n- a\n- \"[[b|c]]\"\n-", " # c\n    - |\n      x\n    - y", " [a, 'b]' , \"c\"]",
	" [ # c\n  a,\n  [b, \"#\"]  # d\n  ] # e", " [[p/q]]", " '[[p|q]]'", " ü 日本 🚀 # é", " a:b#c", " []",
	"\n  -\n    a\n  - b", "\n  x # c", " !!str 1 # c", " yes", " don't [x]",
}

var nastyBodies = []string{
	"", "text", "\n# T\n\n- x\n", "---\na: 1\n---\n", "```\n---\n", "a: 1\n---\n\n\n", "\t\n \n",
}

func drawNasty(t *rapid.T) nasty {
	n := nasty{
		bom:  rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "bom"),
		eol:  rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol"),
		body: rapid.SampledFrom(nastyBodies).Draw(t, "body"),
	}
	keys := []string{"a", "b c", "\"d: e\"", "'f'", "ü", "g  ", "1"}
	above := []string{"", "# c: d\n", "#\n\n", "\n"}
	for i, key := range keys[:rapid.IntRange(0, len(keys)).Draw(t, "entries")] {
		value := rapid.SampledFrom(nastyValues).Draw(t, "value")
		n.keys = append(n.keys, []string{"a", "b c", "d: e", "f", "ü", "g", "1"}[i])
		n.entries = append(n.entries, key+":"+strings.TrimSuffix(value, "\n")+"\n")
		n.above = append(n.above, rapid.SampledFrom(above).Draw(t, "above"))
		if strings.HasPrefix(value, " |+") {
			above = above[:3] // it would take a blank line that comes to stand behind it
		}
	}
	return n
}

// text is the note without the entry of index skip, or whole.
func (n nasty) text(skip int) string {
	var b strings.Builder
	for i := range n.entries {
		b.WriteString(n.above[i])
		if i != skip {
			b.WriteString(n.entries[i])
		}
	}
	s := "---\n" + b.String() + "---\n" + n.body
	return n.bom + strings.ReplaceAll(s, "\n", n.eol)
}

func drawScalar(t *rapid.T) any {
	return rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](true),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{"x", "- x", "# x", "a: b", "---", "2025-02-01", "12", "no",
			"[x", "'", "\"", " x", "x\n", "x\n\ny\n\n", "\n", "\n x", "a\r\nb", "\t", "é\u2028\u0085", "~", "<<",
			"&a", "*a", "!x", "%x", "@x", "`x", "x #y", "null", ".inf", "0x10", "...", "|", "- ---\n---\nx",
			"a\n  b\n c\n", "x: |\n  y", "\ufeff", "\U0010ffff", "2025-02-01T09:30", "2025-1-1"}),
			func(s string) any { return s }),
		rapid.Map(rapid.StringMatching(`[a-z /.#-]{0,3}[a-z]`), func(s string) any {
			return markdown.Ref(strings.TrimSpace(s))
		}),
	).Draw(t, "scalar")
}

func drawValue(t *rapid.T) any {
	if !rapid.Bool().Draw(t, "list") {
		return drawScalar(t)
	}
	list := []any{}
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		list = append(list, drawScalar(t))
	}
	return list
}

// TestSetFieldsTouchesNothingElse sets a field of a nasty note, and requires that every other line
// keeps its bytes and the value reads back.
func TestSetFieldsTouchesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNasty(t)
		text := n.text(-1)
		before := markdown.Parse([]byte(text))
		require.Nil(t, before.Problem)
		require.Len(t, before.Frontmatter.Entries, len(n.keys))
		key := rapid.SampledFrom(append([]string{"new", "a: b"}, n.keys...)).Draw(t, "key")
		value := drawValue(t)
		out, err := markdown.SetFields([]byte(text), pairs(key, value))
		require.NoError(t, err)

		after := markdown.Parse(out)
		require.Nil(t, after.Problem)
		e, ok := after.Frontmatter.Get(key)
		require.True(t, ok)
		require.Equal(t, readsAs(value), e.Value)
		at := markdown.Span{Start: before.Frontmatter.Inner.End, End: before.Frontmatter.Inner.End}
		if old, ok := before.Frontmatter.Get(key); ok {
			at = old.Lines
		}
		require.Equal(t, text[:at.Start], string(out[:e.Lines.Start]))
		require.Equal(t, text[at.End:], string(out[e.Lines.End:]))
	})
}

// readsAs is the value that a value which is written reads back as: a text that is a wikilink is a
// reference, and an integer that is negative zero is zero.
func readsAs(value any) any {
	switch v := value.(type) {
	case string:
		if d := markdown.Parse([]byte("---\nk: '" + v + "'\n---\n")); strings.HasPrefix(v, "[[") {
			return d.Frontmatter.Entries[0].Value
		}
	case float64:
		return v + 0
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, readsAs(item))
		}
		return list
	}
	return value
}

// TestUnsetFieldsRemovesOneEntry requires that exactly the lines of the field go.
func TestUnsetFieldsRemovesOneEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNasty(t)
		if len(n.keys) == 0 {
			return
		}
		i := rapid.IntRange(0, len(n.keys)-1).Draw(t, "which")
		out, err := markdown.UnsetFields([]byte(n.text(-1)), []string{n.keys[i]})
		require.NoError(t, err)
		require.Equal(t, n.text(i), string(out))
	})
}

// TestSetAndUnset requires that a field which is added and removed leaves the note as it was.
func TestSetAndUnset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawNasty(t).text(-1)
		with, err := markdown.SetFields([]byte(text), pairs("new", drawValue(t)))
		require.NoError(t, err)
		out, err := markdown.UnsetFields(with, []string{"new"})
		require.NoError(t, err)
		require.Equal(t, text, string(out))
	})
}
