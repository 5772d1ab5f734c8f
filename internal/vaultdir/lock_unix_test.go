//go:build linux || darwin

package vaultdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/vaultdir"
)

// take locks a file as another process would.
func take(t *testing.T, path string) error {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// TestIDIsLocked also has a copy, whose id was replaced.
func TestIDIsLocked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.open(p.notes("original"))
	p.open(p.copies(p.path("original"), "copy"))
	for _, name := range []string{"original", "copy"} {
		require.ErrorIs(t, take(t, p.path(name, ".rookery", "id")), unix.EWOULDBLOCK)
	}
}

// TestLockedFromAfar is a folder of a network, whose id another machine has locked.
func TestLockedFromAfar(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.visit(p.notes("n"))
	require.NoError(t, take(t, p.path("n", ".rookery", "id")))
	p.requireUnavailable(p.path("n"), "perhaps on another machine")
}

// TestLockedState is a folder whose state is still another process's: that has a folder open which
// was at the path that the state names.
func TestLockedState(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	f := p.visit(p.notes("n"))
	p.copies(p.path("n"), "m")
	require.NoError(t, os.RemoveAll(p.path("n")))
	require.NoError(t, take(t, filepath.Join(f.State, "lock")))
	before := tree(t, p.home, p.dir)
	p.requireUnavailable(p.path("m"), "at another path")
	require.Equal(t, before, tree(t, p.home, p.dir))
	found, err := vaultdir.Find(p.path("m"), p.home)
	require.NoError(t, err)
	require.Equal(t, vaultdir.Moved, found.Origin)
}
