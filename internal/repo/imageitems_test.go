package repo_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/repo"
	"rookery/internal/repotest"
	"rookery/internal/table"
)

// newItemShelf is a shelf whose small images are items of the table.
func newItemShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{Engine: engine(t), clock: repotest.NewClock()}
	s.Items = true
	s.vault = s.open(t)
	require.NoError(t, s.vault.Create(t.Context(), caller(), nil))
	return s
}

// imageItems are the items of images.
func (s *shelf) imageItems(t *testing.T) (all []table.Item) {
	t.Helper()
	for it, err := range s.Table.Query(t.Context(), "v", "image/", "image/~") {
		require.NoError(t, err)
		all = append(all, it)
	}
	return all
}

// TestImageItems holds that a small image is one item of the table, and one that does not fit into items an object; that
// an image of several items is read as it was put; and that what is superseded goes, of both kinds.
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

	// What a search needs of these does not get smaller when it is packed.
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

// bare is the index of a vault to the byte, and what a search finds.
func bare(t *testing.T, v *repo.Vault) string {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	return string(idx.AppendImage(nil)) + fmt.Sprint(found(t, v, "commit"), found(t, v, "big"), found(t, v, word(1<<32|7)))
}

// big makes a note of many words.
func (s *shelf) big(t *testing.T, seed uint64) {
	t.Helper()
	change(t, s.vault, edit{fmt.Sprintf("big%d.md", seed), words(12_000, seed)},
		edit{"log.md", fmt.Sprint("big ", seed)})
}

// words is a text of n words that are all different.
func words(n int, seed uint64) string {
	text := make([]string, n)
	for i := range text {
		text[i] = word(seed<<32 | uint64(i))
	}
	return strings.Join(text, " ")
}

// word is a word of letters that says a number, and others that hide it.
func word(n uint64) string {
	n = (n + 1) * 0x9E3779B97F4A7C15
	letters := make([]byte, 11)
	for i := range letters {
		letters[i] = byte('a' + n%26)
		n = n/26 ^ n<<7
	}
	return string(letters)
}

// TestADamagedImageItem changes one byte of an image's item after the other: whoever begins from it has the state that
// the log has.
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

// TestImageItemsOfTwo holds that items of two images of one commit are not taken for one image.
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

// TestImageItemsLeftOver holds that items which no control item names go when they are a day old, and not before.
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

// TestEraseNoteOfImageItems holds that no image in items has anything of a history that is erased.
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
			data, err := repo.UnpackImageItems(items...)
			require.NoError(t, err)
			all += string(data)
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
	s.clock.Move(repo.SweepAgain + time.Minute)
	s.fold(t)
	gone()
	require.Equal(t, told(t, s.vault), told(t, s.open(t)))
}
