package fileblob_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// TestLook checks that a folder can be read without changing it, also while another process has it
// open, and also if it was never opened before.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("one\n"), 0o600))
	r, err := fileblob.Look(dir)
	require.NoError(t, err)
	text, _, err := r.Get(t.Context(), "a.md", 0, -1)
	require.NoError(t, err)
	require.Equal(t, "one\n", string(text))
	unplaced, displaced, err := r.Leftovers(t.Context())
	require.NoError(t, err)
	require.Zero(t, unplaced)
	require.Empty(t, displaced)
	_, err = r.Put(t.Context(), "b.md", nil, blob.Always)
	require.ErrorIs(t, err, fileblob.ErrReadOnly)
	require.ErrorIs(t, r.Delete(t.Context(), "a.md"), fileblob.ErrReadOnly)
	require.NoError(t, r.Close())
	require.NoDirExists(t, filepath.Join(dir, ".rookery"))

	b, err := fileblob.Open(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	r, err = fileblob.Look(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var keys []string
	for o, err := range r.List(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	require.Equal(t, []string{"a.md"}, keys)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".rookery", "tmp", "X"), nil, 0o600))
	unplaced, _, err = r.Leftovers(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, unplaced)

	_, err = fileblob.Look(filepath.Join(dir, "nowhere"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestSpace checks that a disk is at least as large as its free space.
func TestSpace(t *testing.T) {
	free, total, err := fileblob.Space(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, total)
	require.LessOrEqual(t, free, total)
}
