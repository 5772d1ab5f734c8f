package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDiffering checks that only the names in the places that differ are compared, with all their
// occurrences, and that the entries and counts are those of a comparison of the whole lists.
func TestDiffering(t *testing.T) {
	var had []string
	for i := range 60 {
		had = append(had, fmt.Sprintf("a%d", i%50))
	}
	has := slices.Clone(had)
	has[3], has[20] = "b", "a5"
	before, now := differing(had, has)
	require.ElementsMatch(t, []string{"a3", "a3", "a20", "a5", "a5"}, before)
	require.ElementsMatch(t, []string{"b", "a3", "a5", "a5", "a5"}, now)

	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a1", "a2", "a3", "f1", "f2", "t1"})
		had := rapid.SliceOfN(name, 0, 12).Draw(t, "had")
		has := slices.Clone(had)
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			if len(has) > 0 {
				has[rapid.IntRange(0, len(has)-1).Draw(t, "place")] = name.Draw(t, "name")
			}
		}
		if rapid.Bool().Draw(t, "longer") {
			has = append(has, name.Draw(t, "last"))
		}
		count := func(names []string) map[string]int {
			all := map[string]int{}
			for _, n := range names {
				all[n]++
			}
			return all
		}
		was, is := count(had), count(has)
		diff := entryDiff{sums: map[string]int{}}
		diff.add("p", had, has)
		added, removed := map[string]bool{}, map[string]bool{}
		for _, e := range diff.added {
			added[e.name] = true
		}
		for _, e := range diff.removed {
			removed[e.name] = true
		}
		require.Len(t, added, len(diff.added))
		require.Len(t, removed, len(diff.removed))
		for _, n := range []string{"a1", "a2", "a3", "f1", "f2", "t1"} {
			require.Equal(t, was[n] == 0 && is[n] > 0, added[n], n)
			require.Equal(t, was[n] > 0 && is[n] == 0, removed[n], n)
			if kind(n[0]).isCounted() {
				require.Equal(t, is[n]-was[n], diff.sums[n], n)
			}
		}
	})
}
