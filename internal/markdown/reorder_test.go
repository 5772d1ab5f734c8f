package markdown_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// site is the body of the fixture W of reference/tree.md, C10.
const site = "---\ntype: project\n---\n\n# Website\n\nIntro.\n\n## Goals\n\nG text.\n\n### Q1\n\nq1 text\n\n" +
	"## Risks\n::risk(id=r, severity=2)\n\nR text.\n\n## Notes\n\n```\n## not a heading\n```\n"

// ordered is an order of the sections that are there.
func ordered(children ...int) (all []markdown.Sibling) {
	for _, i := range children {
		all = append(all, markdown.Sibling{Child: i})
	}
	return all
}

func TestReorder(t *testing.T) {
	for _, c := range []struct {
		what, text string
		parent     int
		order      []int
		want       string
	}{
		{"C10.14", "# T\n\n### X\n\nx\n\n## Y\n\ny\n", 0, []int{1, 0}, "# T\n\n## Y\n\ny\n\n## X\n\nx\n"},
		{"C10.15", "## A\n\na\n\n## B\n\nb", 0, []int{1, 0}, "## B\n\nb\n\n## A\n\na\n"},
		{"C10.16", "## A\r\n\r\na\r\n\r\n## B\r\n\r\nb", 0, []int{1, 0}, "## B\r\n\r\nb\r\n\r\n## A\r\n\r\na\r\n"},
		{"what stays side by side keeps what is between", "## A\n## B\nb\n\n\n\n## C\n", 0, []int{2, 0, 1}, "## C\n\n## A\n## B\nb\n"},
		{"text before", "Text.\n## A\n\n## B\n", 0, []int{1, 0}, "Text.\n\n## B\n\n## A\n"},
		{"behind it", "# T\n\n## A\n\n### A1\n\n### A2\n\n## B\n", 1, []int{1, 0}, "# T\n\n## A\n\n### A2\n\n### A1\n\n## B\n"},
		{"behind it without a blank line", "## A\n### A1\n### A2\n## B\n", 1, []int{1, 0}, "## A\n\n### A2\n\n### A1\n\n## B\n"},
		{"in the middle", "## A\n\n\n## B\n\n## C\n\n\n\n## D\n", 0, []int{0, 2, 1, 3}, "## A\n\n## C\n\n## B\n\n## D\n"},
		{"underlined", "# T\n\n### X\n\nY\n---\ny\n", 0, []int{1, 0}, "# T\n\nY\n---\ny\n\n## X\n"},
		{"underlined below it", "### X\n\nx\n\nTwo\n  words #\n---\n\n# A\n", 0, []int{2, 1, 0}, "# A\n\n# Two words # #\n\n# X\n\nx\n"},
		{"with its children", "# T\n\n#### X\n\n##### X1\n\n###### X2\n\n## Y\n", 0, []int{1, 0}, "# T\n\n## Y\n\n## X\n\n### X1\n\n#### X2\n"},
		{"the same", "## A\n\n\na\n## B", 0, []int{0, 1}, "## A\n\n\na\n## B\n"},
		{"quotes and lists go along", "## A\n\n> # Q\n\n- ## L\n\n## B\n", 0, []int{1, 0}, "## B\n\n## A\n\n> # Q\n\n- ## L\n"},
	} {
		r, err := markdown.Reorder([]byte(c.text), c.parent, ordered(c.order...))
		require.NoError(t, err, c.what)
		require.Equal(t, c.want, string(r.Text), c.what)
	}
}

func TestReorderOfSite(t *testing.T) {
	r, err := markdown.Reorder([]byte(site), 0, ordered(2, 0, 1))
	require.NoError(t, err)
	want := "---\ntype: project\n---\n\n# Website\n\nIntro.\n\n## Notes\n\n```\n## not a heading\n```\n\n## Goals\n\nG text.\n\n" +
		"### Q1\n\nq1 text\n\n## Risks\n::risk(id=r, severity=2)\n\nR text.\n"
	require.Equal(t, want, string(r.Text))
	var lines []markdown.Span
	for _, p := range r.Parts {
		lines = append(lines, p.Lines)
	}
	require.Equal(t, []markdown.Span{{1, 9}, {9, 14}, {15, 22}, {23, 27}}, lines, "the lines of each part")
}

func TestCutAndPlace(t *testing.T) {
	for _, c := range []struct {
		what, from string
		section    int
		to         string
		parent, at int
		rest, want string
	}{
		{"C10.26", "# A\n\n## One\n\n### Sub\n\ns\n", 1, "# B\n\n## Two\n\n### Inner\n\ni\n", 2, -1, "# A\n", "# B\n\n## Two\n\n### Inner\n\ni\n\n#### One\n\n##### Sub\n\ns\n"},
		{"into an empty note", "## A\n\n## B\n\nb\n", 2, "", 0, -1, "## A\n", "## B\n\nb\n"},
		{"into a note with a frontmatter alone", "## A\n", 1, "---\na: 1\n---\n", 0, -1, "", "---\na: 1\n---\n\n## A\n"},
		{"the level of those that are there", "# A\n\n#### X\n\n##### Y\n", 1, "t\n\n# P\n\n# Q\n", 0, 1, "# A\n", "t\n\n# P\n\n# X\n\n## Y\n\n# Q\n"},
		{"before a deeper one", "## X\n", 1, "# T\n\n### P\n\n## Q\n", 0, 0, "", "# T\n\n## X\n\n## P\n\n## Q\n"},
		{"line breaks", "## X\n\nx\ny\n", 1, "# T\r\n\r\nt\r\n", 0, -1, "", "# T\r\n\r\nt\r\n\r\n## X\r\n\r\nx\r\ny\r\n"},
		{"definitions", "## A\n\n[a] [b][b] [^n]\n\n## C\n\n[a]\n\n[a]: one.md \"T\"\n[B]: two.md\n[c]: no\n[^n]: A note\n  goes on.\n\n    And on.\n", 1, "t\n\n[b]: other.md\n", 0, -1,
			"## C\n\n[a]\n\n[a]: one.md \"T\"\n[B]: two.md\n[c]: no\n[^n]: A note\n  goes on.\n\n    And on.\n",
			"t\n\n[b]: other.md\n\n## A\n\n[a] [b][b] [^n]\n\n[a]: one.md \"T\"\n[^n]: A note\n  goes on.\n\n    And on.\n"},
		{"definitions that stay", "## A\n\n[a] ![x]\n\n## B\n\n[a]: one.md\n[x]: two.png\n", 2, "", 0, -1,
			"## A\n\n[a] ![x]\n\n[a]: one.md\n[x]: two.png\n", "## B\n\n[a]: one.md\n[x]: two.png\n"},
	} {
		cut, s, err := markdown.CutSection([]byte(c.from), c.section)
		require.NoError(t, err, c.what)
		require.Equal(t, c.rest, string(cut.Text), c.what)
		r, err := markdown.PlaceSections([]byte(c.to), c.parent, c.at, &s)
		require.NoError(t, err, c.what)
		require.Equal(t, c.want, string(r.Text), c.what)
		if c.what == "definitions" {
			require.Equal(t, []string{"b"}, r.Conflicts)
		}
	}
}

func TestBlocksThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		what, text string
		do         func(text []byte) error
		reason     string
	}{
		{"too deep", "# T\n\n## A\n\n###### B\n\n### X\n\n#### Y\n", func(text []byte) error {
			_, s, err := markdown.CutSection(text, 3)
			require.NoError(t, err)
			_, err = markdown.PlaceSections(text, 2, -1, &s)
			return err
		}, "heading_depth_exceeded"},
		{"a fence that stays open", "## A\n\n## B\n\n```\n## C\n", func(text []byte) error {
			_, err := markdown.SubtreeAt(text, 2)
			return err
		}, "malformed_markdown"},
		{"before others", "## A\n\n## B\n\n```\n## C\n", func(text []byte) error {
			_, err := markdown.Reorder(text, 0, ordered(1, 0))
			return err
		}, "malformed_markdown"},
		{"in a quote", "## A\n\n> ## B\n", func(text []byte) error {
			_, err := markdown.SubtreeAt(text, 2)
			return err
		}, "malformed_markdown"},
		{"a text that escapes", "", func([]byte) error {
			_, err := markdown.NewSubtree([]byte("## A\n\n## B\n"))
			return err
		}, "body_escapes_section"},
		{"a text that does not end", "", func([]byte) error {
			_, err := markdown.NewSubtree([]byte("## A\n\n<!--\n"))
			return err
		}, "malformed_markdown"},
	} {
		err := c.do([]byte(c.text))
		require.Error(t, err, c.what)
		require.Equal(t, c.reason, fault.Of(err).Details["reason"], c.what)
	}
}

func TestAnew(t *testing.T) {
	s, err := markdown.SubtreeAt([]byte("## A\n::risk(id=r, severity=2)\n\ntext ^one\n\n### B\n::section(id=b)\n\n- x ^two\n\n^three\n\n### C\n::risk(id=c)\n"), 1)
	require.NoError(t, err)
	s, err = s.WithoutIDs()
	require.NoError(t, err)
	require.Equal(t, "## A\n::risk(severity=2)\n\ntext\n\n### B\n\n- x\n\n\n### C\n::risk\n", string(s.Text)+"\n")
}

// drawNote is a note of random sections, some with what makes a section hard to move.
func drawNote(t *rapid.T, name string) string {
	parts := []string{
		"text", "a\n\nb", "```\n# no\n```", "- item\n  # in", "> # q", "[l] [m][l]", "[l]: x.md", "[^f]\n\n[^f]: foot note", "<b>\nx",
		"x ^id", "@due(2026-01-01) x", "[[a#b]]", "    code", "| a |\n|---|", "",
	}
	eol := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, name+" line break")
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "---\na: 1\n---\n", "# T\n\n", "---\na: 1\n---\n# T\n", "text\n"}).Draw(t, name+" head"))
	for i := range rapid.IntRange(1, 7).Draw(t, name+" sections") {
		level := rapid.IntRange(1, 6).Draw(t, name+" level")
		title := fmt.Sprint(rapid.SampledFrom([]string{"S", "S", "Long one", "C #"}).Draw(t, name+" title"))
		if level <= 2 && rapid.Bool().Draw(t, name+" underlined") {
			b.WriteString("\n" + title + "\n" + strings.Repeat(map[int]string{1: "=", 2: "-"}[level], 3) + "\n")
		} else {
			b.WriteString(strings.Repeat("#", level) + " " + title + "\n")
		}
		if rapid.IntRange(0, 3).Draw(t, name+" declared") == 0 {
			fmt.Fprintf(&b, "::risk(id=r%d, n=%d)\n\n", i, i)
		}
		b.WriteString(rapid.SampledFrom(parts).Draw(t, name+" text") + rapid.SampledFrom([]string{"", "\n", "\n\n", "\n\n\n"}).Draw(t, name+" end"))
		if !strings.HasSuffix(b.String(), "\n") {
			b.WriteString("\n")
		}
	}
	return strings.ReplaceAll(b.String(), "\n", eol)
}

// tops are the positions of the sections that can be moved.
func tops(text []byte) (sections []int) {
	at := 0
	for _, h := range markdown.Parse(text).Headings {
		if h.Title {
			continue
		}
		if at++; h.Top {
			sections = append(sections, at)
		}
	}
	return sections
}

// headings is how many headings a text has.
func headings(text []byte) int { return len(markdown.Parse(text).Headings) }

// TestBlocksKeepTheirText reorders, cuts and places random sections: what is written reads as it should, each section
// keeps its lines, and each part says where its lines come from.
func TestBlocksKeepTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(drawNote(t, "note"))
		sections := tops(text)
		parent := rapid.SampledFrom(append(sections, 0)).Draw(t, "parent")
		order := markdown.Parse(text).Siblings(parent)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if done, err := markdown.Reorder(text, parent, order); err == nil {
			checkParts(t, text, nil, done)
			require.Equal(t, sortedLines(text), sortedLines(done.Text), "%q", text)
		}
		if len(sections) == 0 {
			return
		}
		one := rapid.SampledFrom(sections).Draw(t, "section")
		cut, s, err := markdown.CutSection(text, one)
		if err != nil {
			require.Equal(t, "malformed_markdown", fault.Of(err).Details["reason"], "%q", text)
			return
		}
		checkParts(t, text, nil, cut)
		other := []byte(drawNote(t, "other"))
		places := tops(other)
		under := rapid.SampledFrom(append(places, 0)).Draw(t, "under")
		put, err := markdown.PlaceSections(other, under, rapid.IntRange(-1, 3).Draw(t, "at"), &s)
		if err == nil {
			checkParts(t, other, s.Text, put)
			require.Equal(t, headings(other)+headings(s.Text), headings(put.Text))
		}
	})
}

// sortedLines are the lines of a text that are not blank, sorted, but for those of headings.
func sortedLines(text []byte) []string {
	all := []string{}
	for line := range strings.Lines(string(text)) {
		line = strings.Trim(line, " \t\r\n")
		if line != "" && !strings.HasPrefix(line, "#") && strings.Trim(line, "=-") != "" {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(s string) bool { return s == "S" || s == "Long one" || strings.HasPrefix(s, "C #") })
}

// checkParts requires that each part has as many lines as it says, and the text that it comes from but for headings.
func checkParts(t require.TestingT, text, added []byte, r markdown.ReorderResult) {
	lines := strings.SplitAfter(string(r.Text), "\n")
	last := 0
	for _, p := range r.Parts {
		require.GreaterOrEqual(t, p.Lines.Start, last)
		last = p.Lines.End
		from := text
		if p.New > 0 {
			from = added
		}
		got := sortedLines([]byte(strings.Join(lines[p.Lines.Start-1:min(p.Lines.End-1, len(lines))], "")))
		require.Equal(t, sortedLines(from[p.From.Start:p.From.End]), got, "%+v of %q", p, r.Text)
	}
}
