package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// A small image may be stored in items of the table instead of an object
// (docs/design/0050-images-in-items.md). The packed image is divided into pieces. The sort key of
// piece n, counted from 1, is the key of the image, "/" and n. Each item begins with the number of
// pieces (one byte), the CRC-32C of all pieces together (32 bits) and the time of writing in Unix
// milliseconds (64 bits), in little-endian order; the piece follows.
//
// A packed image consists of its front (the head and the state), its keys, the SearchSection and,
// if there is one, the MemoriesSection. Each is compressed with zstd separately and preceded by its
// length. All are read with one Query; all but the front are kept compressed in memory until they
// are needed.

const (
	// mostImage is the largest size, in bytes, of an image that is stored in items, and mostPacked
	// the largest size it may have when packed: a page of a DynamoDB Query is 1 MiB including keys.
	mostImage  = 8 << 20
	mostPacked = 1<<20 - 16<<10

	imagePiece     = 380_000           // bytes of an image in one item
	imageItemFront = 1 + 4 + 8         // bytes of an item before its piece
	lastImageKey   = imagePrefix + "~" // sorts after the keys of all items of images
)

// A packedImage contains the compressed sections of an image in items that are read on demand.
type packedImage struct {
	keys     []byte
	sections [sectionCount][]byte
}

// size returns how many bytes of memory it takes; 0 if it is nil.
func (p *packedImage) size() int64 {
	if p == nil {
		return 0
	}
	size := len(p.keys)
	for _, section := range p.sections {
		size += len(section)
	}
	return int64(size)
}

// packImage returns the packed image.
func (c *codec) packImage(m *drawnImage) []byte {
	var all []byte
	sections := []blob.Pieces{m.front(), {m.keys}, m.sections[SearchSection]}
	if m.Memories > 0 {
		sections = append(sections, m.sections[MemoriesSection])
	}
	for _, section := range sections {
		all = appendBytes(all, c.enc.EncodeAll(section.Join(), nil))
	}
	return all
}

// unpackSection decompresses a section of a packed image. It returns errImage if the result does
// not have n bytes.
func (c *codec) unpackSection(packed []byte, n int64) ([]byte, error) {
	data, err := c.dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack a part of an image: %w", err)
	}
	if int64(len(data)) != n {
		return nil, errImage
	}
	return data, nil
}

// putImageItems writes an image as items, in one transaction, and returns how many there are. It
// writes nothing and returns 0 if the image is too large, or if the log does not use items for
// images.
func (l *Log[S]) putImageItems(ctx context.Context, i Image, m *drawnImage) (items int, err error) {
	if !l.opt.ImageItems || i.Size > mostImage {
		return 0, nil
	}
	packed := l.code.packImage(m)
	if len(packed) > mostPacked {
		return 0, nil
	}
	front := []byte{byte((len(packed) + imagePiece - 1) / imagePiece)}
	front = binary.LittleEndian.AppendUint32(front, crc32.Checksum(packed, castagnoli()))
	front = binary.LittleEndian.AppendUint64(front, uint64(i.At.UnixMilli()))
	var ops []table.Op
	for len(packed) > 0 {
		piece := packed[:min(imagePiece, len(packed))]
		packed = packed[len(piece):]
		items++
		ops = append(ops, table.Set(table.Item{
			Key:  table.Key{Part: l.opt.Part, Sort: i.item(items)},
			Data: append(front[:len(front):len(front)], piece...),
		}))
	}
	return items, l.opt.Table.Commit(ctx, ops...)
}

// item returns the sort key of piece n of the image, counted from 1.
func (i Image) item(n int) string { return fmt.Sprintf("%s/%d", i.key(), n) }

// An imageItem is a decoded piece of an image.
type imageItem struct {
	of    int       // the number of pieces
	sum   uint32    // CRC-32C of all pieces together
	at    time.Time // when the image was written
	piece []byte
}

// readImageItem decodes the data of an item.
func readImageItem(data []byte) (imageItem, error) {
	if len(data) < imageItemFront {
		return imageItem{}, errImage
	}
	return imageItem{
		of: int(data[0]), sum: binary.LittleEndian.Uint32(data[1:]),
		at: time.UnixMilli(int64(binary.LittleEndian.Uint64(data[5:]))), piece: data[imageItemFront:],
	}, nil
}

// readImageItems returns the front of an image in items, and its other sections compressed. If the
// items do not match each other, another process may be replacing them by its own image of the same
// commit, so they are read once more. If there are no items, the error is blob.ErrNotExist.
func (l *Log[S]) readImageItems(ctx context.Context, i Image) (front []byte, rest *packedImage, err error) {
	packed, err := l.joinImageItems(ctx, i)
	if errors.Is(err, errImage) {
		packed, err = l.joinImageItems(ctx, i)
	}
	if err != nil {
		return nil, nil, err
	}
	r := keyReader{data: packed}
	front, rest = r.bytes(), &packedImage{}
	rest.keys, rest.sections[SearchSection] = r.bytes(), r.bytes()
	if r.err == nil && len(r.data) > 0 {
		rest.sections[MemoriesSection] = r.bytes()
	}
	if r.err != nil {
		return nil, nil, errImage
	}
	if front, err = l.code.dec.DecodeAll(front, nil); err != nil {
		return nil, nil, fmt.Errorf("unpack an image: %w", err)
	}
	return front, rest, nil
}

// joinImageItems reads the items of an image and returns the packed image. It returns errImage if a
// piece is missing or the checksum is wrong.
func (l *Log[S]) joinImageItems(ctx context.Context, i Image) ([]byte, error) {
	var packed []byte
	var first imageItem
	n := 0
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, i.item(1), i.item(i.Items)) {
		if err != nil {
			return nil, Unreadable(ctx, err)
		}
		next, err := readImageItem(it.Data)
		if err != nil {
			return nil, err
		}
		if n++; n == 1 {
			first = next
		}
		packed = append(packed, next.piece...)
	}
	switch {
	case n == 0:
		return nil, fmt.Errorf("read the items of an image: %w", blob.ErrNotExist)
	case n != first.of || crc32.Checksum(packed, castagnoli()) != first.sum:
		return nil, errImage
	}
	return packed, nil
}

// deleteImage deletes the object or the items of an image.
func (l *Log[S]) deleteImage(ctx context.Context, i Image) error {
	if i.Items == 0 {
		return l.opt.Bucket.Delete(ctx, i.key())
	}
	var keys []table.Key
	for n := range i.Items {
		keys = append(keys, table.Key{Part: l.opt.Part, Sort: i.item(n + 1)})
	}
	return l.removeKeys(ctx, keys)
}

// removeImageItems removes the items of images for which drop returns true. drop gets the commit of
// the image, the number of the piece, and when it was written: the zero time if the item cannot be
// decoded.
func (l *Log[S]) removeImageItems(ctx context.Context, drop func(seq uint64, n int, at time.Time) bool) error {
	var keys []table.Key
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, imagePrefix, lastImageKey) {
		if err != nil {
			return Unreadable(ctx, err)
		}
		seq, n, ok := placeOfImageItem(it.Sort)
		is, _ := readImageItem(it.Data)
		if ok && drop(seq, n, is.at) {
			keys = append(keys, it.Key)
		}
	}
	return l.removeKeys(ctx, keys)
}

// placeOfImageItem returns the commit of the image and the number of the piece from the sort key of
// an item. ok is false for other keys.
func placeOfImageItem(sort string) (seq uint64, n int, ok bool) {
	parts := strings.Split(sort, "/") // image/FORMAT/SEQ/N
	if len(parts) != 4 {
		return 0, 0, false
	}
	seq, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	n, err = strconv.Atoi(parts[3])
	return seq, n, err == nil
}
