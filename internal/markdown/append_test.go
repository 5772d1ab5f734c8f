package markdown_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

func TestAppend(t *testing.T) {
	cases := []struct {
		name, text, block string
		want              string
		line              int
	}{
		{"empty note", "", "- a", "- a\n", 1},
		{"byte order mark", "\ufeff", "- a", "\ufeff- a\n", 1},
		{"paragraph", "x\n", "- a", "x\n\n- a\n", 3},
		{"no line break at the end", "x", "- a", "x\n\n- a\n", 3},
		{"item", "- x\n", "- a", "- x\n- a\n", 2},
		{"item without line break", "- x", "- a", "- x\n- a\n", 2},
		{"ordered item", "1. x\n", "- a", "1. x\n- a\n", 2},
		{"item, then a paragraph", "- x\n", "a", "- x\n\na\n", 3},
		{"more of an item", "- x\n  y\n", "- a", "- x\n  y\n\n- a\n", 4},
		{"blank lines stay behind", "- x\n\n\n", "- a", "- x\n- a\n\n\n", 2},
		{"blank end without break", "x\n  ", "a", "x\n\na\n  ", 3},
		{"a rule is no item", "x\n\n* * *\n", "- a", "x\n\n* * *\n\n- a\n", 5},
		{"emphasis is no item", "*x*\n", "- a", "*x*\n\n- a\n", 3},
		{"only frontmatter", "---\na: 1\n---\n", "x", "---\na: 1\n---\n\nx\n", 5},
		{"open frontmatter fence", "---\na: 1\n---", "x", "---\na: 1\n---\n\nx\n", 5},
		{"CRLF", "- x\r\ny\n", "a\nb\r\nc\n\n", "- x\r\ny\n\r\na\r\nb\r\nc\r\n", 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, line, err := markdown.Append([]byte(c.text), c.block)
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
			require.Equal(t, c.line, line)
			first, _, _ := strings.Cut(c.block, "\n")
			begins := strings.Split(strings.TrimPrefix(string(out), "\ufeff"), "\n")[line-1]
			require.Equal(t, first, strings.TrimRight(begins, "\r"))
		})
	}
}

func TestAppendToSection(t *testing.T) {
	cases := []struct{ name, text, slug, want string }{
		{"last", "# T\n## A\n- x\n", "a", "# T\n## A\n- x\n- new\n"},
		{"before its child", "## A\n- x\n\n### B\n", "a", "## A\n- x\n- new\n\n### B\n"},
		{"before the next", "## A\n- x\n## B\n", "a", "## A\n- x\n- new\n## B\n"},
		{"empty", "## A\n\n## B\n", "a", "## A\n\n- new\n\n## B\n"},
		{"before an underlined one", "## A\nB\n---\n", "a", "## A\n\n- new\n\nB\n---\n"},
		{"blank line is there", "## A\n\nB\n---\n", "a", "## A\n\n- new\n\nB\n---\n"},
		{"title is the note", "# T\n\nx\n\n## A\n", "t", "# T\n\nx\n\n- new\n\n## A\n"},
		{"the note itself", "---\na: 1\n---\n- x\n\n## A\n", "", "---\na: 1\n---\n- x\n- new\n\n## A\n"},
		{"the note's text is empty", "## A\n", "", "- new\n## A\n"},
		{"CRLF", "## A\r\n- x\r\n## B", "a", "## A\r\n- x\r\n- new\r\n## B"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, line, err := markdown.AppendToSection([]byte(c.text), c.slug, "- new")
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
			require.Equal(t, "- new", strings.TrimRight(strings.Split(string(out), "\n")[line-1], "\r"))
		})
	}
	_, _, err := markdown.AppendToSection([]byte("## A"), "b", "- new")
	require.True(t, fault.Is(err, fault.NotFound))
	_, _, err = markdown.AppendToSection([]byte("## A"), "a", " \n")
	require.True(t, fault.Is(err, fault.InvalidValue))
}

func TestFindOnce(t *testing.T) {
	cases := []struct {
		name, text, old, with string
		want                  string
		line                  int
	}{
		{"word", "a\nb c\n", "c", "d", "a\nb d\n", 2},
		{"lines", "a\nb\nc\n", "b\nc", "d", "a\nd\n", 2},
		{"lines of CRLF", "a\r\nb\r\nc\r\n", "b\nc", "d\ne", "a\r\nd\r\ne\r\n", 2},
		{"as given first", "a\r\nb\nc\r\n", "b\nc", "d\ne", "a\r\nd\ne\r\n", 2},
		{"removal", "a b", " b", "", "a", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o, err := markdown.FindOnce([]byte(c.text), c.old, c.with)
			require.NoError(t, err)
			require.Equal(t, c.want, c.text[:o.At.Start]+o.With+c.text[o.At.End:])
			require.Equal(t, c.line, o.Line)
		})
	}
	for _, c := range []struct {
		text, old string
		n         int
	}{{"a b", "c", 0}, {"a a a", "a", 3}, {"aaa", "aa", 2}} {
		_, err := markdown.FindOnce([]byte(c.text), c.old, "x")
		var m *markdown.NotOnceError
		require.True(t, errors.As(err, &m))
		require.Equal(t, c.n, m.N, c.text)
	}
	_, err := markdown.FindOnce([]byte("a"), "", "x")
	require.True(t, fault.Is(err, fault.InvalidValue))
}
