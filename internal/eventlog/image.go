package eventlog

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
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
	Draw func(s S) blob.Pieces
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

// Sections are the encoded sections of an image, by SectionName. The image does not have those that
// are empty.
type Sections [sectionCount]blob.Pieces

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

// aligned returns the first offset from n on at which a section may begin.
func aligned(n int64) int64 { return (n + imageAlign - 1) / imageAlign * imageAlign }

// errImage is the error of data that is not the expected image.
var errImage = errors.New("it is not an image, or damaged")

// A drawnImage is an image that was encoded, in pieces of memory: a copy of it in one piece would be the
// largest object of the process.
type drawnImage struct {
	imageHead
	lead     []byte // all bytes before the state
	state    blob.Pieces
	keys     []byte
	sections Sections
}

// seal records the sizes of the sections in the head, and encodes it.
func (m *drawnImage) seal() error {
	m.State, m.Keys = m.state.Size(), int64(len(m.keys))
	m.Search, m.Memories = m.sections[SearchSection].Size(), m.sections[MemoriesSection].Size()
	head, err := json.Marshal(m.imageHead)
	if err != nil {
		return fmt.Errorf("encode the head of an image: %w", err)
	}
	m.start = aligned(int64(imageFront + len(head)))
	m.lead = append(make([]byte, 0, m.start), imageMagic...)
	m.lead = binary.LittleEndian.AppendUint32(m.lead, uint32(len(head)))
	m.lead = binary.LittleEndian.AppendUint32(m.lead, crc32.Checksum(head, castagnoli()))
	m.lead = append(m.lead, head...)[:m.start]
	return nil
}

// front returns the head and the state.
func (m *drawnImage) front() blob.Pieces { return append(blob.Pieces{m.lead}, m.state...) }

// whole returns the image. The last section has nothing behind it.
func (m *drawnImage) whole() blob.Pieces {
	all, size := m.front(), m.start+m.State
	for _, section := range append([]blob.Pieces{{m.keys}}, m.sections[:]...) {
		if n := section.Size(); n > 0 {
			all = append(append(all, make([]byte, aligned(size)-size)), section...)
			size = aligned(size) + n
		}
	}
	return all
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
