//go:build linux

package casefoldfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/casefoldfs"
	"github.com/rookeryhq/rookery/internal/fileblob"
)

// A shelf is a fileblob on a file system that folds names, with a file that a person spelled.
type shelf struct {
	disk
	b         *fileblob.Bucket
	exchanges bool
}

const (
	spelled = "People/Freya.md" // as the file is
	key     = "people/freya.md" // as the vault has it

	text  = "what the file has\n"
	other = "what it has not\n"
	fresh = "what is to be there\n"
)

// onShelves runs a test on every kind of file system.
func onShelves(t *testing.T, run func(s shelf)) {
	t.Helper()
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) {
			b, dir := openFolder(t, o)
			s := shelf{disk{t, dir}, b, !o.NoRenameFlags}
			s.mkdir(filepath.Dir(spelled))
			s.write(spelled, text)
			run(s)
			texts, err := displaced(t, b)
			require.NoError(t, err)
			require.Empty(t, texts, "nobody has lost a text")
		})
	}
}

// keys requires what a listing tells: the spelling of the file.
func (s shelf) keys(want ...string) {
	s.Helper()
	got := []string{}
	for o, err := range s.b.List(s.Context(), "") {
		require.NoError(s, err)
		got = append(got, o.Key)
	}
	require.ElementsMatch(s, want, got)
}

func TestGetInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		for _, k := range []string{spelled, key, "PEOPLE/FREYA.MD"} {
			data, _, err := s.b.Get(s.Context(), k, 0, -1)
			require.NoError(s, err)
			require.Equal(s, text, string(data))
		}
		s.keys(spelled)
	})
}

// TestListInAnotherCase has prefixes in other cases. A folder that the prefix names whole is found
// by any spelling, and its keys begin with the one that was asked for; else bytes are compared.
func TestListInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		for prefix, want := range map[string][]string{
			"": {spelled}, "People/F": {spelled}, "people/": {"people/Freya.md"},
			"people/F": {"people/Freya.md"}, "People/f": nil, "peop": nil,
		} {
			var got []string
			for o, err := range s.b.List(s.Context(), prefix) {
				require.NoError(s, err)
				got = append(got, o.Key)
			}
			require.Equal(s, want, got, "%q", prefix)
		}
	})
}

// TestExchangeInAnotherCase replaces the text of a file. Where files can be exchanged its name
// stays as it is spelled; elsewhere the new file comes under the name that it was given.
func TestExchangeInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		s.found(s.b.Exchange(s.Context(), key, []byte(fresh), []byte(other)))
		require.NoError(s, s.b.Exchange(s.Context(), key, []byte(fresh), []byte(text)))
		require.Equal(s, fresh, s.text(spelled))
		s.keys(s.after("People/freya.md"))
		s.names(".", ".rookery", "People")
	})
}

// after is how the file is spelled when its text was exchanged.
func (s shelf) after(moved string) string {
	if s.exchanges {
		return spelled
	}
	return moved
}

// TestCreateInAnotherCase creates nothing beside, or over, what is there in another spelling.
func TestCreateInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		for _, k := range []string{key, spelled, "people/Freya.md", "People/freya.md"} {
			s.found(s.b.Exchange(s.Context(), k, []byte(fresh), nil))
			s.found(s.b.Remove(s.Context(), k, nil))
			_, err := s.b.Put(s.Context(), k, []byte(fresh), blob.IfAbsent)
			require.ErrorIs(s, err, blob.ErrCondition)
			s.keys(spelled)
			require.Equal(s, text, s.text(spelled))
		}
	})
}

// found requires that a call met the text of the file, and changed nothing.
func (s shelf) found(err error) {
	s.Helper()
	var found *blob.Found
	require.ErrorAs(s, err, &found)
	require.Equal(s, blob.Found{Data: []byte(text)}, *found)
	require.Equal(s, text, s.text(spelled))
	s.keys(spelled)
}

func TestRemoveInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		s.found(s.b.Remove(s.Context(), key, []byte(other)))
		require.NoError(s, s.b.Remove(s.Context(), key, []byte(text)))
		s.keys()
		s.names(".", ".rookery")
	})
}

func TestDeleteInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		require.NoError(s, s.b.Delete(s.Context(), key))
		s.keys()
		s.names(".", ".rookery")
	})
}

func TestPutInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		tag, err := s.b.Put(s.Context(), key, []byte(fresh), blob.Always)
		require.NoError(s, err)
		require.Equal(s, fresh, s.text(spelled))
		s.keys("People/freya.md")
		_, err = s.b.Put(s.Context(), key, []byte(text), blob.IfTag(tag))
		require.NoError(s, err)
		require.Equal(s, text, s.text(spelled))
	})
}

// TestRespell gives a file another spelling, as blob.Folder says: in two steps.
func TestRespell(t *testing.T) {
	onShelves(t, func(s shelf) {
		require.NoError(s, s.b.Remove(s.Context(), spelled, []byte(text)))
		require.NoError(s, s.b.Exchange(s.Context(), key, []byte(text), nil))
		s.keys(key)
		require.Equal(s, text, s.text(key))
	})
}

// TestRespellBesideOthers cannot respell the folder, in which something else lies.
func TestRespellBesideOthers(t *testing.T) {
	onShelves(t, func(s shelf) {
		s.write("People/Odin.md", "")
		require.NoError(s, s.b.Remove(s.Context(), spelled, []byte(text)))
		require.NoError(s, s.b.Exchange(s.Context(), key, []byte(text), nil))
		s.keys("People/freya.md", "People/Odin.md")
	})
}

func TestLookInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		one, err := s.b.Look(s.Context(), spelled)
		require.NoError(s, err)
		two, err := s.b.Look(s.Context(), key)
		require.NoError(s, err)
		require.Equal(s, key, two.Key, "Look does not tell how the folder spells it")
		two.Key = one.Key
		require.Equal(s, one, two)
	})
}

// TestOwnFolderInAnotherCase keeps everybody from the bucket's own files, however they are spelled.
func TestOwnFolderInAnotherCase(t *testing.T) {
	onShelves(t, func(s shelf) {
		for _, k := range []string{".Rookery/tmp/x", ".ROOKERY/displaced/x"} {
			_, _, err := s.b.Get(s.Context(), k, 0, -1)
			require.ErrorIs(s, err, blob.ErrKey)
			require.ErrorIs(s, s.b.Exchange(s.Context(), k, []byte(fresh), nil), blob.ErrKey)
		}
	})
}

// TestOwnFolderSpelledByOthers opens a folder whose own files somebody has spelled in capitals.
func TestOwnFolderSpelledByOthers(t *testing.T) {
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) {
			dir := casefoldfs.Mount(t, o)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, ".Rookery", "Tmp"), 0o700))
			b, err := fileblob.Open(dir)
			require.NoError(t, err)
			s := shelf{disk{t, dir}, b, !o.NoRenameFlags}
			require.NoError(t, b.Exchange(t.Context(), key, []byte(text), nil))
			require.NoError(t, b.Exchange(t.Context(), key, []byte(fresh), []byte(text)))
			s.keys(key)
			require.NoError(t, b.Close())
		})
	}
}

// TestRacingSpellings exchanges one file under two spellings from many goroutines: a line that was
// exchanged in is in the file, or in a text that was displaced.
func TestRacingSpellings(t *testing.T) {
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) {
			b, _ := openFolder(t, o)
			require.NoError(t, b.Exchange(t.Context(), key, []byte{}, nil))
			errs := make([]error, 4)
			var done sync.WaitGroup
			for i := range errs {
				done.Go(func() { errs[i] = appendLines(t, b, i) })
			}
			done.Wait()
			require.NoError(t, errors.Join(errs...))
			data, _, err := b.Get(t.Context(), key, 0, -1)
			require.NoError(t, err)
			texts, err := displaced(t, b)
			require.NoError(t, err)
			all := string(data) + strings.Join(texts, "")
			for i := range errs {
				for n := range lines {
					require.Contains(t, all, line(i, n))
				}
			}
		})
	}
}

// lines is how many each goroutine adds.
const lines = 20

func line(writer, n int) string { return fmt.Sprintf("writer %d line %d.\n", writer, n) }

// appendLines adds lines to a file under a spelling of the writer's own, again until nobody else
// has changed the file meanwhile.
func appendLines(t *testing.T, b *fileblob.Bucket, writer int) error {
	mine := []string{key, spelled, "PEOPLE/FREYA.MD"}[writer%3]
	want := []byte{}
	for n := 0; n < lines; {
		next := append(slices.Clone(want), line(writer, n)...)
		err := b.Exchange(t.Context(), mine, next, want)
		var found *blob.Found
		switch {
		case err == nil:
			want = next
			n++
		case !errors.As(err, &found):
			return err
		case found.Absent: // it is moved aside for a moment
		default:
			want = found.Data
		}
	}
	return nil
}
