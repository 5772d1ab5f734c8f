package index_test

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/index"
)

// heap is what is allocated.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// requireSize requires that an index takes about as much memory as it says.
func requireSize(t *testing.T, make func() *index.Index) {
	before := heap()
	x := make()
	took := heap() - before
	ratio := float64(x.Size()) / took
	require.True(t, ratio > 1/1.5 && ratio < 1.5, "says %.2f times what it takes", ratio)
	runtime.KeepAlive(x)
}

func TestSizeIsAboutWhatTheHeapHolds(t *testing.T) {
	notes := 500
	if os.Getenv("ROOKERY_SOAK") != "" {
		notes = 2000
	}
	var commits []index.Commit
	for f := range corpus.Vault(1, notes) {
		commits = append(commits, commit(uint64(len(commits)+1), f.Path, f.Text))
	}
	t.Run("built", func(t *testing.T) {
		requireSize(t, func() *index.Index { return index.Build(slices.Values(commits)) })
	})
	folded := func() *index.Index {
		x := index.Empty()
		for _, c := range commits {
			x = x.With(c)
		}
		return x
	}
	t.Run("commit by commit", func(t *testing.T) { requireSize(t, folded) })
	image := folded().AppendImage(nil)
	t.Run("of an image", func(t *testing.T) {
		requireSize(t, func() *index.Index {
			x, err := index.ReadImage(slices.Clone(image))
			require.NoError(t, err)
			return x
		})
	})
	runtime.KeepAlive(commits) // until then, lest it count as freed
	runtime.KeepAlive(image)
}

// TestSizeIsThatOfTheFiles says that what went is not counted any more, and that an image tells.
func TestSizeIsThatOfTheFiles(t *testing.T) {
	first := []string{"a.md", noteTexts[7], "schema.yaml", schemaTexts[5]}
	full := of(first)
	require.Greater(t, full.Size(), index.Empty().Size())
	require.InEpsilon(t, full.Size(), reread(t, full).Size(), 0.5)
	gone := of(first, []string{"a.md", "-", "schema.yaml", "-"})
	require.Equal(t, index.Empty().Size(), gone.Size())
}
