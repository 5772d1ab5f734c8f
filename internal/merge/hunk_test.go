package merge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/merge"
)

func unified(old, now string) string {
	var b strings.Builder
	for _, h := range merge.Hunks(old, now) {
		b.WriteString(h.String())
	}
	return b.String()
}

func TestHunks(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct{ name, old, now, want string }{
		{"equal", "a\n", "a\n", ""},
		{"made", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"gone", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"changed", ten, strings.Replace(ten, "5", "five", 1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"added", ten, "0\n" + ten, "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n"},
		{"no line break at the end", "a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		{"a line break at the end", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"blank lines", "a\n\nb\n", "a\n\n\nb\n", "@@ -1,3 +1,4 @@\n a\n \n+\n b\n"},
		{
			"far apart", ten + ten, "x\n" + ten + ten + "y\n",
			"@@ -1,3 +1,4 @@\n+x\n 1\n 2\n 3\n@@ -18,3 +19,4 @@\n 8\n 9\n 10\n+y\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, unified(c.old, c.now)) })
	}
}

// TestHunksApply covers that hunks say of both texts which lines they are, and that what is between them is
// equal.
func TestHunksApply(t *testing.T) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a\n", "b\n", "c\n", "\n", "d\r\n", "- e\n", "f",
	}), 0, 40), func(lines []string) string { return strings.Join(lines, "") })
	rapid.Check(t, func(t *rapid.T) {
		old, now := text.Draw(t, "old"), text.Draw(t, "now")
		a, b := lines(old), lines(now)
		made := []string{}
		at := 0
		for _, h := range merge.Hunks(old, now) {
			from := h.Old.First() - 1
			made = append(made, a[at:from]...)
			require.Len(t, made, h.New.First()-1)
			counts := map[byte]int{}
			for _, line := range h.Lines {
				counts[line[0]]++
				if line[0] != '+' {
					require.Equal(t, a[from+counts[' ']+counts['-']-1], line[1:])
				}
				if line[0] != '-' {
					made = append(made, line[1:])
				}
			}
			require.Equal(t, h.Old.Count, counts[' ']+counts['-'])
			require.Equal(t, h.New.Count, counts[' ']+counts['+'])
			at = from + h.Old.Count
		}
		require.Equal(t, b, append(made, a[at:]...))
	})
}

func lines(text string) []string {
	all := []string{}
	for s := range strings.Lines(text) {
		all = append(all, s)
	}
	return all
}
