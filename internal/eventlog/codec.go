package eventlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// maxPayload is the largest size, in bytes, that a payload may have when it is unpacked. A run
// closes at 8 MiB, and a call adds at most 4 MiB.
const maxPayload = 64 << 20

// A codec packs payloads with zstd. It is safe for concurrent use unless room is set.
type codec struct {
	enc  *zstd.Encoder
	dec  *zstd.Decoder
	room *[]byte // buffer that every unpack reuses; nil: each unpack allocates
}

// reusing returns a copy of the codec with a buffer of its own: unpacked parts are valid only until
// its next unpack. It is for readers that read much and keep nothing.
func (c *codec) reusing() *codec { return &codec{c.enc, c.dec, new([]byte)} }

// sharedCodec returns the codec that all logs of the process share, because an encoder needs
// several MB of memory.
var sharedCodec = sync.OnceValues(newCodec)

// packWindow is the window of the encoder in bytes, which it has in memory for each core. Most frames
// are smaller.
const packWindow = 1 << 20

// newCodec returns a codec with the fastest compression level, which allocates memory for each
// payload that it unpacks.
func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(packWindow))
	if err != nil {
		return nil, fmt.Errorf("make a zstd encoder: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderMaxMemory(maxPayload))
	if err != nil {
		return nil, fmt.Errorf("make a zstd decoder: %w", err)
	}
	return &codec{enc: enc, dec: dec}, nil
}

// unpack reads the parts of a packed payload with at least one part. The parts share memory with
// each other and, if room is set, with the next result. A payload that would have more than
// maxPayload bytes is an error.
func (c *codec) unpack(packed []byte) ([]Part, error) {
	if len(packed) == 0 { // DecodeAll returns no bytes and no error for it
		return nil, errors.New("a payload is empty")
	}
	var room []byte
	if c.room != nil {
		room = (*c.room)[:0]
	}
	raw, err := c.dec.DecodeAll(packed, slices.Grow(room, unpackedSize(packed)))
	if err != nil {
		return nil, fmt.Errorf("unpack a payload: %w", err)
	}
	if c.room != nil {
		*c.room = raw
	}
	var parts []Part
	for len(raw) > 0 {
		var p Part
		size, n := uint64(0), 0
		if len(raw) > len(p.salt) {
			copy(p.salt[:], raw)
			size, n = binary.Uvarint(raw[len(p.salt):])
		}
		begin := len(p.salt) + n
		if n <= 0 || size > uint64(len(raw)-begin) {
			return nil, fmt.Errorf("a payload is cut off")
		}
		p.Data = raw[begin : begin+int(size) : begin+int(size)]
		raw = raw[begin+int(size):]
		parts = append(parts, p)
	}
	return parts, nil
}

// unpack unpacks the payload in r.packed.
func (r *Run) unpack(c *codec) (err error) {
	r.Parts, err = c.unpack(r.packed)
	return err
}

// item returns the data of the item of the run: the length of the header as a varint, the header,
// and the packed payload unless it is stored as an object. It sets r.raw.
func (r *Run) item(packed []byte) ([]byte, error) {
	var err error
	if r.raw, err = json.Marshal(r.Header); err != nil {
		return nil, fmt.Errorf("encode a header: %w", err)
	}
	data := binary.AppendUvarint(nil, uint64(len(r.raw)))
	data = append(data, r.raw...)
	if r.Object == "" {
		data = append(data, packed...)
	}
	return data, nil
}

// readItem reads the data that run.item returns. inline is the packed payload; it is empty if the
// payload is an object. The error is ErrNoLog for a tombstone, and errFormat for a run of a later
// release.
func readItem(data []byte) (r *Run, inline []byte, err error) {
	if isTombstone(data) {
		return nil, nil, ErrNoLog
	}
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, fmt.Errorf("a run is cut off")
	}
	r = &Run{raw: data[n : n+int(size)], stored: len(data)}
	if err := json.Unmarshal(r.raw, &r.Header); err != nil {
		return nil, nil, fmt.Errorf("decode a header: %w", err)
	}
	if r.Format != format && r.Format != formatItems {
		return nil, nil, errFormat
	}
	// A header must contain one entry for each commit from First to Last.
	if n := uint64(len(r.Commits)); n == 0 || r.First == 0 || r.Last-r.First != n-1 {
		return nil, nil, fmt.Errorf("a header counts its commits wrongly")
	}
	return r, data[n+int(size):], nil
}

// Encode returns the JSON of v, without escaping <, > and &.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
