package search

import "slices"

// appendTerm appends the occurrences of a term in documents that are not deleted, and returns the
// number of these documents. If rows is not nil, it does not append occurrences in documents
// whose row is 0, but counts the documents.
func (g *gatherer) appendTerm(l *liveSegment, term int, weight float32, rows []int32) (docs int) {
	data := part(l.lists, l.listEnds, term)
	list, widths, docOf, first := g.arena, l.widths(), l.docOf, &g.first.weights
	if rows == nil {
		list = slices.Grow(list, len(data)) // a posting takes at least one byte
	}
	// The postings are decoded here and not with a postingReader, because this is the innermost
	// loop of a query.
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
