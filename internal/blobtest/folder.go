package blobtest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

// walk returns the keys that a Walk yields, with a "!" after those that are not objects.
func (f folder) walk(prefix string, enter func(string) bool) []string {
	f.Helper()
	found := []string{}
	for o, err := range f.Folder.Walk(f.Context(), prefix, enter) {
		require.NoError(f, err)
		if o.Foreign {
			o.Key += "!"
		}
		found = append(found, o.Key)
	}
	return found
}

// testWalk checks that a Walk is a List that can skip folders.
func testWalk(f folder) {
	for _, key := range []string{
		"a.md", "a/x.md", "a/.git/HEAD", ".git/objects/aa/bb", ".trash/old.md", "b/c/d.md", "z.md/in.md",
	} {
		f.write(key, "text")
	}
	require.NoError(f, os.Mkdir(f.file("empty"), 0o755))
	require.Equal(f, f.list(""), f.walk("", nil))
	var met []string
	require.Equal(f, []string{".trash/old.md", "a.md", "a/x.md", "b/c/d.md", "z.md/in.md"},
		f.walk("", func(folder string) bool {
			met = append(met, folder)
			return !strings.HasSuffix(folder, ".git")
		}))
	require.Equal(f, []string{".git", ".trash", "a", "a/.git", "b", "b/c", "empty", "z.md"}, met)

	none := func(string) bool { return false }
	require.Equal(f, []string{"a/x.md"}, f.walk("a/", none), "where it begins is not asked for")
	require.Equal(f, []string{"b/c/d.md"}, f.walk("b/c/d", none))
	require.Empty(f, f.walk("b", none))
	require.Empty(f, f.walk("nowhere/", nil))
	require.Empty(f, f.walk("../", nil))
	for o := range f.Folder.Walk(f.Context(), "", nil) {
		require.Equal(f, ".git/objects/aa/bb", o.Key)
		break
	}
}

// testWalkForeign walks a folder with entries that are not files.
func testWalkForeign(f folder) {
	f.write("folder/x.md", "x")
	if err := os.Symlink("folder", f.file("link")); err != nil {
		f.Skipf("no symbolic links here: %v", err)
	}
	require.NoError(f, os.Symlink("nowhere", f.file("folder/dangling.md")))
	want := []string{"folder/dangling.md!", "folder/x.md", "link!"}
	if socket, err := net.Listen("unix", f.file("s")); err == nil { // a long path cannot have a socket
		defer socket.Close()
		want = append(want, "s!")
	}
	require.Equal(f, want, f.walk("", nil))
	require.Equal(f, []string{"folder/x.md"}, f.list(""))

	var failed *blob.WalkError
	for _, err := range f.Folder.Walk(f.Context(), "link/", nil) {
		require.ErrorAs(f, err, &failed, "what is in the way is not an empty folder")
	}
	require.NotNil(f, failed)
	require.Equal(f, "link", failed.Folder)
	require.ErrorIs(f, failed, blob.ErrForeign)
}

// testMark checks that the mark of a file changes only when the file is written.
func testMark(f folder) {
	marks := map[blob.Object]bool{}
	note := func() blob.Object {
		o, err := f.Folder.Look(f.Context(), "a/b.md")
		require.NoError(f, err)
		require.Equal(f, "a/b.md", o.Key)
		require.NotEmpty(f, o.Mark)
		require.False(f, o.Changed.Before(o.Modified))
		again, err := f.Folder.Look(f.Context(), "a/b.md")
		require.NoError(f, err)
		require.Equal(f, o, again)
		for listed, err := range f.b.List(f.Context(), "") {
			require.NoError(f, err)
			require.Equal(f, o, listed, "a Look is one row of a List")
		}
		require.False(f, marks[o], "what was written has another mark")
		marks[o] = true
		return o
	}
	f.exchange("a/b.md", "one", nil)
	require.EqualValues(f, 3, note().Size)
	f.exchange("a/b.md", "two", []byte("one"))
	note()
	_, err := f.b.Put(f.Context(), "a/b.md", []byte("new"), blob.Always)
	require.NoError(f, err)
	note()
	require.NoError(f, saveByRenaming(f.file("a/b.md"), "ed."))
	note()
	f.write("a/b.md", "longer")
	require.EqualValues(f, 6, note().Size)
}

// testLook checks that Look finds a file, and what its error is for other keys.
func testLook(f folder) {
	f.write("folder/x.md", "x")
	look := func(key string) error {
		_, err := f.Folder.Look(f.Context(), key)
		return err
	}
	require.NoError(f, look("folder/x.md"))
	for _, key := range []string{"folder", "none", "no/folder", "folder/x.md/y"} {
		require.ErrorIs(f, look(key), blob.ErrNotExist, key)
	}
	for _, key := range badKeys() {
		require.ErrorIs(f, look(key), blob.ErrKey, "%q", key)
	}
	if err := os.Symlink("folder", f.file("link")); err != nil {
		f.Skipf("no symbolic links here: %v", err)
	}
	for _, key := range []string{"link", "link/x.md"} {
		require.ErrorIs(f, look(key), blob.ErrForeign, key)
		require.NotErrorIs(f, look(key), blob.ErrNotExist, key)
	}
}

// testSettle runs an editor that writes to a file which it opened before an exchange.
func testSettle(f folder) {
	f.exchange("a.md", "old", nil)
	held, err := os.OpenFile(f.file("a.md"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(f, err)
	defer held.Close()
	f.exchange("a.md", "new", []byte("old"))
	f.nothingDisplaced()
	lost := func(text string) blob.Displaced {
		f.Helper()
		_, err := held.WriteString(text)
		require.NoError(f, err)
		for d, err := range f.Folder.Displaced(f.Context()) {
			require.NoError(f, err)
			return d
		}
		require.Fail(f, "no loss is told")
		return blob.Displaced{}
	}
	one := lost(" and mine")
	require.Equal(f, "a.md", one.Key)
	require.Equal(f, "old and mine", string(one.Data))

	two := lost(" again")
	var found *blob.Found
	require.ErrorAs(f, f.Folder.Settle(f.Context(), one), &found)
	require.Equal(f, "old and mine again", string(found.Data))
	again := lost("")
	require.Equal(f, two.Data, again.Data)
	require.NotEqual(f, two.Had, again.Had, "the text that was handled is known by now")
	require.NoError(f, f.Folder.Settle(f.Context(), again))
	f.nothingDisplaced()
	require.NoError(f, f.Folder.Settle(f.Context(), again), "it is settled")

	three := lost(", and after it was settled")
	require.Equal(f, "old and mine again, and after it was settled", string(three.Data))
	other := three
	other.Key = "b.md"
	require.Error(f, f.Folder.Settle(f.Context(), other), "it is another's")
	other.Key = "../a.md"
	require.ErrorIs(f, f.Folder.Settle(f.Context(), other), blob.ErrKey)
	require.NoError(f, f.Folder.Settle(f.Context(), three))
	f.nothingDisplaced()
	require.Equal(f, "new", f.text("a.md"))
	for _, err := range f.Folder.Due(f.Context()) {
		require.NoError(f, err)
		require.Fail(f, "nothing is due")
	}
}

// testRespell renames a file to another spelling, which is the same name on some file systems.
func testRespell(f folder) {
	f.exchange("People/A.md", "one", nil)
	err := f.Folder.Exchange(f.Context(), "People/a.md", []byte("two"), nil)
	if found, ok := errors.AsType[*blob.Found](err); ok { // for one name
		require.Equal(f, "one", string(found.Data))
		require.Equal(f, []string{"People/A.md"}, f.list(""))
	} else {
		require.NoError(f, err)
		require.NoError(f, f.Folder.Remove(f.Context(), "People/a.md", []byte("two")))
	}
	require.NoError(f, f.Folder.Remove(f.Context(), "People/A.md", []byte("one")))
	f.exchange("People/a.md", "two", nil)
	require.Equal(f, []string{"People/a.md"}, f.list(""))
	require.NoError(f, f.Folder.Remove(f.Context(), "People/a.md", []byte("two")))
	f.exchange("people/a.md", "three", nil)
	require.Equal(f, []string{"people/a.md"}, f.list(""), "the folders as well")
}

// testAppend checks that Append writes after a length, cuts off what follows it in the file, and
// refuses a file that is shorter.
func testAppend(f folder) {
	const key = ".raven/audit.log"
	require.ErrorIs(f, f.Folder.Append(f.Context(), key, 3, []byte("x")), blob.ErrCondition)
	require.NoError(f, f.Folder.Append(f.Context(), key, 0, []byte("one\n")))
	require.NoError(f, f.Folder.Append(f.Context(), key, 4, []byte("two\n")))
	require.NoError(f, f.Folder.Append(f.Context(), key, 4, []byte("2\n")))
	require.ErrorIs(f, f.Folder.Append(f.Context(), key, 7, []byte("x")), blob.ErrCondition)
	require.NoError(f, f.Folder.Sync(f.Context(), key))
	text, err := os.ReadFile(filepath.Join(f.Dir, filepath.FromSlash(key)))
	require.NoError(f, err)
	require.Equal(f, "one\n2\n", string(text))
	require.NoError(f, f.Folder.Append(f.Context(), key, 0, nil))
	data, _, err := f.Folder.Get(f.Context(), key, 0, -1)
	require.NoError(f, err)
	require.Empty(f, data)
	require.ErrorIs(f, f.Folder.Append(f.Context(), "../x.md", 0, nil), blob.ErrKey)
}
