package fileblob_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// writeEverything makes every kind of change.
func writeEverything(t *testing.T, b *fileblob.Bucket) {
	t.Helper()
	tag, err := b.Put(t.Context(), "a.md", []byte("one"), blob.IfAbsent)
	require.NoError(t, err)
	_, err = b.Put(t.Context(), "a.md", []byte("two"), blob.IfTag(tag))
	require.NoError(t, err)
	require.NoError(t, b.Exchange(t.Context(), "b/c.md", []byte("one"), nil))
	require.NoError(t, b.Exchange(t.Context(), "b/c.md", []byte("two"), []byte("one")))
	require.NoError(t, b.Remove(t.Context(), "b/c.md", []byte("two")))
	require.NoError(t, b.Append(t.Context(), "d/log", 0, []byte("line\n")))
	require.NoError(t, b.Sync(t.Context(), "a.md", "b/c.md", "d/log"))
	require.NoError(t, b.Delete(t.Context(), "d/log"))
}

// TestWork checks that with Work the folder never contains own files.
func TestWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	var seen []string
	look := func(c fileblob.Change, do func() error) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, c.Path, c.To)
		return do()
	}
	b, err := fileblob.OpenWith(dir, fileblob.Options{Work: workOf(dir), Seam: look})
	require.NoError(t, err)
	writeEverything(t, b)
	require.Equal(t, []string{"a.md"}, files(t, dir))
	require.Len(t, files(t, workOf(dir)), 3, "what was displaced")
	require.NoError(t, b.Close())
	require.NoDirExists(t, filepath.Join(dir, ".rookery"))
	require.NotEmpty(t, seen)
	for _, path := range seen {
		ours := strings.HasPrefix(path, ".rookery/") && !strings.HasPrefix(path+"/", ".rookery/elsewhere/")
		require.False(t, ours && !removed(path), path)
	}

	b = openWith(t, dir, openWork)
	b.LetTimePass()
	require.Empty(t, due(t, b))
	require.Empty(t, files(t, workOf(dir)))
}

// removed reports whether a path is that of a folder that an earlier process may have left and that
// Open removes.
func removed(path string) bool {
	return path == ".rookery" || path == ".rookery/tmp" || path == ".rookery/displaced"
}

// TestWorkElsewhere checks that a folder on another file system than Work contains own files only
// as long as there are any.
func TestWorkElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours := filepath.Join(dir, ".rookery")
	b, err := openElsewhere(dir)
	require.NoError(t, err)
	_, _, err = b.Get(t.Context(), "a.md", 0, -1)
	require.ErrorIs(t, err, blob.ErrNotExist)
	require.NoDirExists(t, ours, "nothing is needed yet")
	writeEverything(t, b)
	require.DirExists(t, ours)
	require.Empty(t, files(t, workOf(dir)))
	b.LetTimePass()
	require.Empty(t, due(t, b))
	require.NoError(t, b.Close())
	require.NoDirExists(t, ours, "it is empty")
	require.Equal(t, []string{"a.md"}, files(t, dir))

	require.NoError(t, os.Mkdir(ours, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(ours, "id"), []byte("id"), 0o600))
	b, err = openElsewhere(dir)
	require.NoError(t, err)
	require.NoError(t, b.Exchange(t.Context(), "a.md", []byte("three"), []byte("two")))
	require.NoError(t, b.Close())
	require.DirExists(t, filepath.Join(ours, "displaced"), "it has what may be wanted yet")
	b, err = openElsewhere(dir)
	require.NoError(t, err)
	b.LetTimePass()
	require.Empty(t, due(t, b))
	require.NoError(t, b.Close())
	require.Equal(t, []string{".rookery/id", "a.md"}, files(t, dir))
	entries, err := os.ReadDir(ours)
	require.NoError(t, err)
	require.Len(t, entries, 1, "what is not ours stays")
}

var errDead = errors.New("the process is dead")

// dying returns a Seam of a process that ends when it has moved a file aside.
func dying(inner fileblob.Seam) fileblob.Seam {
	dead := false
	return func(c fileblob.Change, do func() error) error {
		if dead {
			return errDead
		}
		err := inner(c, do)
		dead = err == nil && c.Op == fileblob.Rename && strings.Contains(c.To, "/displaced/m-")
		return err
	}
}

func whole(_ fileblob.Change, do func() error) error { return do() }

// TestLeftovers checks that the next process finds the files that one left, wherever Work is by
// then.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	all := openers()
	for name, was := range map[string]fileblob.Options{
		"in the folder":      {Seam: whole},
		"in work":            {Work: "work", Seam: whole},
		"in the folder late": {Work: "work", Seam: apart},
	} {
		for _, now := range []string{"work", "work elsewhere", "work without swap"} {
			t.Run(name+" then "+now, func(t *testing.T) {
				dir := t.TempDir()
				if was.Work != "" {
					was.Work = workOf(dir)
				}
				leave(t, dir, was)
				b := openWith(t, dir, all[now])
				data, _, err := b.Get(t.Context(), "notes/aside.md", 0, -1)
				require.NoError(t, err, "it is put back")
				require.Equal(t, "moved aside", string(data))
				info, err := os.Stat(filepath.Join(dir, "notes", "aside.md"))
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
				lost := displaced(t, b)
				require.Len(t, lost, 1)
				require.Equal(t, "old and mine", string(lost[0].Data))
				b.LetTimePass()
				require.NoError(t, b.Settle(t.Context(), lost[0]))
				require.Empty(t, due(t, b))
				require.NoError(t, b.Exchange(t.Context(), "edited", []byte("newer"), []byte("new")))
				require.Empty(t, due(t, b))
				require.Equal(t, []string{"edited", "notes/aside.md"}, everything(t, dir))
			})
		}
	}
}

// leave plays a process that leaves a loss, a file moved aside, and one that it was writing.
func leave(t *testing.T, dir string, o fileblob.Options) {
	t.Helper()
	b, err := fileblob.OpenWith(dir, o)
	require.NoError(t, err)
	lateEdit(t, b, dir, "edited")
	file := filepath.Join(dir, "notes", "aside.md")
	require.NoError(t, b.Exchange(t.Context(), "notes/aside.md", []byte("moved aside"), nil))
	require.NoError(t, os.Chmod(file, 0o600))
	require.NoError(t, b.Close())

	o.Seam = dying(o.Seam)
	b, err = fileblob.OpenWith(dir, o)
	require.NoError(t, err)
	require.ErrorIs(t, b.Remove(t.Context(), "notes/aside.md", []byte("moved aside")), errDead)
	require.NoFileExists(t, file)
	_ = b.Close() // it is dead
	for _, store := range storesOf(dir) {
		if _, err := os.Stat(filepath.Join(store, "tmp")); err == nil {
			half := filepath.Join(store, "tmp", "HALF")
			require.NoError(t, os.WriteFile(half, []byte("half"), 0o600))
		}
	}
}

// TestForeignStore checks that a link in place of the bucket's own files is not changed.
func TestForeignStore(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	for _, sub := range []string{"tmp", "displaced"} {
		require.NoError(t, os.Mkdir(filepath.Join(outside, sub), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(outside, sub, "theirs"), nil, 0o600))
	}
	if err := os.Symlink(outside, filepath.Join(dir, ".rookery")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	_, err := fileblob.Open(dir)
	require.ErrorIs(t, err, blob.ErrForeign)
	b, err := openWork(dir)
	require.NoError(t, err)
	require.NoError(t, b.Exchange(t.Context(), "a.md", []byte("one"), nil))
	require.Empty(t, displaced(t, b))
	require.NoError(t, b.Close())
	require.Equal(t, []string{"displaced/theirs", "tmp/theirs"}, files(t, outside))
}

// TestMovedFolder checks that a bucket continues in a folder that is moved while it is open.
func TestMovedFolder(t *testing.T) {
	t.Parallel()
	for name, o := range openers() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "folder")
			b := openWith(t, dir, o)
			require.NoError(t, b.Exchange(t.Context(), "notes/a.md", []byte("one"), nil))
			moved := filepath.Join(t.TempDir(), "moved")
			require.NoError(t, os.Rename(dir, moved))
			require.NoError(t, b.Exchange(t.Context(), "notes/a.md", []byte("two"), []byte("one")))
			_, err := b.Put(t.Context(), "notes/b.md", []byte("new"), blob.IfAbsent)
			require.NoError(t, err)
			require.NoError(t, b.Sync(t.Context(), "notes/a.md"))
			data, err := os.ReadFile(filepath.Join(moved, "notes", "a.md"))
			require.NoError(t, err)
			require.Equal(t, "two", string(data))
			require.FileExists(t, filepath.Join(moved, "notes", "b.md"))
			require.NoDirExists(t, dir)
			var keys []string
			for o, err := range b.List(t.Context(), "") {
				require.NoError(t, err)
				keys = append(keys, o.Key)
			}
			require.Equal(t, []string{"notes/a.md", "notes/b.md"}, keys)
		})
	}
}

// TestRemovedFolder checks that a removed folder is not reported as empty.
func TestRemovedFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "folder")
	b := openWith(t, dir, openWork)
	require.NoError(t, b.Exchange(t.Context(), "notes/a.md", []byte("one"), nil))
	require.NoError(t, os.RemoveAll(dir))
	var failed *blob.WalkError
	for _, err := range b.Walk(t.Context(), "", nil) {
		require.ErrorAs(t, err, &failed)
	}
	require.NotNil(t, failed)
	require.Empty(t, failed.Folder)
	for range b.Walk(t.Context(), "notes/", nil) {
		require.Fail(t, "a folder below it is gone, as far as anybody can tell")
	}
}

// TestReadOnly checks that a bucket that is open for reading changes nothing.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("one"), 0o600))
	tried := func(c fileblob.Change, _ func() error) error {
		t.Errorf("%+v", c)
		return errDead
	}
	o := fileblob.Options{Work: workOf(dir), ReadOnly: true, Seam: tried}
	b := openWith(t, dir, func(dir string) (*fileblob.Bucket, error) {
		return fileblob.OpenWith(dir, o)
	})
	for _, folder := range []blob.Folder{b, blob.Sub(b, "notes").(blob.Folder)} {
		for _, c := range []blob.Cond{blob.Always, blob.IfAbsent, blob.IfTag("x")} {
			_, err := folder.Put(t.Context(), "a.md", nil, c)
			require.ErrorIs(t, err, fileblob.ErrReadOnly)
		}
		require.ErrorIs(t, folder.Delete(t.Context(), "a.md"), fileblob.ErrReadOnly)
		for _, want := range [][]byte{nil, []byte("one")} {
			err := folder.Exchange(t.Context(), "a.md", []byte("two"), want)
			require.ErrorIs(t, err, fileblob.ErrReadOnly)
			require.ErrorIs(t, folder.Remove(t.Context(), "a.md", want), fileblob.ErrReadOnly)
		}
		require.ErrorIs(t, folder.Append(t.Context(), "log", 0, nil), fileblob.ErrReadOnly)
		require.ErrorIs(t, folder.Sync(t.Context(), "a.md"), fileblob.ErrReadOnly)
		err := folder.Settle(t.Context(), blob.Displaced{Key: "a.md"})
		require.ErrorIs(t, err, fileblob.ErrReadOnly)
		_, err = blob.EraseKept(t.Context(), folder, "")
		require.ErrorIs(t, err, fileblob.ErrReadOnly)
		for range folder.Due(t.Context()) {
			require.Fail(t, "nothing is kept")
		}
	}
	data, _, err := b.Get(t.Context(), "a.md", 0, -1)
	require.NoError(t, err)
	require.Equal(t, "one", string(data))
	look, err := b.Look(t.Context(), "a.md")
	require.NoError(t, err)
	require.EqualValues(t, 3, look.Size)
	require.NoDirExists(t, workOf(dir))
	require.Equal(t, []string{"a.md"}, files(t, dir))
}
