//go:build linux

package casefoldfs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/casefoldfs"
)

// A disk is a mounted file system with a test.
type disk struct {
	*testing.T
	dir string
}

func mount(t *testing.T) disk { return disk{t, casefoldfs.Mount(t, casefoldfs.Options{})} }

func (d disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d disk) write(name, text string) {
	d.Helper()
	require.NoError(d, os.WriteFile(d.path(name), []byte(text), 0o644))
}

func (d disk) text(name string) string {
	d.Helper()
	text, err := os.ReadFile(d.path(name))
	require.NoError(d, err)
	return string(text)
}

func (d disk) mkdir(name string) {
	d.Helper()
	require.NoError(d, os.Mkdir(d.path(name), 0o755))
}

func (d disk) rename(from, to string) error { return unix.Rename(d.path(from), d.path(to)) }

// rename2 renames with flags.
func (d disk) rename2(from, to string, flags uint) error {
	return unix.Renameat2(unix.AT_FDCWD, d.path(from), unix.AT_FDCWD, d.path(to), flags)
}

// names requires what a folder has, as it is spelled.
func (d disk) names(folder string, want ...string) {
	d.Helper()
	entries, err := os.ReadDir(d.path(folder))
	require.NoError(d, err)
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	require.ElementsMatch(d, want, got)
}

func TestAnySpellingFindsTheEntry(t *testing.T) {
	d := mount(t)
	d.mkdir("People")
	d.write("People/note.md", "one")
	for _, name := range []string{"People/note.md", "people/NOTE.md", "PEOPLE/Note.md"} {
		require.Equal(t, "one", d.text(name))
		info, err := os.Lstat(d.path(name))
		require.NoError(t, err)
		other, err := os.Lstat(d.path("People/note.md"))
		require.NoError(t, err)
		require.True(t, os.SameFile(info, other), name)
	}
	_, err := os.Lstat(d.path("people/other.md"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	d.names(".", "People")
	d.names("people", "note.md")
}

func TestWhatIsWrittenUnderOneSpellingIsReadUnderAll(t *testing.T) {
	d := mount(t)
	d.write("note.md", "one")
	require.Equal(t, "one", d.text("NOTE.md"))
	d.write("NOTE.md", "two, longer")
	require.Equal(t, "two, longer", d.text("note.md"))
	file, err := os.OpenFile(d.path("Note.md"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer file.Close()
	d.write("note.md", "three")
	_, err = file.WriteString(" and more")
	require.NoError(t, err)
	require.Equal(t, "three and more", d.text("NOTE.MD"))
	require.NoError(t, os.Truncate(d.path("nOTE.md"), 5))
	require.NoError(t, os.Chmod(d.path("noTE.md"), 0o600))
	info, err := os.Stat(d.path("note.md"))
	require.NoError(t, err)
	require.Equal(t, int64(5), info.Size())
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	d.names(".", "note.md")
}

func TestNormalization(t *testing.T) {
	d := mount(t)
	const composed, decomposed = "\u00e9.md", "e\u0301.md"
	d.write(decomposed, "one")
	require.Equal(t, "one", d.text(composed))
	require.Equal(t, "one", d.text("\u00c9.md"))
	require.NotEqual(t, composed, decomposed)
	d.names(".", decomposed)
	require.NoError(t, d.rename(decomposed, composed))
	d.names(".", composed)
	_, err := os.Stat(d.path("e.md"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestCreate(t *testing.T) {
	d := mount(t)
	d.write("note.md", "one")
	for _, name := range []string{"note.md", "NOTE.md"} {
		_, err := os.OpenFile(d.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		require.ErrorIs(t, err, fs.ErrExist, name)
	}
	file, err := os.OpenFile(d.path("Note.md"), os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	got := make([]byte, 10)
	n, _ := file.Read(got)
	require.NoError(t, file.Close())
	require.Equal(t, "one", string(got[:n]))
	d.names(".", "note.md")
}

// TestMakingATwin makes what is there in another spelling, in each way but creating a file.
func TestMakingATwin(t *testing.T) {
	d := mount(t)
	d.write("note.md", "one")
	d.mkdir("folder")
	require.NoError(t, os.Symlink("note.md", d.path("link")))
	d.write("other", "")
	for _, name := range []string{"NOTE.md", "Folder", "LINK"} {
		require.ErrorIs(t, os.Mkdir(d.path(name), 0o755), fs.ErrExist, "mkdir %s", name)
		require.ErrorIs(t, os.Symlink("other", d.path(name)), fs.ErrExist, "symlink %s", name)
		require.ErrorIs(t, os.Link(d.path("other"), d.path(name)), fs.ErrExist, "link %s", name)
		require.ErrorIs(t, unix.Mkfifo(d.path(name), 0o600), fs.ErrExist, "mkfifo %s", name)
	}
	d.names(".", "note.md", "folder", "link", "other")
	target, err := os.Readlink(d.path("Link"))
	require.NoError(t, err)
	require.Equal(t, "note.md", target)
	require.Equal(t, "one", d.text("Link"))
	require.NoError(t, os.Link(d.path("NOTE.md"), d.path("Second.md")))
	d.write("second.MD", "two")
	require.Equal(t, "two", d.text("note.md"))
}

func TestRemove(t *testing.T) {
	d := mount(t)
	d.write("note.md", "one")
	d.mkdir("folder")
	d.write("folder/x", "")
	require.ErrorIs(t, unix.Rmdir(d.path("FOLDER")), unix.ENOTEMPTY)
	require.NoError(t, os.Remove(d.path("Folder/X")))
	require.NoError(t, unix.Rmdir(d.path("FOLDER")))
	require.NoError(t, unix.Unlink(d.path("NOTE.md")))
	require.ErrorIs(t, unix.Unlink(d.path("note.md")), fs.ErrNotExist)
	d.names(".")
	d.write("Note.md", "two")
	d.names(".", "Note.md")
}

func TestRenameToAnotherSpelling(t *testing.T) {
	d := mount(t)
	d.write("note.md", "one")
	d.mkdir("folder")
	d.write("folder/in.md", "in")
	for _, c := range []struct{ from, to string }{
		{"note.md", "Note.md"}, {"Note.md", "NOTE.md"},
		{"note.md", "NOTE.MD"}, // neither is as it was spelled
		{"note.md", "NOTE.MD"}, // and now it is so already
		{"NOTE.MD", "NOTE.MD"},
	} {
		require.NoError(t, d.rename(c.from, c.to))
		d.names(".", c.to, "folder")
		require.Equal(t, "one", d.text("note.md"))
	}
	require.NoError(t, d.rename("folder", "Folder"))
	require.NoError(t, d.rename("FOLDER/in.md", "folder/IN.md"))
	d.names(".", "NOTE.MD", "Folder")
	d.names("folder", "IN.md")
	require.Equal(t, "in", d.text("Folder/IN.md"))
}

func TestRenameOver(t *testing.T) {
	d := mount(t)
	d.write("one.md", "one")
	d.write("two.md", "two")
	require.NoError(t, d.rename("ONE.md", "Two.md"))
	d.names(".", "Two.md")
	require.Equal(t, "one", d.text("two.md"))

	d.mkdir("full")
	d.write("full/x", "")
	d.mkdir("other")
	require.ErrorIs(t, d.rename("other", "FULL"), unix.ENOTEMPTY)
	require.ErrorIs(t, d.rename("two.md", "Other"), unix.EISDIR)
	d.names(".", "Two.md", "full", "other")
	require.NoError(t, d.rename("Full", "OTHER"))
	d.names(".", "Two.md", "OTHER")
	d.names("other", "x")
}

func TestRenameWithoutReplacing(t *testing.T) {
	d := mount(t)
	d.write("one.md", "one")
	d.write("two.md", "two")
	require.ErrorIs(t, d.rename2("one.md", "Two.md", unix.RENAME_NOREPLACE), fs.ErrExist)
	require.ErrorIs(t, d.rename2("one.md", "ONE.md", unix.RENAME_NOREPLACE), fs.ErrExist)
	d.names(".", "one.md", "two.md")
	require.NoError(t, d.rename2("ONE.md", "Three.md", unix.RENAME_NOREPLACE))
	d.names(".", "Three.md", "two.md")
	require.Equal(t, "one", d.text("three.md"))
}

func TestRenameExchange(t *testing.T) {
	d := mount(t)
	d.write("one.md", "one")
	d.mkdir("folder")
	d.write("folder/two.md", "two")
	require.NoError(t, d.rename2("ONE.md", "Folder/TWO.md", unix.RENAME_EXCHANGE))
	d.names(".", "one.md", "folder")
	d.names("folder", "two.md")
	require.Equal(t, "two", d.text("one.md"))
	require.Equal(t, "one", d.text("FOLDER/two.md"))
	require.NoError(t, d.rename2("one.md", "ONE.md", unix.RENAME_EXCHANGE))
	d.names(".", "one.md", "folder")
	err := d.rename2("one.md", "none.md", unix.RENAME_EXCHANGE)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestNoRenameFlags(t *testing.T) {
	d := disk{t, casefoldfs.Mount(t, casefoldfs.Options{NoRenameFlags: true})}
	d.write("one.md", "one")
	d.write("two.md", "two")
	err := d.rename2("one.md", "three.md", unix.RENAME_NOREPLACE)
	require.ErrorIs(t, err, unix.EINVAL)
	err = d.rename2("one.md", "two.md", unix.RENAME_EXCHANGE)
	require.ErrorIs(t, err, unix.EINVAL)
	d.names(".", "one.md", "two.md")
	require.NoError(t, d.rename("one.md", "TWO.md"))
	d.names(".", "TWO.md")
	require.Equal(t, "one", d.text("two.md"))
}
