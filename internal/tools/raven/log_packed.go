package raven

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"

	"github.com/rookeryhq/rookery/internal/repo"
)

const (
	// largeEvents is how many bytes of events a commit has at least whose entries are remembered.
	largeEvents = 64 << 10

	// packedEntries is the number of entries that are packed together. A page unpacks one or two
	// blocks of them.
	packedEntries = 128
)

// A packedLog is what is remembered of a large commit: its entries in their order, so that the next
// page need not decode and sort the events of the whole commit.
type packedLog struct {
	paths  []string // of the notes
	blocks [][]byte // of packedEntries entries each, see repo.PackDerived
	count  int      // number of entries
}

// A block consists of the entries one behind the other: the number of the note in paths, plus 1,
// and the length of the event, as varints, and the event in JSON. For the entry of an erasure, which
// belongs to no note, both numbers are 0.

// size returns about how many bytes the log takes.
func (p *packedLog) size() int64 {
	n := 0
	for _, path := range p.paths {
		n += len(path) + 16
	}
	for _, block := range p.blocks {
		n += cap(block) + 24
	}
	return int64(n)
}

// packing is about how many times smaller events are when they are packed.
const packing = 4

// remember adds the entries of a large commit to the cache, if they fit.
func (l *commitLog) remember(known repo.Derivations) {
	size := 0
	for i := range l.commit.Notes {
		size += len(l.commit.Notes[i].Events)
	}
	if l.packed != nil || size < largeEvents || !known.Fits(int64(size/packing)) {
		return
	}
	// Events that cannot be decoded are not remembered; who reads them gets the error.
	if p, err := l.pack(); err == nil {
		known.Add(l.commit, p, p.size())
	}
}

// pack returns the entries of a commit, packed.
func (l *commitLog) pack() (*packedLog, error) {
	p := &packedLog{count: len(l.heads)}
	numbers := map[*noteEvents]uint64{nil: 0}
	var block []byte
	for i, h := range l.heads {
		number, known := numbers[h.events]
		if !known {
			p.paths = append(p.paths, h.events.path)
			number = uint64(len(p.paths))
			numbers[h.events] = number
		}
		block = binary.AppendUvarint(block, number)
		var event json.RawMessage
		if h.events != nil {
			var err error
			if event, err = h.events.one(h.at); err != nil {
				return nil, l.unreadable(err)
			}
		}
		block = binary.AppendUvarint(block, uint64(len(event)))
		if block = append(block, event...); (i+1)%packedEntries == 0 || i+1 == len(l.heads) {
			p.blocks = append(p.blocks, repo.PackDerived(block))
			block = block[:0]
		}
	}
	return p, nil
}

// remembered returns the entries of a commit that are in the cache; false if they are not.
func remembered(known repo.Derivations, seq uint64) (*commitLog, bool) {
	c, value, _ := known.Of(seq)
	p, ok := value.(*packedLog)
	if !ok {
		return nil, false
	}
	l := newCommitLog(c)
	l.packed = p
	return l, true
}

// unpacked yields the remembered entries after the first `passed`. It ends with the first error.
func (l *commitLog) unpacked(passed int) iter.Seq2[logRecord, error] {
	return func(yield func(logRecord, error) bool) {
		for passed < l.packed.count {
			heads, err := l.packed.block(passed / packedEntries)
			if err != nil {
				yield(logRecord{}, l.unreadable(err))
				return
			}
			for _, h := range heads[passed%packedEntries:] {
				passed++
				if !yield(l.entry(passed, h), nil) {
					return
				}
			}
		}
	}
}

// block returns the entries of a block.
func (p *packedLog) block(at int) ([]logHead, error) {
	data, err := repo.UnpackDerived(p.blocks[at])
	if err != nil {
		return nil, err
	}
	heads := make([]logHead, 0, packedEntries)
	for len(data) > 0 {
		number, n := binary.Uvarint(data)
		size, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 || number > uint64(len(p.paths)) || size > uint64(len(data)-n-m) {
			return nil, errors.New("a block of packed events is damaged")
		}
		event := data[n+m : n+m+int(size)]
		data = data[n+m+int(size):]
		h := logHead{eventHead: eventHead{Op: "erase"}}
		if number > 0 {
			h = logHead{events: &noteEvents{path: p.paths[number-1], each: []json.RawMessage{event}}}
			if err := json.Unmarshal(event, &h.eventHead); err != nil {
				return nil, err
			}
		}
		heads = append(heads, h)
	}
	return heads, nil
}
