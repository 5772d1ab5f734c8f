package search

import (
	"math"
	"math/bits"
	"runtime"
	"slices"
)

// A weighted says how often something stands in a slot: occurrences in an average body.
type weighted struct {
	slot  uint32
	count float32
}

// A gatherer reads postings for one query. The lists that it makes are good until it is released.
type gatherer struct {
	x     *Index
	norms norms
	arena []weighted // what the lists are slices of
	sums  []float32  // by slot of a layer; all 0 between two uses
	seen  []uint64   // bits: the slots of which there is a sum
	once  *once

	// Room of a ranker, by layer and thing; all 0 between two uses.
	scores [][]float64
	rows   [][]int32

	// Room of a ranker for what it scores in full.
	refs    []ref
	windows []window
	full    []full
	tally   []float32
	order   []placed
	merged  []placed
	keys    []uint64
}

// shortField is from how many words on it is not known beforehand what an occurrence is worth.
const shortField = 512

// A once is what one occurrence in the first field of a slot is worth, by the width of the slot.
type once struct {
	norms norms
	worth [2 * shortField]float32
}

// The widths of slots: the length of the first field, and for heads so much more; wide if the field is not short.
const wide = 2 * shortField

// widths are the widths of the slots. They are made when they are first asked for. Several may make them at once; they
// are the same.
func (s *segment) widths() []uint16 {
	if known := s.width.Load(); known != nil {
		return *known
	}
	all := make([]uint16, len(s.slots))
	for i := range s.slots {
		switch sl := &s.slots[i]; {
		case sl.lengths[0] >= shortField:
			all[i] = wide
		case sl.isHead():
			all[i] = shortField + uint16(sl.lengths[0])
		default:
			all[i] = uint16(sl.lengths[0])
		}
	}
	s.width.Store(&all)
	return all
}

func newOnce(n norms) *once {
	o := &once{norms: n}
	for i := range uint32(shortField) {
		o.worth[i], o.worth[shortField+i] = float32(n.unit[0].of(1, i)), float32(n.first.of(1, i))
	}
	return o
}

// gatherer is one for a query on the index.
func (x *Index) gatherer() *gatherer {
	g, ok := x.analyzer.gatherers.Get().(*gatherer)
	if !ok {
		g = &gatherer{}
	}
	g.x, g.norms, g.arena = x, x.norms(), g.arena[:0]
	if g.once == nil || g.once.norms != g.norms {
		g.once = newOnce(g.norms)
	}
	return g
}

// leastQueries is how many queries of an index can run at once on one processor. Each has lists of its
// own, up to some megabytes, so that many more than there are processors would take memory and end no
// sooner. It is more than one, because some wait for texts.
const leastQueries = 8

// mostQueries is how many queries of an index can run at once; others wait for their turn.
func mostQueries() int { return max(leastQueries, 2*runtime.GOMAXPROCS(0)) }

// mostKept is how many entries of lists are kept for the next query: 8 MB.
const mostKept = 1 << 20

// release gives the memory of the lists to the next query, unless that is much.
func (g *gatherer) release() {
	pool := &g.x.analyzer.gatherers
	if g.x = nil; cap(g.arena) <= mostKept {
		pool.Put(g)
	}
}

// room is what a ranker needs for the things of each layer, all 0: scores until the next call, and rows until clearRows.
func (g *gatherer) room() (scores [][]float64, rows [][]int32) {
	for i := range g.x.layers {
		n := len(g.x.layers[i].docs)
		if i == len(g.scores) {
			g.scores, g.rows = append(g.scores, nil), append(g.rows, nil)
		}
		if cap(g.scores[i]) < n {
			g.scores[i], g.rows[i] = make([]float64, n), make([]int32, n)
		}
		g.scores[i], g.rows[i] = g.scores[i][:n], g.rows[i][:n]
		clear(g.scores[i])
	}
	return g.scores[:len(g.x.layers)], g.rows[:len(g.x.layers)]
}

// clearRows takes rows away again.
func (g *gatherer) clearRows(refs []ref) {
	for _, of := range refs {
		g.rows[of.layer][of.doc] = 0
	}
}

// gather reads the postings of a concept, counts the notes that have it, and weighs it.
func (g *gatherer) gather(c *concept) {
	c.saturation = g.x.profile.saturation
	if c.late {
		return
	}
	c.lists, c.held, c.docs = make([][]weighted, len(g.x.layers)), make([]held, len(g.x.layers)), 0
	for i := range g.x.layers {
		c.lists[i], c.held[i] = g.listOf(&g.x.layers[i], c.forms)
		c.docs += c.held[i].docs
	}
	g.weigh(c)
}

// weigh weighs a concept by how many notes have it.
func (g *gatherer) weigh(c *concept) {
	n, df := float64(g.x.totals.notes), float64(c.docs)
	c.idf = c.weight * math.Log1p((n-df+.5)/(df+.5))
}

// gatherLate reads the postings of a late concept, which has one form: of most only those of the things with rows are
// kept. Where a word has one form only, they are those of the concept beside it.
func (g *gatherer) gatherLate(c *concept) {
	c.lists, c.docs = make([][]weighted, len(g.x.layers)), 0
	for i := range g.x.layers {
		l, start := &g.x.layers[i], len(g.arena)
		first, end := l.termsOf(c.forms[0])
		if end == first {
			continue
		}
		if h := c.beside.held[i]; h.only >= 0 && part(l.lists, l.listEnds, h.only) == part(l.lists, l.listEnds, first) {
			c.lists[i] = c.beside.lists[i]
			c.docs += h.docs
			continue
		}
		c.docs += g.appendTerm(l, first, float32(c.forms[0].weight), g.rows[i])
		c.lists[i] = g.arena[start:len(g.arena):len(g.arena)]
	}
	g.weigh(c)
}

// gain is what a unit that has so many occurrences scores for the concept.
func (c *concept) gain(count float64) float64 {
	return c.idf * (count / (count + c.saturation))
}

// listOf are the occurrences of some forms in a layer, by slot, and how the layer has them.
func (g *gatherer) listOf(l *liveSegment, forms []form) ([]weighted, held) {
	start, only := len(g.arena), -1
	weight, several := 0., false
	for _, f := range forms {
		first, end := l.termsOf(f)
		several = several || end-first > 1 || end > first && only >= 0
		if end > first {
			only, weight = first, f.weight
		}
	}
	h := held{only: -1}
	switch {
	case several:
		g.sum(l, forms)
		h.docs = l.countDocs(g.arena[start:])
	case only >= 0:
		h.docs = g.appendTerm(l, only, float32(weight), nil)
		if weight == 1 {
			h.only = only
		}
	}
	return g.arena[start:len(g.arena):len(g.arena)], h
}

// termsOf are the numbers of the terms of a form: from the first up to, not including, the second.
func (s *segment) termsOf(f form) (first, end int) {
	if f.prefix {
		return s.prefixed(f.term)
	}
	at := s.from(f.term)
	if at < s.terms() && s.name(at) == f.term {
		return at, at + 1
	}
	return at, at
}

// appendTerm appends the occurrences of a term in the notes that are there, and returns how many notes these are. If
// there are rows, occurrences in a note whose row is 0 are only counted.
func (g *gatherer) appendTerm(l *liveSegment, term int, weight float32, rows []int32) (docs int) {
	data := part(l.lists, l.listEnds, term)
	list, widths, once := g.arena, l.widths(), g.once
	if rows == nil {
		list = slices.Grow(list, len(data)) // of each posting there is a byte
	}
	next, before := uint64(0), gone
	for at := 0; at < len(data); {
		head := uint64(data[at])
		if at++; head >= 0x80 {
			head, at = longUvarint(data, at-1)
		}
		counts := [fields]uint32{1, 0, 0}
		if head&3 != onceInFirst {
			counts, at = countsAt(data, at, head&3)
		}
		slot := next + head>>2
		if slot >= uint64(len(widths)) {
			break // it is damaged
		}
		next = slot + 1
		doc := l.docOf[slot]
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
		worth := float32(0)
		if width := widths[slot]; head&3 == onceInFirst && width < wide {
			worth = once.worth[width]
		} else {
			worth = float32(g.norms.count(&l.slots[slot], &counts))
		}
		list = append(list, weighted{uint32(slot), weight * worth})
	}
	g.arena = list
	return docs
}

// countsAt reads what a posting of a kind says of its counts.
func countsAt(data string, at int, kind uint64) (counts [fields]uint32, end int) {
	var n uint64
	switch kind {
	case onceInSecond:
		counts[1] = 1
	case timesInFirst:
		n, at = longUvarint(data, at)
		counts[0] = uint32(n)
	default:
		for i := range counts {
			n, at = longUvarint(data, at)
			counts[i] = uint32(n)
		}
	}
	return counts, at
}

// longUvarint reads a number of any length. Where the data ends in it, it is what is there.
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

// read reads the next posting of a note that is there.
func (l *liveSegment) read(r *postingReader) bool {
	for r.read() {
		if l.dead == nil || l.has(int(l.docOf[r.slot])) {
			return true
		}
	}
	return false
}

// count weighs a posting.
func (g *gatherer) count(l *liveSegment, r *postingReader) float32 {
	return float32(g.norms.count(&l.slots[r.slot], &r.counts))
}

// Norms say what an occurrence is worth in a field, by its length: 1/(base + slope*length).
type norms struct {
	first, last scale   // of a head
	second      float64 // of a head, whatever its length
	unit        [2]scale
}

type scale struct{ base, slope float64 }

// norms are the norms of the things that are there: in a field of average length an occurrence is worth its weight.
func (x *Index) norms() norms {
	p, t := &x.profile, &x.totals
	n := norms{
		first: newScale(p.head[0], t.head[0], t.notes), second: p.head[1].weight,
		last: newScale(p.head[2], t.head[1], t.notes),
	}
	for i := range n.unit {
		n.unit[i] = newScale(p.unit[i], t.unit[i], t.units)
	}
	return n
}

func newScale(w weighting, total uint64, n int) scale {
	if total == 0 || w.slope == 0 {
		return scale{1 / w.weight, 0}
	}
	return scale{(1 - w.slope) / w.weight, w.slope * float64(n) / float64(total) / w.weight}
}

// of is what a number of occurrences is worth. The conversions, here and below, keep machines that
// multiply and add in one from rounding otherwise.
func (n scale) of(count, length uint32) float64 {
	if count == 0 {
		return 0
	}
	return float64(count) / (n.base + float64(n.slope*float64(length)))
}

// count weighs a posting.
func (n *norms) count(s *slot, counts *[fields]uint32) float64 {
	if s.isHead() {
		return n.first.of(counts[0], s.lengths[0]) + float64(n.second*float64(counts[1])) +
			n.last.of(counts[2], s.lengths[1])
	}
	body := n.unit[0].of(counts[0], s.lengths[0])
	if counts[1] == 0 {
		return body
	}
	return body + n.unit[1].of(counts[1], s.lengths[1])
}

// sum appends what stands of some forms of several terms, added up by slot. It is added in the order
// of the terms, so that sums come out the same however the index is laid out.
func (g *gatherer) sum(l *liveSegment, forms []form) {
	if len(g.sums) < len(l.slots) {
		g.sums, g.seen = make([]float32, len(l.slots)), make([]uint64, len(l.slots)/64+1)
	}
	for _, f := range forms {
		first, end := l.termsOf(f)
		for term := first; term < end; term++ {
			g.sumTerm(l, term, float32(f.weight))
		}
	}
	for i := range g.seen[:len(l.slots)/64+1] {
		for ; g.seen[i] != 0; g.seen[i] &= g.seen[i] - 1 {
			slot := uint32(i*64 + bits.TrailingZeros64(g.seen[i]))
			g.arena = append(g.arena, weighted{slot, g.sums[slot]})
			g.sums[slot] = 0
		}
	}
}

// sumTerm adds the occurrences of one term to the sums.
func (g *gatherer) sumTerm(l *liveSegment, term int, weight float32) {
	for r := l.list(term); l.read(&r); {
		g.sums[r.slot] += float32(weight * g.count(l, &r))
		g.seen[r.slot/64] |= 1 << (r.slot % 64)
	}
}

// docsWith is how many notes of a layer have a term.
func (g *gatherer) docsWith(l *liveSegment, term int) int {
	start := len(g.arena)
	n := g.appendTerm(l, term, 1, nil)
	g.arena = g.arena[:start]
	return n
}

// countDocs is how many notes a list is of.
func (s *segment) countDocs(list []weighted) int {
	n, before := 0, -1
	for _, w := range list {
		if doc := int(s.docOf[w.slot]); doc != before {
			n++
			before = doc
		}
	}
	return n
}

// A scored is a note with its score.
type scored struct {
	layer, doc int
	slot       uint32 // of its best unit
	order      uint32 // of its path, in the layer
	score      float64
	path       string
	full       *full // of a thing that was scored with its neighbours
}

// A walker goes through the notes of a layer that have any of the concepts.
type walker struct {
	*liveSegment
	number   int // of the layer
	concepts []*concept
	rest     [][]weighted // of each concept, what is not read yet
	gains    []float64    // by unit, of one note
	touched  []uint32     // the slots with a gain

	secondShare float64
}

func newWalker(x *Index, number int, concepts []*concept) *walker {
	w := &walker{liveSegment: &x.layers[number], number: number, concepts: concepts, secondShare: x.profile.secondShare}
	for _, c := range concepts {
		w.rest = append(w.rest, c.lists[number])
	}
	return w
}

// next is the note that comes next.
func (w *walker) next() (doc int, ok bool) {
	lowest := gone
	for _, list := range w.rest {
		if len(list) > 0 && list[0].slot < lowest {
			lowest = list[0].slot
		}
	}
	if lowest == gone {
		return 0, false
	}
	return int(w.docOf[lowest]), true
}

// score reads what the concepts say of a note. Its units score what its head has and they have,
// taken together.
func (w *walker) score(doc int) scored {
	head, end := w.docs[doc].head, w.end(doc)
	if need := int(end - head); len(w.gains) < need {
		w.gains = make([]float64, need)
	}
	common := 0.0
	for i := range w.rest {
		common += w.read(i, head, end)
	}
	slot, best, second := w.docs[doc].lead, 0.0, 0.0
	slices.Sort(w.touched)
	for _, t := range w.touched {
		gain := w.gains[t-head]
		w.gains[t-head] = 0
		switch {
		case gain > best:
			slot, best, second = t, gain, best
		case gain > second:
			second = gain
		}
	}
	total := common + best
	if len(w.touched) > 1 {
		total += float64(w.secondShare * (common + second))
	}
	w.touched = w.touched[:0]
	return scored{
		layer: w.number, doc: doc, slot: slot, order: w.order[doc],
		score: math.Round(total*1e4) / 1e4, path: w.path(doc),
	}
}

// read adds what one concept gains in a note's units, and returns what its head alone does.
func (w *walker) read(i int, head, end uint32) float64 {
	list, c, inHead := w.rest[i], w.concepts[i], 0.0
	if len(list) > 0 && list[0].slot == head {
		inHead, list = float64(list[0].count), list[1:]
	}
	alone := 0.0
	if inHead > 0 {
		alone = c.gain(inHead)
	}
	for ; len(list) > 0 && list[0].slot < end; list = list[1:] {
		at := list[0].slot - head
		if w.gains[at] == 0 {
			w.touched = append(w.touched, list[0].slot)
		}
		w.gains[at] += c.gain(inHead+float64(list[0].count)) - alone
	}
	w.rest[i] = list
	return alone
}
