package markdown_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// byGoldmark is what goldmark shows of a paragraph, without the markup, code between backticks.
func byGoldmark(source string) string {
	p := parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 100)),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	)
	var b strings.Builder
	root := p.Parse(text.NewReader([]byte(source)))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan:
			b.WriteByte('`')
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value([]byte(source)))
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label([]byte(source)))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestShownAsByGoldmark requires that our reader of inline text, which is linear, takes away the same
// markup as goldmark's.
func TestShownAsByGoldmark(t *testing.T) {
	parts := rapid.SampledFrom([]string{
		"*", "**", "_", "__", "***", "a", "b ", " ", "`c`", "`", "``", "[", "](d)", "](<e f> \"g\")", "]", "![", "!",
		"\\", "(", ")", "<i>", "</i>", "<i j=\"k\">", "<!-- l -->", "<", ">", "<http://m.n>", "é", "😀", ".", "\"",
	})
	rapid.Check(t, func(t *rapid.T) {
		source := "z " + strings.Join(rapid.SliceOfN(parts, 1, 12).Draw(t, "parts"), "") + " @x"
		if strings.Contains(source, "[[") || strings.Contains(source, "``") {
			return // wikilinks bind tighter, and code with backticks is shown otherwise
		}
		traits := markdown.Parse([]byte(source)).Traits
		want := byGoldmark(source)
		require.Len(t, traits, 1)
		require.Equal(t, want, traits[0].ContentText+" @x", "%q", source)
	})
}

// TestHeadingsAsByGoldmark requires that the text of a heading is all that goldmark shows of it.
func TestHeadingsAsByGoldmark(t *testing.T) {
	parts := rapid.SampledFrom([]string{
		"*", "**", "_", "***", "a", "b ", " ", "`c`", "`", "``", "[", "](d)", "](<e f> \"g\")", "]", "![", "!",
		"\\", "(", ")", "<i>", "</i>", "<!-- l -->", "<http://m.n>", "é", "日本", "😀", ".", "@x", "#y", "^z",
	})
	rapid.Check(t, func(t *rapid.T) {
		source := "z" + strings.Join(rapid.SliceOfN(parts, 1, 12).Draw(t, "parts"), "") + "z"
		if strings.Contains(source, "[[") {
			return // wikilinks bind tighter
		}
		headings := markdown.Parse([]byte("# " + source)).Headings
		require.Len(t, headings, 1)
		// Backticks go first: code that is one space leaves two spaces.
		plain := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "")), " ") }
		require.Equal(t, plain(byGoldmark(source)), plain(headings[0].Text), "%q", source)
	})
}

// TestBlocksAsByGoldmark requires that the headings are where goldmark has them, though we show it
// fewer blank lines.
func TestBlocksAsByGoldmark(t *testing.T) {
	parts := rapid.SampledFrom([]string{
		"\n", "\n\n", "\n\n\n", "# a\n", "b\n", "---\n", "===\n", "- ", "  ", "    ", "> ", "1. ", "```\n", "c\n", "\t", "* * *\n", "<d>\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		source := []byte("x\n" + strings.Join(rapid.SliceOfN(parts, 1, 16).Draw(t, "parts"), ""))
		var want, got []string
		root := goldmark.DefaultParser().Parse(text.NewReader(source))
		_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if h, ok := n.(*ast.Heading); ok && entering && h.FirstChild() != nil && h.Lines().Len() > 0 {
				want = append(want, fmt.Sprint(h.Level, " ", bytes.Count(source[:h.Lines().At(0).Start], []byte("\n"))+1))
			}
			return ast.WalkContinue, nil
		})
		for _, h := range markdown.Parse(source).Headings {
			got = append(got, fmt.Sprint(h.Level, " ", h.Line))
		}
		require.Equal(t, want, got, "%q", source)
	})
}
