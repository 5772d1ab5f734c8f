package vaultdir_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/vaultdir"
)

// bind makes a folder visible at another path as well.
func (p place) bind(from, to string) {
	p.Helper()
	require.NoError(p, os.MkdirAll(p.path(to), 0o755))
	if err := unix.Mount(p.path(from), p.path(to), "", unix.MS_BIND, ""); err != nil {
		p.Skip("nothing can be mounted here: ", err)
	}
	p.Cleanup(func() { _ = unix.Unmount(p.path(to), unix.MNT_DETACH) })
}

// bindReadOnly makes a folder visible at a path where nothing can be written.
func (p place) bindReadOnly(from, to string) {
	p.Helper()
	p.bind(from, to)
	p.remount(to, unix.MS_RDONLY)
}

func (p place) remount(dir string, flags uintptr) {
	p.Helper()
	require.NoError(p, unix.Mount("", p.path(dir), "", unix.MS_REMOUNT|unix.MS_BIND|flags, ""))
}

// freeze makes a directory that nobody can write to.
func (p place) freeze(dir string) {
	p.Helper()
	file, err := os.Open(p.path(dir))
	require.NoError(p, err)
	set := func(flags int) error {
		return unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags)
	}
	const immutable = 0x10
	if err := set(immutable); err != nil {
		file.Close()
		p.Skip("no directory can be made immutable here: ", err)
	}
	p.Cleanup(func() {
		require.NoError(p, set(0))
		file.Close()
	})
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.notes("n")
	p.bindReadOnly("n", "n")
	first := p.find(p.path("n"))
	require.True(t, first.ReadOnly)
	require.Equal(t, vaultdir.New, first.Origin)
	require.Equal(t, []string{"a.md"}, names(t, p.path("n")))

	again := p.find(p.path("n"))
	require.True(t, again.ReadOnly)
	require.Equal(t, vaultdir.Known, again.Origin)
	require.Equal(t, first.State, again.State)
	require.Len(t, names(t, p.home), 1)

	p.remount("n", 0)
	writable := p.find(p.path("n"))
	require.False(t, writable.ReadOnly)
	require.Equal(t, vaultdir.Known, writable.Origin)
	require.Equal(t, first.State, writable.State)
	p.requireMarked(writable)
}

func TestReadOnlyIsClaimed(t *testing.T) {
	t.Parallel()
	p, other := newPlace(t), newPlace(t)
	p.notes("n")
	p.bindReadOnly("n", "n")
	f := p.open(p.path("n"))
	p.requireInUse(p.path("n"), f.State)
	other.requireUnavailable(p.path("n"), "another process serves the folder")
}

func TestReadOnlyOfAKnownFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.visit(p.notes("n"))
	p.bindReadOnly("n", "mounted")
	for range 2 {
		f := p.find(p.path("mounted"))
		require.True(t, f.ReadOnly)
		require.Equal(t, vaultdir.Known, f.Origin)
		require.Equal(t, first.State, f.State)
		f = p.find(p.path("n"))
		require.False(t, f.ReadOnly)
		require.Equal(t, vaultdir.Known, f.Origin)
	}
}

// TestReadOnlyCopy cannot say that it has an id of its own; its state says it.
func TestReadOnlyCopy(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	original := p.open(p.notes("original"))
	p.copies(p.path("original"), "copy")
	p.bindReadOnly("copy", "copy")
	first := p.find(p.path("copy"))
	require.True(t, first.ReadOnly)
	require.Equal(t, vaultdir.Copied, first.Origin)
	require.NotEqual(t, original.State, first.State)
	require.Equal(t, p.mark(original.Path), p.mark(first.Path))

	again := p.find(p.path("copy"))
	require.Equal(t, vaultdir.Known, again.Origin)
	require.Equal(t, first.State, again.State)
	require.Len(t, names(t, p.home), 2)
}

// TestForbidden is a folder that this user may not write to.
func TestForbidden(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.notes("n")
	p.freeze("n")
	f := p.find(p.path("n"))
	require.True(t, f.ReadOnly)
	require.Equal(t, vaultdir.New, f.Origin)
	require.Equal(t, vaultdir.Known, p.find(p.path("n")).Origin)
}

// TestForbiddenID is a copy that this user may write to, but for the directory with its id: notes
// can be written.
func TestForbiddenID(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	original := p.visit(p.notes("original"))
	p.copies(p.path("original"), "copy")
	p.freeze("copy/.rookery")
	first := p.find(p.path("copy"))
	require.False(t, first.ReadOnly)
	require.Equal(t, vaultdir.Copied, first.Origin)
	require.NotEqual(t, original.State, first.State)
	again := p.find(p.path("copy"))
	require.Equal(t, vaultdir.Known, again.Origin)
	require.Equal(t, first.State, again.State)
}

// TestBoundElsewhere reaches one folder by two paths, one of which goes away.
func TestBoundElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	f := p.open(p.notes("n"))
	p.bind("n", "mounted")
	p.requireInUse(p.path("mounted"), f.State)
	require.NoError(t, f.Close())
	require.Equal(t, vaultdir.Known, p.find(p.path("mounted")).Origin)
	require.NoError(t, unix.Unmount(p.path("mounted"), 0))
	require.Equal(t, vaultdir.Known, p.find(p.path("n")).Origin)
}
