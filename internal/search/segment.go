package search

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
)

// A segment is an immutable index of some documents. It consists of strings and lists of numbers,
// which an image contains unchanged, and of tables that are derived from them.
type segment struct {
	paths  string   // paths of the documents, concatenated
	docs   []doc    // in the order in which they were added
	byPath []uint32 // document numbers, sorted by path
	order  []uint32 // by document: its position in byPath

	headings string // headings of the passages, concatenated
	slots    []slot
	docOf    []uint32 // by slot: its document

	signatures    string // by slot: signature of the passage's text, concatenated; empty for heads
	signatureEnds []uint32

	names    string   // all terms, sorted and concatenated
	nameEnds []uint32 // by term
	lists    string   // by term: its postings, concatenated
	listEnds []uint32

	members  []member // by document, if the profile is threaded; else nil
	byThread []uint32 // numbers of the documents in threads, sorted by their members
	rank     []uint32 // by document: its position in byThread

	sketchCache atomic.Pointer[sketches]    // see sketches; nil: not computed yet
	threadCache atomic.Pointer[threadTable] // see threadTable; likewise
	widthCache  atomic.Pointer[[]uint16]    // see widths; likewise
}

// A doc is a document of a segment.
//
// It is a record of an image; its fields must not be changed without a new ImageFormat.
type doc struct {
	pathEnd uint32 // end of its path in the paths
	head    uint32 // its first slot
	lead    uint32 // the slot of the passage that represents the whole document
}

// A slot describes a head or a passage.
//
// It is a record of an image, like doc.
type slot struct {
	span              // of a passage; zero for a head
	heading [2]uint32 // of a passage: start and end of its heading in the headings
	lengths [2]uint32 // in words: of a head, fields whose length matters; of a passage, both
}

// isHead reports whether a slot is a head. A passage has a line, which is at least 1.
func (s *slot) isHead() bool { return s.line == 0 }

// path returns the path of a document.
func (s *segment) path(doc int) string {
	if doc == 0 {
		return s.paths[:s.docs[0].pathEnd]
	}
	return s.paths[s.docs[doc-1].pathEnd:s.docs[doc].pathEnd]
}

// heading returns the heading of a passage's section; "" before the first heading and for a head.
func (s *segment) heading(slot uint32) string {
	at := s.slots[slot].heading
	return s.headings[at[0]:at[1]]
}

// terms returns the number of terms.
func (s *segment) terms() int { return len(s.nameEnds) }

// name returns the term with a number.
func (s *segment) name(i int) string { return part(s.names, s.nameEnds, i) }

// signature returns the signature of a passage's text; see phraseFilter.
func (s *segment) signature(slot uint32) string {
	return part(s.signatures, s.signatureEnds, int(slot))
}

// list returns a reader of the postings of a term.
func (s *segment) list(i int) postingReader {
	return postingReader{data: part(s.lists, s.listEnds, i), slots: uint64(len(s.slots))}
}

// sameList reports whether two terms have the same postings.
func (s *segment) sameList(a, b int) bool {
	return part(s.lists, s.listEnds, a) == part(s.lists, s.listEnds, b)
}

// part returns part i of concatenated strings, given their end offsets.
func part(all string, ends []uint32, i int) string {
	if i == 0 {
		return all[:ends[0]]
	}
	return all[ends[i-1]:ends[i]]
}

// from returns the number of the first term that is not less than name; terms() if there is none.
func (s *segment) from(name string) int { return s.search(0, s.terms(), name) }

// search returns the number of the first term, of those from low up to high, that is not less than
// name; high if there is none.
func (s *segment) search(low, high int, name string) int {
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

// prefixed returns the range of terms with a prefix: from first up to, not including, end.
func (s *segment) prefixed(prefix string) (first, end int) {
	first = s.from(prefix)
	behind := sort.Search(s.terms()-first, func(i int) bool {
		return !strings.HasPrefix(s.name(first+i), prefix)
	})
	return first, first + behind
}

// find returns the number of the document with a path; false if there is none. It also finds
// deleted documents.
func (s *segment) find(path string) (int, bool) {
	i, ok := slices.BinarySearchFunc(s.byPath, path, func(d uint32, path string) int {
		return cmp.Compare(s.path(int(d)), path)
	})
	if !ok {
		return 0, false
	}
	return int(s.byPath[i]), true
}

// end returns the slot after the last one of a document.
//
// Slots of a document are adjacent: its head, then its passages.
func (s *segment) end(doc int) uint32 {
	if doc+1 < len(s.docs) {
		return s.docs[doc+1].head
	}
	return uint32(len(s.slots))
}

// size returns the approximate cost of merging a segment, in bytes.
func (s *segment) size() int { return len(s.names) + len(s.lists) + len(s.signatures) }

// totals returns the sums for one document.
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

// sortPaths sets byPath and order. All documents must have been added.
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

// A writer builds a segment. Terms must be added in order.
//
// Documents and slots are added separately from the terms, all of them before finish.
type writer struct {
	paths, headings strings.Builder
	names, lists    strings.Builder
	signatures      strings.Builder
	seg             *segment

	signature []byte // reused

	heading   string    // the last heading that was written
	headingAt [2]uint32 // its offsets in headings
}

// grow makes room for a number of terms, with a total size of their names and lists in bytes.
func (w *writer) grow(terms, names, lists int) {
	w.names.Grow(names)
	w.lists.Grow(lists)
	w.seg.nameEnds = slices.Grow(w.seg.nameEnds, terms)
	w.seg.listEnds = slices.Grow(w.seg.listEnds, terms)
}

// growDocs makes room for a number of documents and all their slots.
func (w *writer) growDocs(docs, slots int) {
	w.seg.docs = slices.Grow(w.seg.docs, docs)
	w.seg.slots = slices.Grow(w.seg.slots, slots)
	w.seg.docOf = slices.Grow(w.seg.docOf, slots)
	w.seg.signatureEnds = slices.Grow(w.seg.signatureEnds, slots)
}

// add adds the next term with its list of postings.
func (w *writer) add(name string, list []byte) {
	w.names.WriteString(name)
	w.lists.Write(list)
	w.seg.nameEnds = append(w.seg.nameEnds, uint32(w.names.Len()))
	w.seg.listEnds = append(w.seg.listEnds, uint32(w.lists.Len()))
}

// note adds the next document, with the slots of its head and of its lead.
func (w *writer) note(path string, head, lead uint32) {
	w.paths.WriteString(path)
	w.seg.docs = append(w.seg.docs, doc{uint32(w.paths.Len()), head, lead})
}

// headingOffsets returns the offsets of the heading of the next passage, and writes it if it differs from
// the last one. So the parts of a section share it.
func (w *writer) headingOffsets(heading string) [2]uint32 {
	// Only adjacent passages share a heading; see validHeadings.
	if heading != w.heading {
		start := w.headings.Len()
		w.headings.WriteString(heading)
		w.heading, w.headingAt = heading, [2]uint32{uint32(start), uint32(w.headings.Len())}
	}
	return w.headingAt
}

// sign writes the signature of the next slot, and resets the filter of its text.
func (w *writer) sign(f *phraseFilter) {
	w.signature = f.appendSignature(w.signature[:0])
	w.signatures.Write(w.signature)
	w.endSignature()
}

// endSignature ends the signature of the next slot.
func (w *writer) endSignature() {
	w.seg.signatureEnds = append(w.seg.signatureEnds, uint32(w.signatures.Len()))
}

// finish returns the segment. Its lists have little unused capacity.
func (w *writer) finish() *segment {
	s := w.seg
	s.paths, s.headings = compact(&w.paths), compact(&w.headings)
	s.names, s.lists, s.signatures = compact(&w.names), compact(&w.lists), compact(&w.signatures)
	s.nameEnds, s.listEnds = clip(s.nameEnds), clip(s.listEnds)
	s.docs, s.slots = clip(s.docs), clip(s.slots)
	s.docOf, s.signatureEnds = clip(s.docOf), clip(s.signatureEnds)
	s.sortPaths()
	s.sortMembers()
	return s
}

// compact returns the string that was built. It is copied only if the builder wastes much memory.
func compact(b *strings.Builder) string {
	if wasteful(b.Len(), b.Cap()) {
		return strings.Clone(b.String())
	}
	return b.String()
}

// clip returns a list that is complete. It is copied only if it wastes much memory.
func clip[E any](list []E) []E {
	if wasteful(len(list), cap(list)) {
		return append(make([]E, 0, len(list)), list...)
	}
	return list
}

// wasteful reports whether more than an eighth of a capacity is unused.
func wasteful(used, room int) bool { return room-used > room/8 }
