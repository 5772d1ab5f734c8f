package index_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
)

// FuzzHistory is TestBuildIsAFoldOfWith where the fuzzer leads the draws.
func FuzzHistory(f *testing.F) {
	for seed := range uint64(16) {
		drawn := make([]byte, 4096)
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range drawn {
			drawn[i] = byte(r.Uint32())
		}
		f.Add(drawn)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { requireFold(t, history(t)) }))
}

// FuzzHistoryOfTexts takes any texts, of two notes and the schema, where FuzzHistory takes those of a
// list: a note is made, edited and moved, and the ids of its traits are kept as the log keeps them.
func FuzzHistoryOfTexts(f *testing.F) {
	for i, text := range noteTexts {
		next := noteTexts[(i+1)%len(noteTexts)]
		f.Add(schemaTexts[i%len(schemaTexts)], text, next, text+next)
	}
	f.Fuzz(func(t *testing.T, schema, first, second, third string) {
		moved := commit(4, "x/a.md", third, "a.md", "-")
		moved.Changes[0].From = "a.md"
		commits := []index.Commit{
			commit(1, "schema.yaml", schema, "a.md", first), commit(2, "a.md", second, "b.md", first),
			commit(3, "b.md", third), moved, commit(5, "schema.yaml", "-", "x/a.md", second),
		}
		requireFold(t, commits)
		x := index.Empty()
		for _, c := range commits {
			x = x.With(c)
			keepIDs(x, c)
		}
		require.Equal(t, imageOf(x), imageOf(index.Build(slices.Values(commits))),
			"ids that the log keeps are those that were given")
	})
}

// requireFold requires that all ways to the same version lead to the same index, that by its image
// among them.
func requireFold(t require.TestingT, commits []index.Commit) {
	x, away := index.Empty(), index.Empty()
	for i, c := range commits {
		x, away = x.With(c), reread(t, away.With(c))
		built := index.Build(slices.Values(commits[:i+1]))
		require.Equal(t, imageOf(x), imageOf(built))
		require.Equal(t, imageOf(x), imageOf(away))
		require.Equal(t, x.AppendImage(nil), built.AppendImage(nil))
		require.Equal(t, x.AppendImage(nil), away.AppendImage(nil))
	}
}

// FuzzReadImage says that an image that is damaged is an error: never a panic, nor much memory. What
// has the right sum is an index of which an image can be made, that can be read.
func FuzzReadImage(f *testing.F) {
	f.Add(index.Empty().AppendImage(nil))
	f.Add(index.Build(slices.Values(goldenCommits())).AppendImage(nil))
	f.Add(of([]string{"a.md", noteTexts[8]}).AppendImage(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, image := range [][]byte{data, sealed(data)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			x, err := index.ReadImage(image)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20+64*len(image)))
			if err == nil {
				reread(t, x)
			}
		}
	})
}
