package eventlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/rookeryhq/rookery/internal/parallel"
)

// frameBytes is the size at which a frame is closed. Reading one text unpacks one frame.
const frameBytes = 128 << 10

// A payload consists of one or more zstd frames, each of whole parts. If there are several, a
// skippable frame (RFC 8878 §3.1.2) precedes them. It contains for each frame the number of its
// parts and of its bytes, as varints, so that one frame can be unpacked without the others. A
// decoder that ignores it unpacks them all.

// A frame is a group of parts of a payload that are packed together.
type frame struct {
	first, parts int // number of the first part, and how many
	off, end     int // offsets in the packed payload
}

// pack encodes parts, each as salt, length and data, and compresses them in frames, as many at a time
// as there are processors. size is the number of bytes before compression. A part is never divided,
// so a frame with a large part has more than frameBytes. It returns an empty payload for no parts.
func (c *codec) pack(parts []Part) (packed []byte, size int) {
	frames := framed(parts)
	parallel.Range(len(frames), func(i int) { frames[i].packed = c.packFrame(frames[i]) })
	var w frameWriter
	for _, f := range frames {
		size += f.size
		w.add(len(f.parts), f.packed)
	}
	return w.payload(), size
}

// packFrame compresses the parts of a frame.
func (c *codec) packFrame(f unpackedFrame) []byte {
	raw := make([]byte, 0, f.size)
	for _, p := range f.parts {
		raw = p.appendTo(raw)
	}
	return c.enc.EncodeAll(raw, nil)
}

// An unpackedFrame is a frame that is being packed.
type unpackedFrame struct {
	parts  []Part
	size   int // before compression
	packed []byte
}

// framed divides parts into frames.
func framed(parts []Part) (all []unpackedFrame) {
	size, begun := 0, 0
	for i, p := range parts {
		if size += p.size(); size < frameBytes && i < len(parts)-1 {
			continue
		}
		all = append(all, unpackedFrame{parts: parts[begun : i+1], size: size})
		size, begun = 0, i+1
	}
	return all
}

// appendTo appends the part as it is in a payload before compression: salt, length and data.
func (p Part) appendTo(raw []byte) []byte {
	raw = append(raw, p.salt[:]...)
	raw = binary.AppendUvarint(raw, uint64(len(p.Data)))
	return append(raw, p.Data...)
}

// size returns the number of bytes that appendTo appends.
func (p Part) size() int {
	var length [binary.MaxVarintLen64]byte
	return len(p.salt) + binary.PutUvarint(length[:], uint64(len(p.Data))) + len(p.Data)
}

// A frameWriter collects the frames of a payload.
type frameWriter struct {
	table, frames []byte
	n             int // number of frames
}

// add adds a frame with so many parts.
func (w *frameWriter) add(parts int, frame []byte) {
	w.frames = append(w.frames, frame...)
	w.table = binary.AppendUvarint(w.table, uint64(parts)) //nolint:gosec // a count
	w.table = binary.AppendUvarint(w.table, uint64(len(frame)))
	w.n++
}

// payload returns the payload. With a single frame it has no table.
func (w *frameWriter) payload() []byte {
	if w.n <= 1 {
		return w.frames
	}
	h := zstd.Header{Skippable: true, SkippableSize: uint32(len(w.table))}
	packed, err := h.AppendTo(make([]byte, 0, len(w.table)+len(w.frames)+zstd.HeaderMaxSize))
	if err != nil {
		panic(err) // never happens: a skippable frame can have any size
	}
	return append(append(packed, w.table...), w.frames...)
}

// framesOf returns the frames of a payload; nil if it has a single frame, and no table of frames.
func framesOf(packed []byte) ([]frame, error) {
	frames, err := framesIn(packed)
	if err == nil && frames != nil && frames[len(frames)-1].end != len(packed) {
		return nil, errTable
	}
	return frames, err
}

// framesIn is framesOf for the first bytes of a payload. They must contain the table of frames, if
// there is one. The frames may end after the payload.
func framesIn(head []byte) ([]frame, error) {
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		return nil, fmt.Errorf("read a payload's first frame: %w", err)
	}
	if !h.Skippable || h.SkippableID != 0 {
		return nil, nil
	}
	off := h.HeaderSize + int(h.SkippableSize)
	if off > len(head) {
		return nil, errTable
	}
	var all []frame
	first := 0
	for table := bytes.NewReader(head[h.HeaderSize:off]); table.Len() > 0; {
		parts, err := binary.ReadUvarint(table)
		if err != nil || parts == 0 || parts > maxPayload {
			return nil, errTable
		}
		size, err := binary.ReadUvarint(table)
		if err != nil || size > maxPayload {
			return nil, errTable
		}
		all = append(all, frame{first, int(parts), off, off + int(size)})
		first, off = first+int(parts), off+int(size)
	}
	return all, nil
}

// unpackedSize returns the sum of the sizes that the frames of a payload state, at most maxPayload;
// 0 if it has a single frame. DecodeAll makes room for one frame after the other, and without room
// for all it copies what it has unpacked for each of them.
func unpackedSize(packed []byte) int {
	frames, err := framesOf(packed)
	if err != nil {
		return 0 // the decoder returns the error
	}
	size := uint64(0)
	for _, f := range frames {
		var h zstd.Header
		if h.Decode(packed[f.off:f.end]) != nil || h.FrameContentSize > maxPayload {
			return 0
		}
		size += h.FrameContentSize
	}
	return int(min(size, maxPayload)) //nolint:gosec // at most maxPayload
}

// tableSize returns how many bytes at the beginning of a payload contain its table of frames, from
// its first bytes; 0 if it has none.
func tableSize(head []byte) int64 {
	var h zstd.Header
	if err := h.Decode(head); err != nil || !h.Skippable {
		return 0
	}
	return int64(h.HeaderSize) + int64(h.SkippableSize)
}

// errTable is the error of a payload that does not match its table of frames.
var errTable = errors.New("a payload's table of frames is wrong")

// unpackFrame unpacks the parts of one frame of a payload from the bytes of the frame.
func (c *codec) unpackFrame(packed []byte, f frame) ([]Part, error) {
	parts, err := c.unpack(packed)
	if err == nil && len(parts) != f.parts {
		err = errTable
	}
	return parts, err
}
