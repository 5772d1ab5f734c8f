package watch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/watch"
)

// saves are the ways in which editors and scripts change a note.
var saves = map[string]func(t require.TestingT, note string){
	"truncate and write": func(t require.TestingT, note string) { write(t, "2", note) },
	"append": func(t require.TestingT, note string) {
		file, err := os.OpenFile(note, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.WriteString("2")
		require.NoError(t, err)
		require.NoError(t, file.Close())
	},
	"truncate": func(t require.TestingT, note string) { require.NoError(t, os.Truncate(note, 1)) },
	"grow and map": func(t require.TestingT, note string) {
		file, err := os.OpenFile(note, os.O_RDWR, 0)
		require.NoError(t, err)
		require.NoError(t, file.Truncate(8192))
		text, err := unix.Mmap(int(file.Fd()), 0, 8192, unix.PROT_WRITE, unix.MAP_SHARED)
		require.NoError(t, err)
		copy(text, "2")
		require.NoError(t, unix.Munmap(text))
		require.NoError(t, file.Close())
	},
	"rename over": func(t require.TestingT, note string) {
		write(t, "2", note+"~")
		rename(t, note+"~", note)
	},
	"rename over from outside": func(t require.TestingT, note string) {
		write(t, "2", outsideOf(note))
		rename(t, outsideOf(note), note)
	},
	"delete and create": func(t require.TestingT, note string) {
		require.NoError(t, os.Remove(note))
		write(t, "2", note)
	},
	"move away and create": func(t require.TestingT, note string) {
		rename(t, note, note+"~")
		write(t, "2", note)
	},
	"exchange": func(t require.TestingT, note string) {
		write(t, "2", note+"~")
		exchange(t, note+"~", note)
	},
	"exchange with outside": func(t require.TestingT, note string) {
		write(t, "2", outsideOf(note))
		exchange(t, outsideOf(note), note)
	},
	"link": func(t require.TestingT, note string) {
		write(t, "2", outsideOf(note))
		require.NoError(t, os.Remove(note))
		require.NoError(t, os.Link(outsideOf(note), note))
	},
	"link and rename over": func(t require.TestingT, note string) {
		write(t, "2", outsideOf(note))
		require.NoError(t, os.Link(outsideOf(note), note+"~"))
		rename(t, note+"~", note)
	},
	"remove": func(t require.TestingT, note string) { require.NoError(t, os.Remove(note)) },
	"mode":   func(t require.TestingT, note string) { require.NoError(t, os.Chmod(note, 0o400)) },
	"clone":  clone,
}

// outsideOf is a place on the same file system that is not in the tree.
func outsideOf(note string) string { return filepath.Join(filepath.Dir(note), "../../../outside") }

func exchange(t require.TestingT, a, b string) {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	require.NoError(t, err)
}

// clone copies within the kernel, as cp does.
func clone(t require.TestingT, note string) {
	write(t, "2", outsideOf(note))
	from, err := os.Open(outsideOf(note))
	require.NoError(t, err)
	to, err := os.OpenFile(note, os.O_WRONLY, 0)
	require.NoError(t, err)
	n, err := unix.CopyFileRange(int(from.Fd()), nil, int(to.Fd()), nil, 1, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, from.Close())
	require.NoError(t, to.Close())
}

func TestEverySaveIsNamed(t *testing.T) {
	for name, save := range saves {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "vault")
			write(t, "text", dir, "a/b/note.md")
			l := listen(t, dir)
			save(t, filepath.Join(dir, "a/b/note.md"))
			l.named("a/b/note.md")
			require.False(t, l.everything)
		})
	}
}

func TestFoldersExchanged(t *testing.T) {
	dir := t.TempDir()
	write(t, "text", dir, "a/deep/x.md")
	write(t, "text", dir, "b/deep/y.md")
	l := listen(t, dir)
	exchange(t, filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	l.named("a", "b", "a/deep/y.md", "b/deep/x.md")
	write(t, "text", dir, "last.md")
	l.named("last.md")
	l.forget()
	write(t, "2", dir, "a/deep/y.md")
	write(t, "2", dir, "b/deep/x.md")
	l.named("a/deep/y.md", "b/deep/x.md")
}

func TestRootMovedIsWatchedOn(t *testing.T) {
	parent := t.TempDir()
	at := filepath.Join(parent, "first")
	write(t, "text", at, "a/note.md")
	l := listen(t, at)
	for _, name := range []string{"second", "deep/third", "fourth"} {
		to := filepath.Join(parent, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		rename(t, at, to)
		write(t, "text", at, "foreign/foreign.md") // what is made at the old name is not ours
		at = to
		l.all()
		l.forget()
		write(t, "2", at, "a/note.md")
		write(t, "2", at, "new", name, "note.md")
		l.named("a/note.md", "new/"+name+"/note.md")
		l.forget()
		write(t, "3", at, "new", name, "note.md")
		write(t, "3", at, "last.md")
		l.named("new/"+name+"/note.md", "last.md")
		require.False(t, l.covered("foreign"))
		require.False(t, l.covered("foreign/foreign.md"))
		require.Empty(t, l.tree.Reason())
	}
}

func TestParentOfRootMoved(t *testing.T) {
	parent := t.TempDir()
	write(t, "text", parent, "old/vault/note.md")
	l := listen(t, filepath.Join(parent, "old/vault"))
	rename(t, filepath.Join(parent, "old"), filepath.Join(parent, "new"))
	write(t, "text", parent, "new/vault/made/deep/note.md")
	l.named("made/deep/note.md")
	require.True(t, l.tree.Whole())
}

func TestRootRemovedIsToldOnce(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, parent string) string{
		"empty": func(t *testing.T, parent string) string {
			require.NoError(t, os.Mkdir(filepath.Join(parent, "vault"), 0o755))
			return "vault"
		},
		"with notes": func(t *testing.T, parent string) string {
			write(t, "text", parent, "vault/a/note.md")
			return "vault"
		},
	} {
		for _, byName := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				parent := t.TempDir()
				root := filepath.Join(parent, prepare(t, parent))
				l := listenWith(t, root, watch.Rules{ByName: byName})
				require.NoError(t, os.RemoveAll(root))
				requireLost(t, l, parent)
			})
		}
	}
}

func TestMovedRootRemovedIsTold(t *testing.T) {
	parent, other := t.TempDir(), t.TempDir()
	l := listen(t, parent)
	rename(t, parent, filepath.Join(other, "vault"))
	l.all()
	l.forget()
	require.NoError(t, os.Remove(filepath.Join(other, "vault")))
	requireLost(t, l, other)
}

func TestRootReplacedIsTold(t *testing.T) {
	parent := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(parent, "vault"), 0o755))
	write(t, "text", parent, "other/note.md")
	l := listen(t, filepath.Join(parent, "vault"))
	other, vault := filepath.Join(parent, "other"), filepath.Join(parent, "vault")
	require.NoError(t, unix.Rename(other, vault)) // os.Rename refuses
	requireLost(t, l, parent)
}

func TestRootKnownByNameIsLostWhenMoved(t *testing.T) {
	parent := t.TempDir()
	write(t, "text", parent, "vault/a/note.md")
	l := listenWith(t, filepath.Join(parent, "vault"), watch.Rules{ByName: true})
	write(t, "text", parent, "vault/b/note.md")
	l.named("b/note.md")
	require.True(t, l.tree.Whole())
	rename(t, filepath.Join(parent, "vault"), filepath.Join(parent, "moved"))
	write(t, "text", parent, "vault/a/note.md")
	requireLost(t, l, parent)
}

// requireLost waits until the end of the root is told, and looks that it is not told again, nor
// what is made in its place. What went before the end may be named late.
func requireLost(t *testing.T, l *listener, parent string) {
	t.Helper()
	l.all()
	l.until("not whole", func() bool { return !l.tree.Whole() })
	require.NotEmpty(t, l.tree.Reason())
	require.NotContains(t, l.tree.Reason(), parent)
	l.tree.Take()
	for range 3 {
		write(t, "text", parent, "vault/foreign.md")
		write(t, "text", parent, "beside")
		require.NoError(t, os.Remove(filepath.Join(parent, "beside")))
	}
	require.NoError(t, l.tree.Close())
	c := l.tree.Take()
	require.False(t, c.Everything)
	require.NotContains(t, c.Paths, "foreign.md")
	require.False(t, l.tree.Whole())
}
