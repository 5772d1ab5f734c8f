package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestUnclosed covers what stays open at the end of a text, and what does not.
func TestUnclosed(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "x": false, "# A\n": false,
		"```\nx\n": true, "```\nx\n```\n": false, "~~~\nx": true, "~~~\nx\n```\n": true, "a ``` b\n": false,
		"<!-- x\n": true, "<!-- x -->\n": false, "<div>\nx\n": false, "<pre>\nx\n\ny\n": true, "<script>\n": true,
		"- a\n  ```\n  x\n": false, "> ```\n> x\n": false,
		"---\na: \"```\"\n---\nx\n": false, "\ufeff---\na: 1\n---\n```\nx\n": true, "---\na: 1\n```\nx\n": true,
		"<" + strings.Repeat("# a\n", 120_000): false,
	} {
		require.Equal(t, want, markdown.Unclosed([]byte(text)), "%.40q", text)
	}
}

// FuzzUnclosed covers that a heading behind a text is one if, and only if, nothing in it stays open.
func FuzzUnclosed(f *testing.F) {
	for _, text := range []string{"x", "```\n", "<!--", "- ```\n", "---\n---\n<pre>", "> <!-- \n\n```"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := markdown.Parse(append(append([]byte{}, text...), "\n\n# A last heading\n"...))
		last := len(d.Headings) > 0 && d.Headings[len(d.Headings)-1].Text == "A last heading"
		if !d.Crowded {
			require.Equal(t, last, !markdown.Unclosed(text), "%q", text)
		}
	})
}
