package notes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
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

// TestContains covers what keyword search looks for in the fields of a note, and the empty text, which is in all.
func TestContains(t *testing.T) {
	for _, c := range []struct {
		s, text string
		want    bool
	}{
		{"", "", true}, {"a", "", true}, {"", "a", false}, {"Roadmap", "road", true},
		{"Roadmap", "oad", true}, {"Roadmap", "roads", false}, {"ÄRGER", "ärger", true}, {"a", "ä", false},
	} {
		require.Equal(t, c.want, contains(c.s, c.text), "%q %q", c.s, c.text)
	}
}

// TestPicking compares the first notes of an order with a sort of all of them, of which many have one date, and some
// one that is no date.
func TestPicking(t *testing.T) {
	odd := []string{"2026-01-05T10:00:00+01:00", "'2026-01-05'", "soon", "日本語日本語日本語日本語", "'2026-01-05T00:00:00.000Z and more'", "'2026-01-05T00:00:00.000Z and less'"}
	var changes []index.Change
	for i := range 2000 {
		text := fmt.Sprintf("---\ndate: 2026-01-%02d\n---\n", 1+i*7919%31)
		switch {
		case i%50 == 0:
			text = ""
		case i%7 == 0:
			text = "---\ndate: " + odd[i/7%len(odd)] + "\n---\n"
		}
		changes = append(changes, index.Change{Path: fmt.Sprintf("n%04d.md", i), Text: []byte(text)})
	}
	x := index.Empty().With(index.Commit{Seq: 1, Changes: changes})
	all := slices.Collect(x.Notes(""))
	require.Len(t, all, 2000)
	for _, order := range []string{byDate, byOldest, byPath} {
		sorted := slices.Clone(all)
		slices.SortStableFunc(sorted, inOrder(order))
		for _, most := range []int{0, 1, 20, 300, 1999, 2000, 3000} {
			first := min(most/3, 2000)
			for _, p := range []*pageSelector{newPageSelector(order, first, most-first), pickFromEnd(order, first, most-first, 2000)} {
				for r := range x.Rows("") {
					p.add(&r)
				}
				require.Equal(t, sorted[first:min(most, 2000)], p.notes(), "%s %d %t", order, most, p.turned)
				require.Less(t, cap(p.kept), 4*p.most+3*sparse)
			}
		}
	}
}
