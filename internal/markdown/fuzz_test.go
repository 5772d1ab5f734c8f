package markdown_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/fault"
	"rookery/internal/markdown"
)

// seeds are notes that fuzzing starts from.
var seeds = []string{
	"", "# T\n", "---\n---\n# H", "\ufeff---\r\na: 1 # c\r\nb: [x, 'y']\r\n---\r\n\r\n# T\r\n",
	"---\na: |+\n  x\n\nb: >-\n  y\nc:\n  - \"[[p|q]]\"\n  - [1, [2]]\n---\n- # in\n\n> q\n> ===\n",
	"---\n? a\n: 1\n---\n", "---\n{a: 1}\n---\n", "---\na: &x 1\nb: *x\n---\n", "---\na: !!str\n---\n",
	"---\n\"a\\n\": 'x\n\n  y'\nb: x\n  y # c\n---\n", "---\na: 2025-1-1\nb: .inf\nc: 0777\n---\n",
	"```\n# x\n", "<!--\n# x\n", "[a]: /b\n===\n", "- - - a\n\n\n\n  # b\n", "\t- a\n  1. b\n", "---\na: 1\n...\n---\n",
	"---\n a: 1\n b:\n  - x\n---\n", "---\na: \u2028 b\nc\u0085: d\n---\n", "\xff\n---\n", "a\rb\n# c\r",
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := markdown.Parse(text)
		checkDoc(t, d, text)
		_, err := json.Marshal(fields(d))
		require.NoError(t, err)
	})
}

// checkDoc requires what holds of every Doc.
func checkDoc(t *testing.T, d *markdown.Doc, text []byte) {
	lineAt := func(at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }
	require.True(t, d.Problem == nil || d.Frontmatter == nil)
	require.Equal(t, lineAt(d.Body), d.BodyLine)
	slugs := map[string]bool{}
	end := d.Body
	for i, h := range d.Headings {
		require.False(t, slugs[h.Slug], "slugs are unique")
		slugs[h.Slug] = true
		require.Less(t, h.Parent, i)
		require.Equal(t, lineAt(h.Own.Start), h.Line)
		require.LessOrEqual(t, h.Line, d.LineCount)
		require.Greater(t, h.Content, h.Own.Start)
		require.LessOrEqual(t, h.Content, h.Own.End)
		require.LessOrEqual(t, h.Own.End, h.Subtree.End)
		if i > 0 {
			require.Equal(t, end, h.Own.Start, "sections follow one another")
		}
		end = h.Own.End
	}
	if len(d.Headings) > 0 {
		require.Equal(t, len(text), end)
	}
	checkEntries(t, d, text)
}

func checkEntries(t *testing.T, d *markdown.Doc, text []byte) {
	if d.Frontmatter == nil {
		return
	}
	require.LessOrEqual(t, d.Frontmatter.Inner.End, d.Body)
	for _, e := range d.Frontmatter.Entries {
		require.LessOrEqual(t, e.Lines.Start, e.Lines.End)
		require.LessOrEqual(t, e.Text.Start, e.Text.End)
		require.LessOrEqual(t, e.Text.End, d.Frontmatter.Inner.End)
		require.LessOrEqual(t, e.Lines.End, d.Frontmatter.Inner.End)
		require.Positive(t, e.Line)
	}
}

func FuzzSetFields(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), []string{"a", "b", "c", "new"}[i%4], []string{"x", "- y", "12", "p\nq"}[i%4], i%3)
	}
	f.Fuzz(func(t *testing.T, text []byte, key, value string, items int) {
		var v any = value
		if items%4 > 0 {
			v = []any{value, true, nil}[:items%4]
		}
		out, err := markdown.SetFields(text, []markdown.Field{{Key: key, Value: v}})
		if err != nil {
			code := fault.Of(err).Code
			require.Contains(t, []fault.Code{fault.FileError, fault.InvalidField, fault.InvalidValue}, code)
			return
		}
		before, after := markdown.Parse(text), markdown.Parse(out)
		require.Nil(t, after.Problem)
		require.Equal(t, string(text[before.Body:]), string(out[after.Body:]))
		_, ok := after.Frontmatter.Get(key)
		require.True(t, ok)
		again, err := markdown.SetFields(out, []markdown.Field{{Key: key, Value: v}})
		require.NoError(t, err)
		require.Equal(t, string(out), string(again), "a value that is there is not written again")
		gone, err := markdown.UnsetFields(out, []string{key})
		if err == nil {
			_, ok = markdown.Parse(gone).Frontmatter.Get(key)
			require.False(t, ok)
		}
	})
}

func FuzzAppend(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "- x\n  y", "t")
		f.Add([]byte(s), "a\r\nb", "")
	}
	f.Fuzz(func(t *testing.T, text []byte, block, slug string) {
		out, line, err := markdown.Append(text, block)
		if err == nil {
			checkAdded(t, text, out, block, line)
		}
		out, line, err = markdown.AppendToSection(text, slug, block)
		if err == nil {
			checkAdded(t, text, out, block, line)
		}
	})
}

// checkAdded requires that out is the text with something added in one place, and that the block
// begins in the line that is answered.
func checkAdded(t *testing.T, text, out []byte, block string, line int) {
	n := 0
	for n < len(text) && n < len(out) && text[n] == out[n] {
		n++
	}
	require.Greater(t, len(out), len(text))
	require.True(t, bytes.HasSuffix(out, text[n:]), "the rest follows what was added")
	lines := strings.Split(string(out), "\n")
	require.LessOrEqual(t, line, len(lines))
	begin, _, _ := strings.Cut(strings.TrimRight(block, "\r\n"), "\n")
	got, first := strings.TrimRight(lines[line-1], "\r"), strings.TrimRight(begin, "\r")
	require.True(t, strings.HasSuffix(got, first), "%q begins with %q", got, first)
}
