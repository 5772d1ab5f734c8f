package index_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/index"
)

// reread is the index of the image of an index.
func reread(t require.TestingT, x *index.Index) *index.Index {
	y, err := index.ReadImage(x.AppendImage(nil))
	require.NoError(t, err)
	return y
}

// TestAnImageIsTheIndex says that an index which is written and read again between commits answers, and
// goes on, as if it had never been away: and that its image is the one of an index that was built.
func TestAnImageIsTheIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commits := history(t)
		x, kept := index.Empty(), index.Empty()
		for i, c := range commits {
			x, kept = x.With(c), kept.With(c)
			if rapid.Bool().Draw(t, "is away") {
				x = reread(t, x)
			}
			built := index.Build(slices.Values(commits[:i+1]))
			require.Equal(t, imageOf(built), imageOf(x))
			image := built.AppendImage(nil)
			require.Equal(t, image, x.AppendImage(nil))
			require.Equal(t, image, kept.AppendImage(nil))
			require.Equal(t, image, reread(t, x).AppendImage(nil))
		}
	})
}

// numberedNote is a note of a vault of many, as it is the nth time that it is written.
func numberedNote(i, nth int) []string {
	return []string{fmt.Sprintf("n/%03d.md", i), fmt.Sprintf(
		"---\ntype: person\nalias: called %d\n---\n## S\n- @due(2026-03-%02d) word %d [[n/%03d]] #tag\n- @level(%d) x\n"+
			strings.Repeat("- @flag again\n", 6),
		i, (i+nth)%28+1, nth, (i+7*nth)%600, i%(nth+5))}
}

// TestManyEntries is of a vault so large that what Build makes is a list, as in an image, over which
// later commits lie; of the last ones so many that the list is made anew.
func TestManyEntries(t *testing.T) {
	commits := []index.Commit{commit(1, "schema.yaml", schemaTexts[5])}
	for nth := range 3 {
		var pairs []string
		for i := range 600 {
			if i%4 != 0 || nth == 0 {
				pairs = append(pairs, numberedNote(i, nth)...)
			}
		}
		commits = append(commits, commit(uint64(len(commits)+1), pairs...))
	}
	commits = append(commits, commit(5, "n/003.md", "-", "n/004.md", "new\n", "schema.yaml", schemaTexts[6]))
	x := index.Empty()
	for i, c := range commits {
		x = x.With(c)
		built := index.Build(slices.Values(commits[:i+1]))
		y := reread(t, x)
		require.Equal(t, imageOf(x), imageOf(built))
		require.Equal(t, imageOf(x), imageOf(y))
		require.Equal(t, x.AppendImage(nil), built.AppendImage(nil))
		require.Equal(t, x.AppendImage(nil), y.AppendImage(nil))
		if i%2 == 1 {
			x = y
		}
	}
}

// TestABuilderGoesOnFromAnImage, and the index of the image stays as it was.
func TestABuilderGoesOnFromAnImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commits := history(t)
		begun := rapid.IntRange(0, len(commits)).Draw(t, "begun")
		x := reread(t, index.Build(slices.Values(commits[:begun])))
		before, b := x.AppendImage(nil), index.NewBuilder(x)
		for _, c := range commits[begun:] {
			b.Add(c)
		}
		y := b.Index()
		whole := index.Build(slices.Values(commits))
		require.Equal(t, imageOf(whole), imageOf(y))
		require.Equal(t, whole.AppendImage(nil), y.AppendImage(nil))
		require.Equal(t, before, x.AppendImage(nil))
	})
}

// TestImagesOfIDsThatTwoHave is of ids that a log should not have, and which are kept nevertheless.
func TestImagesOfIDsThatTwoHave(t *testing.T) {
	given := func(c index.Commit, ids ...string) index.Commit {
		c.Changes[0].TraitIDs = ids
		return c
	}
	commits := []index.Commit{
		given(commit(1, "a.md", noteTexts[8]), "one", "", "one"),
		given(commit(2, "b.md", noteTexts[11]), "", "one", "two"),
		given(commit(3, "c.md", noteTexts[9]), "two", "three", "four"),
		commit(4, "b.md", "-"),
		commit(5, "other.md", noteTexts[8]),
		commit(6, "a.md", noteTexts[9]),
	}
	x := index.Empty()
	for i, c := range commits {
		x = reread(t, x.With(c))
		built := index.Build(slices.Values(commits[:i+1]))
		require.Equal(t, imageOf(built), imageOf(x))
		require.Equal(t, built.AppendImage(nil), x.AppendImage(nil))
		if n, _ := x.Note("a.md"); i < 5 {
			require.Equal(t, []string{"one", "", "one"}, n.TraitIDs())
		}
	}
}

// TestTimesOfOtherZonesHaveTheSameImage, for one instant is one state.
func TestTimesOfOtherZonesHaveTheSameImage(t *testing.T) {
	x := of([]string{"a.md", noteTexts[10]})
	n, _ := x.Note("a.md")
	image := func(zone *time.Location) []byte {
		past := *n.AllTimes()
		past.Note.Created, past.Note.Modified = past.Note.Created.In(zone), past.Note.Modified.In(zone)
		c := commit(2, "a.md", noteTexts[10])
		c.Time, c.Changes[0].Times = c.Time.In(zone), &past
		return x.With(c).AppendImage(nil)
	}
	require.Equal(t, image(time.UTC), image(time.FixedZone("east", 3600)))
}

// TestAppendImage leaves what stands before it.
func TestAppendImage(t *testing.T) {
	x := of([]string{"a.md", "- @due(2026-03-02) x\n"})
	require.Equal(t, append([]byte("before"), x.AppendImage(nil)...), x.AppendImage([]byte("before")))
}

// sealed is an image with the right sum.
func sealed(image []byte) []byte {
	image = slices.Clone(image)
	if len(image) >= 24 {
		binary.LittleEndian.PutUint64(image[16:], uint64(len(image)))
		sum := crc32.Checksum(image[16:], crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(image[12:], sum)
	}
	return image
}

func TestDamagedImages(t *testing.T) {
	image := of([]string{"schema.yaml", schemaTexts[5]}, []string{"a.md", noteTexts[7], "b.md", noteTexts[10]}).
		AppendImage(nil)
	for n := range image {
		_, err := index.ReadImage(image[:n:n])
		require.Error(t, err, "cut off at %d", n)
	}
	_, err := index.ReadImage(append(slices.Clone(image), 0))
	require.Error(t, err)
	for i := range image {
		for bit := range 8 {
			damaged := slices.Clone(image)
			damaged[i] ^= 1 << bit
			_, err := index.ReadImage(damaged)
			require.Error(t, err, "bit %d of byte %d", bit, i)
			_, _ = index.ReadImage(sealed(damaged)) // may be good, but must not panic
		}
	}
}

func TestImagesOfOtherFormats(t *testing.T) {
	image := index.Empty().AppendImage(nil)
	binary.LittleEndian.PutUint32(image[8:], index.ImageFormat+1)
	_, err := index.ReadImage(image)
	require.ErrorIs(t, err, index.ErrFormat)
	_, err = index.ReadImage([]byte("something else altogether"))
	require.Error(t, err)
	require.NotErrorIs(t, err, index.ErrFormat)
}

// TestAnImageIsReadInFewPieces checks that the note of an image takes one allocation for each list in
// it and one for its texts, and not one for each item: reading an image would take longer, and so
// would each collection.
func TestAnImageIsReadInFewPieces(t *testing.T) {
	const notes, most = 1000, 24.5 // allocations for each note
	x := index.Empty()
	for f := range corpus.Vault(1, notes) {
		x = x.With(commit(x.Version()+1, f.Path, f.Text))
	}
	image := x.AppendImage(nil)
	allocations := testing.AllocsPerRun(3, func() {
		_, err := index.ReadImage(image)
		require.NoError(t, err)
	})
	require.Less(t, allocations, float64(notes*most))
	t.Log(allocations / notes)
}

// TestAnImageIsWrittenWithLittleGarbage checks that the memory that is allocated for an image is in
// proportion to its size: the process needs the most memory at that moment.
func TestAnImageIsWrittenWithLittleGarbage(t *testing.T) {
	var commits []index.Commit
	for file := range corpus.Vault(1, 1000) {
		commits = append(commits, commit(uint64(len(commits)+1), file.Path, file.Text))
	}
	x := index.Build(slices.Values(commits))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	pieces := x.Image()
	runtime.ReadMemStats(&after)
	size := 0
	for _, piece := range pieces {
		size += len(piece)
	}
	allocated := float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
	require.Less(t, allocated, 4.0)
	t.Log(allocated)
}

// TestReplacedNotesAreGarbage reads an image and replaces its notes one by one: nothing of a note
// that was replaced stays in memory, although other notes of the image are in use.
func TestReplacedNotesAreGarbage(t *testing.T) {
	var commits []index.Commit
	for file := range corpus.Vault(1, 200) {
		commits = append(commits, commit(uint64(len(commits)+1), file.Path, file.Text))
	}
	x := reread(t, index.Build(slices.Values(commits)))
	var notes []weak.Pointer[index.Note]
	var traits []weak.Pointer[index.Trait]
	var sections []weak.Pointer[index.Section]
	var texts []weak.Pointer[byte]
	replaced := commits[2:]
	for _, c := range replaced {
		n, ok := x.Note(c.Changes[0].Path)
		require.True(t, ok)
		notes = append(notes, weak.Make(n))
		for _, a := range n.EachAnnotation {
			traits = append(traits, weak.Make(a))
			if a.Content != n.ID {
				texts = append(texts, weak.Make(unsafe.StringData(a.Content)))
			}
		}
		for i := range n.Sections {
			sections = append(sections, weak.Make(&n.Sections[i]))
			texts = append(texts, weak.Make(unsafe.StringData(n.Sections[i].Title)))
		}
	}
	for i, c := range replaced {
		x = x.With(commit(uint64(1000+i), c.Changes[0].Path, string(c.Changes[0].Text)+"\nMore.\n"))
	}
	runtime.GC()
	require.Empty(t, inMemory(notes), "of %d", len(notes))
	require.Empty(t, inMemory(traits), "of %d", len(traits))
	require.Empty(t, inMemory(sections), "of %d", len(sections))
	require.Empty(t, inMemory(texts), "of %d", len(texts))
	require.NotEmpty(t, texts)
	runtime.KeepAlive(x)
}

// TestAnIndexDoesNotKeepItsImage checks that no text of any kind is a part of the image that an index
// was read from: one such text would keep the whole image in memory.
func TestAnIndexDoesNotKeepItsImage(t *testing.T) {
	x, image := golden(t)
	runtime.GC()
	require.Nil(t, image.Value())
	runtime.KeepAlive(x)
}

// TestALargeNoteOfAnImage reads a note with so many texts that they are in several pieces of memory, and
// parts of texts in an earlier piece.
func TestALargeNoteOfAnImage(t *testing.T) {
	x := of([]string{"a.md", "---\nx: [" + strings.Repeat(`"", a, "[[b]]", `, 1000) + "a]\n---\n" +
		strings.Repeat("## A title\n- @due(x) a text @due(y)\n- [ ] @due(z)\n", 2000)})
	y, image := readAgain(t, x)
	require.Equal(t, imageOf(x), imageOf(y))
	require.Equal(t, x.AppendImage(nil), y.AppendImage(nil))
	runtime.GC()
	require.Nil(t, image.Value())
	runtime.KeepAlive(y)
}

// readAgain returns the index of the image of x, and a pointer to that image.
func readAgain(t *testing.T, x *index.Index) (*index.Index, weak.Pointer[byte]) {
	t.Helper()
	image := x.AppendImage(nil)
	y, err := index.ReadImage(image)
	require.NoError(t, err)
	return y, weak.Make(&image[0])
}

// golden returns the index of the golden image, and a pointer to the image that it was read from.
func golden(t *testing.T) (*index.Index, weak.Pointer[byte]) {
	t.Helper()
	image, err := os.ReadFile(fmt.Sprintf("testdata/image-%d.bin", index.ImageFormat))
	require.NoError(t, err)
	x, err := index.ReadImage(image)
	require.NoError(t, err)
	return x, weak.Make(&image[0])
}

// inMemory returns the values of pointers that are not garbage.
func inMemory[T any](all []weak.Pointer[T]) (left []*T) {
	for _, p := range all {
		if v := p.Value(); v != nil {
			left = append(left, v)
		}
	}
	return left
}
