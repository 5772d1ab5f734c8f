package notes_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// outline is the titles, ids and texts of an outline, in one line.
func (p *place) outlineOf(t testing.TB, path string) string {
	t.Helper()
	var out struct {
		Title     *string
		Headings  []struct{ Text, ID string }
		Truncated bool
	}
	require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_outline", args{"path": path})), &out))
	line := "null"
	if out.Title != nil {
		line = *out.Title
	}
	for _, h := range out.Headings {
		line += fmt.Sprintf(" | %s %s", h.ID, h.Text)
	}
	return strings.TrimSpace(line) + map[bool]string{true: " ..."}[out.Truncated]
}

// TestOutlines covers A17 1 to 9 and 12 to 23, and the titles of A5.
func TestOutlines(t *testing.T) {
	for _, c := range []struct{ path, text, want string }{
		{"a.md", "---\ntitle: Example Note\n---\n# Intro\n\n## Details\n\n### Next", "Example Note | h1-intro-0001 Intro | h2-details-0002 Details | h3-next-0003 Next"},
		{"a.md", "---\nnote: \"# not a heading\"\n---\n# Body Heading\n", "a | h1-body-heading-0001 Body Heading"},
		{"a.md", "Title\n=====\n\nSubtitle\n--------", "a | h1-title-0001 Title | h2-subtitle-0002 Subtitle"},
		{"a.md", "# Real\n\n```\n# Not real\n```\n\n    ## x\n\n## Real Child\n", "a | h1-real-0001 Real | h2-real-child-0002 Real Child"},
		{"a.md", "## Install\n\n## Install\n", "a | h2-install-0001 Install | h2-install-0002 Install"},
		{"a.md", "## **Bold** [Link](https://example.com) `code`", "a | h2-bold-link-code-0001 Bold Link code"},
		{"a.md", "## <script>alert(1)</script>", "a | h2-script-alert-1-script-0001 <script> alert(1) </script>"},
		{"a.md", "", "a"}, {"a.md", "plain text", "a"},
		{"a.md", "# First\r\n\r\n## Second\r\n", "a | h1-first-0001 First | h2-second-0002 Second"},
		{"a.md", "#\n\n##", "a | h1-heading-0001  | h2-heading-0002"},
		{"a.md", "# Café — Ünïcode 日本語\n\n## 日本語", "a | h1-caf-n-code-0001 Café — Ünïcode 日本語 | h2-heading-0002 日本語"},
		{"a.md", "> # Quoted\n\n- # In list", "a | h1-quoted-0001 Quoted | h1-in-list-0002 In list"},
		{"a.md", "<div>\n# in html\n</div>\n\n<div>\n\n# x\n\n</div>", "a | h1-x-0001 x"},
		{"a.md", "#NoSpace\n\n####### seven\n\n    # four", "a"},
		{"a.md", "## foo**bar**baz\n\n# !!!", "a | h2-foo-bar-baz-0001 foo bar baz | h1-heading-0002 !!!"},
		{"inbox/my-note_name.md", "", "my note name"},
		{"a.md", "---\ntitle: X\n---", "a | h2-title-x-0001 title: X"},
		{"a.md", "\ufeff---\ntitle: X\n---\n", "a | h2-title-x-0001 title: X"},
		{"a.md", "---\ntitle: 42\n---\n", "42"}, {"a.md", "---\ntitle: [x, y]\n---\n", "x,y"},
		{"a.md", "---\ntitle: ' '\n---\n", "a"}, {"a/-.md", "", "null"}, {"a/b.markdown.md", "", "b.markdown"},
	} {
		p := open(t, map[string]string{c.path: c.text})
		require.Equal(t, c.want, p.outlineOf(t, c.path), "%q", c.text)
	}
	p := open(t, map[string]string{
		"500.md": strings.Repeat("## Heading\n\n", 500), "501.md": strings.Repeat("## Heading\n\n", 501),
		"long.md": strings.Repeat("x", 1_000_001), "fits.md": strings.Repeat("x", 1_000_000) + "\n",
	})
	require.NotContains(t, p.outlineOf(t, "500.md"), "...")
	require.Contains(t, p.outlineOf(t, "501.md"), "h2-heading-500-0500"[:10])
	require.True(t, strings.HasSuffix(p.outlineOf(t, "501.md"), "h2-heading-0500 Heading ..."))
	for _, name := range []string{"notes_outline", "notes_document_tree"} {
		f, answer := p.refused(t, name, args{"path": "long.md"})
		require.Equal(t, "NOTE_TOO_LARGE", string(f.Code))
		require.Contains(t, answer, "exceeds")
	}
}

// TestTrees covers A17 24 to 26.
func TestTrees(t *testing.T) {
	for text, want := range map[string]string{
		"# A\n### B\n## C\n# D\n":                           "A[B C] D",
		"# Intro\n## Background\n## Method\n### Step One\n": "Intro[Background Method[Step One]]",
		"### C\n# A\n#### D\n## B\n###### F\n### G\n":       "C A[D B[F G]]",
		"text": "",
	} {
		p := open(t, map[string]string{"a.md": text})
		require.Equal(t, want, p.treeOf(t), text)
	}
}

// A treeNode is a node of an answer.
type treeNode struct {
	ID, Text string
	Level    int
	Children []treeNode
}

func (p *place) treeOf(t testing.TB) string {
	t.Helper()
	return written(p.rootOf(t).Children)
}

func (p *place) rootOf(t testing.TB) treeNode {
	t.Helper()
	var out struct{ Root treeNode }
	require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_document_tree", args{"path": "a.md"})), &out))
	return out.Root
}

func written(all []treeNode) string {
	var parts []string
	for _, n := range all {
		part := n.Text
		if len(n.Children) > 0 {
			part += "[" + written(n.Children) + "]"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// TestTreesAreOfTheOutline compares trees of random Markdown with a recursive second implementation over the
// outline.
func TestTreesAreOfTheOutline(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"# A\n", "## B\n", "### C\n", "#### D\n", "###### F\n", "text\n", "> # Q\n", "- ## L\n", "```\n# no\n```\n", "\n", "S\n===\n", "T\n---\n", "#\n",
		}), 0, 20).Draw(rt, "text"), "")
		p := open(t, map[string]string{"a.md": text})
		all, _, err := markdown.Outline([]byte(text))
		require.NoError(rt, err)
		rest, want := all, []treeNode{}
		for len(rest) > 0 {
			var n treeNode
			n, rest = below(rest)
			want = append(want, n)
		}
		require.Equal(rt, want, p.rootOf(t).Children, "%q", text)
	})
}

// below is the first heading with those below it, and what is behind them.
func below(all []markdown.OutlineHeading) (treeNode, []markdown.OutlineHeading) {
	n, rest := treeNode{all[0].ID, all[0].Text, all[0].Level, []treeNode{}}, all[1:]
	for len(rest) > 0 && rest[0].Level > n.Level {
		var child treeNode
		child, rest = below(rest)
		n.Children = append(n.Children, child)
	}
	return n, rest
}
