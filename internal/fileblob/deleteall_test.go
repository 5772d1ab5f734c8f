package fileblob_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// TestDeleteAllSyncsEachFolderOnce checks that after many deletions each folder is synced once, or
// its nearest remaining parent, however many files it had.
func TestDeleteAllSyncsEachFolderOnce(t *testing.T) {
	counted := map[fileblob.Op]int{}
	var mu sync.Mutex
	b, err := fileblob.OpenWith(t.TempDir(), fileblob.Options{
		Seam: func(c fileblob.Change, do func() error) error {
			mu.Lock()
			counted[c.Op]++
			mu.Unlock()
			return do()
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	var keys []string
	for i := range 300 {
		keys = append(keys, fmt.Sprintf("f%d/n%d.md", i%3, i))
		_, err := b.Put(t.Context(), keys[i], []byte("x"), blob.Always)
		require.NoError(t, err)
	}
	_, err = b.Put(t.Context(), "f0/stays.md", []byte("x"), blob.Always)
	require.NoError(t, err)

	counted = map[fileblob.Op]int{}
	n, err := b.DeleteAll(t.Context(), keys...)
	require.NoError(t, err)
	require.Equal(t, 300, n)
	require.Equal(t, map[fileblob.Op]int{fileblob.Remove: 300, fileblob.RemoveFolder: 2, fileblob.SyncFolder: 3}, counted)

	counted = map[fileblob.Op]int{}
	n, err = b.DeleteAll(t.Context(), keys...)
	require.NoError(t, err)
	require.Equal(t, 300, n)
	require.Zero(t, counted[fileblob.Remove])
	require.Equal(t, 3, counted[fileblob.SyncFolder], "a process may have ended before it synced them")
}

// TestDeleteAllOfManyThatFails checks that a failure among many files reports how many of the first
// were removed, that the others are not changed, and that a repetition removes all.
func TestDeleteAllOfManyThatFails(t *testing.T) {
	b, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	var keys []string
	for i := range 200 {
		keys = append(keys, fmt.Sprintf("f/n%03d.md", i))
		_, err := b.Put(t.Context(), keys[i], nil, blob.Always)
		require.NoError(t, err)
	}
	ill := append(slices.Clone(keys[:100]), append([]string{"../x"}, keys[100:]...)...)
	n, err := b.DeleteAll(t.Context(), ill...)
	require.ErrorIs(t, err, blob.ErrKey)
	require.LessOrEqual(t, n, 100)
	left := keysIn(t, b)
	for _, key := range keys[:n] {
		require.NotContains(t, left, key)
	}
	n, err = b.DeleteAll(t.Context(), keys...)
	require.NoError(t, err)
	require.Equal(t, 200, n)
	require.Empty(t, keysIn(t, b))
}

// TestDeleteAllThatFails checks that removals before a failure are durable and counted.
func TestDeleteAllThatFails(t *testing.T) {
	broken := errors.New("broken")
	removed, synced, fails := 0, 0, false
	b, err := fileblob.OpenWith(t.TempDir(), fileblob.Options{
		Seam: func(c fileblob.Change, do func() error) error {
			switch c.Op {
			case fileblob.Remove:
				if removed++; fails && removed == 3 {
					return broken
				}
			case fileblob.SyncFolder:
				synced++
			}
			return do()
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	for _, key := range []string{"a/1", "a/2", "b/3", "b/4"} {
		_, err := b.Put(t.Context(), key, nil, blob.Always)
		require.NoError(t, err)
	}
	removed, synced, fails = 0, 0, true
	n, err := b.DeleteAll(t.Context(), "a/1", "a/2", "b/3", "b/4")
	require.ErrorIs(t, err, broken)
	require.Equal(t, 2, n)
	require.Equal(t, 1, synced)
	require.Equal(t, []string{"b/3", "b/4"}, keysIn(t, b))
}

func keysIn(t *testing.T, b blob.Bucket) (keys []string) {
	t.Helper()
	for o, err := range b.List(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	return keys
}
