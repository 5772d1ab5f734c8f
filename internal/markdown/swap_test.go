package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

func TestSwapSection(t *testing.T) {
	for _, c := range []struct {
		what, text  string
		section     int
		other       string
		of          int
		want        string
		isTheOther  bool
		conflicting []string
	}{
		{
			what: "another text", text: "# T\n\n## A\n\nnew\n\n### A1\n\n## B\n", section: 1,
			other: "# T\n\n## A\n\nold\n\n## B\n", of: 1, isTheOther: true,
		},
		{
			what: "blank lines of its own", text: "## A\n\nnew\n\n## B\n", section: 1,
			other: "## A\n\n\n\nold\n\n\n\n## B\n", of: 1, isTheOther: true,
		},
		{
			what: "none around it", text: "## A\nnew\n\n## B\nb\n", section: 1,
			other: "## A\nold\n## B\nb\n", of: 1, isTheOther: true,
		},
		{
			what: "a skipped level", text: "# T\n\n## A\n\n#### Aims\n", section: 2,
			other: "# T\n\n## A\n\n#### B\n::section(x=1)\n\nb", of: 2, isTheOther: true,
		},
		{
			what: "before a higher one", text: "# T\n\n### X\n\nnew\n\n## Y\n", section: 1,
			other: "# T\n\n### X\n\nx\n\n## Y\n", of: 1, isTheOther: true,
		},
		{
			what: "at the end of one text", text: "## A\n\na\n\n## B\n\nnew\n\n## C\n", section: 2,
			other: "## A\n\na\n\n## B\n\nold", of: 2, want: "## A\n\na\n\n## B\n\nold\n\n## C\n",
		},
		{
			what: "not at the end any more", text: "## A\n\nnew\n", section: 1,
			other: "## A\n\nold\n\n\n## B\n", of: 1, want: "## A\n\nold\n",
		},
		{
			what: "other line breaks", text: "## A\r\n\r\nnew\r\n\r\n## B\r\n", section: 1,
			other: "## A\n\nold\n\n## B\n", of: 1, want: "## A\r\n\r\nold\r\n\r\n## B\r\n",
		},
		{
			what: "siblings of another level", text: "# T\n\n## B\n\n## A\n\nnew\n", section: 2,
			other: "# T\n\n### A\n\n#### A1\n\n### B\n", of: 1, want: "# T\n\n## B\n\n## A\n\n### A1\n",
		},
		{
			what: "an underlined heading behind text", text: "para\n## A\n\nnew\n", section: 1,
			other: "para\n\nOld\n---\n\nold\n", of: 1, want: "para\n\nOld\n---\n\nold\n",
		},
		{
			what: "with a definition", text: "## A\n\nnew\n\n## B\n", section: 1,
			other: "## A\n\n[x]\n\n## B\n\n[x]: /x\n", of: 1, want: "## A\n\n[x]\n\n[x]: /x\n\n## B\n",
		},
		{
			what: "with another definition", text: "## A\n\nnew\n\n## B\n\n[x]: /y\n", section: 1,
			other: "## A\n\n[x]\n\n## B\n\n[x]: /x\n", of: 1, want: "## A\n\n[x]\n\n## B\n\n[x]: /y\n",
			conflicting: []string{"x"},
		},
	} {
		r, s, err := markdown.SwapSection([]byte(c.text), c.section, []byte(c.other), c.of)
		require.NoError(t, err, c.what)
		if c.isTheOther {
			c.want = c.other
		}
		require.Equal(t, c.want, string(r.Text), c.what)
		require.Equal(t, c.conflicting, r.Conflicts, c.what)
		again, err := markdown.SubtreeAt(r.Text, c.section)
		require.NoError(t, err, c.what)
		require.Equal(t, s.Sections(), again.Sections(), c.what)
		partsAreTrue(t, c.text, s, r)
	}
	for _, c := range []struct {
		what, text, other, reason string
	}{
		{"an open fence", "## A\n\n```\n## B\n", "## A\n", "malformed_markdown"},
		{"in a quote", "> ## A\n", "## A\n", "malformed_markdown"},
		{"too deep", "##### X\n\n###### A\n", "## A\n\n### B\n", "heading_depth_exceeded"},
	} {
		section := 1
		if c.reason == "heading_depth_exceeded" {
			section = 2
		}
		_, _, err := markdown.SwapSection([]byte(c.text), section, []byte(c.other), 1)
		require.Error(t, err, c.what)
		require.Equal(t, c.reason, fault.Of(err).Details["reason"], c.what)
	}
}

// partsAreTrue covers that the lines of each part are those that it says.
func partsAreTrue(t *testing.T, text string, s markdown.Subtree, r markdown.ReorderResult) {
	t.Helper()
	for _, p := range r.Parts {
		from := text
		if p.New > 0 {
			from = string(s.Text)
		}
		first := firstLine(from[p.From.Start:p.From.End])
		require.Contains(t, linesOf(string(r.Text))[p.Lines.Start-1], trimHashes(first), "%q", r.Text)
		require.LessOrEqual(t, p.Lines.End-1, len(linesOf(string(r.Text))))
	}
}

func linesOf(text string) []string { return strings.Split(text, "\n") }

func firstLine(text string) string { return strings.TrimRight(linesOf(text)[0], "\r") }

// trimHashes leaves out the marks of a heading, which depend on its level.
func trimHashes(line string) string { return strings.TrimLeft(line, "# ") }
