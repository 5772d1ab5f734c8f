package search

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sort"
	"strings"
)

// A member says of a thing where it is in its thread. Its numbers are parted, so that it is a record.
type member struct {
	thread [2]uint32 // a digest of its name; 0: none
	time   [2]uint32 // Unix milliseconds
	seq    [2]uint32
	flags  uint32 // of knownFlag and recordFlag, and the merit behind them
}

// The flags of a member.
const (
	knownFlag  = 1 << iota // it is somebody's
	recordFlag             // MemoryFields.Record
)

// The merit of a member: from 0 to mostMerit.
const (
	meritShift = 2
	mostMerit  = 1<<30 - 1
)

func (m *member) merit() uint32 { return m.flags >> meritShift }

// compareMerit orders members the one with most merit first, of equal ones the newest.
func (m *member) compareMerit(o *member) int {
	if m.flags>>meritShift != o.flags>>meritShift {
		return cmp.Compare(o.merit(), m.merit())
	}
	if m.time != o.time {
		return cmp.Compare(o.at(), m.at())
	}
	return cmp.Compare(wholeOf(o.seq), wholeOf(m.seq))
}

func (m *member) has(flag uint32) bool { return m.flags&flag != 0 }

func halvesOf(n uint64) [2]uint32 { return [2]uint32{uint32(n), uint32(n >> 32)} }

func wholeOf(halves [2]uint32) uint64 { return uint64(halves[1])<<32 | uint64(halves[0]) }

func newMember(f *MemoryFields) member {
	m := member{seq: halvesOf(f.Seq)}
	m.flags = uint32(min(max(f.Merit, 0), 1)*mostMerit) << meritShift
	if !f.Date.IsZero() {
		m.time = halvesOf(uint64(f.Date.UnixMilli()))
	}
	if f.Thread != "" {
		h := fnv.New64a()
		h.Write([]byte(f.Thread))
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

// inThread reports whether the thing is in a thread.
func (m *member) inThread() bool { return m.thread != [2]uint32{} }

// at is the time of the thing in Unix milliseconds.
func (m *member) at() int64 { return int64(wholeOf(m.time)) }

// compare orders members by thread, in a thread as they follow each other.
func (m *member) compare(o *member) int {
	if m.thread != o.thread {
		return cmp.Compare(wholeOf(m.thread), wholeOf(o.thread))
	}
	if m.time != o.time {
		return cmp.Compare(m.at(), o.at())
	}
	return cmp.Compare(wholeOf(m.seq), wholeOf(o.seq))
}

// compareMembers compares the members of two things of the segment, and their keys.
func (s *segment) compareMembers(a, b uint32) int {
	if c := s.members[a].compare(&s.members[b]); c != 0 {
		return c
	}
	return strings.Compare(s.path(int(a)), s.path(int(b)))
}

// sortMembers puts the things that are in threads in the order of these.
func (s *segment) sortMembers() {
	if len(s.members) == 0 {
		return
	}
	s.members = fitted(s.members)
	for i := range s.members {
		if s.members[i].inThread() {
			s.byThread = append(s.byThread, uint32(i))
		}
	}
	slices.SortFunc(s.byThread, s.compareMembers)
	s.byThread = fitted(s.byThread)
	s.rankMembers()
}

// rankMembers numbers the things in threads.
func (s *segment) rankMembers() {
	s.rank = make([]uint32, len(s.members))
	for i, doc := range s.byThread {
		s.rank[doc] = uint32(i)
	}
}

// A ref is a thing of an index: a layer, and the number in it. Without is the ref of none.
type ref struct{ layer, doc int32 }

var without = ref{-1, -1}

// reach is how far things are known around one: two neighbours, and two neighbours of each of these.
const reach = 4

// A window is a thing with what is before and behind it in its thread, in the order of the thread; without where there
// is none. No two that follow each other are further apart than the gap of the profile.
type window [2*reach + 1]ref

// at is the thing so many steps behind the one in the middle, or before it.
func (w *window) at(step int) ref { return w[reach+step] }

// threads find neighbours, for one query.
type threads struct {
	x     *Index
	known map[uint64][]stretch
}

// A stretch is where a layer has a thread: from one of byThread up to another.
type stretch struct{ layer, from, to int }

// of are the stretches of a thread.
func (t *threads) of(thread uint64) []stretch {
	list, ok := t.known[thread]
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
	t.known[thread] = list
	return list
}

// A threadTable are the threads of a segment, and where each begins in byThread; the last start is the end of all.
type threadTable struct {
	names  []uint64
	starts []uint32
}

// threadTable is made when it is first asked for. Several may make it at once; it is the same.
func (s *segment) threadTable() *threadTable {
	if known := s.table.Load(); known != nil {
		return known
	}
	t := &threadTable{}
	for i := range s.byThread {
		if name := s.threadAt(i); len(t.names) == 0 || t.names[len(t.names)-1] != name {
			t.names, t.starts = append(t.names, name), append(t.starts, uint32(i))
		}
	}
	t.names, t.starts = fitted(t.names), fitted(append(t.starts, uint32(len(s.byThread))))
	s.table.Store(t)
	return t
}

// threadAt is the thread of one of byThread.
func (s *segment) threadAt(i int) uint64 { return wholeOf(s.members[s.byThread[i]].thread) }

func (x *Index) member(r ref) *member { return &x.layers[r.layer].members[r.doc] }

// compareRefs compares two things of a thread.
func (x *Index) compareRefs(a, b ref) int {
	if c := x.member(a).compare(x.member(b)); c != 0 {
		return c
	}
	return strings.Compare(x.layers[a.layer].path(int(a.doc)), x.layers[b.layer].path(int(b.doc)))
}

// window is a thing with what is around it.
func (t *threads) window(r ref) window {
	var before, behind [reach]ref
	for i := range reach {
		before[i], behind[i] = without, without
	}
	m := t.x.member(r)
	if m.inThread() {
		for _, s := range t.of(wholeOf(m.thread)) {
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

// split is the number of the last thing of a stretch before one, and of the first behind it.
func (t *threads) split(s stretch, r ref) (before, behind int) {
	l := &t.x.layers[s.layer]
	if s.layer == int(r.layer) {
		at := int(l.rank[r.doc])
		return at - 1, at + 1
	}
	at := s.from + sort.Search(s.to-s.from, func(i int) bool {
		return t.x.compareRefs(ref{int32(s.layer), int32(l.byThread[s.from+i])}, r) > 0
	})
	return at - 1, at
}

// collect adds the nearest things of a layer to those of others, from a number up to another.
func (t *threads) collect(nearest *[reach]ref, layer, from, to, step int) {
	l := &t.x.layers[layer]
	for i, at := from, 0; i != to && at < reach; i += step {
		doc := int(l.byThread[i])
		if !l.has(doc) {
			continue
		}
		r := ref{int32(layer), int32(doc)}
		for at < reach && nearest[at] != without && t.x.compareRefs(r, nearest[at])*step > 0 {
			at++
		}
		if at < reach {
			copy(nearest[at+1:], nearest[at:])
			nearest[at] = r
			at++
		}
	}
}

// cut takes off what is behind a gap.
func (t *threads) cut(nearest *[reach]ref, from ref) {
	for i, r := range nearest {
		if r == without || !t.joined(from, r) {
			for ; i < len(nearest); i++ {
				nearest[i] = without
			}
			return
		}
		from = r
	}
}

// joined reports whether no gap ends a thread between two things of it that follow each other.
func (t *threads) joined(a, b ref) bool {
	apart := t.x.member(a).at() - t.x.member(b).at()
	gap := t.x.profile.thread.gap.Milliseconds()
	return -gap <= apart && apart <= gap
}
