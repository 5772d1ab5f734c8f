package search

import (
	"math/bits"
	"slices"
)

// A liveSegment is a segment of which some notes are not there any more.
type liveSegment struct {
	*segment
	dead []uint64 // bits, by note; nil: none
	live int      // notes
}

// has reports whether a note is there.
func (l *liveSegment) has(doc int) bool {
	return l.dead == nil || l.dead[doc/64]&(1<<(doc%64)) == 0
}

// without is the layer without a note.
func (l liveSegment) without(doc int) liveSegment {
	dead := make([]uint64, (len(l.docs)+63)/64)
	copy(dead, l.dead)
	dead[doc/64] |= 1 << (doc % 64)
	return liveSegment{l.segment, dead, l.live - 1}
}

// remove takes a note out, if it is there. Only With calls it and what follows, on an index that
// nobody else has.
func (x *Index) remove(path string) {
	for i := range x.layers {
		l := &x.layers[i]
		if doc, ok := l.find(path); ok && l.has(doc) {
			x.totals.add(l.totals(doc), -1)
			*l = l.without(doc)
			return
		}
	}
}

// push takes the notes of a segment in, none of which is there.
func (x *Index) push(s *segment) {
	for doc := range s.docs {
		x.totals.add(s.totals(doc), 1)
	}
	x.layers = append(x.layers, liveSegment{s, nil, len(s.docs)})
}

// add adds one note to the sums, or takes it off.
func (t *totals) add(n totals, by int) {
	sign := uint64(by) // -1 wraps around, and so does the sum
	t.notes += by * n.notes
	t.units += by * n.units
	for i := range t.head {
		t.head[i] += sign * n.head[i]
		t.unit[i] += sign * n.unit[i]
	}
}

// mergeFactor is how many layers of about one size there may be before they are merged: a note is
// written again once for each time that the index grows by this factor.
const mergeFactor = 8

// settle keeps the layers few: it drops the empty ones, merges those behind a layer of which half
// is gone with it, and then any crowd of one size.
func (x *Index) settle() {
	x.layers = slices.DeleteFunc(x.layers, func(l liveSegment) bool { return l.live == 0 })
	for i, l := range x.layers {
		if 2*l.live < len(l.docs) {
			x.mergeFrom(i)
			break
		}
	}
	for i := x.crowded(); i >= 0; i = x.crowded() {
		x.mergeFrom(i)
	}
}

// crowded is where a crowd begins, the one of the largest layers; -1 if there is none.
func (x *Index) crowded() int {
	var count, first [bits.UintSize]int
	for i, l := range x.layers {
		r := rank(l.size())
		if count[r]++; count[r] == 1 {
			first[r] = i
		}
	}
	for r := len(count) - 1; r >= 0; r-- {
		if count[r] >= mergeFactor {
			return first[r]
		}
	}
	return -1
}

// rank says of what size a layer is: two of the same rank differ by less than the factor crowd, and
// all small ones are of one.
func rank(size int) int { return (bits.Len(uint(size/4096)) + 2) / 3 }

// mergeFrom merges the layers from one on.
func (x *Index) mergeFrom(i int) {
	s := merge(x.layers[i:])
	x.layers = append(x.layers[:i:i], liveSegment{s, nil, len(s.docs)})
}
