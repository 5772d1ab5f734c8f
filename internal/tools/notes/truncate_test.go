package notes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/index"
)

// TestTruncate covers the examples of A4, and characters of two UTF-16 units.
func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text  string
		units int
		want  string
	}{
		{"hello world foo", 8, "hello…"}, {"abcdefgh", 4, "abcd…"}, {"abcd", 4, "abcd"}, {"", 4, ""},
		{"a bcdefgh", 6, "a bcde…"}, {"abc defgh", 6, "abc de…"}, {"abcd efgh", 6, "abcd…"},
		{"ab😀cd", 3, "ab…"}, {"ab😀cd", 4, "ab😀…"}, {"ab😀", 4, "ab😀"},
	} {
		require.Equal(t, c.want, truncate(c.text, c.units), "%q %d", c.text, c.units)
	}
}

// TestFirstNotes compares the first notes of an order with a sort of all of them, of which many have one date.
func TestFirstNotes(t *testing.T) {
	var changes []index.Change
	for i := range 2000 {
		text := fmt.Sprintf("---\ndate: 2026-01-%02d\n---\n", 1+i*7919%31)
		if i%50 == 0 {
			text = ""
		}
		changes = append(changes, index.Change{Path: fmt.Sprintf("n%04d.md", i), Text: []byte(text)})
	}
	all := slices.Collect(index.Empty().With(index.Commit{Seq: 1, Changes: changes}).Notes(""))
	require.Len(t, all, 2000)
	for _, order := range []string{byDate, byOldest, byPath} {
		sorted := slices.Clone(all)
		slices.SortStableFunc(sorted, inOrder(order))
		for _, most := range []int{0, 1, 20, 300, 1999, 2000} {
			require.Equal(t, sorted[:most], firstNotes(slices.Clone(all), order, most)[:most], "%s %d", order, most)
		}
	}
}
