package repo

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
)

// PastLife is how long a past state is kept that nobody asks for.
const PastLife = pastLife

// Kept is how many past states are kept.
func (p *Pasts) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.kept)
}

// Held is about how many bytes the past states that are kept hold.
func (p *Pasts) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := int64(0)
	for _, s := range p.kept {
		held += s.size
	}
	return held
}

// DropTexts forgets all texts of the vault that are at hand.
func (v *Vault) DropTexts() { v.texts.dropAll(v.part) }

// Waiting is how many calls wait in the queue of a log.
func (l *Log[S]) Waiting() int {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	return len(l.queue.waiting)
}

// Waiting is how many calls wait in the queue of a vault.
func (v *Vault) Waiting() int { return v.log.Waiting() }

// Repack changes the parts of a stored run, whose payload is in the item, and leaves its header. A
// part that is changed, or new, has a new salt.
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

// OtherHead changes the head of an image, or the directory of a segment, which are laid out alike. Its
// length must stay.
func OtherHead(object []byte, change func(head []byte) []byte) []byte {
	size := int(binary.LittleEndian.Uint32(object[len(imageMagic):]))
	head := change(bytes.Clone(object[imageFront : imageFront+size]))
	changed := append(bytes.Clone(object[:imageFront]), head...)
	binary.LittleEndian.PutUint32(changed[imageFront-4:], crc32.Checksum(head, castagnoli()))
	return append(changed, object[imageFront+size:]...)
}

// GoOn puts an image of the newest state, calls between, and goes on from the image, however small it is.
func (v *Vault) GoOn(ctx context.Context, between func()) error {
	v.log.folding.Lock()
	defer v.log.folding.Unlock()
	h, found, err := v.searchedHead(ctx)
	if err != nil {
		return err
	}
	_, m, err := v.log.publish(ctx, h, found)
	if err != nil {
		return err
	}
	between()
	return v.goOnFrom(ctx, h, m)
}

// CachedTexts is how many entries the cache of texts has.
func (v *Vault) CachedTexts() int {
	v.texts.mu.Lock()
	defer v.texts.mu.Unlock()
	return v.texts.lru.Len()
}

// SealedImage makes an image of a state whose head names so many segments, and reads it.
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

// UnpackImageItems is all that an image is whose items have this data, unpacked.
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
