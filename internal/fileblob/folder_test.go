package fileblob_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
	"rookery/internal/fileblob"
)

// files are the paths of all files below a folder.
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

// TestTags: tags are those of the contents, on any key and after any time.
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

// TestListStrangers: what cannot be a key is not listed.
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

func displaced(t *testing.T, b *fileblob.Bucket) []blob.Displaced {
	t.Helper()
	var all []blob.Displaced
	for d, err := range b.Displaced(t.Context()) {
		require.NoError(t, err)
		all = append(all, d)
	}
	return all
}

// lateEdit has an editor write into a file that it held open while the file was exchanged.
func lateEdit(t *testing.T, b *fileblob.Bucket, dir, key string) {
	t.Helper()
	require.NoError(t, b.Exchange(t.Context(), key, []byte("old"), nil))
	held, err := os.OpenFile(filepath.Join(dir, key), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	require.NoError(t, b.Exchange(t.Context(), key, []byte("new"), []byte("old")))
	require.Empty(t, displaced(t, b), "what was displaced is what was expected")
	_, err = held.WriteString(" and mine")
	require.NoError(t, err)
	require.NoError(t, held.Close())
}

func TestDisplaced(t *testing.T) {
	t.Parallel()
	for name, opener := range openers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openWith(t, dir, opener)
			key := strings.Repeat("ü", 100) + " % -.md"
			lateEdit(t, b, dir, key)
			all := displaced(t, b)
			require.Len(t, all, 1)
			require.Equal(t, key, all[0].Key)
			require.Equal(t, "old and mine", string(all[0].Data))

			stale := all[0]
			stale.Data = []byte("old")
			var found *blob.Found
			require.ErrorAs(t, b.Settle(t.Context(), stale), &found)
			require.Equal(t, "old and mine", string(found.Data))
			require.Len(t, displaced(t, b), 1, "what was written since is not settled")

			again := openWith(t, dir, opener)
			require.Equal(t, all, displaced(t, again), "it outlives the process")
			again.LetTimePass()
			require.NoError(t, again.Settle(t.Context(), all[0]))
			require.Empty(t, displaced(t, again))
			require.NoError(t, again.Settle(t.Context(), all[0]), "it is settled")
			data, _, err := again.Get(t.Context(), key, 0, -1)
			require.NoError(t, err)
			require.Equal(t, "new", string(data))
			require.Equal(t, []string{key}, files(t, dir))
		})
	}
}

// TestTidy: displaced files go when their time is over, but for those that were written into.
func TestTidy(t *testing.T) {
	t.Parallel()
	for name, opener := range openers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openWith(t, dir, opener)
			long := strings.Repeat("long/", 100) + "key"
			lateEdit(t, b, dir, "edited")
			require.NoError(t, b.Exchange(t.Context(), long, []byte("one"), nil))
			require.NoError(t, b.Exchange(t.Context(), long, []byte("two"), []byte("one")))
			require.NoError(t, b.Remove(t.Context(), long, []byte("two")))
			require.Len(t, files(t, dir), 4, "nothing is removed before its time")

			b.LetTimePass()
			for range 10 {
				require.NoError(t, b.Remove(t.Context(), "none", nil))
			}
			require.Len(t, files(t, dir), 2)
			require.Len(t, displaced(t, b), 1)
			entries, err := os.ReadDir(filepath.Join(dir, ".rookery", "displaced"))
			require.NoError(t, err)
			require.Len(t, entries, 1, "the folders of long names go as well")
		})
	}
}
