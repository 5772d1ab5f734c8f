package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// commonMark is goldmark's own parser.
var commonMark = parser.NewParser(
	parser.WithBlockParsers(parser.DefaultBlockParsers()...),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
)

// inlineTextOf is the text of a node by goldmark: all of its inline text, without markup.
func inlineTextOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// TestHeadingTextIsGoldmarks holds that the text of a heading is all of its inline text, as goldmark reads it.
func TestHeadingTextIsGoldmarks(t *testing.T) {
	pieces := []string{
		"word", "größe", "日本語", "*em*", "**strong**", "_under_", "***both***", "`code`", "``a ` b``", "`*not em*`",
		"[link](http://a.b)", "[**bold** link](x.png)", "![alt](x.png)", "a * b", "snake_case_word", "(paren)", "1 < 2",
		"[no link]", "50%", "**`code` in bold**", "*a `b` c*", "~~gone~~", "=", "!",
	}
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(t, "pieces"), " ")
		source := []byte("# " + line + "\n")
		want := ""
		root := commonMark.Parse(text.NewReader(source))
		if h, ok := root.FirstChild().(*ast.Heading); ok {
			want = inlineTextOf(h, source)
		}
		got := ""
		if all := markdown.Parse(source).Headings; len(all) > 0 {
			got = all[0].Text
		}
		require.Equal(t, want, got, "%q", line)
	})
	for source, want := range map[string]string{
		"# `only code`\n": "only code", "## [t](u)\n": "t", "# [[a|shown]]\n": "shown", "`code`\n===\n": "code",
	} {
		all := markdown.Parse([]byte(source)).Headings
		require.Len(t, all, 1, source)
		require.Equal(t, want, all[0].Text, source)
	}
}
