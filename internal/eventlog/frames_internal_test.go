package eventlog

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
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
				some, err := c.unpackFrame(packed[f.off:f.end], f)
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

// TestUnpackAllocates checks that unpacking a payload of many frames allocates memory for its parts
// once, not for each frame again.
func TestUnpackAllocates(t *testing.T) {
	c, err := newCodec()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	var parts []Part
	for range 64 {
		parts = append(parts, somePart(r, frameBytes))
	}
	packed, size := c.pack(parts)
	_, err = c.unpack(packed) // the first call makes a decoder
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = c.unpack(packed)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3*size)) // with the race detector, Grow allocates twice
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
					_, err = c.unpackFrame(other[f.off:f.end], f)
				}
			}
			if err == nil && frames != nil {
				t.Fatalf("a table that is wrong at byte %d is taken", i)
			}
		}
	}
}

// TestRedactFrames checks that exactly the given parts of a payload are emptied, that frames without
// one of them stay as they are, and that a second time changes nothing.
func TestRedactFrames(t *testing.T) {
	c, err := newCodec()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		var want []Part
		for range 1 + r.IntN(60) {
			want = append(want, somePart(r, r.IntN(1<<r.IntN(18)+1)))
		}
		packed, _ := c.pack(want)
		before := bytes.Clone(packed)
		frames, err := framesOf(packed)
		require.NoError(t, err)
		some := map[int]bool{}
		for range r.IntN(4) {
			some[r.IntN(len(want))] = true
		}
		for part := range some {
			want[part] = Part{}
		}
		next, changed, err := c.redact(packed, some)
		require.NoError(t, err)
		require.Equal(t, len(some) > 0, changed)
		require.Equal(t, before, packed, "the payload is not changed")
		all, err := c.unpack(next)
		require.NoError(t, err)
		require.Len(t, all, len(want))
		for i := range all {
			require.Equal(t, want[i].salt, all[i].salt)
			require.True(t, bytes.Equal(want[i].Data, all[i].Data))
		}
		after, err := framesOf(next)
		require.NoError(t, err)
		require.Len(t, after, len(frames))
		for i, f := range frames {
			if !f.hasAny(some) {
				require.Equal(t, packed[f.off:f.end], next[after[i].off:after[i].end])
			}
		}
		_, again, err := c.redact(next, some)
		require.NoError(t, err)
		require.False(t, again)
	}
}

// TestUnpackOnly checks that the frames of some parts are unpacked, and no others, and that a part
// which the run does not have is an error.
func TestUnpackOnly(t *testing.T) {
	c, err := newCodec()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 3, 200} {
		head := CommitHead{Parts: make([]Digest, n)}
		var parts []Part
		for range n {
			parts = append(parts, somePart(r, 10_000))
		}
		packed, _ := c.pack(parts)
		run := &Run{Header: Header{First: 1, Last: 1, Commits: []CommitHead{head}}}
		some := []int{0, n / 2, n - 1}
		require.NoError(t, run.unpackOnly(t.Context(), c, packed, some))
		require.Len(t, run.Parts, n)
		for _, part := range some {
			require.Equal(t, parts[part], run.Parts[part])
		}
		loaded := 0
		for _, p := range run.Parts {
			if p.Data != nil {
				loaded++
			}
		}
		require.LessOrEqual(t, loaded, 3*(frameBytes/10_000+1))
		require.ErrorIs(t, run.unpackOnly(t.Context(), c, packed, []int{n}), ErrFewParts)
		run.Commits[0].Parts = head.Parts[:n-1]
		require.ErrorIs(t, run.unpackOnly(t.Context(), c, packed, []int{n - 1}), ErrFewParts)
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
			_, _ = c.unpackFrame(packed[f.off:f.end], f)
		}
	})
}

// TestFramesThatMoved checks that a frame which is no longer where it was is ErrMoved, whether its
// place cannot be read or has other bytes now.
func TestFramesThatMoved(t *testing.T) {
	c, err := newCodec()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(9, 9))
	parts := []Part{somePart(r, frameBytes), somePart(r, frameBytes), somePart(r, 9)}
	packed, _ := c.pack(parts)
	frames, err := framesOf(packed)
	require.NoError(t, err)
	place, failure := packed, error(nil)
	run := PackedRun{first: 1, frames: frames, code: c, read: func(_ context.Context, off, n int64) ([]byte, error) {
		return place[off:min(off+n, int64(len(place)))], failure
	}}
	got, first, err := run.Unpack(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, parts[first:first+len(got)], got)

	place, _, err = c.redact(packed, map[int]bool{0: true}) // what follows is at other offsets
	require.NoError(t, err)
	place = append(place, packed...)
	_, _, err = run.Unpack(t.Context(), 1)
	require.ErrorIs(t, err, ErrMoved)
	failure = errors.New("gone")
	_, _, err = run.Unpack(t.Context(), 1)
	require.ErrorIs(t, err, ErrMoved)
	require.ErrorIs(t, err, failure)
}

// TestPackOnOneProcessor checks that a payload does not depend on the number of processors.
func TestPackOnOneProcessor(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var parts []Part
	for range 300 {
		parts = append(parts, somePart(r, 1+r.IntN(frameBytes/8)))
	}
	c, err := sharedCodec()
	require.NoError(t, err)
	packed, size := c.pack(parts)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	alone, sizeAlone := c.pack(parts)
	require.Equal(t, size, sizeAlone)
	require.True(t, bytes.Equal(packed, alone))
}
