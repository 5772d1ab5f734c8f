package eventlog

import (
	"bytes"

	"github.com/rookeryhq/rookery/internal/blob"
)

// Waiting returns the number of calls in the queue of a log.
func (l *Log[S]) Waiting() int {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	return len(l.queue.waiting)
}

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
		texts = append(texts, bytes.Clone(p.Data))
	}
	var changed []Part
	for i, data := range change(texts) {
		p := newPart(0)
		p.Data = data
		if i < len(parts) && bytes.Equal(data, parts[i].Data) {
			p = parts[i]
		}
		changed = append(changed, p)
	}
	packed, _ := c.pack(changed)
	return append(item[:len(item)-len(inline):len(item)-len(inline)], packed...), nil
}

// SealedImage builds an image of a state whose head names the given number of segments, and decodes
// it.
func SealedImage(segments int, state []byte) (names int, same bool, err error) {
	m := drawnImage{imageHead: imageHead{Format: imageFormat, Seq: 1}, state: blob.Pieces{state}}
	for i := range segments {
		m.Segments = append(m.Segments, uint64(i)*1_000_000)
	}
	if err := m.seal(); err != nil {
		return 0, false, err
	}
	data := m.whole().Join()
	read, err := readImageHead(data)
	if err != nil {
		return 0, false, err
	}
	return len(read.Segments), bytes.Equal(data[read.start:read.start+read.State], state), nil
}
