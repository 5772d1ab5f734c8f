package search

import "encoding/binary"

// A slot is a place in a segment that postings point to: each note has one for itself, its head,
// and behind it one for each of its units. The fields of a head are its title, its path and what
// else it is called; those of a unit its body and its heading. See Profile for those of a memory.
const (
	fieldTitle = 0
	fieldPath  = 1
	fieldAlso  = 2

	fieldBody    = 0
	fieldHeading = 1

	fields = 3

	fieldAuthor = 0 // of a memory
	fieldNamed  = 1
	fieldDate   = 2
	fieldText   = 0
	fieldFacts  = 1
)

// A posting says how often a term stands in the fields of a slot.
type posting struct {
	slot   uint32
	counts [fields]uint32
}

// How a posting is written: a varint of the distance to the slot before, with one of these in its
// low bits, and what they say that follows.
const (
	onceInFirst  = 0 // in field 0, once
	timesInFirst = 1 // in field 0, the count follows
	onceInSecond = 2 // in field 1, once
	counted      = 3 // all counts follow
)

// A postingList is the postings of one term, by slot, as they are kept.
type postingList struct {
	data []byte
	next uint32 // the slot behind the last one
}

// add appends a posting. Its slot is behind all others.
func (l *postingList) add(p posting) {
	distance := uint64(p.slot-l.next) << 2
	l.next = p.slot + 1
	switch c := p.counts; {
	case c == [fields]uint32{1, 0, 0}:
		l.put(distance | onceInFirst)
	case c == [fields]uint32{0, 1, 0}:
		l.put(distance | onceInSecond)
	case c[1] == 0 && c[2] == 0:
		l.put(distance|timesInFirst, uint64(c[0]))
	default:
		l.put(distance|counted, uint64(c[0]), uint64(c[1]), uint64(c[2]))
	}
}

func (l *postingList) put(numbers ...uint64) {
	for _, n := range numbers {
		l.data = binary.AppendUvarint(l.data, n)
	}
}

// A postingReader reads a posting list. A list of an image is checked as it is read: it ends where
// it is damaged, and its slots ascend and are slots of the segment, whatever it says.
type postingReader struct {
	data  string
	slots uint64 // that the segment has
	next  uint64 // the slot behind the last one
	posting
}

// read reads one posting, if there is one left.
func (r *postingReader) read() bool {
	if len(r.data) == 0 {
		return false
	}
	head := r.uvarint()
	slot := r.next + head>>2
	if slot >= r.slots {
		r.data = ""
		return false
	}
	r.slot, r.next = uint32(slot), slot+1
	switch head & 3 {
	case onceInFirst:
		r.counts = [fields]uint32{1, 0, 0}
	case onceInSecond:
		r.counts = [fields]uint32{0, 1, 0}
	case timesInFirst:
		r.counts = [fields]uint32{uint32(r.uvarint()), 0, 0}
	default:
		for i := range r.counts {
			r.counts[i] = uint32(r.uvarint())
		}
	}
	return true
}

func (r *postingReader) uvarint() uint64 {
	var n uint64
	for shift := 0; len(r.data) > 0; shift += 7 {
		c := r.data[0]
		r.data = r.data[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	return n
}
