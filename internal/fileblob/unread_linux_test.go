package fileblob_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/blob"
)

// asNobody calls do without root's permission to read every file. The thread has another user id
// for file access meanwhile.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, unix.Setfsuid(65534))
	defer func() { require.NoError(t, unix.Setfsuid(0)) }()
	do()
}

// TestUnreadFolders checks that a walk yields an error for each folder that cannot be read, and
// continues.
func TestUnreadFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openWith(t, dir, openWork)
	for _, key := range []string{"a/x.md", "b/x.md", "b/c/x.md", "d/e/x.md", "z.md"} {
		require.NoError(t, b.Exchange(t.Context(), key, []byte("x"), nil))
	}
	for folder, perm := range map[string]fs.FileMode{"b": 0, "d/e": 0o444} {
		at := filepath.Join(dir, folder)
		require.NoError(t, os.Chmod(at, perm))
		t.Cleanup(func() { _ = os.Chmod(at, 0o700) })
	}
	walk := func(folder blob.Folder, prefix string) (keys, unread []string) {
		for o, err := range folder.Walk(t.Context(), prefix, nil) {
			if err == nil {
				keys = append(keys, o.Key)
				continue
			}
			var failed *blob.WalkError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, fs.ErrPermission)
			unread = append(unread, failed.Folder)
		}
		return keys, unread
	}
	asNobody(t, func() {
		keys, unread := walk(b, "")
		require.Equal(t, []string{"a/x.md", "z.md"}, keys)
		require.Equal(t, []string{"b", "d/e"}, unread)
		_, unread = walk(b, "b/c/")
		require.Equal(t, []string{"b/c"}, unread)
		_, unread = walk(blob.Sub(b, "d").(blob.Folder), "")
		require.Equal(t, []string{"e"}, unread)
		_, unread = walk(blob.Sub(b, "b").(blob.Folder), "")
		require.Equal(t, []string{""}, unread)
		for o, err := range b.List(t.Context(), "b/") {
			require.ErrorIs(t, err, fs.ErrPermission, "a List ends there: %s", o.Key)
		}
	})
}
