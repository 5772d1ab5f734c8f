package search

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"unsafe"
)

// ImageFormat is the version of the format that AppendImage writes. It must be increased when the
// meaning of the bytes changes, and also when the terms of a text change, because an image is
// searched by the rules of the release that reads it.
const ImageFormat = 5

// ErrFormat is the error for an image that has another format, or whose terms differ from those
// of this release. The index must be rebuilt from the texts.
var ErrFormat = errors.New("no image of a search index in the format of this release")

// An image is a serialized index. Its numbers are little-endian:
//
//	magic     8 bytes
//	format    a number; all numbers have 32 bits
//	checksum  CRC-32C of all bytes after it
//	profile   number of the profile
//	language  block of bytes: as passed to New
//	stems     1 if words of the language are stemmed, else 0
//	layers    their number, then the blocks of each layer in the order of addLayer
//
// A block is the number of its elements, followed by the elements and padding to a multiple of
// four bytes. So if an image begins at an address that is divisible by four, all its numbers
// are aligned, and it can be used in place.
const (
	imageMagic  = "rksearch"
	imageHeader = len(imageMagic) + 4 + 4
)

// castagnoli returns the table of CRC-32C.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Language returns the language of the index, as passed to Empty or New.
func (x *Index) Language() string { return x.analyzer.language }

// Size returns the approximate memory use of the index in bytes.
func (x *Index) Size() int64 {
	size := int64(analyzerSize)
	for _, l := range x.layers {
		size += l.bytes() + int64(len(l.dead))*8
	}
	return size
}

// analyzerSize is the approximate memory use of an analyzer in bytes: its classes, stop words and
// forms.
const analyzerSize = planes + 32<<10

// stored returns the size, in bytes, of all lists of a segment.
func (s *segment) stored() int64 {
	texts := len(s.paths) + len(s.headings) + len(s.signatures) + len(s.names) + len(s.lists)
	numbers := len(s.byPath) + len(s.signatureEnds) + len(s.nameEnds) + len(s.listEnds) + len(s.byThread) +
		len(s.order) + len(s.docOf) + len(s.rank) // the last three are not in images
	return int64(texts) + 4*int64(numbers) + sizeOf[doc]()*int64(len(s.docs)) +
		sizeOf[slot]()*int64(len(s.slots)) + sizeOf[member]()*int64(len(s.members))
}

// bytes returns the memory use of a segment: its lists, and the tables that searches derived from
// them.
func (s *segment) bytes() int64 {
	sketched := 0
	if k := s.sketchCache.Load(); k != nil {
		sketched = 9 * len(k.bags)
	}
	if w := s.widthCache.Load(); w != nil {
		sketched += 2 * len(*w)
	}
	if t := s.threadCache.Load(); t != nil {
		sketched += 8*len(t.names) + 4*len(t.starts)
	}
	return s.stored() + int64(sketched)
}

// Image returns the image of the index in pieces of memory, which must not be changed: the lists of the
// layers are among them, without a copy. It has the layers as they are, including deleted notes:
// merging them first would take longer than everything else, and each With merges as far as necessary.
//
// ReadImage returns an index with the same results. The image is not compressed.
func (x *Index) Image() [][]byte {
	var c coder
	h := header{x.profile.number, x.analyzer.language, 0, uint32(len(x.layers))}
	if x.analyzer.stem != nil {
		h.stems = 1
	}
	c.header(&h)
	for i := range x.layers {
		l := x.layers[i]
		dead := halves(l.dead)
		c.layer(l.segment, &dead)
	}
	c.cut()
	sum := uint32(0)
	for _, piece := range c.pieces {
		sum = crc32.Update(sum, castagnoli(), piece)
	}
	front := append(make([]byte, 0, imageHeader), imageMagic...)
	front = binary.LittleEndian.AppendUint32(front, ImageFormat)
	front = binary.LittleEndian.AppendUint32(front, sum)
	return append([][]byte{front}, c.pieces...)
}

// AppendImage appends the image of the index to b and returns the result; see Image.
func (x *Index) AppendImage(b []byte) []byte {
	for _, piece := range x.Image() {
		b = append(b, piece...)
	}
	return b
}

// A coder encodes the blocks of an image into pieces or, if decodes is set, reads them from rest. An
// encoder only reads the values whose addresses it gets; a decoder sets them. After the end of the
// image a decoder sets zero values.
type coder struct {
	pieces [][]byte
	data   []byte // the end of the image, which is not among the pieces yet

	decodes   bool
	rest      []byte
	truncated bool // the image ended too soon
}

// smallBlock is the size in bytes of blocks that are copied, so that an image does not have a piece for
// each of them.
const smallBlock = 4 << 10

// bytes appends the elements of a block, which has its length before it.
func (c *coder) bytes(data []byte) {
	if len(data) <= smallBlock {
		c.data = append(c.data, data...)
		return
	}
	c.cut()
	c.pieces = append(c.pieces, data)
}

// cut makes a piece of the data that is not among the pieces.
func (c *coder) cut() {
	if len(c.data) > 0 {
		c.pieces, c.data = append(c.pieces, c.data), nil
	}
}

// A header is the part of an image between the checksum and the layers.
type header struct {
	profile  uint32 // number of the profile
	language string
	stems    uint32 // 1 if words are stemmed
	layers   uint32 // how many follow
}

// header codes a header.
func (c *coder) header(h *header) {
	c.number(&h.profile)
	c.text(&h.language)
	c.number(&h.stems, &h.layers)
}

// layer codes the blocks of a layer, the last of which is the bit set of deleted documents. A
// decoder must set the other lists of the layer with complete.
//
// The order of the blocks is part of the format.
func (c *coder) layer(s *segment, dead *[]uint32) {
	c.text(&s.paths)
	codeList(c, &s.docs)
	codeList(c, &s.byPath)
	c.text(&s.headings)
	codeList(c, &s.slots)
	c.text(&s.signatures)
	codeList(c, &s.signatureEnds)
	c.text(&s.names)
	codeList(c, &s.nameEnds)
	c.text(&s.lists)
	codeList(c, &s.listEnds)
	codeList(c, &s.members)
	codeList(c, &s.byThread)
	codeList(c, dead)
}

// number codes numbers.
func (c *coder) number(all ...*uint32) {
	for _, n := range all {
		if !c.decodes {
			c.data = binary.LittleEndian.AppendUint32(c.data, *n)
		} else if data := c.next(4); data != nil {
			*n = binary.LittleEndian.Uint32(data)
		} else {
			*n = 0
		}
	}
}

// text codes a block of bytes, with its padding.
func (c *coder) text(s *string) {
	n := uint32(len(*s))
	if c.number(&n); c.decodes {
		*s = inPlace(c.next(uint64(n)))
		return
	}
	c.bytes(unsafe.Slice(unsafe.StringData(*s), len(*s)))
	for ; n%4 != 0; n++ {
		c.data = append(c.data, 0)
	}
}

// codeList codes a block of records.
func codeList[R record](c *coder, list *[]R) {
	n := uint32(len(*list))
	if c.number(&n); c.decodes {
		*list = records[R](c.next(uint64(n) * uint64(sizeOf[R]())))
		return
	}
	c.bytes(bytesOf(*list))
}

// next returns the next n bytes and skips their padding. It returns nil after the end of the image.
func (c *coder) next(n uint64) []byte {
	// n is at most 2^32 times the size of a record, so the sum cannot overflow.
	whole := (n + 3) / 4 * 4
	if c.truncated = c.truncated || whole > uint64(len(c.rest)); c.truncated {
		return nil
	}
	data := c.rest[:n]
	c.rest = c.rest[whole:]
	return data
}

// halves returns words of 64 bits as pairs of 32 bits, the lower half first.
func halves(bits []uint64) []uint32 {
	list := make([]uint32, 0, 2*len(bits))
	for _, w := range bits {
		list = append(list, uint32(w), uint32(w>>32))
	}
	return list
}

// A record is a type that consists of numbers of 32 bits only. So a list of records is a list of
// numbers, and on a little-endian machine it has the same bytes in memory as in an image.
type record interface{ uint32 | doc | slot | member }

// sizeOf returns the size of a record in bytes.
func sizeOf[R record]() int64 {
	var r R
	return int64(unsafe.Sizeof(r))
}

// numbers returns the numbers of a list of records. They share its memory.
func numbers[R record](list []R) []uint32 {
	first := (*uint32)(unsafe.Pointer(unsafe.SliceData(list)))
	return unsafe.Slice(first, len(list)*int(sizeOf[R]()/4))
}

// bytesOf returns a list of records as in an image. It shares the memory of the list if the machine is
// little-endian.
func bytesOf[R record](list []R) []byte {
	own := numbers(list)
	if littleEndian() {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(own))), 4*len(own))
	}
	var data []byte
	for _, n := range own {
		data = binary.LittleEndian.AppendUint32(data, n)
	}
	return data
}

// records returns the records that data of an image contains; an incomplete record at the end is
// ignored. They share the memory of data if it is aligned and the machine is little-endian;
// otherwise they are copied.
func records[R record](data []byte) []R {
	n := len(data) / int(sizeOf[R]())
	if n == 0 {
		return []R{} // data can be at the end of its memory, where no record begins
	}
	at := unsafe.Pointer(unsafe.SliceData(data))
	if littleEndian() && uintptr(at)%4 == 0 {
		return unsafe.Slice((*R)(at), n)
	}
	// The bytes are not in the order or alignment of the machine, so they must be converted.
	list := make([]R, n)
	for i := range numbers(list) {
		numbers(list)[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return list
}

// littleEndian reports whether the machine stores numbers as images do.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// inPlace returns data as a string that shares its memory. data must not be changed afterwards.
func inPlace(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }
