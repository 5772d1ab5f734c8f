package localapp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// TestPrivate checks that everything in a data directory has permissions only for its owner, and
// that a directory with permissions for others is refused only if that is requested.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its permissions are of another kind")
	}
	dir := history(t)
	require.NoError(t, os.Chmod(dir, 0o700)) // the test made it
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s is %#o", path, info.Mode().Perm())
		return nil
	}))
	for name, mode := range map[string]fs.FileMode{
		".": 0o755, "rookery.db": 0o640, "tenants": 0o701, "tenants/local/vaults": 0o750,
		"tenants/local/vaults/v/notes": 0o755,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(path, mode))
		_, err = openApp(t.Context(), localapp.Config{Data: dir, Private: true})
		require.True(t, fault.Is(err, fault.FileError), "%s: %v", name, err)
		require.Contains(t, fault.Of(err).Fixes[0], "chmod -R go-rwx ", name)
		require.Contains(t, fault.Of(err).Fixes[1], "--shared-data", name)
		app, err := openApp(t.Context(), localapp.Config{Data: dir})
		require.NoError(t, err, name)
		require.NoError(t, app.Close())
		require.NoError(t, os.Chmod(path, info.Mode().Perm()))
	}
	app, err := openApp(t.Context(), localapp.Config{Data: dir, Private: true})
	require.NoError(t, err)
	require.NoError(t, app.Close())
}

// TestPrivateFolder checks that a folder which is served in place keeps its modes, and that only
// the modes of its state are checked.
func TestPrivateFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its permissions are of another kind")
	}
	notes, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.Chmod(notes, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(notes, "a.md"), []byte("# A\n"), 0o644))
	cfg := localapp.Config{Folder: notes, State: state, Private: true}
	app, err := openApp(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, app.CaughtUp(t.Context()))
	require.NoError(t, app.Close())
	for _, path := range []string{notes, filepath.Join(notes, "a.md")} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NotZero(t, info.Mode().Perm()&0o044, path)
	}
	found, err := filepath.Glob(filepath.Join(state, "*"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, os.Chmod(found[0], 0o750))
	_, err = openApp(t.Context(), cfg)
	require.True(t, fault.Is(err, fault.FileError), "%v", err)
	require.True(t, strings.HasPrefix(fault.Of(err).Message, "other users of this machine"))
}
