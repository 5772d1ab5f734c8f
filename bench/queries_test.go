package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
)

// TestQueryFiles covers that the vault has what the calls are about.
func TestQueryFiles(t *testing.T) {
	files := queryFiles(1, 1000)
	counts := map[string]int{}
	for _, f := range files {
		for _, what := range []string{"[[" + muchNote, "[[" + fewNote, "[[" + partNote + "#", "[[short]]", "](https://example.test/", ".pdf)"} {
			counts[what] += strings.Count(f.Text, what)
		}
	}
	require.Equal(t, files, queryFiles(1, 1000))
	require.InDelta(t, 500, counts["[["+muchNote], 3)
	require.InDelta(t, 10, counts["[["+fewNote], 1)
	require.InDelta(t, 100, counts["[["+partNote+"#"], 1)
	require.InDelta(t, 100, counts["[[short]]"], 1)
	require.Positive(t, counts["](https://example.test/"])
	require.Positive(t, counts[".pdf)"])
}

// TestGenerated covers that a vault of the largest size has room for what is added to it.
func TestGenerated(t *testing.T) {
	require.Equal(t, 10, generated(1, 3))
	require.Equal(t, 10_000, generated(10_000, 3))
	n := generated(repo.MaxNotes, 3)
	require.Less(t, n, repo.MaxNotes)
	require.LessOrEqual(t, len(queryFiles(1, 10))-11+n+3*batchNotes, repo.MaxNotes) // 10 notes and the schema
}

// TestMeasureQueries measures a small vault, and covers that nothing is refused.
func TestMeasureQueries(t *testing.T) {
	out := t.TempDir() + "/page.md"
	cfg, err := parse([]string{"-only", onlyQueries, "-sizes", "100", "-ops", "12", "-limit", "600ms", "-times", "2", "-out", out})
	require.NoError(t, err)
	require.NoError(t, measureQueries(t.Context(), cfg))
}

func TestPageOfQueries(t *testing.T) {
	const ms = time.Millisecond
	q := querying{Notes: 10_000, Bytes: 3 << 20, Import: imported{Took: 2 * time.Second}}
	for _, k := range queryKinds() {
		k.Got = waited(4 * ms)
		q.Calls = append(q.Calls, k)
	}
	q.Acts = []acted{{"a batch of 100 operations", "raven_batch", 100, link{Waits: []time.Duration{120 * ms}}}}
	var b bytes.Buffer
	require.NoError(t, (&page{Queries: []querying{q}}).render(&b))
	for _, want := range []string{
		"## 10,000 notes", "| `raven_query`: objects of a type, p50 | ≤ 2 ms | 4.0 ms | missed by 2.0 ms (100 %) |",
		"| `raven_log`: a page of the log by time, p50 | ≤ 5 ms | 4.0 ms | met |",
		"| `raven_batch`: a batch of 100 operations, p50 | ≤ 100 ms | 120 ms | missed by ",
	} {
		require.Contains(t, b.String(), want)
	}
}
