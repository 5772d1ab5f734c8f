package main

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/corpus"
)

func TestPlainNotes(t *testing.T) {
	files := slices.Collect(corpus.Plain(1, 250))
	require.Len(t, files, 250)
	require.Equal(t, files, slices.Collect(corpus.Plain(1, 250)))
	rare := 0
	for _, f := range files[:248] {
		if bytes.Contains([]byte(f.Text), []byte(corpus.RareWord)) {
			rare++
		}
	}
	require.Equal(t, 3, rare)
	require.Equal(t, []string{corpus.HalfPath, corpus.LongPath}, []string{files[248].Path, files[249].Path})
	require.Less(t, len(files[249].Text), 1_000_000, "an outline is made of it")
	require.Greater(t, len(files[249].Text), 990_000)
}

func TestPageOfNotes(t *testing.T) {
	const ms = time.Millisecond
	n := noting{
		Notes: 10_000, Bytes: 3 << 20, Build: built{indexPart, time.Second, 30 << 20, 10 << 20},
		Image: picture{indexPart, 2048, []time.Duration{90 * ms}, 5 << 20}, Next: changed{What: usualNote, Index: []time.Duration{2 * ms}},
		Import: imported{Took: 2 * time.Second},
	}
	for _, k := range noteKinds(slices.Collect(corpus.Plain(1, 50))) {
		k.Got = waited(4 * ms)
		n.Calls = append(n.Calls, k)
	}
	large := n
	large.Notes = largeSize
	var b bytes.Buffer
	require.NoError(t, (&page{Notes: []noting{n, large}}).render(&b))
	for _, want := range []string{
		"## 10,000 notes", "## 100,000 notes", "| `vault_overview`: an overview, p50 | ≤ 1 ms | 4.0 ms | missed by 3.0 ms (300 %) |",
		"| `vault_overview`: an overview, p50 | ≤ 5 ms | 4.0 ms | met |", "| `notes_list`: the newest notes, p50 | ≤ 5 ms | 4.0 ms | met |",
		"| an outline of a body of twice the length | ≤ 2.2 times as long | 1.0 times as long | met |",
		"| `notes_write` of a field beside `raven_set`, p50 | ≤ 1.1 times as long | 1.0 times as long | met |",
		"| image of the index, loaded, p50 | ≤ 150 ms | 90.0 ms | met |", "| the next index, p50 | ≤ 1 ms | 2.0 ms |",
		"| a note | `notes_get` | 4.0 ms | 4.0 ms | 0.00 KiB |", "| takes | 10.0 MiB |",
	} {
		require.Contains(t, b.String(), want)
	}
}
