package bolttable_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/table"
)

// holds reports whether any file of a folder contains a text.
func holds(t *testing.T, dir, text string) bool {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// TestCompact checks that removed and replaced data is nowhere in the folder any more, and that all
// other data is there, also after the database is opened again.
func TestCompact(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "table.db")
	b, err := bolttable.Open(path, bolttable.Options{})
	require.NoError(t, err)
	for i := range 90 {
		it := table.Item{Key: table.Key{Part: "p", Sort: fmt.Sprint("k", i)}}
		it.Data = bytes.Repeat([]byte("heron-in-the-reeds "), 40)
		require.NoError(t, b.Commit(t.Context(), table.Set(it)))
		it.Data = fmt.Append(nil, "kept ", i)
		if i%3 > 0 {
			require.NoError(t, b.Commit(t.Context(), table.Set(it)))
		} else {
			require.NoError(t, b.Commit(t.Context(), table.Remove(it.Key)))
		}
	}
	require.True(t, holds(t, dir, "heron-in-the-reeds"), "else the test shows nothing")
	require.NoError(t, b.Compact(t.Context()))
	require.False(t, holds(t, dir, "heron-in-the-reeds"))

	_, err = bolttable.Open(path, bolttable.Options{})
	require.ErrorIs(t, err, bolttable.ErrLocked, "the new file is held like the old one")
	it := table.Item{Key: table.Key{Part: "p", Sort: "later"}, Data: []byte("later")}
	require.NoError(t, b.Commit(t.Context(), table.Create(it)))
	require.NoError(t, b.Compact(t.Context()), "again")
	require.NoError(t, b.Close())
	require.ErrorIs(t, b.Compact(t.Context()), bolttable.ErrClosed)
	b, err = bolttable.Open(path, bolttable.Options{})
	require.NoError(t, err)
	n := 0
	for it, err := range b.Query(t.Context(), "p", "", "z") {
		require.NoError(t, err)
		require.NotContains(t, string(it.Data), "heron")
		n++
	}
	require.Equal(t, 60+1, n)
	require.NoError(t, b.Close())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
}

// TestCompactAmidst checks that nothing is lost or refused while the database is compacted, also if
// the file must be closed for that.
func TestCompactAmidst(t *testing.T) {
	for name, closes := range map[string]bool{"in place": false, "closed": true} {
		t.Run(name, func(t *testing.T) { compactAmidst(t, closes) })
	}
}

func compactAmidst(t *testing.T, closes bool) {
	t.Helper()
	b, err := bolttable.Open(filepath.Join(t.TempDir(), "table.db"), bolttable.Options{})
	require.NoError(t, err)
	if closes {
		b.CloseToReplace()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	written := make([]int64, 4)
	for w := range written {
		all.Go(func() {
			k := table.Key{Part: "p", Sort: fmt.Sprint(w)}
			for ctx.Err() == nil {
				if err := b.Commit(t.Context(), table.Add(table.Item{Key: k}, 1, 1<<40)); err != nil {
					t.Errorf("commit: %v", err)
					return
				}
				written[w]++
				it, err := b.Get(t.Context(), k)
				if err != nil || it.Count != written[w] {
					t.Errorf("get: %v, %v", it.Count, err)
					return
				}
			}
		})
	}
	for range 10 {
		require.NoError(t, b.Compact(t.Context()))
	}
	cancel()
	all.Wait()
	for w, n := range written {
		it, err := b.Get(t.Context(), table.Key{Part: "p", Sort: fmt.Sprint(w)})
		require.NoError(t, err)
		require.Equal(t, n, it.Count)
	}
	require.NoError(t, b.Close())
}

// TestCompactKilled checks that the next Open removes a new file that was not completed.
func TestCompactKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "table.db")
	b, err := bolttable.Open(path, bolttable.Options{})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.NoError(t, os.WriteFile(path+".compact", []byte("heron-in-the-reeds"), 0o600))
	b, err = bolttable.Open(path, bolttable.Options{})
	require.NoError(t, err)
	require.False(t, holds(t, dir, "heron-in-the-reeds"))
	require.NoError(t, b.Close())
}
