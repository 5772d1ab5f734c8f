package repo_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// newItemShelf returns a shelf whose small images are items of the table.
func newItemShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{Engine: engine(t), clock: repotest.NewClock()}
	s.Items = true
	s.vault = s.open(t)
	require.NoError(t, s.vault.Create(t.Context(), caller(), nil))
	return s
}

// imageItems returns the items of images.
func (s *shelf) imageItems(t *testing.T) (all []table.Item) {
	t.Helper()
	for it, err := range s.Table.Query(t.Context(), "v", "image/", "image/~") {
		require.NoError(t, err)
		all = append(all, it)
	}
	return all
}

// TestImageItems checks that a small image is one item and a large one an object, that an image of
// several items is read as it was written, and that superseded images of both kinds are deleted.
func TestImageItems(t *testing.T) {
	s := newItemShelf(t)
	s.write(t, 20)
	s.fold(t)
	require.Empty(t, s.objects(t, "image/"))
	require.Len(t, s.imageItems(t), 1)
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, c.Image.Items)
	requireSame := func() {
		t.Helper()
		require.True(t, bare(t, s.vault) == bare(t, s.open(t)))
	}
	requireSame()

	// The search index of these notes cannot be compressed.
	s.big(t, 1)
	s.fold(t)
	require.Empty(t, s.objects(t, "image/"))
	c, err = s.vault.Control(t.Context())
	require.NoError(t, err)
	require.Greater(t, c.Image.Items, 1, "of %d bytes", c.Image.Size)
	requireSame()

	for i := range 4 {
		s.big(t, uint64(i+2))
	}
	s.fold(t)
	require.Len(t, s.objects(t, "image/"), 1)
	requireSame()
	s.clock.Move(2 * time.Hour)
	s.fold(t)
	require.Len(t, s.imageItems(t), 1, "the first of the month stays")
	requireSame()
}

// bare returns the encoded index of a vault, and the result of a search.
func bare(t *testing.T, v *repo.Vault) string {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	return string(idx.AppendImage(nil)) + fmt.Sprint(found(t, v, "commit"), found(t, v, "big"), found(t, v, word(1<<32|7)))
}

// big writes a note of many words.
func (s *shelf) big(t *testing.T, seed uint64) {
	t.Helper()
	change(t, s.vault, edit{fmt.Sprintf("big%d.md", seed), words(12_000, seed)},
		edit{"log.md", fmt.Sprint("big ", seed)})
}

// words returns a text of n different words.
func words(n int, seed uint64) string {
	text := make([]string, n)
	for i := range text {
		text[i] = word(seed<<32 | uint64(i))
	}
	return strings.Join(text, " ")
}

// word returns a word that encodes a number in letters, mixed with others.
func word(n uint64) string {
	n = (n + 1) * 0x9E3779B97F4A7C15
	letters := make([]byte, 11)
	for i := range letters {
		letters[i] = byte('a' + n%26)
		n = n/26 ^ n<<7
	}
	return string(letters)
}

// TestADamagedImageItem changes each byte of an image's item in turn. It checks that a process that
// starts with it has the state of the log.
func TestADamagedImageItem(t *testing.T) {
	s := newItemShelf(t)
	s.write(t, 3)
	s.fold(t)
	want := told(t, s.vault)
	sound := s.imageItems(t)[0]
	for i := 0; i < len(sound.Data); i += 1 + i/50 {
		damaged := sound
		damaged.Data = bytes.Clone(sound.Data)
		damaged.Data[i] ^= 0x20
		require.NoError(t, s.Table.Commit(t.Context(), table.Set(damaged)))
		require.Equal(t, want, told(t, s.open(t)), "byte %d of %d", i, len(sound.Data))
	}
	cut := sound
	cut.Data = sound.Data[:5]
	require.NoError(t, s.Table.Commit(t.Context(), table.Set(cut)))
	require.Equal(t, want, told(t, s.open(t)))
	require.NoError(t, s.Table.Commit(t.Context(), table.Remove(sound.Key)))
	require.Equal(t, want, told(t, s.open(t)))
}

// TestImageItemsOfTwo checks that items of two images of the same commit are not combined.
func TestImageItemsOfTwo(t *testing.T) {
	s := newItemShelf(t)
	s.big(t, 1)
	s.fold(t)
	mine := s.imageItems(t)
	require.Greater(t, len(mine), 1)
	want := bare(t, s.vault)
	other := newItemShelf(t)
	other.big(t, 9)
	other.fold(t)
	theirs := other.imageItems(t)
	require.Len(t, theirs, len(mine))
	require.NoError(t, s.Table.Commit(t.Context(), table.Set(theirs[0])))
	require.True(t, want == bare(t, s.open(t)))
}

// TestImageItemsLeftOver checks that items that no control item refers to are deleted after a day,
// and not earlier.
func TestImageItemsLeftOver(t *testing.T) {
	s := newItemShelf(t)
	s.write(t, 3)
	s.fold(t)
	named := s.imageItems(t)[0]
	stray := named
	stray.Sort = "image/1/000000000002/1"
	extra := named
	extra.Sort = named.Sort[:len(named.Sort)-1] + "2"
	put := func() {
		require.NoError(t, s.Table.Commit(t.Context(), table.Set(stray), table.Set(extra)))
	}
	put()
	s.clock.Move(23 * time.Hour)
	s.fold(t)
	require.Len(t, s.imageItems(t), 3)
	s.clock.Move(2 * time.Hour)
	s.fold(t)
	require.Equal(t, []table.Item{named}, s.imageItems(t))
	require.Equal(t, told(t, s.vault), told(t, s.open(t)))
}

// TestEraseNoteOfImageItems checks that no image in items contains data of an erased history.
func TestEraseNoteOfImageItems(t *testing.T) {
	s := newItemShelf(t)
	s.furnish(t)
	s.fold(t)
	says := func() (all string) {
		images := map[string][][]byte{}
		for _, it := range s.imageItems(t) {
			image := it.Sort[:strings.LastIndexByte(it.Sort, '/')]
			images[image] = append(images[image], it.Data)
		}
		for _, items := range images {
			all += string(unpackedImage(t, items...))
		}
		return all
	}
	require.Contains(t, says(), "secret.md", "else the test shows nothing")
	require.Contains(t, says(), strings.ToLower(canary), "else the test shows nothing")
	old := s.imageItems(t)[0]
	gone := func() {
		t.Helper()
		require.NotEmpty(t, says())
		require.NotContains(t, says(), "secret.md")
		require.NotContains(t, strings.ToLower(says()), strings.ToLower(canary))
	}
	s.eraseNote(t, "secret.md")
	gone()
	require.NoError(t, s.Table.Commit(t.Context(), table.Set(old)), "one that came late")
	s.clock.Move(eventlog.SweepAgain + time.Minute)
	s.fold(t)
	gone()
	require.Equal(t, told(t, s.vault), told(t, s.open(t)))
}
