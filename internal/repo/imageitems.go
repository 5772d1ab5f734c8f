package repo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"rookery/internal/blob"
	"rookery/internal/table"
)

// An image may be kept in items of the table instead of an object, if it is small when it is packed
// (docs/design/0050-images-in-items.md). Its items are the parts 1, 2, … behind the key of the image: what it packs
// to, in pieces. Each item begins with how many there are, the CRC-32C of all pieces together and the time when it was
// put, in milliseconds; the numbers have the lowest byte first.
//
// What an image packs to is its front (the head and the state), its keys, what a search of notes needs and, where there
// are any, what a search of memories does, each packed by itself with zstd and with its length before it. All are read
// with one Query, and all but the first are kept packed until
// they are needed.

const (
	// mostImage is how large an image may be to be packed, and mostPacked what it may pack to: a page of a Query of
	// DynamoDB is 1 MiB, with the keys.
	mostImage  = 8 << 20
	mostPacked = 1<<20 - 16<<10

	imagePiece     = 380_000           // bytes of an image in one item
	imageItemFront = 1 + 4 + 8         // bytes of an item before its piece
	lastImageKey   = imagePrefix + "~" // behind the keys of all items of images
)

// A packedImage is what is kept of an image in items: the parts that are read when they are needed.
type packedImage struct{ keys, search, memories []byte }

// size returns how many bytes are kept.
func (p *packedImage) size() int64 {
	if p == nil {
		return 0
	}
	return int64(len(p.keys) + len(p.search) + len(p.memories))
}

// packImage returns what an image packs to.
func (c *codec) packImage(m *made) []byte {
	var all []byte
	sections := [][]byte{m.data[:m.start+m.State], m.data[m.keysAt() : m.keysAt()+m.Keys], m.search()}
	if m.Memories > 0 {
		sections = append(sections, m.memories())
	}
	for _, section := range sections {
		all = appendBytes(all, c.enc.EncodeAll(section, nil))
	}
	return all
}

// unpackSection returns a part of a packed image, which has n bytes.
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

// putImageItems puts an image as items, together, and returns how many there are: 0, and nothing is put, if it is too
// large for that.
func (l *Log[S]) putImageItems(ctx context.Context, i Image, m *made) (items int, err error) {
	if !l.opt.ImageItems || len(m.data) > mostImage {
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

// item is the sort key of an image's item, from 1 on.
func (i Image) item(n int) string { return fmt.Sprintf("%s/%d", i.key(), n) }

// An imageItem is a piece of an image.
type imageItem struct {
	of    int // how many there are
	sum   uint32
	at    time.Time
	piece []byte
}

// readImageItem reads the data of an item.
func readImageItem(data []byte) (imageItem, error) {
	if len(data) < imageItemFront {
		return imageItem{}, errImage
	}
	return imageItem{
		of: int(data[0]), sum: binary.LittleEndian.Uint32(data[1:]),
		at: time.UnixMilli(int64(binary.LittleEndian.Uint64(data[5:]))), piece: data[imageItemFront:],
	}, nil
}

// readImageItems returns the front of an image in items, and the rest of it packed. Items may be replaced while they
// are read, by those of an image that another process made of the same commit: then they are read once more. Where
// there are none the error is blob.ErrNotExist.
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
	rest.keys, rest.search = r.bytes(), r.bytes()
	if r.err == nil && len(r.data) > 0 {
		rest.memories = r.bytes()
	}
	if r.err != nil {
		return nil, nil, errImage
	}
	if front, err = l.code.dec.DecodeAll(front, nil); err != nil {
		return nil, nil, fmt.Errorf("unpack an image: %w", err)
	}
	return front, rest, nil
}

// joinImageItems returns what the items of an image contain together.
func (l *Log[S]) joinImageItems(ctx context.Context, i Image) ([]byte, error) {
	var packed []byte
	var first imageItem
	n := 0
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, i.item(1), i.item(i.Items)) {
		if err != nil {
			return nil, unreadable(ctx, err)
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

// deleteImage deletes an image.
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

// removeImageItems removes the items of images that drop reports true for. It is given the commit and the number of
// each item, and when it was put: the zero time, if the item does not say.
func (l *Log[S]) removeImageItems(ctx context.Context, drop func(seq uint64, n int, at time.Time) bool) error {
	var keys []table.Key
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, imagePrefix, lastImageKey) {
		if err != nil {
			return unreadable(ctx, err)
		}
		seq, n, ok := placeOfImageItem(it.Sort)
		is, _ := readImageItem(it.Data)
		if ok && drop(seq, n, is.at) {
			keys = append(keys, it.Key)
		}
	}
	return l.removeKeys(ctx, keys)
}

// placeOfImageItem returns of which commit an image is that an item is a piece of, and which piece, by its key.
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
