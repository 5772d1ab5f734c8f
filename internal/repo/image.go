package repo

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// An image is the state of a log at some commit, from which a process starts (log.md §4): one object, or
// items of the table (see imageitems.go). It holds nothing that the log does not: deleting every image loses
// nothing.
//
// It has a head, which says of which commit it is, and behind it sections, each with a format of its
// own: the state, the idempotency keys of the last day, and what a search needs. The state comes
// first, so that a start reads it and the head at once; the others are read when they are needed. The
// bytes of the state follow from the log alone.
//
// On disk: imageMagic; the length of the head and its CRC-32C, four bytes each with the lowest first; the
// head in JSON; the sections, each from an offset on that imageAlign divides, so that they can be used
// in place. The state and what a search needs have sums of their own, the head has that of the keys.

// imageFormat is the version of an image's head, and part of its name. A release reads the images of
// the one before too.
const imageFormat = 1

const (
	imagePrefix = "image/"
	imageMagic  = "RKIM"
	imageAlign  = 64
	imageFront  = len(imageMagic) + 8 // bytes in front of the head
)

// An Imaging makes images of a state.
type Imaging[S any] struct {
	Append func(b []byte, s S) []byte
	Read   func(data []byte) (S, error) // it may keep data

	// Format is the version of what Append writes. A release does not replace the images of a later one: see
	// Log.imageHeld. 0: there is one version only.
	Format int
}

// An Image is what the control item says of an image.
type Image struct {
	Format int       `json:"format"`
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"` // of the commit
	Head   int64     `json:"head"` // bytes that hold the head and the state
	Size   int64     `json:"size"`
	Until  time.Time `json:"until,omitzero"` // it may be deleted from then on; zero: it is kept
	At     time.Time `json:"at,omitzero"`    // when it was put
	Weight int64     `json:"weight,omitempty"`
	Items  int       `json:"items,omitempty"` // of the table, in which it is; 0: it is an object
	State  int       `json:"state,omitempty"` // the format of the state; 0: an earlier release did not say
}

// key is the key of the image's object, or what the keys of its items begin with.
func (i Image) key() string { return fmt.Sprintf("%s%d/%012d", imagePrefix, i.Format, i.Seq) }

// is reports whether two say the same of one image.
func (i Image) is(o Image) bool {
	same := i.Time.Equal(o.Time) && i.At.Equal(o.At) && i.Until.Equal(o.Until)
	for _, t := range []*time.Time{&i.Time, &i.At, &i.Until, &o.Time, &o.At, &o.Until} {
		*t = time.Time{}
	}
	return same && i == o
}

// An imageHead is what an image says of itself.
type imageHead struct {
	Format int       `json:"format"`
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"`
	Hash   []byte    `json:"hash"` // of the header that the next one joins
	Status Status    `json:"status"`
	State  int64     `json:"state"` // bytes
	Keys   int64     `json:"keys"`
	Search int64     `json:"search"` // 0: there is none

	Memories int64 `json:"memories,omitempty"` // what a search of memories needs; likewise

	KeysSum uint32 `json:"keys_sum"`         // CRC-32C
	Weight  int64  `json:"weight,omitempty"` // bytes of the log up to the commit

	Segments []uint64 `json:"segments,omitempty"` // the first commits of all that hold the log up to Folded
	Folded   uint64   `json:"folded,omitempty"`

	start int64 // where the state begins
}

// keysAt and searchAt are where the sections begin.
func (h imageHead) keysAt() int64   { return aligned(h.start + h.State) }
func (h imageHead) searchAt() int64 { return aligned(h.keysAt() + h.Keys) }

// memoriesAt is where the section begins that a search of memories needs.
func (h imageHead) memoriesAt() int64 { return aligned(h.searchAt() + h.Search) }

// aligned is the next offset at which a section may begin.
func aligned(n int64) int64 { return (n + imageAlign - 1) / imageAlign * imageAlign }

// errImage says that an object is not the image that it should be.
var errImage = errors.New("it is no image, or damaged")

// How many bytes are kept free in front of the sections for the head, which is written when they are there, for
// it has their sizes: so many, and for each segment that it names as many as a number has at most.
const (
	imageLead   = 1024
	segmentLead = len("18446744073709551615,")
)

// A draftImage is an image that is written, in one piece of memory.
type draftImage struct {
	b    []byte
	lead int64
}

// newDraftImage makes an image with room for about so many bytes of sections. Its head names so many segments.
func newDraftImage(room int64, segments int) *draftImage {
	lead := aligned(int64(imageLead + segmentLead*segments))
	return &draftImage{make([]byte, lead, lead+room+2*imageAlign), lead}
}

// section appends a section, and returns how many bytes it has.
func (d *draftImage) section(add func(b []byte) []byte) int64 {
	start := aligned(int64(len(d.b)))
	d.b = add(append(d.b, make([]byte, start-int64(len(d.b)))...))
	return int64(len(d.b)) - start
}

// seal writes the head in front of the sections, and returns the whole image.
func (d *draftImage) seal(h *imageHead) ([]byte, error) {
	head, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the head of an image: %w", err)
	}
	h.start = aligned(int64(imageFront + len(head)))
	if h.start > d.lead {
		return nil, fmt.Errorf("the head of an image has %d bytes", len(head))
	}
	image := d.b[d.lead-h.start:]
	copy(image, imageMagic)
	binary.LittleEndian.PutUint32(image[len(imageMagic):], uint32(len(head)))
	binary.LittleEndian.PutUint32(image[imageFront-4:], crc32.Checksum(head, castagnoli()))
	copy(image[imageFront:], head)
	return image, nil
}

// imageHeadSize is how many bytes of an image hold its head, by its first bytes; 0 of what is no image.
func imageHeadSize(data []byte) int64 {
	if len(data) < imageFront || string(data[:len(imageMagic)]) != imageMagic {
		return 0
	}
	return int64(imageFront) + int64(binary.LittleEndian.Uint32(data[len(imageMagic):]))
}

// readImageHead reads the head of the image that begins so.
func readImageHead(data []byte) (imageHead, error) {
	var h imageHead
	if len(data) < imageFront || string(data[:len(imageMagic)]) != imageMagic {
		return h, errImage
	}
	size := int64(binary.LittleEndian.Uint32(data[len(imageMagic):]))
	if size > int64(len(data)-imageFront) {
		return h, errImage
	}
	text := data[imageFront : int64(imageFront)+size]
	if crc32.Checksum(text, castagnoli()) != binary.LittleEndian.Uint32(data[imageFront-4:]) {
		return h, errImage
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("decode the head of an image: %w", err)
	}
	if h.Format != imageFormat {
		return h, errFormat
	}
	h.start = aligned(int64(imageFront) + size)
	if h.State < 0 || h.Keys < 0 || h.Search < 0 || h.Memories < 0 {
		return h, errImage
	}
	return h, nil
}

// open reads an image's head and state.
func (l *Log[S]) open(ctx context.Context, i Image) (head[S], *base, error) {
	data, rest, err := l.front(ctx, i)
	if err != nil {
		return head[S]{}, nil, fmt.Errorf("read an image: %w", err)
	}
	h, err := readImageHead(data)
	if err == nil && (h.Seq != i.Seq || h.State > int64(len(data))-h.start) {
		err = errImage
	}
	if err != nil {
		return head[S]{}, nil, err
	}
	state, err := l.opt.Imaging.Read(data[h.start : h.start+h.State : h.start+h.State])
	if err != nil {
		return head[S]{}, nil, fmt.Errorf("read the state of an image: %w", err)
	}
	return head[S]{
		state: state, seq: h.Seq, time: h.Time, hash: h.Hash, status: h.Status, weight: h.Weight,
	}, &base{i, h, rest}, nil
}

// front reads the bytes of an image that hold its head and state. Of one in items the rest comes with them.
func (l *Log[S]) front(ctx context.Context, i Image) ([]byte, *packedImage, error) {
	if i.Items > 0 {
		return l.readImageItems(ctx, i)
	}
	data, _, err := l.opt.Bucket.Get(ctx, i.key(), 0, i.Head)
	return data, nil, err
}

// nearest is the newest image at or before a commit, of those that are kept.
func (c Control) nearest(seq uint64) (Image, bool) {
	var found Image
	for _, i := range c.Images {
		if i.Seq <= seq && i.Seq > found.Seq {
			found = i
		}
	}
	if c.Image != nil && c.Image.Seq <= seq && c.Image.Seq > found.Seq {
		found = *c.Image
	}
	return found, found.Seq > 0
}
