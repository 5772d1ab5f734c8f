package markdown_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// sections renders the headings of a note, a line each: slug, own lines / end of the subtree, the
// parent's slug, and whether it is the title.
func sections(d *markdown.Doc) string {
	var lines []string
	for _, h := range d.Headings {
		s := fmt.Sprintf("%s L%d-%s/%s", h.Slug, h.Line, end(h.LineEnd), end(h.SubtreeLineEnd))
		if h.Parent >= 0 {
			s += " < " + d.Headings[h.Parent].Slug
		}
		if h.Title {
			s += " title"
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "\n")
}

func end(line int) string {
	if line == 0 {
		return "eof"
	}
	return fmt.Sprint(line)
}

// TestHeadingSlugs are the rows of the table H that are about slugs, and H16 and H17.
func TestHeadingSlugs(t *testing.T) {
	cases := []struct{ row, headings, slugs string }{
		{"H1", "Hello World|1:1 Topics|special!@#chars|A__B|A - B|A:B|!!!|Привет мир",
			"hello-world|1-1-topics|specialchars|a-b|a-b-2|a-b-3|section|привет-мир"},
		{"H2", "don't|C++ & Go|50% off|-lead|e.g. v1.2.3|ÅÄÖ ß",
			"dont|c-go|50-off|lead|eg-v123|åäö-ß"},
		{"H3", "Über Café|日本語 見出し|🚀 Launch!|🚀|!!!",
			"über-café|日本語-見出し|launch|section|section-2"},
		{"H4", "Tab\theading", "tabheading"},
		{"H5", "   spaced   out   ", "spaced-out"},
		{"H6", "Tasks|Tasks|Tasks 2|Tasks", "tasks|tasks-2|tasks-2-2|tasks-3"},              // S: tasks-2 twice
		{"H7", "Tasks-2|Tasks|Tasks|tasks|TASKS!", "tasks-2|tasks|tasks-3|tasks-4|tasks-5"}, // S: tasks-2 twice
		{"H15", "Closed ##", "closed"},
		{"H16", "Hello **bold** `code` [[people/a]] [link](http://x.y) end", "hello-bold-code-peoplea-link-end"},
		{"H17", "@due(2025-01-01) Heading trait", "due2025-01-01-heading-trait"},
	}
	for _, c := range cases {
		t.Run(c.row, func(t *testing.T) {
			text := "# " + strings.ReplaceAll(c.headings, "|", "\n# ") + "\n"
			var slugs []string
			for _, h := range markdown.Parse([]byte(text)).Headings {
				slugs = append(slugs, h.Slug)
			}
			require.Equal(t, c.slugs, strings.Join(slugs, "|"))
		})
	}
}

func TestHeadingTexts(t *testing.T) {
	cases := []struct{ row, heading, want string }{
		{"H4", "# Tab\theading", "Tab\theading"},
		{"H5", "#   spaced   out   ", "spaced   out"},
		{"H15", "## Closed ##", "Closed"},
		{"H16", "## Hello **bold** `code` [[people/a]] [link](http://x.y) end",
			"Hello bold code people/a link end"},
		{"wikilinks", "# [[a|b]] ![[c.png]] [[d\\|e]]", "b c.png e"},
		{"only code", "# `a b`", "a b"},
		{"break", "Two\nlines\n====", "Twolines"}, // as C joins them
		{"reference link", "# See [foo] now\n\n[foo]: /url", "See foo now"},
		{"html", "# a <b>c</b> <http://d.e> f", "a c http://d.e f"},
		{"escape", `# a \* b &amp; c`, `a \* b &amp; c`},
		{"CRLF", "# Clean\r\n\r\ntext\r\n", "Clean"},
		{"not UTF-8", "# a\xffb", "a\ufffdb"},
		{"very long", "# " + strings.Repeat("*x* ", 1000), strings.Repeat("x ", 999) + "x"},
	}
	for _, c := range cases {
		t.Run(c.row, func(t *testing.T) {
			d := markdown.Parse([]byte(c.heading))
			require.Len(t, d.Headings, 1)
			require.Equal(t, c.want, d.Headings[0].Text)
		})
	}
}

// TestHeadingRows are the other rows of the table H, and what the rows C1 to C7 say about headings.
// Where a note has a title, ours differs from C: C makes it a section, and the parent of those
// beneath it.
func TestHeadingRows(t *testing.T) {
	cases := []struct{ row, text, want string }{
		{"H6", "# A\n## Tasks\n## Tasks\n## Tasks 2\n## Tasks", // C: all < a; S: tasks-2 twice
			"a L1-1/eof title\ntasks L2-2/2\ntasks-2 L3-3/3\ntasks-2-2 L4-4/4\ntasks-3 L5-eof/eof"},
		{"H8", "---\nt: x\nu: y\n---\n# Parent\nintro\n## Child\nchild text\n### Grandchild\ng\ng2\n" +
			"## Sibling\ns\n# Next\nn", // S, M: no subtree end
			"parent L5-6/13\nchild L7-8/11 < parent\ngrandchild L9-11/11 < child\n" +
				"sibling L12-13/13 < parent\nnext L14-eof/eof"},
		{"H9", "# A\n## B\n### C\n#### D\n##### E\n###### F\n## G", // C: b < a, g < a
			"a L1-1/eof title\nb L2-2/6\nc L3-3/6 < b\nd L4-4/6 < c\ne L5-5/6 < d\nf L6-6/6 < e\n" +
				"g L7-eof/eof"},
		{"H10", "# A\n### C\n## B\n#### D\n# E",
			"a L1-1/4\nc L2-2/2 < a\nb L3-3/4 < a\nd L4-4/4 < b\ne L5-eof/eof"},
		{"H11", "text @todo\n\n## First", "first L3-eof/eof"},
		{"H12", "## Only\n##\n## \n## Only", "only L1-3/3\nonly-2 L4-eof/eof"},
		{"H13", "Setext One\n====\nSetext Two\n----", // C: setext-two < setext-one
			"setext-one L1-2/eof title\nsetext-two L3-eof/eof"},
		{"H14", "#NoSpace\n\n####### Seven", ""},
		{"H18", "- # Heading in list @a\n  text @b\n> ## Heading in quote\n> @c", // S: @a, @b: the file's
			"heading-in-list-a L1-2/eof\nheading-in-quote L3-eof/eof < heading-in-list-a"},
		{"emphasis only", "## **bold**\n\n## b", "bold L1-2/2\nb L3-eof/eof"}, // C: no text of its own
		{"a carriage return alone", "#\rA\n# B", "a L1-1/1\nb L2-eof/eof"},    // a blank
		{"two H1", "# A\n\n# B", "a L1-2/2\nb L3-eof/eof"},
		{"byte order mark", "\ufeff# A\n\ufeff# B", "a L1-eof/eof title"},
		{"byte order mark, underlined", "\ufeffA\n-", "a L1-eof/eof"},
		{"text before", "x\n\n# A", "a L3-eof/eof"},
		{"comment before", "<!-- x -->\n\n# A", "a L3-eof/eof"},
		{"empty H1 before", "#\n# A", "a L2-eof/eof"},
		{"bold H1 before", "# **b**\n# A", "b L1-1/1\na L2-eof/eof"},
		{"H2 first", "## B\n# A", "b L1-1/1\na L2-eof/eof"},
		{"title after blanks", "\n\n# A\n## B", "a L3-3/eof title\nb L4-eof/eof"},
		{"title's number", "# A\n## A", "a L1-1/eof title\na-2 L2-eof/eof"},
		{"link definition", "[foo]: /url\n===\n# A", "a L3-eof/eof"},
		{"C1", "```\n# not heading\n```\n# A\n# B", "a L4-4/4\nb L5-eof/eof"},
		{"C2", "~~~~md\n# x\n~~~\n# still\n~~~~", ""},
		{"C3", "````\n```\n# n1\n````\n\n## after", "after L6-eof/eof"},
		{"C4", "> ```\n> # q1\n> ```\n> # q2", "q2 L4-eof/eof"},
		{"C5", "* item\n  ~~~\n  # l1\n  ~~~\n  # l2\n\n+ item\n  ```\n  # l3\n  ```\n",
			"l2 L5-eof/eof"},
		{"C6", "text\n\n    # code\n", ""},
		{"C7", "# A\n```\n# B\n\n## C", "a L1-eof/eof title"},
		{"html block", "<div>\n# x\n</div>\n\n## y", "y L5-eof/eof"},
	}
	for _, c := range cases {
		t.Run(c.row, func(t *testing.T) {
			require.Equal(t, c.want, sections(markdown.Parse([]byte(c.text))))
		})
	}
}

func TestHeadingOffsets(t *testing.T) {
	text := "\ufeff---\nt: x\n---\nintro\n# A\na\n\n> Two\n> ===\n> b\n## C\nc\n# D\n"
	d := markdown.Parse([]byte(text))
	var own, subtree, content []string
	for _, h := range d.Headings {
		own = append(own, text[h.Own.Start:h.Own.End])
		subtree = append(subtree, text[h.Subtree.Start:h.Subtree.End])
		content = append(content, text[h.Content:h.Own.End])
	}
	require.Equal(t, []string{"# A\na\n\n", "> Two\n> ===\n> b\n", "## C\nc\n", "# D\n"}, own)
	require.Equal(t, []string{"# A\na\n\n", "> Two\n> ===\n> b\n## C\nc\n", "## C\nc\n", "# D\n"}, subtree)
	require.Equal(t, []string{"a\n\n", "> b\n", "c\n", ""}, content)
	require.Equal(t, "intro\n", text[d.Body:d.OwnEnd()])
	require.Equal(t, len("#\rA\n"), markdown.Parse([]byte("#\rA\nx\n")).Headings[0].Content)
	h, ok := d.Section("two")
	require.True(t, ok)
	require.Equal(t, 1, h.Level)
	_, ok = d.Section("three")
	require.False(t, ok)
	title := markdown.Parse([]byte("# T\nx\n## B"))
	require.Equal(t, len("# T\nx\n"), title.OwnEnd())
	require.Equal(t, 3, markdown.Parse([]byte("abc")).OwnEnd())
}

// TestDeepNesting requires that a heading is found as deep as quotes and lists open, and that deeper
// markers are text.
func TestDeepNesting(t *testing.T) {
	at := func(marker string, depth int) int {
		return len(markdown.Parse([]byte(strings.Repeat(marker, depth) + "# A")).Headings)
	}
	for _, marker := range []string{"> ", "- "} {
		require.Equal(t, 1, at(marker, 100), "%q", marker)
		require.Equal(t, 0, at(marker, 101), "%q", marker)
	}
}

// TestManyOpenBlocks covers that a body whose lists nest too much costs no more than one that is cut off there, and
// that this is told.
func TestManyOpenBlocks(t *testing.T) {
	item := strings.Repeat(" ", 98) + "- x\n"
	var list strings.Builder
	for i := range 50 {
		list.WriteString(strings.Repeat(" ", 2*i) + "- x\n")
	}
	text := "# a\n\n" + list.String() + strings.Repeat(item, markdown.MaxOpen/50) + "\n# b\n"
	var doc *markdown.Doc
	_, bytes := tooltest.Allocated(func() { doc = markdown.Parse([]byte(text)) })
	require.True(t, doc.Crowded)
	require.Len(t, doc.Headings, 1)
	require.Less(t, bytes, uint64(48<<20))
	_, _, err := markdown.Outline([]byte(text))
	require.ErrorIs(t, err, markdown.ErrCrowded)
	page, err := markdown.HTML([]byte(text))
	require.NoError(t, err)
	require.Contains(t, string(page), "# b\n</pre>")
	doc = markdown.Parse([]byte("# a\n\n" + strings.Repeat(list.String()+"\nx\n\n", 200) + "# b\n"))
	require.False(t, doc.Crowded)
	require.Len(t, doc.Headings, 2)
}

// TestManyBlankLines requires that blank lines, of which the parser sees few, are all counted.
func TestManyBlankLines(t *testing.T) {
	text := "- a\n" + strings.Repeat("\n", 50) + "  # in\n\n\n\n\n# out\n"
	require.Equal(t, "in L52-56/56\nout L57-eof/eof", sections(markdown.Parse([]byte(text))))
	text = "p\n\n\ntext\n\nB\n---\n"
	require.Equal(t, "b L6-eof/eof", sections(markdown.Parse([]byte(text))), "a later blank line counts")
}

// TestParseAtOnce is for the race detector: the parsers are shared.
func TestParseAtOnce(t *testing.T) {
	text := []byte("# T\n\n## *a* [b] c\n\n[b]: /u\n\nTwo\n---\n")
	want := sections(markdown.Parse(text))
	var all sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		all.Go(func() { got[i] = sections(markdown.Parse(text)) })
	}
	all.Wait()
	for _, g := range got {
		require.Equal(t, want, g)
	}
}
