package search

import (
	"math/bits"
	"slices"
)

// A liveSegment is a segment, with marks on its deleted documents.
type liveSegment struct {
	*segment
	dead []uint64 // bit set of deleted documents; nil: none
	live int      // number of documents that are not deleted
}

// has reports whether a document is not deleted.
func (l *liveSegment) has(doc int) bool {
	return l.dead == nil || l.dead[doc/64]&(1<<(doc%64)) == 0
}

// without returns a copy of the layer with one more document deleted, which must not have been
// deleted before.
func (l liveSegment) without(doc int) liveSegment {
	// The bit set is copied, because earlier indexes share the layer.
	dead := make([]uint64, (len(l.docs)+63)/64)
	copy(dead, l.dead)
	dead[doc/64] |= 1 << (doc % 64)
	return liveSegment{l.segment, dead, l.live - 1}
}

// remove marks a document as deleted, if it exists. remove, push and settle change the index, so
// only With and its like call them, on an index that is not shared yet.
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

// push appends a segment as a new layer. None of its documents must be in another layer.
func (x *Index) push(s *segment) {
	for doc := range s.docs {
		x.totals.add(s.totals(doc), 1)
	}
	x.layers = append(x.layers, liveSegment{s, nil, len(s.docs)})
}

// add adds the sums of a document by times; by is 1 or -1.
func (t *totals) add(n totals, by int) {
	sign := uint64(by) // -1 wraps around, and so does the sum
	t.notes += by * n.notes
	t.units += by * n.units
	for i := range t.head {
		t.head[i] += sign * n.head[i]
		t.unit[i] += sign * n.unit[i]
	}
}

// mergeFactor is the number of layers of about the same size that triggers their merge. So a
// document is written again once for each time that the index grows by this factor.
const mergeFactor = 8

// mostDeleted is the share of deleted documents from which a layer is merged: one in so many. So an
// index takes at most a third more memory than its documents need, and a document is written again
// three times at most for each one that is replaced.
const mostDeleted = 4

// mergeLayers bounds the number of layers, and their deleted documents. It drops empty layers, merges
// the first layer with too many deleted documents with all layers after it, and then merges wherever
// mergeFactor layers have the same rank.
func (x *Index) mergeLayers() {
	x.layers = slices.DeleteFunc(x.layers, func(l liveSegment) bool { return l.live == 0 })
	for i, l := range x.layers {
		// Merging the layers after it too keeps the layers ordered by size.
		if mostDeleted*(len(l.docs)-l.live) > len(l.docs) {
			x.mergeFrom(i)
			break
		}
	}
	for i := x.firstToMerge(); i >= 0; i = x.firstToMerge() {
		x.mergeFrom(i)
	}
}

// firstToMerge returns the index of the first layer of the highest rank that has at least mergeFactor
// layers; -1 if there is none.
func (x *Index) firstToMerge() int {
	var count, first [bits.UintSize]int
	for i, l := range x.layers {
		// first[r] is the first layer of rank r.
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

// rank returns the size class of a layer with a size in bytes. Two layers of the same rank differ
// in size by less than a factor of mergeFactor, except that all layers under 4 kB have rank 0.
//
//	rank 0: less than 4 kB
//	rank 1: less than 32 kB
//	rank 2: less than 256 kB, and so on
func rank(size int) int { return (bits.Len(uint(size/4096)) + 2) / 3 }

// mergeFrom merges all layers from index i on into one.
func (x *Index) mergeFrom(i int) {
	s := merge(x.layers[i:])
	x.layers = append(x.layers[:i:i], liveSegment{s, nil, len(s.docs)})
}

// deletedSlot marks a slot that no longer exists.
const deletedSlot = ^uint32(0)

// A source is a layer that is being merged into a new segment.
type source struct {
	*liveSegment
	moved []uint32 // by old slot: the new slot, or gone
	next  int      // the next term to merge
}

// merge returns one segment with the documents of several layers that are not deleted. It reads
// no text.
//
// It merges the sorted terms of the layers, and appends the postings of each term with their new
// slots.
func merge(layers []liveSegment) *segment {
	w := &writer{seg: &segment{}}
	w.reserve(layers)
	sources := make([]source, len(layers))
	for i := range layers {
		l := &layers[i]
		sources[i] = source{liveSegment: l, moved: w.move(l)}
	}
	var list postingList
	for {
		name, ok := first(sources)
		if !ok {
			return w.finish()
		}
		list = postingList{data: list.data[:0]}
		// Sources are in the order of their documents in the new segment, so slots ascend.
		for i := range sources {
			sources[i].addTerm(name, &list)
		}
		// A term that only deleted documents had is dropped.
		if len(list.data) > 0 {
			w.add(name, list.data)
		}
	}
}

// reserve makes room for the segment of some layers: as much as their documents need that are not
// deleted, as far as that can be known. A merge is when a search index needs the most memory.
func (w *writer) reserve(layers []liveSegment) {
	docs, slots, paths, signatures := 0, 0, 0, 0
	terms, names, lists, headings := 0, 0, 0, 0
	for i := range layers {
		l := &layers[i]
		before := slots
		for d := range l.docs {
			if l.has(d) {
				head, end := l.docs[d].head, l.end(d)
				docs, slots = docs+1, slots+int(end-head)
				paths += len(l.path(d))
				signatures += int(l.signatureEnds[end-1] - l.signatureEnds[head])
			}
		}
		terms, names = max(terms, l.terms()), max(names, len(l.names))
		lists += l.shareOf(len(l.lists), slots-before)
		headings += l.shareOf(len(l.headings), slots-before)
	}
	w.grow(terms, names, lists)
	w.growDocs(docs, slots)
	w.paths.Grow(paths)
	w.headings.Grow(headings)
	w.signatures.Grow(signatures)
}

// shareOf returns about how many of size bytes belong to live of the slots.
func (l *liveSegment) shareOf(size, live int) int {
	if live == len(l.slots) {
		return size
	}
	return size*live/len(l.slots) + size/32
}

// Purged returns an index with the same documents, but without any data of deleted ones. x stays
// unchanged. It takes time in proportion to the layers that contain deleted documents, and reads
// no text.
func (x *Index) Purged() *Index {
	y := &Index{x.profile, x.analyzer, slices.Clone(x.layers), x.totals}
	for i, l := range y.layers {
		if l.live < len(l.docs) {
			s := merge(y.layers[i : i+1])
			y.layers[i] = liveSegment{s, nil, len(s.docs)}
		}
	}
	y.mergeLayers()
	return y
}

// move copies the documents of a layer that are not deleted, and returns the new number of each
// slot, or gone.
func (w *writer) move(l *liveSegment) []uint32 {
	moved := slices.Repeat([]uint32{deletedSlot}, len(l.slots))
	for i, d := range l.docs {
		if !l.has(i) {
			continue
		}
		// The slots of a document stay adjacent and in order.
		at := uint32(len(w.seg.slots))
		for slot := d.head; slot < l.end(i); slot++ {
			moved[slot] = at + slot - d.head
			w.slot(l, slot)
		}
		w.note(l.path(i), at, at+d.lead-d.head)
		if len(l.members) > 0 {
			w.seg.members = append(w.seg.members, l.members[i])
		}
	}
	return moved
}

// slot copies a slot, with its heading and signature, to the next document.
func (w *writer) slot(from *liveSegment, at uint32) {
	s := from.slots[at]
	if !s.isHead() {
		s.heading = w.headingOffsets(from.heading(at))
	}
	w.seg.slots = append(w.seg.slots, s)
	w.seg.docOf = append(w.seg.docOf, uint32(len(w.seg.docs)))
	w.signatures.WriteString(from.signature(at))
	w.endSignature()
}

// first returns the smallest term that is next in any source; ok is false at the end of all
// sources.
func first(sources []source) (name string, ok bool) {
	for _, s := range sources {
		if s.next < s.terms() && (!ok || s.name(s.next) < name) {
			name, ok = s.name(s.next), true
		}
	}
	return name, ok
}

// addTerm appends the postings of a term to a list if it is the next term of the source, and
// advances the source.
func (s *source) addTerm(name string, to *postingList) {
	if s.next == s.terms() || s.name(s.next) != name {
		return
	}
	r := s.list(s.next)
	for r.read() {
		if at := s.moved[r.slot]; at != deletedSlot {
			to.add(posting{at, r.counts})
		}
	}
	s.next++
}
