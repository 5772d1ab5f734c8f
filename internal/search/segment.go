package search

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
)

// A segment is an index of some notes. It never changes. All that it holds are texts and lists of
// numbers, so that an image has them as they are.
type segment struct {
	paths  string   // of the notes, one behind the other
	docs   []doc    // in the order in which they came
	byPath []uint32 // the notes by path
	order  []uint32 // of each note, its number in byPath

	headings string // that units stand under
	slots    []slot
	docOf    []uint32 // by slot

	signatures    string // of the units' texts, by slot, one behind the other; of heads none
	signatureEnds []uint32

	names    string   // all terms, sorted, one behind the other
	nameEnds []uint32 // by term
	lists    string   // their postings, likewise
	listEnds []uint32

	members  []member // by note, if the profile has threads: else none
	byThread []uint32 // the notes in the order of their members
	rank     []uint32 // of each note, its number in byThread

	known atomic.Pointer[sketches]    // see sketches; nil: nobody has asked for it
	table atomic.Pointer[threadTable] // see threadTable; likewise
	width atomic.Pointer[[]uint16]    // see widths; likewise
}

// A doc is a note of a segment.
type doc struct {
	pathEnd uint32 // where its path ends in the paths
	head    uint32 // its first slot
	lead    uint32 // the slot of the unit that stands for the note as a whole
}

// A slot is what is known of a head or a unit.
type slot struct {
	span              // of a unit; of a head: nothing
	heading [2]uint32 // of a unit: from where to where its heading is in the headings
	lengths [2]uint32 // words: of a head its first field and its last with a slope, of a unit both
}

// isHead reports whether a slot is a head. Units begin in a line.
func (s *slot) isHead() bool { return s.line == 0 }

// path is the path of a note.
func (s *segment) path(doc int) string {
	if doc == 0 {
		return s.paths[:s.docs[0].pathEnd]
	}
	return s.paths[s.docs[doc-1].pathEnd:s.docs[doc].pathEnd]
}

// heading is what a unit stands under.
func (s *segment) heading(slot uint32) string {
	at := s.slots[slot].heading
	return s.headings[at[0]:at[1]]
}

// terms is the number of terms.
func (s *segment) terms() int { return len(s.nameEnds) }

// name is a term.
func (s *segment) name(i int) string { return part(s.names, s.nameEnds, i) }

// signature is what is known of the joints of a unit's text.
func (s *segment) signature(slot uint32) string {
	return part(s.signatures, s.signatureEnds, int(slot))
}

// list reads the postings of a term.
func (s *segment) list(i int) postingReader {
	return postingReader{data: part(s.lists, s.listEnds, i), slots: uint64(len(s.slots))}
}

func part(all string, ends []uint32, i int) string {
	if i == 0 {
		return all[:ends[0]]
	}
	return all[ends[i-1]:ends[i]]
}

// from is the number of the first term that is not before a name.
func (s *segment) from(name string) int {
	low, high := 0, s.terms()
	for low < high {
		mid := (low + high) / 2
		if s.name(mid) < name {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// prefixed are the numbers of the terms with a prefix: from the first up to, not including, the
// second.
func (s *segment) prefixed(prefix string) (first, end int) {
	first = s.from(prefix)
	behind := sort.Search(s.terms()-first, func(i int) bool {
		return !strings.HasPrefix(s.name(first+i), prefix)
	})
	return first, first + behind
}

// find is the number of a note.
func (s *segment) find(path string) (int, bool) {
	i, ok := slices.BinarySearchFunc(s.byPath, path, func(d uint32, path string) int {
		return cmp.Compare(s.path(int(d)), path)
	})
	if !ok {
		return 0, false
	}
	return int(s.byPath[i]), true
}

// end is the slot behind a note's last one.
func (s *segment) end(doc int) uint32 {
	if doc+1 < len(s.docs) {
		return s.docs[doc+1].head
	}
	return uint32(len(s.slots))
}

// size is what a segment costs to merge, about: bytes.
func (s *segment) size() int { return len(s.names) + len(s.lists) + len(s.signatures) }

// totals are the sums over one note.
func (s *segment) totals(doc int) totals {
	head := s.docs[doc].head
	own := s.slots[head].lengths
	t := totals{notes: 1, head: [2]uint64{uint64(own[0]), uint64(own[1])}}
	for _, u := range s.slots[head+1 : s.end(doc)] {
		t.units++
		t.unit[0] += uint64(u.lengths[0])
		t.unit[1] += uint64(u.lengths[1])
	}
	return t
}

// sortPaths makes the notes findable by path, when all are there.
func (s *segment) sortPaths() {
	s.byPath = make([]uint32, len(s.docs))
	for i := range s.byPath {
		s.byPath[i] = uint32(i)
	}
	slices.SortFunc(s.byPath, func(a, b uint32) int {
		return cmp.Compare(s.path(int(a)), s.path(int(b)))
	})
	s.order = make([]uint32, len(s.docs))
	for i, doc := range s.byPath {
		s.order[doc] = uint32(i)
	}
}

// A writer takes the terms of a segment, in order.
type writer struct {
	paths, headings strings.Builder
	names, lists    strings.Builder
	signatures      []byte
	seg             *segment

	heading   string // the last one
	headingAt [2]uint32
}

// grow makes room for so many terms, with so many bytes of names and lists.
func (w *writer) grow(terms, names, lists int) {
	w.names.Grow(names)
	w.lists.Grow(lists)
	w.seg.nameEnds = slices.Grow(w.seg.nameEnds, terms)
	w.seg.listEnds = slices.Grow(w.seg.listEnds, terms)
}

func (w *writer) add(name string, list []byte) {
	w.names.WriteString(name)
	w.lists.Write(list)
	w.seg.nameEnds = append(w.seg.nameEnds, uint32(w.names.Len()))
	w.seg.listEnds = append(w.seg.listEnds, uint32(w.lists.Len()))
}

// note adds the next note, whose head is a slot, and its lead another.
func (w *writer) note(path string, head, lead uint32) {
	w.paths.WriteString(path)
	w.seg.docs = append(w.seg.docs, doc{uint32(w.paths.Len()), head, lead})
}

// under is where the heading of the next unit is. The parts of a section share it.
func (w *writer) under(heading string) [2]uint32 {
	if heading != w.heading {
		start := w.headings.Len()
		w.headings.WriteString(heading)
		w.heading, w.headingAt = heading, [2]uint32{uint32(start), uint32(w.headings.Len())}
	}
	return w.headingAt
}

// sign ends the signature of the slot that comes next.
func (w *writer) sign() {
	w.seg.signatureEnds = append(w.seg.signatureEnds, uint32(len(w.signatures)))
}

// finish is the segment, with little room for more.
func (w *writer) finish() *segment {
	s := w.seg
	s.paths, s.headings = compact(&w.paths), compact(&w.headings)
	s.names, s.lists, s.signatures = compact(&w.names), compact(&w.lists), string(w.signatures)
	s.nameEnds, s.listEnds = fitted(s.nameEnds), fitted(s.listEnds)
	s.docs, s.slots = fitted(s.docs), fitted(s.slots)
	s.docOf, s.signatureEnds = fitted(s.docOf), fitted(s.signatureEnds)
	s.sortPaths()
	s.sortMembers()
	return s
}

// compact is what was written. It is copied only where the room that is left is worth it.
func compact(b *strings.Builder) string {
	if wasteful(b.Len(), b.Cap()) {
		return strings.Clone(b.String())
	}
	return b.String()
}

// fitted is a list that nothing is added to any more.
func fitted[E any](list []E) []E {
	if wasteful(len(list), cap(list)) {
		return append(make([]E, 0, len(list)), list...)
	}
	return list
}

// wasteful reports whether more than an eighth of some room is left.
func wasteful(used, room int) bool { return room-used > room/8 }
