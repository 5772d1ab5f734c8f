package repo

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"

	"github.com/rookeryhq/rookery/internal/index"
)

// PastLife is how long an unused past state is cached.
const PastLife = pastLife

// Kept returns the number of cached past states.
func (p *SnapshotCache) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.kept)
}

// Held returns about how many bytes the cached past states take.
func (p *SnapshotCache) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := int64(0)
	for _, s := range p.kept {
		held += s.size
	}
	return held
}

// DropTexts removes all texts of the vault from the cache.
func (v *Vault) DropTexts() { v.texts.dropAll(v.part) }

// Waiting returns the number of calls in the queue of a log.
func (l *Log[S]) Waiting() int {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	return len(l.queue.waiting)
}

// Waiting returns the number of calls in the queue of a vault.
func (v *Vault) Waiting() int { return v.log.Waiting() }

// Repack changes the parts of a stored run, whose payload is in the item, and keeps its header.
// Changed and new parts get new salts.
func Repack(item []byte, change func(parts [][]byte) [][]byte) ([]byte, error) {
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	_, inline, err := readItem(item)
	if err != nil {
		return nil, err
	}
	parts, err := c.unpack(inline)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, p := range parts {
		texts = append(texts, bytes.Clone(p.data))
	}
	var changed []part
	for i, data := range change(texts) {
		p := newPart(0)
		p.data = data
		if i < len(parts) && bytes.Equal(data, parts[i].data) {
			p = parts[i]
		}
		changed = append(changed, p)
	}
	packed, _ := c.pack(changed)
	return append(item[:len(item)-len(inline):len(item)-len(inline)], packed...), nil
}

// OtherHead changes the head of an image or the directory of a segment, which have the same format.
// The length must stay the same.
func OtherHead(object []byte, change func(head []byte) []byte) []byte {
	size := int(binary.LittleEndian.Uint32(object[len(imageMagic):]))
	head := change(bytes.Clone(object[imageFront : imageFront+size]))
	changed := append(bytes.Clone(object[:imageFront]), head...)
	binary.LittleEndian.PutUint32(changed[imageFront-4:], crc32.Checksum(head, castagnoli()))
	return append(changed, object[imageFront+size:]...)
}

// GoOn makes a pass that writes an image of the newest state, calls between, and continues from the
// image, however small it is.
func (v *Vault) GoOn(ctx context.Context, between func()) error {
	return v.log.CompactWith(ctx, Compaction{All: true}, Pass[*index.Index]{
		Newest: v.searchedHead,
		Published: func(ctx context.Context, s Snapshot[*index.Index], m *BuiltImage) error {
			between()
			return v.goOnFrom(ctx, s, m)
		},
	})
}

// CachedTexts returns the number of entries in the cache of texts.
func (v *Vault) CachedTexts() int {
	v.texts.mu.Lock()
	defer v.texts.mu.Unlock()
	return v.texts.lru.Len()
}

// SealedImage builds an image of a state whose head names the given number of segments, and decodes
// it.
func SealedImage(segments int, state []byte) (names int, same bool, err error) {
	d := newDraftImage(int64(len(state)), segments)
	h := imageHead{Format: imageFormat, Seq: 1}
	for i := range segments {
		h.Segments = append(h.Segments, uint64(i)*1_000_000)
	}
	h.State = d.section(func(b []byte) []byte { return append(b, state...) })
	data, err := d.seal(&h)
	if err != nil {
		return 0, false, err
	}
	read, err := readImageHead(data)
	if err != nil {
		return 0, false, err
	}
	return len(read.Segments), bytes.Equal(data[read.start:read.start+read.State], state), nil
}

// UnpackImageItems returns the decompressed sections of an image in items with this data.
func UnpackImageItems(items ...[]byte) ([]byte, error) {
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	var packed, all []byte
	for _, data := range items {
		packed = append(packed, data[imageItemFront:]...)
	}
	r := keyReader{data: packed}
	for len(r.data) > 0 {
		section, err := c.dec.DecodeAll(r.bytes(), nil)
		if err != nil {
			return nil, err
		}
		all = append(all, section...)
	}
	return all, r.err
}
