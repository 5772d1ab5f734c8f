package eventlog

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// An image is a snapshot of the state of a log after some commit, from which a process starts
// (log.md §4). It is one object, or items of the table (see imageitems.go). It is derived from the
// log alone: deleting all images loses nothing.
//
// An image has a head, which names its commit, and sections, each with a format of its own: the
// state, the idempotency keys of the last day, and the search indexes. The state comes first, so
// that a start reads it with the head in one request; the other sections are read when needed. The
// bytes of the state depend only on the log.
//
// Format: imageMagic; the length of the head and its CRC-32C, as 32-bit little-endian numbers; the
// head in JSON; the sections. Each section begins at a multiple of imageAlign, so that it can be
// used in place. The state and the search indexes contain their own checksums; that of the keys is
// in the head.

// imageFormat is the version of the head of an image, and part of its name. A release must also
// read the images of the release before.
const imageFormat = 1

const (
	imagePrefix = "image/"
	imageMagic  = "RKIM"
	imageAlign  = 64
	imageFront  = len(imageMagic) + 8 // bytes before the head
)

// An Imaging encodes a state into images and decodes it.
type Imaging[S any] struct {
	// Draw encodes a state. The bytes must depend only on the state.
	Draw func(s S) Drawing
	Read func(data []byte) (S, error) // the state may keep references to data

	// Format is the version of the encoding of Draw. A release does not replace images of a later
	// version; see Log.imageHeld. 0: there is only one version.
	Format int
}

// A SectionName names a section that an image has in addition to the state and the keys. The log
// stores these sections for its user and does not interpret them.
type SectionName int

// The sections, in the order in which an image contains them.
const (
	SearchSection   SectionName = iota // of a vault: the search index of notes
	MemoriesSection                    // of a vault: the search index of memories
	sectionCount
)

// A Section writes a section into an image.
type Section struct {
	Size   int64                 // the most bytes that Append appends
	Append func(b []byte) []byte // appends the section to b; nil: the image does not have the section
}

// Sections are the sections of an image, by SectionName. The zero value is an image without any.
type Sections [sectionCount]Section

// A Drawing is an encoded state that may still be in several pieces of memory. Its size is known
// before memory is allocated for the whole image, which could otherwise be twice as large while it
// grows.
type Drawing interface {
	Size() int64            // the exact number of bytes that Append appends
	Append(b []byte) []byte // appends the encoded state to b; it is called once
}

// Drawn is a Drawing in one piece.
type Drawn []byte

// Size implements Drawing.
func (d Drawn) Size() int64 { return int64(len(d)) }

// Append implements Drawing.
func (d Drawn) Append(b []byte) []byte { return append(b, d...) }

// An Image is the description of an image in the control item.
type Image struct {
	Format int       `json:"format"`
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"`             // of the commit
	Head   int64     `json:"head"`             // bytes of the head and the state
	Size   int64     `json:"size"`             // bytes of the whole image
	Until  time.Time `json:"until,omitzero"`   // it may be deleted from then on; zero: it is kept
	At     time.Time `json:"at,omitzero"`      // when it was written
	Weight int64     `json:"weight,omitempty"` // bytes of the log up to the commit
	Items  int       `json:"items,omitempty"`  // number of table items that contain it; 0: it is an object
	State  int       `json:"state,omitempty"`  // format of the state; 0: written by a release that did not record it
}

// key returns the key of the image's object, or the prefix of the keys of its items.
func (i Image) key() string { return fmt.Sprintf("%s%d/%012d", imagePrefix, i.Format, i.Seq) }

// is reports whether both describe the same image in the same way.
func (i Image) is(o Image) bool {
	same := i.Time.Equal(o.Time) && i.At.Equal(o.At) && i.Until.Equal(o.Until)
	for _, t := range []*time.Time{&i.Time, &i.At, &i.Until, &o.Time, &o.At, &o.Until} {
		*t = time.Time{}
	}
	// Times are compared with Equal and cleared, because == also compares their locations.
	return same && i == o
}

// An imageHead is the head of an image. It is stored in JSON.
type imageHead struct {
	Format int       `json:"format"`
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"`
	Hash   []byte    `json:"hash"` // of the last run's header, to which the next run is chained
	Status Status    `json:"status"`
	State  int64     `json:"state"` // bytes of the section
	Keys   int64     `json:"keys"`
	Search int64     `json:"search"` // bytes of the SearchSection; 0: there is none

	Memories int64 `json:"memories,omitempty"` // bytes of the MemoriesSection; 0: there is none

	KeysSum uint32 `json:"keys_sum"`         // CRC-32C of the section
	Weight  int64  `json:"weight,omitempty"` // bytes of the log up to the commit

	Segments []uint64 `json:"segments,omitempty"` // first commits of the segments that contain the log up to Folded
	Folded   uint64   `json:"folded,omitempty"`

	start int64 // offset of the state
}

// keysAt returns the offset of the section with the keys.
func (h imageHead) keysAt() int64 { return aligned(h.start + h.State) }

// section returns the offset and the size of a section; its size is 0 if there is none.
func (h imageHead) section(name SectionName) (at, size int64) {
	at = aligned(h.keysAt() + h.Keys)
	if name == SearchSection {
		return at, h.Search
	}
	return aligned(at + h.Search), h.Memories
}

// setSection records the size of a section.
func (h *imageHead) setSection(name SectionName, size int64) {
	if name == SearchSection {
		h.Search = size
	} else {
		h.Memories = size
	}
}

// aligned returns the first offset from n on at which a section may begin.
func aligned(n int64) int64 { return (n + imageAlign - 1) / imageAlign * imageAlign }

// errImage is the error of data that is not the expected image.
var errImage = errors.New("it is not an image, or damaged")

// The head is written last, because it contains the sizes of the sections. imageLead bytes are
// reserved for it before the sections, and segmentLead bytes for each segment that it names.
const (
	imageLead   = 1024
	segmentLead = len("18446744073709551615,")
)

// A draftImage is an image under construction, in one buffer.
type draftImage struct {
	b    []byte
	lead int64
}

// maxSections is the largest number of sections of an image.
const maxSections = 2 + int64(sectionCount)

// newDraftImage returns an empty image with memory for sections of so many bytes in all, and for a
// head that names so many segments.
func newDraftImage(size int64, segments int) *draftImage {
	lead := aligned(int64(imageLead + segmentLead*segments))
	return &draftImage{make([]byte, lead, lead+size+maxSections*imageAlign), lead}
}

// section appends a section, which add writes, and returns its size in bytes.
func (d *draftImage) section(add func(b []byte) []byte) int64 {
	start := aligned(int64(len(d.b)))
	d.b = add(append(d.b, make([]byte, start-int64(len(d.b)))...))
	return int64(len(d.b)) - start
}

// seal writes the head before the sections, and returns the whole image.
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

// imageHeadSize returns how many bytes at the beginning of an image contain its head, from its
// first bytes; 0 if data is not an image.
func imageHeadSize(data []byte) int64 {
	if len(data) < imageFront || string(data[:len(imageMagic)]) != imageMagic {
		return 0
	}
	return int64(imageFront) + int64(binary.LittleEndian.Uint32(data[len(imageMagic):]))
}

// readImageHead decodes the head of an image. data must contain the whole head. It returns errImage
// for other data, and errFormat for an image of another format.
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

// open reads the head and the state of an image, for an object with one request. The returned head
// has no control item. It returns errImage if the data is not that of the described image, and
// errFormat if a later release wrote it. The state may keep references to the data that was read.
func (l *Log[S]) open(ctx context.Context, i Image) (head[S], *OpenImage, error) {
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
	}, &OpenImage{i, h, rest}, nil
}

// front reads the head and the state of an image. For an image in items, the other sections come
// with them.
func (l *Log[S]) front(ctx context.Context, i Image) ([]byte, *packedImage, error) {
	if i.Items > 0 {
		return l.readImageItems(ctx, i)
	}
	data, _, err := l.opt.Bucket.Get(ctx, i.key(), 0, i.Head)
	return data, nil, err
}

// An OpenImage is an image whose head was read. Its other sections are read when they are needed.
type OpenImage struct {
	image Image
	head  imageHead
	rest  *packedImage // other sections of an image in items; nil: it is an object
}

// Seq returns the commit of the image.
func (o *OpenImage) Seq() uint64 { return o.head.Seq }

// Has reports whether the image has a section.
func (o *OpenImage) Has(name SectionName) bool {
	_, size := o.head.section(name)
	return size > 0
}

// ReadState reads the state of an image. It returns blob.ErrNotExist if the image no longer exists. The
// state may keep references to the data that was read.
func (l *Log[S]) ReadState(ctx context.Context, from *OpenImage) (S, error) {
	h, _, err := l.open(ctx, from.image)
	return h.state, err
}

// ReadSection reads a section that an image has. It returns blob.ErrNotExist if the image no longer
// exists. Whether the bytes are intact is for the caller to check.
func (l *Log[S]) ReadSection(ctx context.Context, from *OpenImage, name SectionName) ([]byte, error) {
	at, size := from.head.section(name)
	if from.rest != nil {
		return l.code.unpackSection(from.rest.sections[name], size)
	}
	data, _, err := l.opt.Bucket.Get(ctx, from.image.key(), at, size)
	return data, err
}

// ImageBefore returns the newest image that is not after a commit. It reads the control item and
// the head of the image. It returns an error if there is no such image or it cannot be read.
func (l *Log[S]) ImageBefore(ctx context.Context, seq uint64) (*OpenImage, error) {
	c, err := l.Control(ctx)
	if err != nil {
		return nil, err
	}
	i, ok := c.nearest(seq)
	if !ok {
		return nil, errImage
	}
	return l.BaseOf(ctx, i)
}

// ImageMemory returns how many bytes of memory the compressed sections take that came with the
// image from which the state was read. It does no I/O.
func (l *Log[S]) ImageMemory() int64 {
	if from := l.base.Load(); from != nil {
		return from.rest.size()
	}
	return 0
}

// nearest returns the newest image at or before a commit; false if there is none.
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
