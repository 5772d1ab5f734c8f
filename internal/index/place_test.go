package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

// TestTextsOfALineThatAreNoPartOfIt checks texts that are no part of the line, because annotations
// are in the middle of it, and marks of checkboxes outside of ASCII: of an index that is built, of one
// from an image, and of notes that are copied when the settings change.
func TestTextsOfALineThatAreNoPartOfIt(t *testing.T) {
	text := "# One\n\n- [x] Call @due(2026-01-02) Freya @id(call)\n- [✓] Write @due(2026-01-03)\n" +
		"- [🔥] Ask @due(2026-01-04) Loki\n- Plain @due(2026-01-05)\n- [ ] Box @due(2026-01-06)\n"
	x := of([]string{"a.md", text})
	schema := of([]string{"a.md", text}, []string{"schema.yaml", "traits:\n  due:\n    type: date\n"})
	for name, x := range map[string]*index.Index{
		"built": x, "read": reread(t, x), "copied": schema, "copied and read": reread(t, schema),
	} {
		n, ok := x.Note("a.md")
		require.True(t, ok)
		var got [][2]string
		for _, a := range n.EachAnnotation {
			if !a.Task {
				got = append(got, [2]string{a.Checkbox(), a.ContentText()})
			}
		}
		require.Equal(t, [][2]string{
			{"x", "[x] Call Freya"}, {"✓", "[✓] Write"}, {"🔥", "[🔥] Ask Loki"}, {"", "Plain"}, {" ", "[ ] Box"},
		}, got, name)
		trait, ok := x.Trait("call")
		require.True(t, ok, name)
		require.Equal(t, "call", trait.Pin(), name)
	}
}
