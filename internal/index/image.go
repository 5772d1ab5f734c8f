package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"unsafe"
)

// ImageFormat is the number of the format of images. It covers both the layout of an image and the
// result of parsing a text, because an image contains that result and the texts are not parsed
// again. Every change of either must raise it, even one more name by which a note is found. If only
// the layout changed, keep a reader of the previous format, with its golden image in the tests. If
// the result of parsing changed, images of the previous format must return ErrFormat; they are then
// rebuilt from the log. The test of the golden image fails until the number is raised.
const ImageFormat = 9

// ErrFormat is returned for an image of another format than ImageFormat.
var ErrFormat = errors.New("the image has another format")

// errDamaged is returned for an image that is cut off or damaged.
var errDamaged = errors.New("the image of the index is damaged")

// imageMagic begins every image. All numbers of the header are little-endian:
//
//	magic      8 bytes   "rkindex\n"
//	format     4 bytes   ImageFormat
//	checksum   4 bytes   CRC-32C of everything after the checksum
//	length     8 bytes   of the whole image
//	lengths    8 bytes   for each part, its length
//	parts      in the order of the constants below
//
// The checksum detects damage, not an attack; see ReadImage.
const imageMagic = "rkindex\n"

// The offsets of the fields in the header of an image.
const (
	formatAt  = len(imageMagic)
	sumAt     = formatAt + 4
	summedAt  = sumAt + 4
	lengthsAt = summedAt + 8
)

// The parts of an image, in the order in which they are written. Those from partPaths to
// partOwners, and partTexts, partUIDs and partNodes, are lists of texts or numbers with random
// access. The other parts are sequences of varints, and of texts as a length and bytes.
//
// A text with a number is the one with that position in partNames, followed by those in partTexts.
// Parts that refer to numbers come before the parts with the values, because the numbers are
// assigned while the former are written.
const (
	partState         = iota // the version, the totals of the vault, the texts of the settings
	partPaths                // of all files, sorted: other parts refer to a file by its position here
	partNames                // of entries, distinct and sorted
	partEnds                 // for each name, the end of its files in partEntries
	partEntries              // the files of each name
	partIDs                  // of traits, sorted
	partOwners               // for each id, the file that contains the trait
	partNotes                // the files, in blocks
	partCounts               // by name of an entry
	partImportedTimes        // the times from audit logs, by the id of the note
	partTimes                // the distinct Times
	partMentions             // the distinct Mentions
	partTraitValues          // the distinct TraitValues
	partTexts                // texts with several uses that are not names of entries
	partMemories             // the image of the index of memories
	partUIDs                 // the keys of the UIDs of nodes, sorted
	partNodes                // for each key, the file that contains the node
	partFolders              // the folders, with their versions
	imageParts
)

// blockFiles is the number of files in a block. A block is read by one goroutine. Differences of
// lines and positions begin again with each note, so a block can be read without those before it.
const blockFiles = 64

// castagnoli is the table of CRC-32C, which processors compute in hardware. Marks of values and
// types use it as a fast hash, too.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Image returns the image of the index, for ReadImage, in pieces of memory. It contains the whole state
// of the index. Equal states have equal images, byte for byte, whatever commits, images and Builders
// they come from.
func (x *Index) Image() [][]byte {
	w := newImageWriter(x)
	w.add(make([]byte, partsAt(imageParts))) // of the header
	var lengths [imageParts]int
	for part, write := range w.parts() {
		before := w.cut
		write()
		w.cutPiece()
		lengths[part] = w.cut - before
	}
	sealImage(w.pieces, lengths)
	return w.pieces
}

// AppendImage appends the image of the index to b and returns the extended slice; see Image.
func (x *Index) AppendImage(b []byte) []byte {
	for _, piece := range x.Image() {
		b = append(b, piece...)
	}
	return b
}

// partsAt returns the offset of the first part in an image with this number of parts.
func partsAt(parts int) int { return lengthsAt + 8*parts }

// sealImage writes the header of an image, which is its first piece. The checksum is last, because it
// covers the other fields and pieces.
func sealImage(pieces [][]byte, lengths [imageParts]int) {
	header, size := pieces[0], partsAt(imageParts)
	copy(header, imageMagic)
	binary.LittleEndian.PutUint32(header[formatAt:], ImageFormat)
	for i, n := range lengths {
		binary.LittleEndian.PutUint64(header[lengthsAt+8*i:], uint64(n))
		size += n
	}
	binary.LittleEndian.PutUint64(header[summedAt:], uint64(size))
	sum := crc32.Checksum(header[summedAt:], castagnoli)
	for _, piece := range pieces[1:] {
		sum = crc32.Update(sum, castagnoli, piece)
	}
	binary.LittleEndian.PutUint32(header[sumAt:], sum)
}

// ReadImage returns the index of an image. It behaves like the index that was serialized. It does not
// keep data in memory: each part that is used in place is copied, and the texts of each file are one
// piece of memory, which is garbage when the file is replaced.
//
// For an image of another format, the error wraps ErrFormat; for an image that is cut off or
// damaged it does not. Data with a correct checksum that no index could have produced is an error
// too, where it would prevent the index from being built. Reading such data takes at most about
// sixty times its length of memory.
func ReadImage(data []byte) (*Index, error) {
	parts, err := imagePartsOf(data)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if i != partNotes { // which has no text that is used in place
			parts[i] = strings.Clone(parts[i])
		}
	}
	r := &imageReader{parts: parts}
	if !r.read() {
		return nil, errDamaged
	}
	return r.x, nil
}

// imagePartsOf checks the header of an image and returns its parts. They share the memory of data.
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
	// Nothing of a part changes data, and ReadImage copies what stays in memory.
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
