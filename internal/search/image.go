package search

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
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

// ImageSize returns an upper bound of the size of the index's image in bytes.
func (x *Index) ImageSize() int64 {
	size := int64(imageSlack(x))
	for _, l := range x.layers {
		size += l.stored() + int64(len(l.dead))*8
	}
	return size
}

// analyzerSize is the approximate memory use of an analyzer in bytes: its classes, stop words and
// forms.
const analyzerSize = planes + 32<<10

// stored returns the size, in bytes, of the lists of a segment, most of which are also in an
// image.
func (s *segment) stored() int64 {
	texts := len(s.paths) + len(s.headings) + len(s.signatures) + len(s.names) + len(s.lists)
	numbers := len(s.byPath) + len(s.order) + len(s.docOf) + len(s.signatureEnds) +
		len(s.nameEnds) + len(s.listEnds) + len(s.byThread) + len(s.rank)
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

// AppendImage appends the image of the index to b and returns the result. It writes the layers as
// they are, including deleted notes: merging them first would take longer than everything else,
// and each With merges as far as necessary.
//
// ReadImage returns an index with the same results. The image is not compressed.
func (x *Index) AppendImage(b []byte) []byte {
	w := imageWriter{start: len(b), data: slices.Grow(b, int(x.ImageSize()))}
	w.data = append(w.data, imageMagic...)
	w.number(ImageFormat)
	w.number(0) // placeholder of the checksum
	w.number(x.profile.number)
	w.text(x.analyzer.language)
	w.flag(x.analyzer.stem != nil)
	w.number(uint32(len(x.layers)))
	for i := range x.layers {
		w.addLayer(&x.layers[i])
	}
	own := w.data[w.start:]
	sum := crc32.Checksum(own[imageHeader:], castagnoli())
	binary.LittleEndian.PutUint32(own[imageHeader-4:], sum)
	return w.data
}

// imageSlack returns an upper bound of the bytes of an image outside the elements of its blocks.
func imageSlack(x *Index) int {
	const ofLayer = 14 * 8 // of each block, its count and its padding
	return imageHeader + 20 + len(x.analyzer.language) + ofLayer*len(x.layers)
}

// An imageWriter appends an image to a slice.
type imageWriter struct {
	data  []byte
	start int // offset of the image in data
}

// addLayer appends the blocks of a layer. ReadImage computes the lists that are omitted.
//
// The blocks are, in this order: paths, docs, byPath, headings, slots, signatures, signatureEnds,
// names, nameEnds, lists, listEnds, members, byThread, and the bit set of deleted documents. The
// order is part of the format.
func (w *imageWriter) addLayer(l *liveSegment) {
	w.text(l.paths)
	addList(w, l.docs)
	addList(w, l.byPath)
	w.text(l.headings)
	addList(w, l.slots)
	w.text(l.signatures)
	addList(w, l.signatureEnds)
	w.text(l.names)
	addList(w, l.nameEnds)
	w.text(l.lists)
	addList(w, l.listEnds)
	addList(w, l.members)
	addList(w, l.byThread)
	addList(w, halves(l.dead))
}

// number appends a number.
func (w *imageWriter) number(n uint32) { w.data = binary.LittleEndian.AppendUint32(w.data, n) }

// flag appends 1 or 0.
func (w *imageWriter) flag(on bool) {
	n := uint32(0)
	if on {
		n = 1
	}
	w.number(n)
}

// text appends a block of bytes, with its padding.
func (w *imageWriter) text(s string) {
	w.number(uint32(len(s)))
	w.data = append(w.data, s...)
	for (len(w.data)-w.start)%4 != 0 {
		w.data = append(w.data, 0)
	}
}

// addList appends a block of records.
func addList[R record](w *imageWriter, list []R) {
	w.number(uint32(len(list)))
	for _, n := range numbers(list) {
		w.number(n)
	}
}

// halves returns words of 64 bits as pairs of 32 bits, the lower half first.
func halves(bits []uint64) []uint32 {
	list := make([]uint32, 0, 2*len(bits))
	for _, w := range bits {
		list = append(list, uint32(w), uint32(w>>32))
	}
	return list
}
