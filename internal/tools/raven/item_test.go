package raven

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestItems covers what becomes of the lines of a text that is added as items.
func TestItems(t *testing.T) {
	for _, c := range []struct{ name, text, want, timed string }{
		{"one", "a", "- a", "- 14:30 a"},
		{"two", "a\nb\n", "- a\n- b", "- 14:30 a\n- 14:30 b"},
		{"a marker", "- a\n* b\n2. c\n2) d", "- a\n* b\n2. c\n2) d", "- 14:30 a\n- 14:30 b\n- 14:30 c\n- 14:30 d"},
		{"indented lines", "a\n  more\nb", "- a\n  more\n- b", "- 14:30 a\n  more\n- 14:30 b"},
		{"too little indented", "a\n b\n  c", "- a\n  b\n   c", "- 14:30 a\n  b\n   c"},
		{"of a number", "1. a\n  b", "1. a\n   b", "- 14:30 a\n  b"},
		{"an item below", "a\n- b\n  - c", "- a\n- b\n  - c", "- 14:30 a\n- 14:30 b\n  - c"},
		{"a paragraph below", "a\n\n  b\n\nc", "- a\n\n  b\n- c", "- 14:30 a\n\n  b\n- 14:30 c"},
		{"blank lines between", "\n\na\n\n\nb\n\n", "- a\n- b", "- 14:30 a\n- 14:30 b"},
		{"all indented", "  a\n    b\n  c", "- a\n  b\n- c", "- 14:30 a\n  b\n- 14:30 c"},
		{"tabs", "a\n\tb", "- a\n\tb", "- 14:30 a\n\tb"},
		{"code", "a\n```\nx\n\ny\n```\nb", "- a\n  ```\n  x\n\n  y\n  ```\n- b", "- 14:30 a\n  ```\n  x\n\n  y\n  ```\n- 14:30 b"},
		{"code first", "```\nx\n```", "- ```\n  x\n  ```", "- 14:30 ```\n  x\n  ```"},
		{"a task", "[ ] a\n[x] b", "- [ ] a\n- [x] b", "- 14:30 [ ] a\n- 14:30 [x] b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			join := func(time string) string {
				var all []string
				for _, item := range items(c.text) {
					all = append(all, asItem(item, time))
				}
				return strings.Join(all, "\n")
			}
			require.Equal(t, c.want, join(""))
			require.Equal(t, c.timed, join("14:30"))
			require.Empty(t, markdown.Parse([]byte(join(""))).Headings)
		})
	}
}
