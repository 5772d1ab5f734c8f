package fileblob_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
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
