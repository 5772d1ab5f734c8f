package search

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sort"
	"strings"
)

// A member is the position of a document in its thread, with its flags and merit. Its 64-bit
// numbers are divided, so that it is a record.
//
// It is a record of an image, like doc.
type member struct {
	thread [2]uint32 // digest of the name of the thread; 0: none
	time   [2]uint32 // in Unix milliseconds
	seq    [2]uint32
	flags  uint32 // flags in the low bits, merit in the others
}

// The flags of a member.
const (
	knownFlag  = 1 << iota // the document has persons
	recordFlag             // MemoryFields.Record
)

// The merit of a member is an integer from 0 to maxMerit, shifted left by meritShift.
const (
	meritShift = 2
	maxMerit   = 1<<30 - 1
)

// merit returns the merit, from 0 to maxMerit.
func (m *member) merit() uint32 { return m.flags >> meritShift }

// compareMerit orders members by descending merit, then the newest first.
func (m *member) compareMerit(o *member) int {
	if m.flags>>meritShift != o.flags>>meritShift {
		return cmp.Compare(o.merit(), m.merit())
	}
	if m.time != o.time {
		return cmp.Compare(o.at(), m.at())
	}
	return cmp.Compare(wholeOf(o.seq), wholeOf(m.seq))
}

// has reports whether a flag is set.
func (m *member) has(flag uint32) bool { return m.flags&flag != 0 }

// halvesOf returns the lower and the upper 32 bits of n.
func halvesOf(n uint64) [2]uint32 { return [2]uint32{uint32(n), uint32(n >> 32)} }

// wholeOf returns the number that halvesOf divided.
func wholeOf(halves [2]uint32) uint64 { return uint64(halves[1])<<32 | uint64(halves[0]) }

// newMember returns the member for the fields of a memory.
func newMember(f *MemoryFields) member {
	m := member{seq: halvesOf(f.Seq)}
	m.flags = uint32(min(max(f.Merit, 0), 1)*maxMerit) << meritShift
	if !f.Date.IsZero() {
		m.time = halvesOf(uint64(f.Date.UnixMilli()))
	}
	if f.Thread != "" {
		h := fnv.New64a()
		h.Write([]byte(f.Thread))
		// 0 is the absence of a thread.
		m.thread = halvesOf(max(h.Sum64(), 1))
	}
	if len(f.Persons) > 0 {
		m.flags |= knownFlag
	}
	if f.Record {
		m.flags |= recordFlag
	}
	return m
}

// inThread reports whether the document is in a thread.
func (m *member) inThread() bool { return m.thread != [2]uint32{} }

// at returns the time of the document in Unix milliseconds; 0 if it has none.
func (m *member) at() int64 { return int64(wholeOf(m.time)) }

// compare orders members by thread, then by time, then by seq.
func (m *member) compare(o *member) int {
	if m.thread != o.thread {
		return cmp.Compare(wholeOf(m.thread), wholeOf(o.thread))
	}
	if m.time != o.time {
		return cmp.Compare(m.at(), o.at())
	}
	return cmp.Compare(wholeOf(m.seq), wholeOf(o.seq))
}

// compareMembers compares two documents of the segment by their members, then by path.
//
// Paths make the order total.
func (s *segment) compareMembers(a, b uint32) int {
	if c := s.members[a].compare(&s.members[b]); c != 0 {
		return c
	}
	return strings.Compare(s.path(int(a)), s.path(int(b)))
}

// sortMembers sets byThread and rank. All documents must have been added.
func (s *segment) sortMembers() {
	if len(s.members) == 0 {
		return
	}
	s.members = clip(s.members)
	for i := range s.members {
		if s.members[i].inThread() {
			s.byThread = append(s.byThread, uint32(i))
		}
	}
	slices.SortFunc(s.byThread, s.compareMembers)
	s.byThread = clip(s.byThread)
	s.rankMembers()
}

// rankMembers sets rank.
func (s *segment) rankMembers() {
	s.rank = make([]uint32, len(s.members))
	for i, doc := range s.byThread {
		s.rank[doc] = uint32(i)
	}
}

// A ref identifies a document of an index: a layer, and the number in it. The ref without
// identifies none.
type ref struct{ layer, doc int32 }

var noRef = ref{-1, -1}

// reach is the number of documents that a window contains on each side: two neighbours, and two
// neighbours of the second.
const reach = 4

// A window contains a document, in the middle, with those before and after it in its thread, in
// order. It contains without where there is none. Two adjacent documents are never further apart
// than the gap of the profile.
//
//	index   0  1  2  3  4  5  6  7  8
//	step   -4 -3 -2 -1  0  1  2  3  4
type window [2*reach + 1]ref

// at returns the document a number of steps after the middle; before it, if step is negative.
func (w *window) at(step int) ref { return w[reach+step] }

// threads finds neighbours for one query.
type threads struct {
	x     *Index
	cache map[uint64][]stretch // cache of of
}

// A stretch is the part of a thread in one layer: the range of byThread from from up to, not
// including, to.
type stretch struct{ layer, from, to int }

// stretches returns the stretches of a thread, by its digest.
func (t *threads) stretches(thread uint64) []stretch {
	list, ok := t.cache[thread]
	if ok {
		return list
	}
	for i := range t.x.layers {
		l := &t.x.layers[i]
		table := l.threadTable()
		if at, ok := slices.BinarySearch(table.names, thread); ok {
			list = append(list, stretch{i, int(table.starts[at]), int(table.starts[at+1])})
		}
	}
	t.cache[thread] = list
	return list
}

// A threadTable contains the digests of the threads of a segment, sorted, and the start of each
// in byThread. The last start is the length of byThread.
type threadTable struct {
	names  []uint64
	starts []uint32
}

// threadTable returns the threadTable of the segment. It is computed on first use. Concurrent
// callers can compute it at the same time, with the same result.
func (s *segment) threadTable() *threadTable {
	if known := s.threadCache.Load(); known != nil {
		return known
	}
	t := &threadTable{}
	for i := range s.byThread {
		if name := s.threadAt(i); len(t.names) == 0 || t.names[len(t.names)-1] != name {
			t.names, t.starts = append(t.names, name), append(t.starts, uint32(i))
		}
	}
	t.names, t.starts = clip(t.names), clip(append(t.starts, uint32(len(s.byThread))))
	s.threadCache.Store(t)
	return t
}

// threadAt returns the digest of the thread of entry i of byThread.
func (s *segment) threadAt(i int) uint64 { return wholeOf(s.members[s.byThread[i]].thread) }

// member returns the member of a document.
func (x *Index) member(r ref) *member { return &x.layers[r.layer].members[r.doc] }

// compareRefs compares two documents of the index by their members, then by path.
func (x *Index) compareRefs(a, b ref) int {
	if c := x.member(a).compare(x.member(b)); c != 0 {
		return c
	}
	return strings.Compare(x.layers[a.layer].path(int(a.doc)), x.layers[b.layer].path(int(b.doc)))
}

// window returns a document with those around it.
//
// A document without a thread has a window without neighbours.
func (t *threads) window(r ref) window {
	var before, behind [reach]ref
	for i := range reach {
		before[i], behind[i] = noRef, noRef
	}
	m := t.x.member(r)
	if m.inThread() {
		for _, s := range t.stretches(wholeOf(m.thread)) {
			// Each layer can contain a part of the thread; collect merges them.
			last, first := t.split(s, r)
			t.collect(&before, s.layer, last, s.from-1, -1)
			t.collect(&behind, s.layer, first, s.to, 1)
		}
		t.cut(&before, r)
		t.cut(&behind, r)
	}
	w := window{reach: r}
	for i := range reach {
		w[reach-1-i], w[reach+1+i] = before[i], behind[i]
	}
	return w
}

// split returns the position in byThread of the last document of a stretch before a document, and
// of the first one after it.
func (t *threads) split(s stretch, r ref) (before, behind int) {
	l := &t.x.layers[s.layer]
	if s.layer == int(r.layer) {
		// In the layer of the document itself, its position is known.
		at := int(l.rank[r.doc])
		return at - 1, at + 1
	}
	at := s.from + sort.Search(s.to-s.from, func(i int) bool {
		return t.x.compareRefs(ref{int32(s.layer), int32(l.byThread[s.from+i])}, r) > 0
	})
	return at - 1, at
}

// collect inserts the nearest documents of a layer, at positions in byThread from from until to,
// into nearest, which is ordered by nearness.
func (t *threads) collect(nearest *[reach]ref, layer, from, to, step int) {
	l := &t.x.layers[layer]
	for i, at := from, 0; i != to && at < reach; i += step {
		doc := int(l.byThread[i])
		if !l.has(doc) {
			continue
		}
		r := ref{int32(layer), int32(doc)}
		// The candidates come in order, so the position never decreases.
		for at < reach && nearest[at] != noRef && t.x.compareRefs(r, nearest[at])*step > 0 {
			at++
		}
		if at < reach {
			copy(nearest[at+1:], nearest[at:])
			nearest[at] = r
			at++
		}
	}
}

// cut removes the documents that a gap separates from the document from.
func (t *threads) cut(nearest *[reach]ref, from ref) {
	for i, r := range nearest {
		if r == noRef || !t.joined(from, r) {
			for ; i < len(nearest); i++ {
				nearest[i] = noRef
			}
			return
		}
		from = r
	}
}

// joined reports whether the time between two adjacent documents of a thread is at most the gap.
func (t *threads) joined(a, b ref) bool {
	apart := t.x.member(a).at() - t.x.member(b).at()
	gap := t.x.profile.thread.gap.Milliseconds()
	return -gap <= apart && apart <= gap
}
