package search

import "slices"

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
	sources := make([]source, len(layers))
	terms, names, lists := 0, 0, 0
	for i := range layers {
		l := &layers[i]
		sources[i] = source{liveSegment: l, moved: w.move(l)}
		terms, names, lists = max(terms, l.terms()), max(names, len(l.names)), lists+len(l.lists)
	}
	w.grow(terms, names, lists)
	for {
		name, ok := first(sources)
		if !ok {
			return w.finish()
		}
		var list postingList
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
	w.signatures = append(w.signatures, from.signature(at)...)
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
