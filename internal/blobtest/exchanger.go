package blobtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

// An Opened is a folder that was opened for a test, and is empty.
type Opened struct {
	Folder blob.Folder
	Dir    string // the file of an object is Dir/key

	// Displaced lists the texts that the engine displaced and could not put back.
	Displaced func() ([]string, error)
}

// RunExchanger runs the suite of blob.Folder, and changes files as an editor does. Each call of open
// returns an empty folder, which open closes when t ends.
func RunExchanger(t *testing.T, open func(t *testing.T) Opened) {
	t.Run("folder", func(t *testing.T) { runExchanger(t, open) })
	t.Run("sub", func(t *testing.T) {
		runExchanger(t, func(t *testing.T) Opened {
			o := open(t)
			sub, ok := blob.Sub(o.Folder, "vaults/v/notes").(blob.Folder)
			require.True(t, ok)
			o.Folder, o.Dir = sub, filepath.Join(o.Dir, "vaults", "v", "notes")
			return o
		})
	})
}

func runExchanger(t *testing.T, open func(t *testing.T) Opened) {
	for _, c := range []struct {
		name string
		run  func(f folder)
	}{
		{"exchange", testExchange},
		{"create", testCreate},
		{"remove", testRemove},
		{"empty folders", testEmptyFolders},
		{"foreign things", testForeign},
		{"append", testAppend},
		{"sync", testSync},
		{"bad keys", testExchangeBadKeys},
		{"cancelled", testExchangeCancelled},
		{"long names", testLongNames},
		{"racing exchanges", testRacingExchanges},
		{"permissions", testPermissions},
		{"walk", testWalk},
		{"walk over foreign things", testWalkForeign},
		{"mark", testMark},
		{"look", testLook},
		{"settle", testSettle},
		{"another spelling", testRespell},
		{"an editor that truncates", func(f folder) { testEditor(f, saveByTruncating) }},
		{"an editor that renames", func(f folder) { testEditor(f, saveByRenaming) }},
		{"an editor that deletes first", func(f folder) { testEditor(f, saveByCreating) }},
		{"an editor while files are removed", testEditorAndRemove},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := open(t)
			c.run(folder{kit{t, o.Folder}, o})
		})
	}
}

// A folder is an Opened with a test.
type folder struct {
	kit
	Opened
}

func (f folder) file(key string) string {
	return filepath.Join(f.Dir, filepath.FromSlash(key))
}

func (f folder) exchange(key, data string, want []byte) {
	f.Helper()
	require.NoError(f, f.Folder.Exchange(f.Context(), key, []byte(data), want), key)
	got, err := os.ReadFile(f.file(key))
	require.NoError(f, err)
	require.Equal(f, data, string(got))
}

// found requires that an exchange and a removal fail because the file differs from want.
func (f folder) found(key string, want []byte, found blob.Found) {
	f.Helper()
	var got *blob.Found
	err := f.Folder.Exchange(f.Context(), key, []byte("new"), want)
	require.ErrorAs(f, err, &got, "exchange %s", key)
	require.Equal(f, found, *got, "exchange %s", key)
	got = nil
	require.ErrorAs(f, f.Folder.Remove(f.Context(), key, want), &got, "remove %s", key)
	require.Equal(f, found, *got, "remove %s", key)
}

// write writes a file as a person does, without the engine.
func (f folder) write(key, data string) {
	f.Helper()
	require.NoError(f, os.MkdirAll(filepath.Dir(f.file(key)), 0o755))
	require.NoError(f, os.WriteFile(f.file(key), []byte(data), 0o644))
}

func testExchange(f folder) {
	f.exchange("people/freya.md", "one", nil)
	f.exchange("people/freya.md", "two", []byte("one"))
	f.exchange("people/freya.md", "two", []byte("two"))
	f.exchange("people/freya.md", "", []byte("two"))
	f.exchange("people/freya.md", "three", []byte{})
	require.Equal(f, "three", f.text("people/freya.md"))
	require.Equal(f, []string{"people/freya.md"}, f.list(""))

	f.found("people/freya.md", []byte("two"), blob.Found{Data: []byte("three")})
	f.found("people/freya.md", []byte{}, blob.Found{Data: []byte("three")})
	f.found("people/freya.md", nil, blob.Found{Data: []byte("three")})
	f.write("people/freya.md", "by hand\r\n")
	f.found("people/freya.md", []byte("three"), blob.Found{Data: []byte("by hand\r\n")})
	require.Equal(f, "by hand\r\n", f.text("people/freya.md"))
	f.exchange("people/freya.md", "merged", []byte("by hand\r\n"))
	f.nothingDisplaced()
}

func testCreate(f folder) {
	f.found("a", []byte("one"), blob.Found{Absent: true})
	f.found("no/such/folder/a", []byte{}, blob.Found{Absent: true})
	require.Empty(f, f.list(""))
	require.NoError(f, f.Folder.Remove(f.Context(), "a", nil), "nothing is as expected")
	f.write("empty", "")
	f.found("empty", nil, blob.Found{Data: []byte{}})
	f.found("empty", []byte("x"), blob.Found{Data: []byte{}})
}

func testRemove(f folder) {
	f.exchange("a", "one", nil)
	require.NoError(f, f.Folder.Remove(f.Context(), "a", []byte("one")))
	f.gone("a")
	f.found("a", []byte("one"), blob.Found{Absent: true})
	f.exchange("a", "two", nil)
	f.write("a", "mine")
	f.found("a", []byte("two"), blob.Found{Data: []byte("mine")})
	require.Equal(f, "mine", f.text("a"))
	f.nothingDisplaced()
}

func testEmptyFolders(f folder) {
	f.exchange("a/b/c/one", "1", nil)
	f.exchange("a/two", "2", nil)
	require.NoError(f, f.Folder.Remove(f.Context(), "a/b/c/one", []byte("1")))
	require.NoDirExists(f, f.file("a/b"))
	require.Equal(f, []string{"a/two"}, f.list(""))
	require.NoError(f, f.Folder.Remove(f.Context(), "a/two", []byte("2")))
	require.NoDirExists(f, f.file("a"))
	f.exchange("a/b/c/one", "again", nil)

	require.NoError(f, os.Mkdir(f.file("mine"), 0o755))
	f.exchange("mine/x", "1", nil)
	f.write("mine/.hidden", "person's")
	require.NoError(f, f.Folder.Remove(f.Context(), "mine/x", []byte("1")))
	require.FileExists(f, f.file("mine/.hidden"))
}

// testForeign tests links and folders in the place of files, and files in the place of folders.
func testForeign(f folder) {
	outside := f.TempDir()
	secret := filepath.Join(outside, "secret")
	require.NoError(f, os.WriteFile(secret, []byte("secret"), 0o644))
	f.write("inside/x", "inside")
	f.write("folder/x", "x")
	f.write("file", "file")
	for name, target := range map[string]string{
		"out": secret, "in": "inside/x", "dangling": "nowhere",
		"outdir": outside, "indir": "inside", "loop": "loop",
	} {
		if err := os.Symlink(target, f.file(name)); err != nil {
			f.Skipf("no symbolic links here: %v", err)
		}
	}
	for _, key := range []string{"out", "in", "dangling", "outdir", "loop", "outdir/secret",
		"indir/x", "outdir/new", "indir/new/y"} {
		f.foreign(key)
		_, _, err := f.b.Get(f.Context(), key, 0, -1)
		require.ErrorIs(f, err, blob.ErrForeign, key)
		require.NotErrorIs(f, err, blob.ErrNotExist, key)
		require.ErrorIs(f, f.b.Delete(f.Context(), key), blob.ErrForeign, key)
	}
	f.foreign("folder")
	f.gone("folder")
	f.gone("file/x")
	_, err := f.b.Put(f.Context(), "file/x", []byte("new"), blob.Always)
	require.ErrorIs(f, err, blob.ErrForeign)

	require.Equal(f, []string{"file", "folder/x", "inside/x"}, f.list(""), "links are no objects")
	require.Empty(f, f.list("outdir/"))
	require.Empty(f, f.list("indir/"))
	got, err := os.ReadFile(secret)
	require.NoError(f, err)
	require.Equal(f, "secret", string(got))
	entries, err := os.ReadDir(outside)
	require.NoError(f, err)
	require.Len(f, entries, 1, "nothing was written outside")
	require.Equal(f, "inside", f.text("inside/x"))
	target, err := os.Readlink(f.file("in"))
	require.NoError(f, err)
	require.Equal(f, "inside/x", target, "a link stays")
}

// foreign requires that no call overwrites the object of another kind at the key.
func (f folder) foreign(key string) {
	f.Helper()
	f.found(key, []byte("secret"), blob.Found{Foreign: true})
	f.found(key, nil, blob.Found{Foreign: true})
	for _, c := range []blob.Cond{blob.Always, blob.IfAbsent, blob.IfTag("x")} {
		_, err := f.b.Put(f.Context(), key, []byte("new"), c)
		require.ErrorIs(f, err, blob.ErrForeign, key)
	}
}

func testSync(f folder) {
	require.NoError(f, f.Folder.Sync(f.Context()))
	f.exchange("a/b/one", "1", nil)
	f.exchange("a/b/two", "2", nil)
	require.NoError(f, f.Folder.Remove(f.Context(), "a/b/two", []byte("2")))
	f.exchange("c/three", "3", nil)
	require.NoError(f, f.Folder.Remove(f.Context(), "c/three", []byte("3")))
	err := f.Folder.Sync(f.Context(), "a/b/one", "a/b/two", "a/b/one", "c/three", "never/was")
	require.NoError(f, err)
	require.Equal(f, []string{"a/b/one"}, f.list(""), "Sync changes nothing")
}

func testExchangeBadKeys(f folder) {
	for _, key := range badKeys() {
		err := f.Folder.Exchange(f.Context(), key, []byte("x"), nil)
		require.ErrorIs(f, err, blob.ErrKey, "%q", key)
		require.ErrorIs(f, f.Folder.Remove(f.Context(), key, []byte("x")), blob.ErrKey, "%q", key)
		require.ErrorIs(f, f.Folder.Sync(f.Context(), key), blob.ErrKey, "%q", key)
	}
	require.Empty(f, f.list(""))
}

func testExchangeCancelled(f folder) {
	f.exchange("a", "one", nil)
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	err := f.Folder.Exchange(ctx, "a", []byte("two"), []byte("one"))
	require.ErrorIs(f, err, context.Canceled)
	require.ErrorIs(f, f.Folder.Remove(ctx, "a", []byte("one")), context.Canceled)
	require.ErrorIs(f, f.Folder.Sync(ctx, "a"), context.Canceled)
	require.Equal(f, "one", f.text("a"))
}

func testLongNames(f folder) {
	for _, key := range []string{
		strings.Repeat("é", blob.MaxSegment/2),
		strings.Repeat(strings.Repeat("%", 100)+"/", 8) + "....md",
		strings.Repeat("日", 80) + "/" + strings.Repeat("本", 80),
	} {
		f.exchange(key, "one", nil)
		f.exchange(key, "two", []byte("one"))
		f.found(key, []byte("one"), blob.Found{Data: []byte("two")})
		require.NoError(f, f.Folder.Remove(f.Context(), key, []byte("two")))
		f.gone(key)
	}
	require.Empty(f, f.list(""))
	f.nothingDisplaced()
}

func testPermissions(f folder) {
	f.write("private.md", "one")
	require.NoError(f, os.Chmod(f.file("private.md"), 0o600))
	f.exchange("private.md", "two", []byte("one"))
	info, err := os.Stat(f.file("private.md"))
	require.NoError(f, err)
	require.Equal(f, os.FileMode(0o600), info.Mode().Perm(), "what was private stays so")
}

func (f folder) nothingDisplaced() {
	f.Helper()
	texts, err := f.Displaced()
	require.NoError(f, err)
	require.Empty(f, texts)
}
