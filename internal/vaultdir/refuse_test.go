package vaultdir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vaultdir"
)

// requireFault requires that the folder can be neither opened nor found, and that nothing is changed.
func (p place) requireFault(dir string, code fault.Code, says string) {
	p.Helper()
	before := tree(p, p.home, p.dir)
	_, err := vaultdir.Open(dir, p.home)
	require.True(p, fault.Is(err, code), "%v", err)
	require.ErrorContains(p, err, says)
	_, found := vaultdir.Find(dir, p.home)
	require.Equal(p, fault.Of(err).Message, fault.Of(found).Message)
	require.Equal(p, before, tree(p, p.home, p.dir))
}

func TestWhatIsNoFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.notes("n")
	require.NoError(t, os.Symlink("nowhere", p.path("dangling")))
	require.NoError(t, os.Symlink("circle", p.path("circle")))
	require.NoError(t, os.Mkdir(p.path("latin-\xe4"), 0o755))
	p.requireFault(p.path("missing"), fault.NotFound, "there is no folder")
	p.requireFault(p.path("dangling"), fault.NotFound, "there is no folder")
	p.requireFault(p.path("n", "a.md", "b"), fault.NotFound, "there is no folder")
	p.requireFault(p.path("n", "a.md"), fault.InvalidParameter, "is a file; name the folder")
	p.requireFault(p.path("circle"), fault.FileError, "cannot be found")
	p.requireFault("", fault.InvalidParameter, "has no name")
	p.requireFault(p.path("latin-\xe4"), fault.InvalidParameter, "UTF-8")
	require.NoDirExists(t, p.home)
}

func TestFolderThatIsNotOfNotes(t *testing.T) {
	p := newPlace(t)
	t.Setenv("HOME", p.path("users", "freya"))
	p.notes("users/freya/notes")
	require.NoError(t, os.Symlink("freya", p.path("users", "link")))
	p.requireFault("/", fault.InvalidParameter, "root of the file system")
	p.requireFault(p.path("users", "freya"), fault.InvalidParameter, "your home directory")
	p.requireFault(p.path("users", "link"), fault.InvalidParameter, "your home directory")
	p.requireFault(p.path("users"), fault.InvalidParameter, "your home directory")
	require.Equal(t, vaultdir.New, p.visit(p.path("users", "freya", "notes")).Origin)
}

func TestFolderWithTheStatesInIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.notes("n/sub")
	require.NoError(t, os.Symlink("n", p.path("link")))
	for _, home := range []string{"n", "n/.state/rookery/folders", "link/states"} {
		p.home = p.path(home)
		p.requireFault(p.path("n"), fault.InvalidParameter, "states of all served folders")
	}
	p.home = p.path("n")
	p.requireFault(p.path("n", "sub"), fault.InvalidParameter, "is among the states")
}

func TestFolderOfADataDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.notes("data/tenants/local/vaults/main/notes")
	p.notes("data/elsewhere")
	for range 2 { // without its database, and with it
		for _, dir := range []string{"", "tenants", "tenants/local/vaults/main/notes"} {
			p.requireFault(p.path("data", dir), fault.InvalidParameter, "data directory")
		}
		require.NoError(t, os.WriteFile(p.path("data", "rookery.db"), nil, 0o600))
	}
	p.visit(p.path("data", "elsewhere"))
	p.visit(p.notes("landlord"))
	require.NoError(t, os.MkdirAll(p.path("landlord", "tenants", "freya"), 0o755))
	p.visit(p.path("landlord"))
}

func TestMarksThatAreMended(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat("0123456789abcdef", 2)
	for text, kept := range map[string]bool{
		whole: true, whole + "\n": true, whole + "\r\n": true, " \t" + whole + "\n\n": true,
		"\ufeff" + whole: true, "": false, "\n": false, "0": false, whole[:31]: false,
		strings.Repeat(" ", 5000): false,
	} {
		p := newPlace(t)
		p.setMark(p.notes("n"), text)
		f := p.find(p.path("n"))
		require.Equal(t, vaultdir.New, f.Origin, "%q", text)
		require.Equal(t, kept, filepath.Base(f.State) == whole, "%q", text)
		if kept {
			require.Equal(t, text, p.mark(p.path("n")))
			continue
		}
		p.requireMarked(f)
		p.setMark(p.path("n"), text)
		again := p.find(p.path("n"))
		require.Equal(t, vaultdir.Known, again.Origin, "%q was an id", text)
		require.Equal(t, f.State, again.State)
	}
}

func TestMarksThatAreNotOurs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	whole := strings.Repeat("0123456789abcdef", 2)
	for _, text := range []string{
		"notes", strings.ToUpper(whole), whole + "0", whole + "\n" + whole, strings.Repeat("\x00", 33),
		whole[:30] + "\x00\x00", "<<<<<<< HEAD\n" + whole, strings.Repeat("a", 100_000), "../..",
	} {
		p.setMark(p.notes("n"), text)
		p.requireFault(p.path("n"), fault.InvalidParameter, "does not contain the id of a folder")
	}
	require.NoDirExists(t, p.home)
}

func TestThingsInPlaceOfOurs(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a", 32)
	cases := map[string]struct {
		make func(p place, dir string) error
		says string
	}{
		"a link to a directory": {func(p place, dir string) error {
			p.setMark(p.notes("other"), id)
			return os.Symlink("../other/.rookery", filepath.Join(dir, ".rookery"))
		}, "is a link"},
		"a link inside": {func(p place, dir string) error {
			require.NoError(p, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
			return os.Symlink("sub", filepath.Join(dir, ".rookery"))
		}, "is a link"},
		"a dangling link": {func(_ place, dir string) error {
			return os.Symlink("nowhere", filepath.Join(dir, ".rookery"))
		}, "is a link"},
		"a file": {func(_ place, dir string) error {
			return os.WriteFile(filepath.Join(dir, ".rookery"), nil, 0o644)
		}, "is not a directory"},
		"an id that is a link": {func(_ place, dir string) error {
			require.NoError(t, os.Mkdir(filepath.Join(dir, ".rookery"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".rookery", "b"), []byte(id), 0o644))
			return os.Symlink("b", filepath.Join(dir, ".rookery", "id"))
		}, "is not a regular file"},
		"an id that is a directory": {func(_ place, dir string) error {
			return os.MkdirAll(filepath.Join(dir, ".rookery", "id"), 0o755)
		}, "is not a regular file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			dir := p.notes("n")
			require.NoError(t, c.make(p, dir))
			p.requireFault(dir, fault.InvalidParameter, c.says)
			require.NoDirExists(t, p.home)
		})
	}
}

func TestDamagedState(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	f := p.visit(p.notes("n"))
	record := filepath.Join(f.State, "folder.json")
	for text, code := range map[string]fault.Code{
		"": fault.FileError, "{": fault.FileError, "{}": fault.FileError,
		`{"format": 2}`: fault.IndexIncompatible,
	} {
		require.NoError(t, os.WriteFile(record, []byte(text), 0o600))
		p.requireFault(f.Path, code, "folder.json")
		require.Equal(t, vaultdir.New, p.visit(p.notes("other "+text)).Origin)
	}
	require.NoError(t, os.Remove(record))
	again := p.find(f.Path)
	require.Equal(t, vaultdir.New, again.Origin)
	require.Equal(t, f.State, again.State)
}

func TestStateThatCannotBeMade(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.notes("n")
	p.home = p.path("file")
	require.NoError(t, os.WriteFile(p.home, nil, 0o600))
	_, err := vaultdir.Open(p.path("n"), p.home)
	require.True(t, fault.Is(err, fault.FileError), "%v", err)
	require.NotContains(t, fault.Of(err).Message, p.dir)
}

// TestRest takes away what a killed process had staged, and nothing else.
func TestRest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.setMark(p.notes("n"), "")
	for _, name := range []string{"id.ABC.new", "id.new", "mine"} {
		require.NoError(t, os.WriteFile(p.path("n", ".rookery", name), nil, 0o644))
	}
	p.visit(p.path("n"))
	require.Equal(t, []string{"id", "id.new", "mine"}, names(t, p.path("n", ".rookery")))
}
