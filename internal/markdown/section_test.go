package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

func TestInsertUnder(t *testing.T) {
	cases := []struct {
		name, old, slug, block, want string
		line                         int
	}{
		{"before text", "# T\n\n## A\n\ntext\n\n## B\n", "a", "new", "# T\n\n## A\n\nnew\n\ntext\n\n## B\n", 5},
		{"no blank line", "## A\ntext\n## B\n", "a", "new", "## A\nnew\n\ntext\n## B\n", 2},
		{"list", "## A\n- x\n", "a", "- new\n", "## A\n- new\n- x\n", 2},
		{"item before text", "## A\n\nx\n", "a", "- new", "## A\n\n- new\n\nx\n", 3},
		{"empty section", "## A\n\n## B\n", "a", "new", "## A\n\nnew\n\n## B\n", 3},
		{"end of the note", "## A", "a", "new", "## A\n\nnew\n", 3},
		{"declaration", "## A\n::t\n\nx\n", "a", "new", "## A\n::t\n\nnew\n\nx\n", 4},
		{"declaration, then a list", "## A\n::t\n- x\n", "a", "new", "## A\n::t\n\nnew\n\n- x\n", 4},
		{"item, declaration, list", "## A\n::t\n- x\n", "a", "- new", "## A\n::t\n- new\n- x\n", 3},
		{"declaration alone", "## A\n::t", "a", "new", "## A\n::t\n\nnew\n", 4},
		{"title", "---\na: 1\n---\n# T\nx\n", "t", "new", "---\na: 1\n---\n# T\nnew\n\nx\n", 5},
		{"note", "---\na: 1\n---\n# T\nx\n", "", "new", "---\na: 1\n---\n# T\nnew\n\nx\n", 5},
		{"note without title", "x\n\n## A\n", "", "new", "new\n\nx\n\n## A\n", 1},
		{"underlined", "A\n---\nx\n", "a", "new", "A\n---\nnew\n\nx\n", 3},
		{"before an underlined one", "## A\n\nB\n---\n", "a", "new", "## A\n\nnew\n\nB\n---\n", 3},
		{"CRLF", "## A\r\n\r\nx\r\n", "a", "n\nm", "## A\r\n\r\nn\r\nm\r\n\r\nx\r\n", 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, line, err := markdown.InsertUnder([]byte(c.old), c.slug, c.block)
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
			require.Equal(t, c.line, line)
		})
	}
	_, _, err := markdown.InsertUnder([]byte("## A\n"), "b", "x")
	require.True(t, fault.Is(err, fault.NotFound))
	for _, note := range []string{"## A\n", "## A\nx\n"} {
		_, _, err = markdown.InsertUnder([]byte(note), "a", " \n")
		require.True(t, fault.Is(err, fault.InvalidValue))
	}
}

func TestReplaceSection(t *testing.T) {
	cases := []struct{ name, old, slug, body, want string }{
		{"text", "# T\n\n## A\n\nold\n\nold\n\n\n### B\nb\n", "a", "new\n\nnew\n", "# T\n\n## A\n\nnew\n\nnew\n\n\n### B\nb\n"},
		{"no blank lines", "## A\nold\n## B\n", "a", "new", "## A\nnew\n## B\n"},
		{"before an underlined one", "## A\n- old\n\nB\n---\n", "a", "new", "## A\nnew\n\nB\n---\n"},
		{"close to an underlined one", "## A\n```\n```\nB\n---\n", "a", "new", "## A\nnew\n\nB\n---\n"},
		{"empty section", "## A\n\n## B\n", "a", "new", "## A\n\nnew\n\n## B\n"},
		{"to nothing", "## A\n\nold\n\n## B\n", "a", "\n", "## A\n\n## B\n"},
		{"nothing to nothing", "## A\n\n## B\n", "a", "", "## A\n\n## B\n"},
		{"declaration stays", "## A\n::t(x=1)\n\nold\n", "a", "new", "## A\n::t(x=1)\n\nnew\n"},
		{"apart from the declaration", "## A\n::t\n- old\n", "a", "new", "## A\n::t\n\nnew\n"},
		{"block declaration", "## A\n::t\nx: y\n\nold", "a", "new", "## A\n::t\nx: y\n\nnew\n"},
		{"note", "# T\n\nold\n## A\n", "", "new", "# T\n\nnew\n## A\n"},
		{"note of text", "old\n## A\n", "", "new", "new\n## A\n"},
		{"CRLF", "## A\r\n\r\nold\r\n\r\n## B\r\n", "a", "n\nm", "## A\r\n\r\nn\r\nm\r\n\r\n## B\r\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, err := markdown.ReplaceSection([]byte(c.old), c.slug, c.body)
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
		})
	}
	_, err := markdown.ReplaceSection([]byte("## A\n"), "b", "x")
	require.True(t, fault.Is(err, fault.NotFound))
}

// TestSectionEditsTouchNothingElse edits one section of a note and requires that everything before
// and behind it keeps its bytes, and that the new text is in it.
func TestSectionEditsTouchNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "part") }
		before := pick("", "\ufeff", "# T\n", "---\na: 1\n---\nx\n\n") + pick("## A\n", "A\n---\n") +
			pick("", "\n", "::t\n\n", "\n::t(a=1)\n\n\n", "::t\na: 1\n\n")
		own := pick("", "text\n", "- x\n\n  y\n", "```\nz\n```\n", "> q\n\n\n")
		after := pick("", "\n## B\nb\n", "\nB\n---\n@x\n", "\n### C\n::t\n")
		block := pick("new", "- new", "new\n\nnew")
		text := before + own + after
		out, err := markdown.ReplaceSection([]byte(text), "a", block)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(out), strings.TrimRight(before, "\n")))
		require.True(t, strings.HasSuffix(string(out), after))
		requireSections(t, text, string(out), block)
		out, _, err = markdown.InsertUnder([]byte(text), "a", block)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(out), strings.TrimRight(before, "\n")))
		require.True(t, strings.HasSuffix(string(out), own+after))
		requireSections(t, text, string(out), block)
	})
}

// requireSections requires that two notes have the same headings, and that the block is in the text
// of section a.
func requireSections(t *rapid.T, before, after, block string) {
	was, is := markdown.Parse([]byte(before)), markdown.Parse([]byte(after))
	require.Equal(t, objects(was), objects(is))
	h, ok := is.Section("a")
	require.True(t, ok)
	require.Contains(t, after[h.Content:h.Own.End], block)
}
