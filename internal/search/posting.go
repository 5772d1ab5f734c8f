package search

import (
	"encoding/binary"
	"slices"
)

// A slot is a position in a segment that postings refer to. Each note has one slot for itself,
// its head, followed by one for each of its passages. The fields of a head are the title, the
// path and the keywords (Note.Keywords) of the note; those of a passage are its body and its heading.
// See Memories for the fields of a memory.
// The fields of a slot. Fields of the head and of the passage use the same numbers.
const (
	fieldTitle    = 0
	fieldPath     = 1
	fieldKeywords = 2

	fieldBody    = 0
	fieldHeading = 1

	fields = 3

	fieldAuthor = 0 // head of a memory
	fieldName   = 1
	fieldDate   = 2
	fieldText   = 0 // passage of a memory
	fieldFacts  = 1
)

// A posting is the number of occurrences of a term in each field of a slot.
type posting struct {
	slot   uint32
	counts [fields]uint32
}

// The encoding of a posting: a varint with the distance to the previous slot, shifted left by two
// bits, and one of these kinds in the low bits. The counts that the kind asks for follow as
// varints.
const (
	onceInFirst  = 0 // once in field 0
	timesInFirst = 1 // only in field 0; the count follows
	onceInSecond = 2 // once in field 1
	counted      = 3 // all counts follow
)

// A postingList is the encoded list of the postings of one term, ordered by slot.
type postingList struct {
	data []byte
	next uint32 // the slot after the last one
}

// add appends a posting. Its slot must be greater than all slots in the list.
//
// A term that occurs once in the first field of adjacent slots needs one byte for each posting.
func (l *postingList) add(p posting) {
	// Adjacent slots have distance 0.
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

// put appends varints.
func (l *postingList) put(numbers ...uint64) {
	for _, n := range numbers {
		l.data = binary.AppendUvarint(l.data, n)
	}
}

// A postingReader decodes a list of postings. It accepts damaged data, as an image can contain:
// it stops at a slot that the segment does not have, and the slots that it returns always ascend.
type postingReader struct {
	data  string
	slots uint64 // number of slots of the segment
	next  uint64 // the slot after the last one
	posting
}

// read decodes the next posting. It returns false at the end of the list.
func (r *postingReader) read() bool {
	if len(r.data) == 0 {
		return false
	}
	head := r.uvarint()
	slot := r.next + head>>2
	// The list is damaged.
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

// uvarint decodes a number. If the data ends inside it, the result consists of the bits so far.
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

// appendTerm appends the occurrences of a term in documents that are not deleted, and returns the
// number of these documents. If rows is not nil, it does not append occurrences in documents
// whose row is 0, but counts the documents. It decodes the postings itself and not with a
// postingReader, because its loop is the innermost one of a query.
func (g *gatherer) appendTerm(l *liveSegment, term int, weight float32, rows []int32) (docs int) {
	data := part(l.lists, l.listEnds, term)
	list, widths, docOf, first := g.arena, l.widths(), l.docOf, &g.first.weights
	if rows == nil {
		list = slices.Grow(list, len(data)) // a posting takes at least one byte
	}
	next, before := uint64(0), deletedSlot
	for at := 0; at < len(data); {
		var head, times uint64
		end := 0
		// Most postings have occurrences in the first field only, a head of at most two bytes, and a
		// number of occurrences of one byte. About half of the heads have two bytes, and half of the
		// postings have a number. Both cases are computed without branches, which the processor would
		// predict wrongly.
		if rest := data[at:]; len(rest) > 2 {
			a, b, c := uint64(rest[0]), uint64(rest[1]), uint64(rest[2])
			isLong, isCounted := a>>7, a&timesInFirst
			n := b ^ (b^c)&-isLong
			if a&2|isLong&(b>>7)|isCounted&(n>>7) == 0 {
				// The next offset depends on one byte only, so that reads can overlap.
				head, times, end = a&0x7f|b<<7&-isLong, 1+(n-1)&-isCounted, at+1+int(isLong+isCounted)
			}
		}
		var counts [fields]uint32
		if end == 0 {
			head, times, counts, end = postingAt(data, at)
		}
		slot := next + head>>2
		if slot >= uint64(len(widths)) {
			break // the data is damaged
		}
		at, next = end, slot+1
		doc := docOf[slot]
		if l.dead != nil && !l.has(int(doc)) {
			continue
		}
		if doc != before {
			docs++
			before = doc
		}
		if rows != nil && rows[doc] == 0 {
			continue
		}
		width := widths[slot]
		if times-1 < fewTimes && width < wide {
			worth := first[times-1][width]
			if worth == 0 {
				worth = float32(g.norms.count(&l.slots[slot], &[fields]uint32{uint32(times)}))
				first[times-1][width] = worth
			}
			list = append(list, weighted{uint32(slot), weight * worth})
			continue
		}
		counts[0] += uint32(times)
		list = append(list, weighted{uint32(slot), weight * float32(g.norms.count(&l.slots[slot], &counts))})
	}
	g.arena = list
	return docs
}

// postingAt decodes a posting at an offset. It returns the head, the number of occurrences in the
// first field or, if there are others, all counts, and the offset after the posting.
func postingAt(data string, at int) (head, times uint64, counts [fields]uint32, end int) {
	head, at = longUvarint(data, at)
	switch head & 3 {
	case onceInFirst:
		times = 1
	case timesInFirst:
		times, at = longUvarint(data, at)
	case onceInSecond:
		counts[1] = 1
	default:
		for i := range counts {
			var n uint64
			n, at = longUvarint(data, at)
			counts[i] = uint32(n)
		}
	}
	return head, times, counts, at
}

// longUvarint reads a varint at an offset, and returns the offset after it. If the data ends
// inside the number, the result consists of the bits so far.
func longUvarint(data string, at int) (n uint64, end int) {
	for shift := 0; at < len(data); shift += 7 {
		c := data[at]
		at++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	return n, at
}
