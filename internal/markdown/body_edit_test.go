package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestAppendText covers that a text is appended to the byte, with what a note needs around it.
func TestAppendText(t *testing.T) {
	for _, c := range []struct {
		name, text, slug, block string
		want                    string
		line                    int
	}{
		{"empty note", "", "", "## A\n\nb", "## A\n\nb\n", 1},
		{"after a paragraph", "x\n", "", "b\n", "x\n\nb\n", 3},
		{"after an item", "- x\n", "", "b", "- x\n\nb\n", 3},
		{"it continues a list", "- x\n", "", "- b\n- c\n", "- x\n- b\n- c\n", 2},
		{"no line break at the end", "x", "", "b", "x\n\nb\n", 3},
		{"its own blank lines stay", "x\n", "", "\n\nb\n\n", "x\n\n\nb\n\n", 2},
		{"its line breaks stay", "x\r\ny\r\n", "", "a\nb", "x\r\ny\r\n\r\na\nb\r\n", 4},
		{"only frontmatter", "---\na: 1\n---\n", "", "# T", "---\na: 1\n---\n\n# T\n", 5},
		{"in a section", "## A\n\nx\n\n## B\n", "a", "### C\n\ny", "## A\n\nx\n\n### C\n\ny\n\n## B\n", 5},
		{"before an underlined heading", "## A\nB\n---\n", "a", "y", "## A\n\ny\n\nB\n---\n", 3},
		{"under the title", "# T\n\nx\n\n## A\n", "t", "y", "# T\n\nx\n\ny\n\n## A\n", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, line, err := markdown.AppendText([]byte(c.text), c.slug, c.block)
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
			require.Equal(t, c.line, line)
			require.Contains(t, string(out), c.block)
			first, _, _ := strings.Cut(c.block, "\n")
			require.Equal(t, first, strings.TrimRight(strings.Split(string(out), "\n")[line-1], "\r"))
		})
	}
	_, _, err := markdown.AppendText([]byte("x\n"), "", " \n")
	require.Error(t, err)
	_, _, err = markdown.AppendText([]byte("x\n"), "gone", "y")
	require.Error(t, err)
}

// TestReplaceBody covers that all behind the frontmatter becomes another text, and the frontmatter stays.
func TestReplaceBody(t *testing.T) {
	for _, c := range []struct{ name, text, body, want string }{
		{"a body", "---\na: 1 # x\n---\n\n# T\n\nold\n", "new\n", "---\na: 1 # x\n---\n\nnew\n"},
		{"none", "---\na: 1\n---\n", "new", "---\na: 1\n---\n\nnew"},
		{"no line break behind the head", "---\na: 1\n---", "new\n", "---\na: 1\n---\n\nnew\n"},
		{"its own blank line", "---\na: 1\n---\nold\n", "\nnew\n", "---\na: 1\n---\n\nnew\n"},
		{"CRLF", "---\r\na: 1\r\n---\r\n\r\nold\r\n", "x\ny\r\n", "---\r\na: 1\r\n---\r\n\r\nx\r\ny\r\n"},
		{"no frontmatter", "old\n", "new\n", "new\n"},
		{"byte order mark", "\ufeffold\n", "new\n", "\ufeffnew\n"},
		{"no frontmatter, and none comes", "old\n", "---\na: 1\n---\n", "\n---\na: 1\n---\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := markdown.ReplaceBody([]byte(c.text), c.body)
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
			again, err := markdown.ReplaceBody(out, c.body)
			require.NoError(t, err)
			require.Equal(t, c.want, string(again), "once more changes nothing")
		})
	}
	_, err := markdown.ReplaceBody([]byte("---\na: [\n---\nx\n"), "y")
	require.Error(t, err)
}
