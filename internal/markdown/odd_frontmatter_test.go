package markdown_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestOddFrontmatters is which of the heads that people write are read, and by how many fields.
func TestOddFrontmatters(t *testing.T) {
	for _, c := range []struct {
		head   string
		fields int
		reads  bool
	}{
		{"", 0, true}, {"# only a comment", 0, true}, {"a: 1", 1, true}, {"a:\n  b: 1\n  c: [1, 2]", 1, true},
		{"a:\n  - b: 1\n  - c: 2", 1, true}, {"a: |\n  many\n  lines", 1, true}, {"a: >-\n  folded\n  text", 1, true},
		{"a: {b: {c: {d: 1}}}", 1, true}, {"{a: 1, b: 2}", 2, true}, {"- a\n- b", 0, true}, {"just text", 0, true},
		{"a: &x 1\nb: *x", 2, true}, {"base: &x {k: v}\nuse:\n  <<: *x", 2, true}, {"日本: 東京", 1, true},
		{"\"quoted key\": 1", 1, true}, {"a: 'it''s'", 1, true}, {"a: 2026-12-01", 1, true}, {"a: ~", 1, true},
		{"a:", 1, true}, {"a: [[x]]", 1, true}, {"a: \"[[x]]\"", 1, true}, {"tags: [a, b]\naliases: [c]", 2, true},
		{"date: {{date}}", 1, true}, {"title: {{title}} and more", 1, true}, {"a: 1 # why", 1, true},
		{"a: !!str 5", 1, true}, {"a: 0x1F", 1, true}, {"a: .inf", 1, true}, {"a: yes", 1, true},
		{"a: [x, {y: z}]", 1, true}, {"title: a: b", 0, false}, {"a: [1, 2", 0, false}, {"\ta: 1", 0, false},
		{"a: 1\na: 2", 0, false}, {"a: \"open", 0, false}, {"a: @x", 0, false}, {"key without colon\nb: 1", 0, false},
	} {
		text := "---\n" + c.head + "\n---\n\n# Title #tag\n"
		d := markdown.Parse([]byte(text))
		require.Equal(t, c.reads, d.Problem == nil, "%q: %v", c.head, d.Problem)
		if c.reads {
			require.Len(t, fields(d), c.fields, "%q", c.head)
		}
		require.Len(t, d.Headings, 1, "%q: what is behind the head is read", c.head)
		require.Len(t, d.Tags, 1+extraTags(c.head), "%q", c.head)
	}
}

// extraTags is how many tags a head has.
func extraTags(head string) int {
	if head == "tags: [a, b]\naliases: [c]" {
		return 2
	}
	return 0
}
