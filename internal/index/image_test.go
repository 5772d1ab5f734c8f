package index_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rookery/internal/index"
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
