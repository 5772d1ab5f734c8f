package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"unsafe"
)

// ImageFormat is the number of the format of images. It stands for what an index makes of a text as
// much as for how an image is laid out: an image holds what was made, and nobody reads the texts
// again. So whatever changes either, be it one name more by which a note is found, raises it. Where
// only the layout changed, a reader of the number before is kept, with its golden image in the tests;
// where what is made of a text did, images of the number before are ErrFormat, and made anew from the
// log. The test of the golden image fails as long as that is forgotten.
const ImageFormat = 9

// ErrFormat is the error of an image of another format than ImageFormat.
var ErrFormat = errors.New("the image has another format")

var errDamaged = errors.New("the image of the index is damaged")

// An image begins with these bytes, the format, a CRC-32C of all that follows that sum, the length of
// the whole, and the length of each part; numbers here are little-endian. The parts follow.
const imageMagic = "rkindex\n"

const (
	formatAt  = len(imageMagic)
	sumAt     = formatAt + 4
	summedAt  = sumAt + 4
	lengthsAt = summedAt + 8
)

// The parts of an image, in the order in which they are written. Those from partPaths to partHolders,
// and partTexts, are lists of texts and of numbers in which one can look up where they stand; the
// others hold numbers as varints, and texts as their length and their bytes.
const (
	partState    = iota // the version, the sums over the vault, the texts of the settings
	partPaths           // of all files, in order: a file goes by its position here
	partNames           // of entries, in order
	partEnds            // of each name, where the files that go by it end
	partEntries         // the files that go by each name
	partIDs             // of traits, in order
	partHolders         // of each id, the file that has it
	partNotes           // the files, in blocks
	partCounts          // by name
	partSeeds           // what an audit log tells, by the id of the note
	partTimes           // the distinct Times
	partMentions        // the distinct Mentions
	partSayings         // the distinct Sayings
	partTexts           // texts that stand in several places, and are no names of entries
	partMemories        // the image of what is known of memories
	partUIDs            // the keys of the UIDs of nodes, in order
	partNodes           // of each key, the file that has it
	partFolders         // the folders, with their versions
	imageParts
)

// blockFiles is how many files stand in a block, which is read on one goroutine.
const blockFiles = 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An Image is the image of an index that was drawn and is not in one piece yet, so that its size is
// known before memory is taken for the whole. It is for one goroutine.
type Image struct {
	pieces  [][]byte
	size    int
	lengths [imageParts]int
}

// Image draws the image of the index: all that the index knows, for ReadImage. The same state has the
// same image, to the byte, by whatever commits, images and Builders it came about.
func (x *Index) Image() *Image {
	w := newImageWriter(x)
	m := &Image{}
	for part, write := range w.parts() {
		before := w.cut
		write()
		w.cutPiece()
		m.lengths[part] = w.cut - before
	}
	m.pieces, m.size = w.pieces, partsAt(imageParts)+w.cut
	return m
}

// Size returns the number of bytes that Append appends.
func (m *Image) Size() int64 { return int64(m.size) }

// Append appends the image to b. It may be called once: what is appended is forgotten.
func (m *Image) Append(b []byte) []byte {
	start := len(b)
	b = append(slices.Grow(b, m.size), make([]byte, partsAt(imageParts))...)
	for i, piece := range m.pieces {
		b = append(b, piece...)
		m.pieces[i] = nil
	}
	m.pieces = nil
	sealImage(b[start:], m.lengths)
	return b
}

// AppendImage appends the image of the index to b; see Image.
func (x *Index) AppendImage(b []byte) []byte { return x.Image().Append(b) }

// partsAt is where the first of so many parts begins.
func partsAt(parts int) int { return lengthsAt + 8*parts }

// sealImage fills in what an image begins with.
func sealImage(image []byte, lengths [imageParts]int) {
	copy(image, imageMagic)
	binary.LittleEndian.PutUint32(image[formatAt:], ImageFormat)
	binary.LittleEndian.PutUint64(image[summedAt:], uint64(len(image)))
	for i, n := range lengths {
		binary.LittleEndian.PutUint64(image[lengthsAt+8*i:], uint64(n))
	}
	binary.LittleEndian.PutUint32(image[sumAt:], crc32.Checksum(image[summedAt:], castagnoli))
}

// ReadImage is the index of an image. It answers all that the index did that the image is of, and goes
// on as that does. Its texts are parts of data, which it keeps, and which must not be changed any
// more. An image of another format is ErrFormat; one that is cut off or damaged is another error. What
// is damaged and has the right sum all the same is an error where the index could not be made of it,
// and takes no more memory than some sixty times its length.
func ReadImage(data []byte) (*Index, error) {
	parts, err := imagePartsOf(data)
	if err != nil {
		return nil, err
	}
	r := &imageReader{parts: parts}
	if !r.read() {
		return nil, errDamaged
	}
	return r.x, nil
}

// imagePartsOf checks what an image begins with, and parts it.
func imagePartsOf(data []byte) (parts [imageParts]string, err error) {
	if len(data) < sumAt || string(data[:formatAt]) != imageMagic {
		return parts, errDamaged
	}
	if f := binary.LittleEndian.Uint32(data[formatAt:]); f != ImageFormat {
		return parts, fmt.Errorf("%w: %d, and not %d", ErrFormat, f, ImageFormat)
	}
	if len(data) < partsAt(imageParts) ||
		binary.LittleEndian.Uint64(data[summedAt:]) != uint64(len(data)) ||
		binary.LittleEndian.Uint32(data[sumAt:]) != crc32.Checksum(data[summedAt:], castagnoli) {
		return parts, errDamaged
	}
	rest := unsafe.String(unsafe.SliceData(data), len(data))[partsAt(imageParts):]
	for i := range parts {
		n := binary.LittleEndian.Uint64(data[lengthsAt+8*i:])
		if n > uint64(len(rest)) {
			return parts, errDamaged
		}
		parts[i], rest = rest[:n], rest[n:]
	}
	if rest != "" {
		return parts, errDamaged
	}
	return parts, nil
}
