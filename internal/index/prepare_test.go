package index_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// largeCommit draws a commit with so many changes that several goroutines prepare it. Some change one
// path twice, or the settings, or move a file.
func largeCommit(t *rapid.T, seq uint64, x *index.Index) index.Commit {
	var pairs []string
	for i := range 40 {
		pairs = append(pairs, fmt.Sprintf("m/%02d.md", i), rapid.SampledFrom(noteTexts).Draw(t, "text"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "others") {
		pairs = append(pairs, draw(t)...)
	}
	c := commit(seq, pairs...)
	if rapid.Bool().Draw(t, "moves") {
		c.Changes[0].From = rapid.SampledFrom(filePaths).Draw(t, "from")
		c.Changes = append(c.Changes, index.Change{Path: c.Changes[0].From, Deleted: true})
	}
	if rapid.Bool().Draw(t, "keeps ids") {
		keepIDs(x.With(c), c)
	}
	return c
}

// TestLargeCommits checks that the index after commits that several goroutines prepare is that of a
// Builder, which prepares none, and that it does not depend on the number of processors.
func TestLargeCommits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rapid.Check(t, func(t *rapid.T) {
		runtime.GOMAXPROCS(4)
		commits, x := []index.Commit(nil), index.Empty()
		for seq := range rapid.IntRange(1, 4).Draw(t, "commits") {
			c := largeCommit(t, uint64(seq+1), x)
			commits, x = append(commits, c), x.With(c)
		}
		built := index.Build(slices.Values(commits))
		require.Equal(t, imageOf(built), imageOf(x))
		require.Equal(t, built.AppendImage(nil), x.AppendImage(nil))
		runtime.GOMAXPROCS(1)
		y := index.Empty()
		for _, c := range commits {
			y = y.With(c)
		}
		require.Equal(t, x.AppendImage(nil), y.AppendImage(nil))
	})
}

// TestTwoChangesOfOnePath checks a large commit that deletes a note, and has a new note at its path
// later: it is another one, with its own times, although the first one was there when the commit was
// prepared.
func TestTwoChangesOfOnePath(t *testing.T) {
	pairs := []string{"a.md", "-", "a.md", "- @due(2026-03-02) same\n", vault.SchemaFile, schemaTexts[5]}
	for i := range 40 {
		pairs = append(pairs, fmt.Sprintf("m/%02d.md", i), "- @flag x\n")
	}
	first := commit(1, "a.md", "- @due(2026-03-02) same\n", "b.md", "")
	second := commit(2, pairs...)
	x := index.Empty().With(first).With(second)
	n, ok := x.Note("a.md")
	require.True(t, ok)
	require.Equal(t, second.Time.UTC(), n.Created)
	require.Equal(t, index.Build(slices.Values([]index.Commit{first, second})).AppendImage(nil), x.AppendImage(nil))
}
