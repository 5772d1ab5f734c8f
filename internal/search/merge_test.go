package search_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/search"
)

// TestAMergeAllocatesLittle checks that a merge allocates little more memory than its result has: it
// is when a search index needs the most.
func TestAMergeAllocatesLittle(t *testing.T) {
	changes := generated(1, 1000).changes()
	x := search.Empty("english").With(changes)
	for i := 0; i < len(changes); i += 5 {
		x = x.With([]search.Change{{Doc: changes[i].Doc, Deleted: true}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	y := x.Purged()
	runtime.ReadMemStats(&after)
	size := 0
	for _, piece := range y.Image() {
		size += len(piece)
	}
	allocated := float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
	require.Less(t, allocated, 2.5)
	t.Log(allocated)
}
