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

// files returns the paths of all files below a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	found := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	})
	require.NoError(t, err)
	return found
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	b := open(t, dir)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	_, err = b.Put(t.Context(), "notes/a.md", []byte("one"), blob.Always)
	require.NoError(t, err)
	require.Equal(t, []string{"notes/a.md"}, files(t, dir), "a plain file at its key, and no other")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = fileblob.Open(file)
	require.Error(t, err)
}

func TestReservedKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir)
	for _, key := range []string{".rookery", ".rookery/tmp/x", ".Rookery/x", ".rooKery/x"} {
		_, err := b.Put(t.Context(), key, nil, blob.Always)
		require.ErrorIs(t, err, blob.ErrKey, key)
		_, _, err = b.Get(t.Context(), key, 0, -1)
		require.ErrorIs(t, err, blob.ErrKey, key)
		require.ErrorIs(t, b.Delete(t.Context(), key), blob.ErrKey, key)
		require.ErrorIs(t, b.Exchange(t.Context(), key, nil, nil), blob.ErrKey, key)
		require.ErrorIs(t, b.Remove(t.Context(), key, nil), blob.ErrKey, key)
		require.ErrorIs(t, b.Sync(t.Context(), key), blob.ErrKey, key)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".rookery", "id"), []byte("x"), 0o600))
	for _, key := range []string{".rookeryx", "a/.rookery/b"} {
		_, err := b.Put(t.Context(), key, nil, blob.IfAbsent)
		require.NoError(t, err, "only the first segment is reserved, as a whole")
	}
	for prefix, want := range map[string][]string{
		"": {".rookeryx", "a/.rookery/b"}, ".rookery": {".rookeryx"}, ".rookery/": nil,
		".rookery/tmp": nil, "a/.rookery/": {"a/.rookery/b"},
	} {
		var keys []string
		for o, err := range b.List(t.Context(), prefix) {
			require.NoError(t, err)
			keys = append(keys, o.Key)
		}
		require.Equal(t, want, keys, "%q", prefix)
	}
}

// TestTags checks that tags depend only on the contents, not on the key or the time.
func TestTags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir)
	one, err := b.Put(t.Context(), "a", []byte("same"), blob.Always)
	require.NoError(t, err)
	two, err := b.Put(t.Context(), "b/c", []byte("same"), blob.IfAbsent)
	require.NoError(t, err)
	require.Equal(t, one, two)
	other, err := b.Put(t.Context(), "b/c", []byte("other"), blob.Always)
	require.NoError(t, err)
	require.NotEqual(t, one, other)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hand"), []byte("same"), 0o600))
	_, tag, err := b.Get(t.Context(), "hand", 1, 1)
	require.NoError(t, err)
	require.Equal(t, one, tag)
}

// TestListStrangers checks that files whose names are not keys are not listed.
func TestListStrangers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir)
	for _, name := range []string{"ok", "new\nline", "bad\xff", "tab\there"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Logf("this file system has no file %q", name)
		}
	}
	var keys []string
	for o, err := range b.List(t.Context(), "") {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	require.Equal(t, []string{"ok"}, keys)
}
