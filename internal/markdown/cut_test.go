package markdown_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

func TestRemoveSection(t *testing.T) {
	cases := []struct{ name, old, slug, want, removed string }{
		{"in the middle", "# T\n\nx\n\n## A\n\na\n\n## B\nb\n", "a", "# T\n\nx\n\n## B\nb\n", "## A\n\na\n\n"},
		{"with its subtree", "## A\n### C\nc\n## B\n", "a", "## B\n", "## A\n### C\nc\n"},
		{"inner one", "## A\na\n### C\nc\n## B\n", "c", "## A\na\n## B\n", "### C\nc\n"},
		{"last one", "---\na: 1\n---\n## A\n\n## B\nb", "b", "---\na: 1\n---\n## A\n\n", "## B\nb"},
		{"declaration", "## A\n::t(id=x)\n- @due\n", "x", "", "## A\n::t(id=x)\n- @due\n"},
		{"underlined", "x\n\nA\n---\na\n\n# B\n", "a", "x\n\n# B\n", "A\n---\na\n\n"},
		{"before an underlined one", "x\n# A\na\n\nB\n===\n", "a", "x\n\nB\n===\n", "# A\na\n\n"},
		{"the same heading again", "## A\n1\n## A\n2\n", "a", "## A\n2\n", "## A\n1\n"},
		{"CRLF", "x\r\n# A\r\na\r\n\r\nB\r\n===\r\n", "a", "x\r\n\r\nB\r\n===\r\n", "# A\r\na\r\n\r\n"},
		{"BOM", "\ufeff## A\n## B\n", "b", "\ufeff## A\n", "## B\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, removed, err := markdown.RemoveSection([]byte(c.old), c.slug)
			require.NoError(t, err)
			require.Equal(t, c.want, string(out))
			require.Equal(t, c.removed, string(removed))
		})
	}
	for _, slug := range []string{"t", "nope", ""} {
		_, _, err := markdown.RemoveSection([]byte("# T\n\n## A\n"), slug)
		require.True(t, fault.Is(err, fault.NotFound), slug)
	}
	_, _, err := markdown.RemoveSection([]byte("10. ## A\n    ## B\n"), "a")
	require.True(t, fault.Is(err, fault.InvalidValue), "the other heading would become code")
}

// TestDeleteSection covers that a deletion keeps the slug and the role of every other section.
func TestDeleteSection(t *testing.T) {
	twins := []byte("# T\n\n## A\n1\n\n## A\n2\n\n## A\n3\n")
	out, gone, err := markdown.DeleteSection(twins, "a-3")
	require.NoError(t, err)
	require.Equal(t, "# T\n\n## A\n1\n\n## A\n2\n\n", string(out))
	require.Equal(t, "## A\n3\n", string(gone))
	for _, slug := range []string{"a", "a-2"} {
		_, _, err = markdown.DeleteSection(twins, slug)
		require.True(t, fault.Is(err, fault.ValidationFailed), slug)
		require.Equal(t, "slug", fault.Of(err).Details["reason"])
	}
	_, _, err = markdown.DeleteSection(twins, "nope")
	require.True(t, fault.Is(err, fault.NotFound))
}
