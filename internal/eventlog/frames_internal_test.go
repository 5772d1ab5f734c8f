package eventlog

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// somePart returns a part of size random bytes; every second one can be compressed.
func somePart(r *rand.Rand, size int) Part {
	data := make([]byte, size)
	for i := range data {
		if i%2 == 0 {
			data[i] = byte(r.Uint32())
		}
	}
	return newPart(partNote, data)
}

// TestFrames checks that a payload unpacks to the same parts as a whole and frame by frame, and
// that each of several frames has about the intended size.
func TestFrames(t *testing.T) {
	c, err := newCodec()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for name, sizes := range map[string][]int{
		"none":          {},
		"an empty one":  {0},
		"small":         {10, 20, 30},
		"one large":     {1 << 20},
		"exactly full":  {frameBytes, 1},
		"large, small":  {1 << 20, 5, 1 << 20, 0},
		"many":          make([]int, 3_000),
		"of every size": nil,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "of every size" {
				for range 500 {
					sizes = append(sizes, r.IntN(1<<r.IntN(17)+1))
				}
			}
			var parts []Part
			for _, n := range sizes {
				if name == "many" {
					n = 200
				}
				parts = append(parts, somePart(r, n))
			}
			packed, size := c.pack(parts)
			if len(parts) == 0 {
				require.Empty(t, packed)
				return
			}
			all, err := c.unpack(packed)
			require.NoError(t, err)
			require.Equal(t, parts, all)
			frames, err := framesOf(packed)
			require.NoError(t, err)
			if frames == nil {
				require.True(t, size < frameBytes || len(parts) == 1)
				return
			}
			require.Greater(t, len(frames), 1)
			for i, f := range frames {
				some, err := c.unpackFrame(packed, f)
				require.NoError(t, err)
				require.Equal(t, parts[f.first:f.first+f.parts], some)
				for at := range some {
					require.Equal(t, i, PackedRun{frames: frames}.FrameOf(f.first+at))
				}
			}
			require.Equal(t, len(frames), PackedRun{frames: frames}.FrameOf(len(parts)))
		})
	}
}

// TestDamagedFrames checks that a truncated payload, and one with a wrong table of frames, are
// refused.
func TestDamagedFrames(t *testing.T) {
	c, err := newCodec()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	var parts []Part
	for range 100 {
		parts = append(parts, somePart(r, 10_000))
	}
	packed, _ := c.pack(parts)
	for n := range packed {
		if n%997 != 0 && n > 64 {
			continue
		}
		_, err := framesOf(packed[:n])
		require.Error(t, err, "cut at %d", n)
	}
	frames, err := framesOf(packed)
	require.NoError(t, err)
	head := frames[0].off
	for i := range head {
		for _, by := range []byte{1, 0x80, 0xff} {
			other := bytes.Clone(packed)
			other[i] ^= by
			frames, err := framesOf(other)
			for _, f := range frames {
				if err == nil {
					_, err = c.unpackFrame(other, f)
				}
			}
			if err == nil && frames != nil {
				t.Fatalf("a table that is wrong at byte %d is taken", i)
			}
		}
	}
}

// FuzzFrames checks that reading frames of any data returns an error at worst.
func FuzzFrames(f *testing.F) {
	c, err := newCodec()
	require.NoError(f, err)
	r := rand.New(rand.NewPCG(5, 6))
	packed, _ := c.pack([]Part{somePart(r, frameBytes), somePart(r, 9), somePart(r, frameBytes)})
	f.Add(packed)
	f.Add(packed[:40])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packed []byte) {
		frames, err := framesOf(packed)
		for _, f := range frames {
			require.NoError(t, err)
			_, _ = c.unpackFrame(packed, f)
		}
	})
}
