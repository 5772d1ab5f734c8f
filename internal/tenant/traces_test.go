package tenant_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// packed are the first bytes of compressed data: of a zstd frame and of a gzip member.
var packed = [][]byte{{0x28, 0xb5, 0x2f, 0xfd}, {0x1f, 0x8b, 0x08}}

// holds reports whether data contains a word, including in its compressed parts. It also finds
// words in the pages of a bbolt file, because the value of an item is stored contiguously over as
// many pages as it needs.
func holds(t *testing.T, data []byte, word string) bool {
	t.Helper()
	if bytes.Contains(data, []byte(word)) {
		return true
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	require.NoError(t, err)
	defer z.Close()
	for _, magic := range packed {
		for rest := data; ; rest = rest[1:] {
			i := bytes.Index(rest, magic)
			if i < 0 {
				break
			}
			rest = rest[i:]
			if bytes.Contains(unpacked(z, rest), []byte(word)) {
				return true
			}
		}
	}
	return false
}

// unpacked returns the content of the frame at the beginning of data, as far as it can be read:
// other bytes follow the frame.
func unpacked(z *zstd.Decoder, data []byte) []byte {
	var from io.Reader = z
	if data[0] == packed[0][0] {
		if z.Reset(bytes.NewReader(data)) != nil {
			return nil
		}
	} else {
		g, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		g.Multistream(false)
		from = g
	}
	text, _ := io.ReadAll(io.LimitReader(from, 16<<20)) // it ends with an error at the end of the frame
	return text
}

// TestHolds checks that the search finds words in compressed data.
func TestHolds(t *testing.T) {
	var g bytes.Buffer
	w := gzip.NewWriter(&g)
	_, err := w.Write(bytes.Repeat([]byte(canary+" "), 100))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	frame := z.EncodeAll(bytes.Repeat([]byte("a "+canary), 100), nil)
	for name, data := range map[string][]byte{"gzip": g.Bytes(), "zstd": frame} {
		within := append(append([]byte("before"), data...), "behind"...)
		require.True(t, holds(t, within, canary), name)
		require.False(t, holds(t, append(within[:8:8], 1, 2, 3), canary), name)
	}
	require.True(t, holds(t, []byte(canary), canary))
	require.False(t, holds(t, []byte("nothing"), canary))
}
