package fileblob_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// everything returns the files of a folder, and the bucket's own files elsewhere.
func everything(t *testing.T, dir string) []string {
	t.Helper()
	found := files(t, dir)
	if _, err := os.Stat(workOf(dir)); err == nil {
		found = append(found, files(t, workOf(dir))...)
	}
	return found
}

// asides returns the names in the folders of displaced files.
func asides(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, store := range storesOf(dir) {
		entries, err := os.ReadDir(filepath.Join(store, "displaced"))
		if err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return names
}

func displaced(t *testing.T, b *fileblob.Bucket) []blob.Displaced {
	t.Helper()
	var all []blob.Displaced
	for d, err := range b.Displaced(t.Context()) {
		require.NoError(t, err)
		all = append(all, d)
	}
	return all
}

// displacedEdit plays an editor that writes to a file that it had open while the file was exchanged.
// It returns the open file.
func displacedEdit(t *testing.T, b *fileblob.Bucket, dir, key string) *os.File {
	t.Helper()
	require.NoError(t, b.Exchange(t.Context(), key, []byte("old"), nil))
	held, err := os.OpenFile(filepath.Join(dir, key), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	require.NoError(t, b.Exchange(t.Context(), key, []byte("new"), []byte("old")))
	require.Empty(t, displaced(t, b), "what was displaced is what was expected")
	_, err = held.WriteString(" and mine")
	require.NoError(t, err)
	return held
}

// lateEdit is displacedEdit of an editor that then closes the file.
func lateEdit(t *testing.T, b *fileblob.Bucket, dir, key string) {
	t.Helper()
	require.NoError(t, displacedEdit(t, b, dir, key).Close())
}

func TestDisplaced(t *testing.T) {
	t.Parallel()
	for name, opener := range openers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openWith(t, dir, opener)
			key := strings.Repeat("ü", 100) + " % -.md"
			lateEdit(t, b, dir, key)
			all := displaced(t, b)
			require.Len(t, all, 1)
			require.Equal(t, key, all[0].Key)
			require.Equal(t, "old and mine", string(all[0].Data))

			stale := all[0]
			stale.Data = []byte("old")
			var found *blob.Found
			require.ErrorAs(t, b.Settle(t.Context(), stale), &found)
			require.Equal(t, "old and mine", string(found.Data))
			require.Len(t, displaced(t, b), 1, "what was written since is not settled")

			again := openWith(t, dir, opener)
			require.Equal(t, all, displaced(t, again), "it outlives the process")
			again.LetTimePass()
			require.NoError(t, again.Settle(t.Context(), all[0]))
			require.Empty(t, displaced(t, again))
			require.NoError(t, again.Settle(t.Context(), all[0]), "it is settled")
			data, _, err := again.Get(t.Context(), key, 0, -1)
			require.NoError(t, err)
			require.Equal(t, "new", string(data))
			require.Equal(t, []string{key}, everything(t, dir))
		})
	}
}

// TestDisplacedIsWrittenAgain checks that a displaced file that an editor writes to while its text is
// handled stays a loss at once, and reports that it had the text which was handled.
func TestDisplacedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for name, opener := range openers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openWith(t, dir, opener)
			held := displacedEdit(t, b, dir, "a.md")
			defer func() { require.NoError(t, held.Close()) }()
			b.LetTimePass()
			require.Equal(t, []string{"old and mine"}, due(t, b))
			first := displaced(t, b)[0]
			require.Equal(t, digest("old"), first.Had)

			_, err := held.WriteString(" again")
			require.NoError(t, err)
			var found *blob.Found
			require.ErrorAs(t, b.Settle(t.Context(), first), &found)
			require.Equal(t, []string{"old and mine again"}, due(t, b), "it need not wait again")
			second := displaced(t, b)[0]
			require.Equal(t, digest("old and mine"), second.Had)

			require.NoError(t, b.Settle(t.Context(), second))
			require.Empty(t, displaced(t, b))
		})
	}
}

// digest returns the digest of a text as blob.Displaced has it.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:32]
}

// due returns the losses that Due yields when their time is over.
func due(t *testing.T, b *fileblob.Bucket) []string {
	t.Helper()
	var texts []string
	for d, err := range b.Due(t.Context()) {
		require.NoError(t, err)
		texts = append(texts, string(d.Data))
	}
	return texts
}

// TestTidy checks that displaced files are removed when their time is over, except those that were
// written to, which Due yields even if examineSome has examined them.
func TestTidy(t *testing.T) {
	t.Parallel()
	for name, opener := range openers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openWith(t, dir, opener)
			displaceThree(t, b, dir)
			for range 10 {
				require.NoError(t, b.Remove(t.Context(), "none", nil))
			}
			require.Len(t, everything(t, dir), 4, "nothing is removed before its time")
			b.LetTimePass()
			for range 10 {
				require.NoError(t, b.Remove(t.Context(), "none", nil))
			}
			require.Len(t, everything(t, dir), 2)
			require.Len(t, displaced(t, b), 1)
			require.Len(t, asides(t, dir), 1, "the folders of long names go as well")
			require.Equal(t, []string{"old and mine"}, due(t, b))
		})
	}
}

// displaceThree displaces three files, one of which becomes a loss.
func displaceThree(t *testing.T, b *fileblob.Bucket, dir string) {
	t.Helper()
	long := strings.Repeat("long/", 100) + "key"
	lateEdit(t, b, dir, "edited")
	require.NoError(t, b.Exchange(t.Context(), long, []byte("one"), nil))
	require.NoError(t, b.Exchange(t.Context(), long, []byte("two"), []byte("one")))
	require.NoError(t, b.Remove(t.Context(), long, []byte("two")))
}

// TestDue checks that a loss is yielded when its time is over, and again until it is settled.
func TestDue(t *testing.T) {
	t.Parallel()
	for name, opener := range openers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openWith(t, dir, opener)
			displaceThree(t, b, dir)
			require.Empty(t, due(t, b), "nothing is due")
			require.Len(t, everything(t, dir), 4)
			b.LetTimePass()
			for range 3 {
				require.Equal(t, []string{"old and mine"}, due(t, b))
			}
			require.Len(t, asides(t, dir), 1)

			again := openWith(t, dir, opener)
			again.LetTimePass()
			require.Equal(t, []string{"old and mine"}, due(t, again), "also by the next process")
			sub := blob.Sub(again, "vault").(blob.Folder)
			for range sub.Due(t.Context()) {
				require.Fail(t, "a Sub tells of another's")
			}
			for d, err := range again.Due(t.Context()) {
				require.NoError(t, err)
				require.NoError(t, again.Settle(t.Context(), d))
			}
			require.Empty(t, due(t, again))
			require.Empty(t, asides(t, dir))
			require.Empty(t, due(t, b), "it is gone")
		})
	}
}

// TestLongOpenEditor checks that a displaced file is kept as long as an editor continues to write
// to it.
func TestLongOpenEditor(t *testing.T) {
	t.Parallel()
	for name, opener := range openers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := openWith(t, dir, opener)
			notes := blob.Sub(b, "notes").(blob.Folder)
			require.NoError(t, notes.Exchange(t.Context(), "a.md", []byte("old"), nil))
			file := filepath.Join(dir, "notes", "a.md")
			held, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
			require.NoError(t, err)
			defer held.Close()
			require.NoError(t, notes.Exchange(t.Context(), "a.md", []byte("new"), []byte("old")))
			text := "old"
			for _, more := range []string{", one", ", two", ", three"} {
				_, err := held.WriteString(more)
				require.NoError(t, err)
				text += more
				n := 0
				for d, err := range notes.Displaced(t.Context()) {
					require.NoError(t, err)
					require.Equal(t, text, string(d.Data))
					require.Equal(t, "a.md", d.Key)
					require.NoError(t, notes.Settle(t.Context(), d))
					n++
				}
				require.Equal(t, 1, n, "each text is a loss once")
				require.Empty(t, displaced(t, b))
				require.Len(t, asides(t, dir), 1, "it was just written")
			}
			b.LetTimePass()
			require.Empty(t, due(t, b))
			require.Empty(t, asides(t, dir))
		})
	}
}
