package search

import "slices"

// gone is where a slot is that is not there any more.
const gone = ^uint32(0)

// A source is a layer that is being merged.
type source struct {
	*liveSegment
	moved []uint32 // where its slots are in the new segment
	next  int      // the term that comes next
}

// merge makes one segment of several layers, with the notes that are there. It reads no text.
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
		for i := range sources {
			sources[i].take(name, &list)
		}
		if len(list.data) > 0 {
			w.add(name, list.data)
		}
	}
}

// Purged is the same index without anything of notes that are not there any more. The old one stays as it is. It takes
// time in proportion to the layers that have such notes, and reads no text.
func (x *Index) Purged() *Index {
	y := &Index{x.profile, x.analyzer, slices.Clone(x.layers), x.totals}
	for i, l := range y.layers {
		if l.live < len(l.docs) {
			s := merge(y.layers[i : i+1])
			y.layers[i] = liveSegment{s, nil, len(s.docs)}
		}
	}
	y.settle()
	return y
}

// move copies the notes of a layer that are there, and returns where their slots went.
func (w *writer) move(l *liveSegment) []uint32 {
	moved := slices.Repeat([]uint32{gone}, len(l.slots))
	for i, d := range l.docs {
		if !l.has(i) {
			continue
		}
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

// slot copies a slot of the note that comes next.
func (w *writer) slot(from *liveSegment, at uint32) {
	s := from.slots[at]
	if !s.isHead() {
		s.heading = w.under(from.heading(at))
	}
	w.seg.slots = append(w.seg.slots, s)
	w.seg.docOf = append(w.seg.docOf, uint32(len(w.seg.docs)))
	w.signatures = append(w.signatures, from.signature(at)...)
	w.sign()
}

// first is the first term that some source has left.
func first(sources []source) (name string, ok bool) {
	for _, s := range sources {
		if s.next < s.terms() && (!ok || s.name(s.next) < name) {
			name, ok = s.name(s.next), true
		}
	}
	return name, ok
}

// take moves the postings of a term to a list, if it is the source's next.
func (s *source) take(name string, to *postingList) {
	if s.next == s.terms() || s.name(s.next) != name {
		return
	}
	r := s.list(s.next)
	for r.read() {
		if at := s.moved[r.slot]; at != gone {
			to.add(posting{at, r.counts})
		}
	}
	s.next++
}
