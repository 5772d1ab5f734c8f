package repo_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// Sizes in the stored formats.
const (
	saltSize      = 16        // bytes of the salt of a part
	objectFront   = 4 + 8     // bytes of an image or a segment before its head
	imageItemHead = 1 + 4 + 8 // bytes of an item of an image before its piece
)

// unpacked returns the content of a zstd frame.
func unpacked(t *testing.T, packed []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer dec.Close()
	data, err := dec.DecodeAll(packed, nil)
	require.NoError(t, err)
	return data
}

// withSize returns the length of data as a varint, and data.
func withSize(data []byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(data))), data...)
}

// sized returns the data at the beginning of b, which its length precedes as a varint, and the rest.
func sized(b []byte) (data, rest []byte) {
	size, n := binary.Uvarint(b)
	end := n + int(size)
	return b[n:end], b[end:]
}

// withoutFirst returns the item of a run, whose payload is in the item, with its first part empty.
func withoutFirst(t *testing.T, item []byte) []byte {
	t.Helper()
	header, packed := sized(item)
	payload := unpacked(t, packed)
	_, rest := sized(payload[saltSize:])
	payload = append(append(make([]byte, saltSize), withSize(nil)...), rest...)
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return append(withSize(header), enc.EncodeAll(payload, nil)...)
}

// otherHead changes the head of an image or the directory of a segment, which have the same format.
// The length must stay the same.
func otherHead(object []byte, change func(head []byte) []byte) []byte {
	size := int(binary.LittleEndian.Uint32(object[objectFront-8:]))
	head := change(bytes.Clone(object[objectFront : objectFront+size]))
	changed := append(bytes.Clone(object[:objectFront]), head...)
	binary.LittleEndian.PutUint32(changed[objectFront-4:], crc32.Checksum(head, crc32.MakeTable(crc32.Castagnoli)))
	return append(changed, object[objectFront+size:]...)
}

// unpackedImage returns the decompressed sections of an image in items with this data.
func unpackedImage(t *testing.T, items ...[]byte) []byte {
	t.Helper()
	var packed, all []byte
	for _, data := range items {
		packed = append(packed, data[imageItemHead:]...)
	}
	for len(packed) > 0 {
		var section []byte
		section, packed = sized(packed)
		all = append(all, unpacked(t, section)...)
	}
	return all
}
