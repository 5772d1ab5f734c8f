package vaultdir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/vaultdir"
)

// A place is where folders of notes and their states lie in a test.
type place struct {
	*testing.T
	dir, home string
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return place{t, dir, filepath.Join(t.TempDir(), "state", "folders")}
}

// path is that of a thing in the place.
func (p place) path(parts ...string) string {
	return filepath.Join(append([]string{p.dir}, parts...)...)
}

// notes makes a folder of notes.
func (p place) notes(name string) string {
	p.Helper()
	require.NoError(p, os.MkdirAll(p.path(name), 0o755))
	require.NoError(p, os.WriteFile(p.path(name, "a.md"), []byte("# A\n"), 0o644))
	return p.path(name)
}

// open claims a folder until the end of the test.
func (p place) open(dir string) *vaultdir.Folder {
	p.Helper()
	f, err := vaultdir.Open(dir, p.home)
	require.NoError(p, err)
	p.Cleanup(func() { f.Close() })
	require.Equal(p, p.home, filepath.Dir(f.State))
	require.DirExists(p, f.State)
	return f
}

// visit claims a folder and lets it go.
func (p place) visit(dir string) *vaultdir.Folder {
	p.Helper()
	f := p.open(dir)
	require.NoError(p, f.Close())
	return f
}

// find requires that Find says what Open then finds.
func (p place) find(dir string) *vaultdir.Folder {
	p.Helper()
	before := tree(p, p.home, p.dir)
	found, err := vaultdir.Find(dir, p.home)
	require.NoError(p, err)
	require.Equal(p, before, tree(p, p.home, p.dir), "finding changes nothing")
	f := p.visit(dir)
	if found.State != "" {
		require.Equal(p, f.State, found.State)
	}
	require.Equal(p, []any{f.Path, f.Vault, f.Origin, f.From},
		[]any{found.Path, found.Vault, found.Origin, found.From})
	return f
}

// tree is all that lies in directories.
func tree(t testing.TB, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				all[path] = string(data)
			}
			return nil
		})
	}
	return all
}

// mark is what the file of the id says.
func (p place) mark(dir string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(dir, ".rookery", "id"))
	require.NoError(p, err)
	return string(data)
}

// setMark writes the file of the id as anybody may.
func (p place) setMark(dir, text string) {
	p.Helper()
	require.NoError(p, os.MkdirAll(filepath.Join(dir, ".rookery"), 0o755))
	require.NoError(p, os.WriteFile(filepath.Join(dir, ".rookery", "id"), []byte(text), 0o644))
}

// copies copies a folder.
func (p place) copies(from, to string) string {
	p.Helper()
	require.NoError(p, os.CopyFS(p.path(to), os.DirFS(from)))
	return p.path(to)
}

// requireMarked requires that the folder says what its state is, and has nothing else of ours.
func (p place) requireMarked(f *vaultdir.Folder) {
	p.Helper()
	require.Equal(p, filepath.Base(f.State)+"\n", p.mark(f.Path))
	require.Equal(p, []string{"id"}, names(p, filepath.Join(f.Path, ".rookery")))
	require.Equal(p, []string{".rookery", "a.md"}, names(p, f.Path))
}

func names(t testing.TB, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestNewThenKnown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := p.notes("My Notes")
	first := p.find(dir)
	require.Equal(t, vaultdir.New, first.Origin)
	require.Equal(t, dir, first.Path)
	require.Equal(t, "my-notes", first.Vault)
	require.False(t, first.ReadOnly)
	require.Empty(t, first.From)
	p.requireMarked(first)
	require.Len(t, filepath.Base(first.State), 32)

	before := tree(t, p.home, p.dir)
	again := p.find(dir)
	require.Equal(t, vaultdir.Known, again.Origin)
	require.Equal(t, first.State, again.State)
	require.Equal(t, before, tree(t, p.home, p.dir))
}

// TestOpenToRead says that who only reads leaves nothing in a folder, and finds its state again; who changes something
// writes the id that the state has.
func TestOpenToRead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := p.notes("My Notes")
	before := tree(t, dir)
	var read []*vaultdir.Folder
	for range 2 {
		f, err := vaultdir.OpenToRead(dir, p.home)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.False(t, f.ReadOnly)
		require.Equal(t, before, tree(t, dir))
		read = append(read, f)
	}
	require.Equal(t, vaultdir.New, read[0].Origin)
	require.Equal(t, vaultdir.Known, read[1].Origin)
	require.Equal(t, read[0].State, read[1].State)
	f := p.find(dir)
	require.Equal(t, read[0].State, f.State)
	require.Equal(t, vaultdir.Known, f.Origin)
	p.requireMarked(f)
}

func TestStateIsPrivate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	f := p.visit(p.notes("n"))
	for path, want := range map[string]os.FileMode{
		f.State: 0o700, filepath.Join(f.State, "folder.json"): 0o600,
		filepath.Join(f.State, "lock"): 0o600,
	} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), path)
	}
}

func TestIDThatWasRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.visit(p.notes("n"))
	p.visit(p.notes("another"))
	require.NoError(t, os.RemoveAll(p.path("n", ".rookery")))
	again := p.find(p.path("n"))
	require.Equal(t, vaultdir.Known, again.Origin)
	require.Equal(t, first.State, again.State)
	p.requireMarked(again)
}

func TestIDThatWasRemovedFromAMovedFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.visit(p.notes("n"))
	require.NoError(t, os.RemoveAll(p.path("n", ".rookery")))
	require.NoError(t, os.Rename(p.path("n"), p.path("m")))
	again := p.find(p.path("m"))
	require.Equal(t, vaultdir.New, again.Origin)
	require.NotEqual(t, first.State, again.State)
}

func TestMoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.visit(p.notes("first"))
	require.NoError(t, os.Rename(p.path("first"), p.path("second")))
	p.notes("first") // another folder, which has no id
	moved := p.find(p.path("second"))
	require.Equal(t, vaultdir.Moved, moved.Origin)
	require.Equal(t, first.State, moved.State)
	require.Equal(t, p.path("first"), moved.From)
	require.Equal(t, "first", moved.Vault, "the vault keeps its name")
	require.Equal(t, vaultdir.Known, p.find(p.path("second")).Origin)
	require.Equal(t, vaultdir.New, p.find(p.path("first")).Origin)
}

// TestMovedToAnotherDisk moves as a person does between disks: by copying and removing.
func TestMovedToAnotherDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.visit(p.notes("first"))
	p.copies(p.path("first"), "second")
	require.NoError(t, os.RemoveAll(p.path("first")))
	moved := p.find(p.path("second"))
	require.Equal(t, vaultdir.Moved, moved.Origin)
	require.Equal(t, first.State, moved.State)
}

func TestCopied(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	original := p.visit(p.notes("original"))
	p.copies(p.path("original"), "copy")
	copied := p.find(p.path("copy"))
	require.Equal(t, vaultdir.Copied, copied.Origin)
	require.Equal(t, p.path("original"), copied.From)
	require.Equal(t, "copy", copied.Vault)
	require.NotEqual(t, original.State, copied.State)
	p.requireMarked(copied)
	p.requireMarked(original)
	require.Equal(t, vaultdir.Known, p.find(p.path("original")).Origin)
	again := p.find(p.path("copy"))
	require.Equal(t, vaultdir.Known, again.Origin)
	require.Equal(t, copied.State, again.State)
}

// TestCopyThatGotTheOldIDAgain is a copy that a version control or a backup gave the id of its
// original once more: its own history goes on.
func TestCopyThatGotTheOldIDAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	original := p.visit(p.notes("original"))
	copied := p.visit(p.copies(p.path("original"), "copy"))
	p.setMark(p.path("copy"), p.mark(original.Path))
	again := p.find(p.path("copy"))
	require.Equal(t, vaultdir.Known, again.Origin)
	require.Equal(t, copied.State, again.State)
	p.requireMarked(again)
}

// TestOriginalThatMovedAway has the copy at the path of the original: the history stays there.
func TestOriginalThatMovedAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.visit(p.notes("n"))
	require.NoError(t, os.Rename(p.path("n"), p.path("moved")))
	p.copies(p.path("moved"), "n")
	require.Equal(t, vaultdir.Copied, p.find(p.path("moved")).Origin)
	here := p.find(p.path("n"))
	require.Equal(t, vaultdir.Known, here.Origin)
	require.Equal(t, first.State, here.State)
}

// TestDiskThatWasAway gives the state to what is there, and makes a copy of what comes back.
func TestDiskThatWasAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.visit(p.notes("disk/n"))
	p.copies(p.path("disk/n"), "n")
	require.NoError(t, os.Rename(p.path("disk"), p.path("away")))
	here := p.find(p.path("n"))
	require.Equal(t, vaultdir.Moved, here.Origin)
	require.Equal(t, first.State, here.State)
	require.NoError(t, os.Rename(p.path("away"), p.path("disk")))
	require.Equal(t, vaultdir.Known, p.find(p.path("n")).Origin)
	back := p.find(p.path("disk/n"))
	require.Equal(t, vaultdir.Copied, back.Origin)
	require.NotEqual(t, first.State, back.State)
}

// TestCopyOfAFolderWithoutItsID leaves the state to the original, which is recognized.
func TestCopyOfAFolderWithoutItsID(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.visit(p.notes("original"))
	p.copies(p.path("original"), "copy")
	require.NoError(t, os.RemoveAll(p.path("original", ".rookery")))
	require.Equal(t, vaultdir.Copied, p.find(p.path("copy")).Origin)
	again := p.find(p.path("original"))
	require.Equal(t, vaultdir.Known, again.Origin)
	require.Equal(t, first.State, again.State)
}

func TestSynchronizedFromAnotherMachine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := strings.Repeat("0123456789abcdef", 2)
	p.setMark(p.notes("n"), id)
	f := p.find(p.path("n"))
	require.Equal(t, vaultdir.New, f.Origin)
	require.Equal(t, filepath.Join(p.home, id), f.State)
	require.Equal(t, id, p.mark(p.path("n")), "what is right is not written")

	require.NoError(t, os.RemoveAll(p.home))
	require.Equal(t, vaultdir.New, p.find(p.path("n")).Origin)
}

func TestWaysToOneFolder(t *testing.T) {
	p := newPlace(t)
	first := p.visit(p.notes("n"))
	require.NoError(t, os.Symlink(p.path("n"), p.path("link")))
	t.Chdir(p.path("n"))
	for _, way := range []string{".", "../n", "../link", p.path("n") + "/", p.path("link") + "//.",
		p.path("link", "..", "n")} {
		f := p.find(way)
		require.Equal(t, vaultdir.Known, f.Origin, way)
		require.Equal(t, first.State, f.State, way)
		require.Equal(t, p.path("n"), f.Path, way)
	}
}

// TestLinkAtTheOldPath moves a folder, and leaves a link to it where it was.
func TestLinkAtTheOldPath(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.visit(p.notes("n"))
	require.NoError(t, os.Rename(p.path("n"), p.path("m")))
	require.NoError(t, os.Symlink("m", p.path("n")))
	require.Equal(t, vaultdir.Known, p.find(p.path("n")).Origin)
	require.Equal(t, vaultdir.Known, p.find(p.path("m")).Origin)
	require.NoError(t, os.RemoveAll(p.path("m", ".rookery")))
	require.Equal(t, vaultdir.Known, p.find(p.path("m")).Origin)
}

func TestNameOfTheVault(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Notes": "notes", "Größe & Maß": "grosse-and-mass", "my_notes": "my-notes", "2026": "2026",
		"日本": "ri-ben", "…": "vault", "---": "vault", strings.Repeat("long ", 20): //
		strings.TrimSuffix(strings.Repeat("long-", 13)[:63], "-"),
	} {
		p := newPlace(t)
		require.Equal(t, want, p.visit(p.notes(name)).Vault, name)
	}
}
