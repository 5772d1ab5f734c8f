package markdown_test

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestOutlineText holds the rules of reference/notes-and-orientation.md A5 for one heading each.
func TestOutlineText(t *testing.T) {
	for body, want := range map[string]string{
		"# Plan":                         "1 Plan h1-plan-0001",
		"#":                              "1  h1-heading-0001",
		"###### a b":                     "6 a b h6-a-b-0001",
		"Title\n=====":                   "1 Title h1-title-0001",
		"Two\nlines\n---":                "2 Two lines h2-two-lines-0001",
		"# foo**bar**baz":                "1 foo bar baz h1-foo-bar-baz-0001",
		"# a[b](c)d":                     "1 a b d h1-a-b-d-0001",
		"# a![b *c*](d)e":                "1 a b c e h1-a-b-c-e-0001",
		"# a `b  c` d":                   "1 a b c d h1-a-b-c-d-0001",
		"# <script>alert(1)</script>":    "1 <script> alert(1) </script> h1-script-alert-1-script-0001",
		"# ~~x~~ [[w|a]] :e: {#i}":       "1 ~~x~~ [[w|a]] :e: {#i} h1-x-w-a-e-i-0001",
		"# https://a.b/c":                "1 https://a.b/c h1-https-a-b-c-0001",
		"# <https://a.b>":                "1 https://a.b h1-https-a-b-0001",
		"# a\\*b &amp; \\&amp; &#65; &x": "1 a*b & &amp; A &x h1-a-b-amp-a-x-0001",
		"# &copy;&nbsp;x":                "1 © x h1-x-0001",
		"# A\u00a0B\ufeff":               "1 A B h1-a-b-0001",
		"# A\u200bB":                     "1 A\u200bB h1-a-b-0001",
		"# 日本語":                          "1 日本語 h1-heading-0001",
		"# İstanbul":                     "1 İstanbul h1-i-stanbul-0001",
		"# \u212aelvin":                  "1 Kelvin h1-kelvin-0001",
		"# e\u0301":                      "1 é h1-heading-0001",
		"# Title[^1]\n\n[^1]: x":         "1 Title ^1 h1-title-1-0001",
		"# Title[^1]":                    "1 Title[^1] h1-title-1-0001",
		"> # quoted":                     "1 quoted h1-quoted-0001",
		"- # item":                       "1 item h1-item-0001",
		"<div>\n\n# in html\n\n</div>":   "1 in html h1-in-html-0001",
		"\ufeff# bom":                    "1 bom h1-bom-0001",
		"a\r# cr\rb":                     "1 cr h1-cr-0001",
		"## closed ##":                   "2 closed h2-closed-0001",
	} {
		all, truncated, err := markdown.Outline([]byte(body))
		require.NoError(t, err)
		require.False(t, truncated)
		require.Len(t, all, 1, "%q", body)
		require.Equal(t, want, fmt.Sprintf("%d %s %s", all[0].Level, all[0].Text, all[0].ID), "%q", body)
	}
}

func TestOutlineLeavesOut(t *testing.T) {
	for _, body := range []string{
		"", "text", "<h1>x</h1>", "```\n# x\n```", "    # x", "<!--\n# x\n-->", "\\# x", "#x", "####### x", "\ufeff---\n",
	} {
		all, _, err := markdown.Outline([]byte(body))
		require.NoError(t, err)
		require.Empty(t, all, "%q", body)
	}
}

func TestOutlineIsBounded(t *testing.T) {
	all, truncated, err := markdown.Outline([]byte(strings.Repeat("# a\n", 500)))
	require.NoError(t, err)
	require.False(t, truncated)
	require.Equal(t, "h1-a-0500", all[499].ID)
	marks := "# " + strings.Repeat("*a* ", 60)
	all, _, err = markdown.Outline([]byte("# *b*\n" + marks))
	require.NoError(t, err)
	require.Equal(t, "b", all[0].Text)
	require.Equal(t, strings.TrimSpace(marks[2:]), all[1].Text, "too many marks: text as it is")
	all, truncated, err = markdown.Outline([]byte(strings.Repeat("# a\n", 501)))
	require.NoError(t, err)
	require.True(t, truncated)
	require.Len(t, all, 500)
	_, _, err = markdown.Outline([]byte(strings.Repeat("é", markdown.MaxOutline)))
	require.NoError(t, err, "UTF-16 units, not bytes")
	_, _, err = markdown.Outline([]byte(strings.Repeat("a", markdown.MaxOutline+1)))
	require.ErrorIs(t, err, markdown.ErrOutline)
	_, _, err = markdown.Outline([]byte(strings.Repeat("🙂", markdown.MaxOutline/2+1)))
	require.ErrorIs(t, err, markdown.ErrOutline)
}

// TestOutlineWithin covers A17 10 and 11, whose bounds are arguments upstream.
func TestOutlineWithin(t *testing.T) {
	all, truncated, err := markdown.OutlineWithin([]byte(strings.Repeat("# a\n", 10)), 3, 1000)
	require.NoError(t, err)
	require.True(t, truncated)
	require.Equal(t, []markdown.OutlineHeading{{1, "a", "h1-a-0001"}, {1, "a", "h1-a-0002"}, {1, "a", "h1-a-0003"}}, all)
	_, truncated, err = markdown.OutlineWithin([]byte("# a\n# b\n# c\n"), 3, 1000)
	require.NoError(t, err)
	require.False(t, truncated)
	_, _, err = markdown.OutlineWithin([]byte("hello world"), 3, 10)
	require.ErrorIs(t, err, markdown.ErrOutline)
	_, _, err = markdown.OutlineWithin([]byte("hello worl"), 3, 10)
	require.NoError(t, err)
}

// TestOutlineIsLinear covers that a body of twice the length takes about twice the steps, and twice the memory,
// whatever it repeats.
func TestOutlineIsLinear(t *testing.T) {
	const size = 64 << 10
	for _, pattern := range append(patterns, "# a *b* `c` [d](e)\n\ntext\n\n", "## A\n\n- b\n  - c\n\n") {
		one, two := []byte(strings.Repeat(pattern, size/len(pattern))), []byte(strings.Repeat(pattern, 2*size/len(pattern)))
		require.LessOrEqual(t, markdown.OutlineSteps(two), 2*markdown.OutlineSteps(one)+100, "steps of %q", pattern)
		few, many := allocated(func() { _, _, _ = markdown.Outline(one) }), allocated(func() { _, _, _ = markdown.Outline(two) })
		require.LessOrEqual(t, many, 5*few/2+100_000, "bytes for %q", pattern)
	}
}

// pieces are what random Markdown is made of.
var pieces = []string{
	"# ", "## ", "\n", "\n\n", "===\n", "---\n", "> ", "- ", "1. ", "    ", "a", "b c", "*", "**", "_", "`", "[", "]", "(x)",
	"\\", "&amp;", "&#65;", "<b>", "<!--", "```\n", "[a]: /u\n", "[a]", "  \n", "\t", "é", "<http://x.y>", "![", "#", "\ufeff",
}

// TestOutlineIsCommonMark compares outlines with the tree and the HTML of a parser without changes.
func TestOutlineIsCommonMark(t *testing.T) {
	tags := regexp.MustCompile(`<[^>]*>`)
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "pieces"), "")
		got, _, err := markdown.Outline([]byte(body))
		require.NoError(t, err)
		source := []byte(strings.TrimPrefix(body, "\ufeff"))
		var levels, want []int
		for _, h := range got {
			levels = append(levels, h.Level)
		}
		md := goldmark.New()
		root := md.Parser().Parse(text.NewReader(source))
		nth := 0
		require.NoError(t, ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			h, ok := n.(*ast.Heading)
			if !ok || !entering {
				return ast.WalkContinue, nil
			}
			want = append(want, h.Level)
			if nth++; nth <= len(got) && !holdsMarkup(h) {
				var out bytes.Buffer
				require.NoError(t, md.Renderer().Render(&out, source, h))
				rendered := html.UnescapeString(tags.ReplaceAllString(out.String(), ""))
				require.Equal(t, dense(rendered), dense(got[nth-1].Text), "%q", body)
			}
			return ast.WalkSkipChildren, nil
		}))
		require.Equal(t, want, levels, "%q", body)
	})
}

// holdsMarkup reports whether a heading has HTML or an image, whose text HTML does not show.
func holdsMarkup(h *ast.Heading) (holds bool) {
	_ = ast.Walk(h, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		holds = holds || n.Kind() == ast.KindRawHTML || n.Kind() == ast.KindImage
		return ast.WalkContinue, nil
	})
	return holds
}

// dense is a text without blanks.
func dense(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\ufeff' {
			return -1
		}
		return r
	}, s)
}

func FuzzOutline(f *testing.F) {
	for _, s := range append(seeds, pieces...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		all, truncated, err := markdown.Outline(body)
		if err != nil {
			return
		}
		require.True(t, !truncated || len(all) == markdown.MaxOutlineHeadings)
		for i, h := range all {
			require.True(t, h.Level >= 1 && h.Level <= 6)
			require.Equal(t, strings.TrimFunc(h.Text, markdown.IsSpace), h.Text)
			require.True(t, strings.HasSuffix(h.ID, fmt.Sprintf("-%04d", i+1)))
		}
	})
}

// BenchmarkOutlineRepeated outlines 64 KiB and 960 KiB of a pattern, as it is and in headings.
func BenchmarkOutlineRepeated(b *testing.B) {
	for _, pattern := range append(patterns, "# a *b* `c` [d](e)\n\ntext\n\n") {
		for _, size := range []int{1 << 16, 960 << 10} {
			for name, body := range map[string]string{
				"plain": strings.Repeat(pattern, size/len(pattern)),
				"heading": strings.Repeat("# "+strings.Repeat(strings.ReplaceAll(pattern, "\n", " "),
					1000/len(pattern))+"\n", size/1000),
			} {
				b.Run(fmt.Sprintf("%q/%s/%dKiB", pattern, name, size>>10), func(b *testing.B) {
					b.SetBytes(int64(len(body)))
					for b.Loop() {
						if _, _, err := markdown.Outline([]byte(body)); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
