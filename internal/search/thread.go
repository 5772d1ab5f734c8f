package search

import (
	"cmp"
	"hash/fnv"
	"math/bits"
	"slices"
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

// of returns the positions in byThread of a thread: from first up to, not including, end. Both are 0
// if the segment has no document of the thread.
func (t *threadTable) of(thread uint64) (first, end int) {
	at := t.search(thread)
	if at == len(t.names) || t.names[at] != thread {
		return 0, 0
	}
	return int(t.starts[at]), int(t.starts[at+1])
}

// search returns the position of the first name that is not less than a digest. Digests are spread
// evenly, so the search begins where the digest is expected.
func (t *threadTable) search(thread uint64) int {
	high, _ := bits.Mul64(thread, uint64(len(t.names)))
	at, step := int(high), 4
	low, end := max(at-step, 0), min(at+step, len(t.names))
	for low > 0 && t.names[low-1] >= thread {
		step *= 2
		end, low = low, max(low-step, 0)
	}
	for end < len(t.names) && t.names[end-1] < thread {
		step *= 2
		low, end = end, min(end+step, len(t.names))
	}
	i, _ := slices.BinarySearch(t.names[low:end], thread)
	return low + i
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
func (x *Index) window(r ref) window {
	var before, behind [reach]ref
	for i := range reach {
		before[i], behind[i] = noRef, noRef
	}
	if m := x.member(r); m.inThread() {
		// Each layer can contain a part of the thread; collect merges them.
		for layer := range x.layers {
			l := &x.layers[layer]
			if layer == int(r.layer) {
				at := int(l.rank[r.doc])
				x.collect(&before, layer, at, -1, m.thread)
				x.collect(&behind, layer, at, 1, m.thread)
				continue
			}
			if from, to := l.threadTable().of(wholeOf(m.thread)); from < to {
				at := x.position(layer, from, to, r)
				x.collect(&before, layer, at, -1, m.thread)
				x.collect(&behind, layer, at-1, 1, m.thread)
			}
		}
		x.cut(&before, r)
		x.cut(&behind, r)
	}
	w := window{reach: r}
	for i := range reach {
		w[reach-1-i], w[reach+1+i] = before[i], behind[i]
	}
	return w
}

// position returns the position in byThread, from from up to to, of the first document of a layer
// after a document of another layer. The positions must be those of its thread.
func (x *Index) position(layer, from, to int, r ref) int {
	l := &x.layers[layer]
	for from < to {
		mid := int(uint(from+to) / 2)
		if x.compareRefs(ref{int32(layer), int32(l.byThread[mid])}, r) > 0 {
			to = mid
		} else {
			from = mid + 1
		}
	}
	return from
}

// collect inserts the nearest documents of a layer and a thread, at positions in byThread after from,
// or before it if step is -1, into nearest, which is ordered by nearness.
func (x *Index) collect(nearest *[reach]ref, layer, from, step int, thread [2]uint32) {
	l := &x.layers[layer]
	for i, at := from+step, 0; i >= 0 && i < len(l.byThread) && at < reach; i += step {
		doc := l.byThread[i]
		if l.members[doc].thread != thread {
			return
		}
		if !l.has(int(doc)) {
			continue
		}
		r := ref{int32(layer), int32(doc)}
		// The candidates come in order, so the position never decreases.
		for at < reach && nearest[at] != noRef && x.compareRefs(r, nearest[at])*step > 0 {
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
func (x *Index) cut(nearest *[reach]ref, from ref) {
	for i, r := range nearest {
		if r == noRef || !x.joined(from, r) {
			for ; i < len(nearest); i++ {
				nearest[i] = noRef
			}
			return
		}
		from = r
	}
}

// joined reports whether the time between two adjacent documents of a thread is at most the gap.
func (x *Index) joined(a, b ref) bool {
	apart := x.member(a).at() - x.member(b).at()
	gap := x.profile.thread.gap.Milliseconds()
	return -gap <= apart && apart <= gap
}
