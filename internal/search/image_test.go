package search_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
)

var update = flag.Bool("update", false, "write the golden image anew")

// golden are the images of each format that ReadImage reads.
var golden = map[int]string{5: "image.5"}

// reopened is an index of the image of another, which begins so many bytes behind an address that
// numbers have.
func reopened(t require.TestingT, x *search.Index, shift int) *search.Index {
	data := x.AppendImage(make([]byte, shift))
	y, err := search.ReadImage(data[shift:])
	require.NoError(t, err)
	require.Equal(t, x.Language(), y.Language())
	require.Equal(t, data[shift:], y.AppendImage(nil))
	return y
}

// TestAnImageIsNoCopy encodes a large index: the pieces of the image are the lists of the index.
func TestAnImageIsNoCopy(t *testing.T) {
	x := reopened(t, generated(17, 2000).index("en"), 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	image := x.Image()
	runtime.ReadMemStats(&after)
	size := 0
	for _, piece := range image {
		size += len(piece)
	}
	require.Greater(t, size, 1<<20)
	require.Less(t, int(after.TotalAlloc-before.TotalAlloc), size/10)
}

var imageQueries = []string{
	"freya", "harbour quietly winter", "lan*", `"freya-holm"`, "-freya", "灯塔", "forêt", "lantren",
	"priority -done", "the", "daily 2026*", "hafenwetter", `"灯塔"`, "nowhere", "",
}

// TestImagesMakeNoDifference folds random histories of a vault in which the index goes through
// images again and again, also such that are not where numbers may be, and requires of each state
// what an index answers that is made of it at once.
func TestImagesMakeNoDifference(t *testing.T) {
	pool := generated(17, 120)
	names := slices.Sorted(maps.Keys(pool))
	none := search.Empty("german")
	rapid.Check(t, func(t *rapid.T) {
		now, x := vault{}, search.Empty("de-AT")
		was, original := vault{}, x
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			var batch []search.Change
			for range rapid.IntRange(0, 12).Draw(t, "changes") {
				path := rapid.SampledFrom(names).Draw(t, "path")
				if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
					delete(now, path)
					batch = append(batch, search.Change{Doc: path, Deleted: true})
					continue
				}
				now[path] = pool[rapid.SampledFrom(names).Draw(t, "text")]
				batch = append(batch, search.Change{Doc: path, Note: note(now[path])})
			}
			x = x.With(batch)
			if rapid.IntRange(0, 2).Draw(t, "image") == 0 {
				was, original = maps.Clone(now), x
				x = reopened(t, x, rapid.IntRange(0, 8).Draw(t, "shift"))
			}
		}
		same(t, was, none.With(was.changes()), original, imageQueries[:3])
		same(t, now, none.With(now.changes()), x, imageQueries)
	})
}

// TestImageOfManyNotes goes through merges of segments that lie in images, and through one of more
// segments than one builder makes.
func TestImageOfManyNotes(t *testing.T) {
	v := generated(14, 700)
	x := reopened(t, search.Empty("english").WithAll(slices.Values(v.changes())), 0)
	same(t, v, v.index("english"), x, imageQueries)
	for i, c := range v.changes() {
		x = x.With([]search.Change{c})
		if i%60 == 0 {
			x = reopened(t, x, i/60%5)
		}
	}
	same(t, v, v.index("english"), x, imageQueries)
	paths := slices.Sorted(maps.Keys(v))
	for _, path := range paths[:len(paths)*2/3] { // more than half of what is in the image
		delete(v, path)
		x = x.With([]search.Change{{Doc: path, Deleted: true}})
	}
	same(t, v, v.index("english"), reopened(t, x, 0), imageQueries)
}

// TestImageOfOddTexts: whatever a text is, its index has an image.
func TestImageOfOddTexts(t *testing.T) {
	for _, language := range []string{"", "english", "ar", "klingon", "TR", "irish", "tamil"} {
		v := vault{}
		for _, text := range odd() {
			v[text[:min(9, len(text))]+".md"] = text
		}
		same(t, v, v.index(language), reopened(t, v.index(language), 0), append(imageQueries, odd()...))
		same(t, vault{}, search.Empty(language), reopened(t, search.Empty(language), 3), imageQueries)
	}
}

// TestImageIsOpenedInPlace: where numbers may be, the index takes next to no memory of its own.
func TestImageIsOpenedInPlace(t *testing.T) {
	data := generated(15, 400).index("english").AppendImage(nil)
	x, err := search.ReadImage(data)
	require.NoError(t, err)
	r, err := x.Search(search.ParseQuery("freya"), search.Options{})
	require.NoError(t, err)
	require.NotEmpty(t, r.Items)
	require.Greater(t, x.Size(), int64(len(data)))
	require.Less(t, x.Size(), int64(len(data))*5/4+200<<10)
	require.True(t, search.Aliases(data, r.Items[0].Doc))
	require.False(t, search.Aliases(data, "freya"))
}

// TestReplacedDocumentsLeaveMemory replaces the documents of an index again and again: at each step it is
// at most half larger than one without the old documents. A third is the bound for a single layer.
func TestReplacedDocumentsLeaveMemory(t *testing.T) {
	v := generated(17, 600)
	x := v.index("en")
	paths := slices.Sorted(maps.Keys(v))
	for some := range slices.Chunk(slices.Concat(paths, paths, paths), 20) {
		var batch []search.Change
		for _, path := range some {
			batch = append(batch, search.Change{Doc: path, Note: note(v[path] + "\nMore.\n")})
		}
		x = x.With(batch)
		require.Less(t, len(x.AppendImage(nil)), len(x.Purged().AppendImage(nil))*3/2)
	}
}

// goldenVault is the vault of the golden image.
func goldenVault() (vault, *search.Index) {
	v := vault{
		"daily/2026-03-02.md": "# Monday\n\nFreya-Holm rang about the Hafenwetter.\n\n" +
			"## Harbour\n\nLanterns.\n",
		"港.md": "---\naliases: [port]\n---\n灯塔很安静。\n\n# Überblick\n\n" +
			strings.Repeat("Langer Text. ", 300),
		"people/freya.md": "# Freya\n\nHolds the lantern, quietly, the whole winter. Forêt.\n",
		"people/knut.md":  "# Knut\n\nSails.\n", // one in four may be deleted before a layer is merged
	}
	x := v.index("de-AT")
	v["gone.md"] = "Freya was here.\n"
	x = x.With([]search.Change{{Doc: "gone.md", Note: note(v["gone.md"])}})
	v["people/freya.md"] += "\nPriority: not done.\n"
	x = x.With([]search.Change{
		{Doc: "gone.md", Deleted: true}, {Doc: "people/freya.md", Note: note(v["people/freya.md"])},
		{Doc: "new.md", Note: note("An empty harbour.\n")},
	})
	delete(v, "gone.md")
	v["new.md"] = "An empty harbour.\n"
	return v, x
}

// TestGoldenImages: images that a release wrote are read by the later ones, and answer what an
// index does that is made today. When this fails, ImageFormat has to rise, and what ReadImage cannot read
// any more leaves the list.
func TestGoldenImages(t *testing.T) {
	v, x := goldenVault()
	newest := filepath.Join("testdata", golden[search.ImageFormat])
	if *update {
		require.NoError(t, os.WriteFile(newest, x.AppendImage(nil), 0o644))
	}
	for _, name := range golden {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		y, err := search.ReadImage(data)
		require.NoError(t, err)
		same(t, v, v.index("german"), y, imageQueries)
		same(t, v, x, y, imageQueries)
	}
	data, err := os.ReadFile(newest)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, x.AppendImage(nil)), "the bytes have changed")
}

// sealed is an image whose checksum is right.
func sealed(data []byte) []byte {
	if len(data) >= 16 {
		sum := crc32.Checksum(data[16:], crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(data[12:], sum)
	}
	return data
}

func TestOtherFormats(t *testing.T) {
	data := vault{"a.md": "one"}.index("english").AppendImage(nil)
	for _, c := range []struct {
		name   string
		change func([]byte)
	}{
		{"another magic", func(b []byte) { b[0]++ }},
		{"a later format", func(b []byte) { b[8]++ }},
		{"an unknown profile", func(b []byte) { b[16] = 9 }},
		{"a language that is not stemmed any more", func(b []byte) { copy(b[24:], "klingon") }},
		{"a language that was not stemmed", func(b []byte) { b[32] = 0 }},
	} {
		other := bytes.Clone(data)
		c.change(other)
		_, err := search.ReadImage(sealed(other))
		require.ErrorIs(t, err, search.ErrFormat, c.name)
	}
}

// TestDamagedImages: an image that is cut off, longer, or of which a bit is another, is an error.
func TestDamagedImages(t *testing.T) {
	_, x := goldenVault()
	data := x.AppendImage(nil)
	for i := range data {
		other := bytes.Clone(data)
		other[i] ^= 1 << (i % 8)
		_, err := search.ReadImage(other)
		require.Error(t, err, i)
		_, err = search.ReadImage(data[:i])
		require.Error(t, err, i)
	}
	for i := 0; i < len(data); i += 1 + i/100 {
		_, err := search.ReadImage(sealed(bytes.Clone(data[:i])))
		require.Error(t, err, i)
	}
	_, err := search.ReadImage(sealed(append(bytes.Clone(data), 0, 0, 0, 0)))
	require.Error(t, err)
}

// TestForgedImages: an image whose checksum is right, but not what it says, is an error or an index
// that answers, and can be changed.
func TestForgedImages(t *testing.T) {
	_, x := goldenVault()
	data := x.AppendImage(nil)
	random := rand.New(rand.NewPCG(1, 2))
	opened := 0
	for i := range len(data) / 2 {
		other := bytes.Clone(data)
		for range 1 + i%3 {
			other[16+random.IntN(len(data)-16)] = byte(random.Uint32())
		}
		at := 16 + i%(len(data)/4-4)*4
		binary.LittleEndian.PutUint32(other[at:], binary.LittleEndian.Uint32(other[at:])+
			[]uint32{1, ^uint32(0), 1 << 31, 256}[i%4])
		if use(t, sealed(other), "freya lan* -port") {
			opened++
		}
	}
	require.NotZero(t, opened)
}

// use opens an image, and if it is one, does with it all that can be done.
func use(t *testing.T, data []byte, query string) bool {
	x, err := search.ReadImage(data)
	if err != nil {
		return false
	}
	v, _ := goldenVault()
	text := func(path string) ([]byte, error) { return []byte(v[path]), nil }
	var docs []search.Change
	for _, q := range []string{query, "a*", `"freya holm"`, "lantren hafenweter", "-nothing", "灯塔"} {
		for _, o := range []search.Options{{Limit: 50}, {Limit: 2, Text: text}} {
			r, err := x.Search(search.ParseQuery(q), o)
			require.NoError(t, err)
			for _, h := range r.Items {
				docs = append(docs, search.Change{Doc: h.Doc, Note: note("other")})
			}
		}
	}
	y := reopened(t, x.With(docs), 1)
	for path := range v {
		y = y.With([]search.Change{{Doc: path, Deleted: true}, {Doc: "x" + path, Note: note("freya")}})
	}
	for i := range 10 {
		y = y.With([]search.Change{{Doc: strings.Repeat("n", i+1), Note: note("freya holm")}})
	}
	_, err = y.Search(search.ParseQuery(query), search.Options{Text: text})
	require.NoError(t, err)
	return true
}

// TestAnImageIsLetGo: an index that has nothing left of the image does not keep it in memory.
func TestAnImageIsLetGo(t *testing.T) {
	data := vault{"a.md": "one"}.index("english").AppendImage(nil)
	x, err := search.ReadImage(data)
	require.NoError(t, err)
	require.False(t, search.Aliases(data, x.Language()))
	freed := make(chan struct{})
	runtime.AddCleanup(&data[0], func(c chan struct{}) { close(c) }, freed)
	x = x.With([]search.Change{{Doc: "a.md", Note: note("two")}, {Doc: "b.md", Note: note("three")}})
	require.Equal(t, []string{"a.md"}, find1000(t, x, "two"))
	runtime.GC()
	<-freed
	require.Equal(t, "english", x.Language())
}

func FuzzReadImage(f *testing.F) {
	_, x := goldenVault()
	f.Add(x.AppendImage(nil), "freya")
	f.Add(search.Empty("english").AppendImage(nil), "-x")
	f.Add(vault{"a.md": "one two"}.index("tr").AppendImage(nil), `"one two"`)
	f.Fuzz(func(t *testing.T, data []byte, query string) {
		forged := bytes.Clone(data)
		if len(forged) >= 16 {
			copy(forged, "rksearch\x01\x00\x00\x00")
		}
		use(t, sealed(forged), query)
	})
}
