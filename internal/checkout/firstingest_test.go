package checkout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
)

// TestFirstReadingInGrowingCommits checks that a first reading of many files makes larger and
// larger commits, that the text of each is bounded, and that every file is a note in the end,
// including one that was saved meanwhile.
func TestFirstReadingInGrowingCommits(t *testing.T) {
	s := newServed(t, grounds()[0])
	const small, large = 2600, 20
	want := map[string]string{}
	for i := range small {
		want[fmt.Sprintf("n/%04d.md", i)] = fmt.Sprintf("# %d\n", i)
	}
	for i := range large {
		want[fmt.Sprintf("z/%02d.md", i)] = strings.Repeat("a line of a large note\n", 40_000)
	}
	for path, text := range want {
		s.save(t, path, text)
	}
	saved := false
	s.serve(t, checkout.Options{Progress: func(int, int) {
		if !saved {
			saved = true
			want["z/00.md"] = "# Saved while it was read\n"
			s.save(t, "z/00.md", want["z/00.md"])
		}
	}})
	var sizes []int
	for seq := uint64(2); ; seq++ {
		c, err := s.vault.Commit(t.Context(), seq)
		if err != nil {
			break
		}
		bytes := 0
		for _, n := range c.Notes {
			bytes += len(n.Text)
		}
		require.LessOrEqual(t, bytes, 7<<20, "v%d", seq)
		sizes = append(sizes, len(c.Notes))
	}
	require.Equal(t, []int{500, 500, 500, 750}, sizes[:4])
	require.Greater(t, len(sizes), 6, "the large notes are in several commits")
	got := s.inLog(t)
	for path, text := range want {
		require.True(t, text == got[path], path)
	}
}
