package fileblob_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// TestStoreRemoved checks that changes still succeed if another program removes the bucket's own
// files while the folder is open, and that no file of the folder seems to be missing.
func TestStoreRemoved(t *testing.T) {
	t.Parallel()
	for name, o := range openers() {
		for _, part := range []string{"tmp", ""} {
			t.Run(name+" "+part, func(t *testing.T) {
				t.Parallel()
				changeWithout(t, o, part)
			})
		}
	}
}

func changeWithout(t *testing.T, o opener, part string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "notes")
	b := openWith(t, dir, o)
	require.NoError(t, b.Exchange(t.Context(), "n.md", []byte("one"), nil))
	removeStores(t, dir, part)
	require.NoError(t, b.Exchange(t.Context(), "n.md", []byte("two"), []byte("one")))
	requireFile(t, b, "n.md", "two")
	removeStores(t, dir, part)
	require.NoError(t, b.Exchange(t.Context(), "in/new.md", []byte("new"), nil))
	requireFile(t, b, "in/new.md", "new")
	removeStores(t, dir, part)
	var found *blob.Found
	require.ErrorAs(t, b.Exchange(t.Context(), "n.md", []byte("x"), []byte("other")), &found)
	require.Equal(t, "two", string(found.Data))
	removeStores(t, dir, part)
	require.NoError(t, b.Remove(t.Context(), "n.md", []byte("two")))
	removeStores(t, dir, part)
	_, err := b.Put(t.Context(), "p.md", []byte("put"), blob.Always)
	require.NoError(t, err)
	_, _, err = b.Get(t.Context(), "n.md", 0, -1)
	require.ErrorIs(t, err, blob.ErrNotExist)
	requireFile(t, b, "in/new.md", "new")
	requireFile(t, b, "p.md", "put")
}

func requireFile(t *testing.T, b *fileblob.Bucket, key, want string) {
	t.Helper()
	text, _, err := b.Get(t.Context(), key, 0, -1)
	require.NoError(t, err)
	require.Equal(t, want, string(text))
}

// removeStores removes the bucket's own files, or a part of them, but not the directory created for
// them.
func removeStores(t *testing.T, dir, part string) {
	t.Helper()
	for _, store := range storesOf(dir) {
		for _, name := range []string{"tmp", "displaced"} {
			if part == "" || part == name {
				require.NoError(t, os.RemoveAll(filepath.Join(store, name)))
			}
		}
	}
}

// TestWorkRemoved checks that a change reports that no own file can be created, rather than that a
// file of the folder is missing.
func TestWorkRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "notes")
	b, err := fileblob.OpenWith(dir, fileblob.Options{Work: workOf(dir)})
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Exchange(t.Context(), "n.md", []byte("one"), nil))
	require.NoError(t, os.RemoveAll(workOf(dir)))
	err = b.Exchange(t.Context(), "n.md", []byte("two"), []byte("one"))
	var found *blob.Found
	require.Error(t, err)
	require.NotErrorAs(t, err, &found)
	require.Error(t, b.Remove(t.Context(), "n.md", []byte("one")))
	require.NotErrorAs(t, b.Remove(t.Context(), "n.md", []byte("one")), &found)
	requireFile(t, b, "n.md", "one")
}
