package search

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
)

// ImageFormat is the number of the format that AppendImage writes. It rises when the bytes of an
// image come to mean something else, and also when the terms of a text do: an image is searched by
// the rules that it was made by.
const ImageFormat = 5

// ErrFormat is the error of an image that is not of this format, or whose terms this release would
// not make: the index has to be made of the texts again.
var ErrFormat = errors.New("no image of a search index in the format of this release")

// An image is an index as bytes, its numbers little-endian:
//
//	magic     8 bytes
//	format    a number, as all below of 32 bits
//	checksum  CRC-32C of all that follows
//	profile   its number
//	language  a block of bytes: what was given to New
//	stems     1 if the words of it are stemmed, else 0
//	layers    how many; then of each its blocks, in the order of addLayer
//
// A block is the number of its elements, and they, filled up to a number of bytes that four divides.
// So in an image that begins at such an address all numbers do, and it can be used as it lies there.
const (
	imageMagic  = "rksearch"
	imageHeader = len(imageMagic) + 4 + 4
)

// castagnoli is the table of CRC-32C.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Language is the language that the index was made for, as it was given to Empty.
func (x *Index) Language() string { return x.analyzer.language }

// Size is about how many bytes of memory the index holds.
func (x *Index) Size() int64 {
	size := int64(analyzerSize)
	for _, l := range x.layers {
		size += l.bytes() + int64(len(l.dead))*8
	}
	return size
}

// ImageSize is a number of bytes that the image of the index does not exceed.
func (x *Index) ImageSize() int64 {
	size := int64(imageSlack(x))
	for _, l := range x.layers {
		size += l.stored() + int64(len(l.dead))*8
	}
	return size
}

// analyzerSize is about what an analyzer holds: its classes, stop words and forms.
const analyzerSize = planes + 32<<10

// stored is how many bytes the lists of a segment have that an image has too.
func (s *segment) stored() int64 {
	texts := len(s.paths) + len(s.headings) + len(s.signatures) + len(s.names) + len(s.lists)
	numbers := len(s.byPath) + len(s.order) + len(s.docOf) + len(s.signatureEnds) +
		len(s.nameEnds) + len(s.listEnds) + len(s.byThread) + len(s.rank)
	return int64(texts) + 4*int64(numbers) + sizeOf[doc]()*int64(len(s.docs)) +
		sizeOf[slot]()*int64(len(s.slots)) + sizeOf[member]()*int64(len(s.members))
}

// bytes is how many bytes a segment holds: its lists, and what was made of them for searches.
func (s *segment) bytes() int64 {
	sketched := 0
	if k := s.known.Load(); k != nil {
		sketched = 9 * len(k.bags)
	}
	if w := s.width.Load(); w != nil {
		sketched += 2 * len(*w)
	}
	if t := s.table.Load(); t != nil {
		sketched += 8*len(t.names) + 4*len(t.starts)
	}
	return s.stored() + int64(sketched)
}

// AppendImage appends the image of the index to b. It has the layers as they are, and what is dead
// in them: to merge them first takes longer than all else, and each With merges what it should.
func (x *Index) AppendImage(b []byte) []byte {
	w := imageWriter{start: len(b), data: slices.Grow(b, int(x.ImageSize()))}
	w.data = append(w.data, imageMagic...)
	w.number(ImageFormat)
	w.number(0) // the checksum, when there is something to sum up
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

// imageSlack bounds what an image has beside its blocks' bytes.
func imageSlack(x *Index) int {
	const ofLayer = 14 * 8 // each block its number, and what fills it up
	return imageHeader + 20 + len(x.analyzer.language) + ofLayer*len(x.layers)
}

// An imageWriter appends an image to what it was given.
type imageWriter struct {
	data  []byte
	start int // of the image
}

// addLayer adds the blocks of a layer. What is not there is made of the others in ReadImage.
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

func (w *imageWriter) number(n uint32) { w.data = binary.LittleEndian.AppendUint32(w.data, n) }

func (w *imageWriter) flag(on bool) {
	n := uint32(0)
	if on {
		n = 1
	}
	w.number(n)
}

// text adds a block of bytes.
func (w *imageWriter) text(s string) {
	w.number(uint32(len(s)))
	w.data = append(w.data, s...)
	for (len(w.data)-w.start)%4 != 0 {
		w.data = append(w.data, 0)
	}
}

// addList adds a block of records.
func addList[R record](w *imageWriter, list []R) {
	w.number(uint32(len(list)))
	for _, n := range numbers(list) {
		w.number(n)
	}
}

// halves are the words of some bits, the lower half of each first.
func halves(bits []uint64) []uint32 {
	list := make([]uint32, 0, 2*len(bits))
	for _, w := range bits {
		list = append(list, uint32(w), uint32(w>>32))
	}
	return list
}
