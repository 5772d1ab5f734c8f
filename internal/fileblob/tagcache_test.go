package fileblob_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestPartsOfAFile checks that the tag of a part is that of the current whole file, whether it is
// cached or not.
func TestPartsOfAFile(t *testing.T) {
	dir := t.TempDir()
	b, err := fileblob.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	file := filepath.Join(dir, "a")
	requirePart := func(whole string) {
		t.Helper()
		_, tag, err := b.Get(t.Context(), "a", 0, -1)
		require.NoError(t, err)
		for range 2 {
			data, of, err := b.Get(t.Context(), "a", 2, 3)
			require.NoError(t, err)
			require.Equal(t, whole[2:5], string(data))
			require.Equal(t, tag, of)
			data, of, err = b.Get(t.Context(), "a", 100, 3)
			require.NoError(t, err)
			require.Empty(t, data)
			require.NotNil(t, data)
			require.Equal(t, tag, of)
		}
	}
	_, err = b.Put(t.Context(), "a", []byte("0123456789"), blob.Always)
	require.NoError(t, err)
	requirePart("0123456789")
	rested := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(file, rested, rested))
	requirePart("0123456789")
	requirePart("0123456789")

	_, err = b.Put(t.Context(), "a", []byte("9876543210"), blob.Always)
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(file, rested, rested))
	requirePart("9876543210")
	require.NoError(t, os.WriteFile(file, []byte("abcdefghij"), 0o600))
	requirePart("abcdefghij")
	require.NoError(t, os.Truncate(file, 6))
	requirePart("abcdef")
	require.NoError(t, b.Delete(t.Context(), "a"))
	_, _, err = b.Get(t.Context(), "a", 2, 3)
	require.ErrorIs(t, err, blob.ErrNotExist)
}

// TestPartsOfALargeFile checks that parts of a large file that was put just now are read without the
// rest of the file, and have the tag of the current file after each way to write it.
func TestPartsOfALargeFile(t *testing.T) {
	dir := t.TempDir()
	b, err := fileblob.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	const size = 8 << 20
	text := func(fill string) []byte { return []byte(strings.Repeat(fill, size)) }
	tagOfPart := func() blob.Tag {
		t.Helper()
		_, tag, err := b.Get(t.Context(), "a", 2, 3)
		require.NoError(t, err)
		return tag
	}
	put, err := b.Put(t.Context(), "a", text("a"), blob.Always)
	require.NoError(t, err)
	_, read := tooltest.Allocated(func() { require.Equal(t, put, tagOfPart()) })
	require.Less(t, read, uint64(1<<20))

	put, err = b.Put(t.Context(), "a", text("b"), blob.IfTag(put))
	require.NoError(t, err)
	require.Equal(t, put, tagOfPart())
	require.NoError(t, b.Exchange(t.Context(), "a", text("c"), text("b")))
	_, whole, err := b.Get(t.Context(), "a", 0, -1)
	require.NoError(t, err)
	require.Equal(t, whole, tagOfPart())
	_, err = b.Put(t.Context(), "a", text("d"), blob.Always)
	require.NoError(t, err)
	require.NoError(t, b.Append(t.Context(), "a", size-1, []byte("e")))
	_, whole, err = b.Get(t.Context(), "a", 0, -1)
	require.NoError(t, err)
	require.Equal(t, whole, tagOfPart())
}
