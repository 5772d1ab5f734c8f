package search

import (
	"math"
	"math/bits"
	"runtime"
	"slices"
)

// A weighted is the weight of the occurrences of a concept in a slot. An occurrence in a body of
// average length has weight 1.
type weighted struct {
	slot  uint32
	count float32
}

// A gatherer reads postings for one query. The lists that it returns are valid until release.
//
// Its memory is reused by later queries of the same analyzer, because a query of a large index
// needs some megabytes.
type gatherer struct {
	x     *Index
	norms norms
	arena []weighted // memory of the lists
	sums  []float32  // by slot of a layer; all 0 between uses
	seen  []uint64   // see bitSet; of sum: the slots that have a sum
	first firstWeights

	// Memory of a ranker, by layer and document; rows are all 0 between uses.
	scores [][]float64
	rows   [][]int32

	// Memory of a ranker for the documents that it scores in full.
	refs    []ref
	windows []window
	full    []fullScore
	columns []column
	counts  []float32
	order   []threadPosition
	merged  []threadPosition
	found   []foundOwn
}

// shortField is the length, in words, from which the weight of occurrences is not remembered.
const shortField = 512

// fewTimes is the largest number of occurrences whose weight is remembered.
const fewTimes = 8

// A firstWeights contains the weights of occurrences in the first field of a slot, by their number
// from 1 to fewTimes, less one, and by the width of the slot. A weight that was not needed yet is 0.
//
// It is cleared when the average lengths of fields change, which are part of norms.
type firstWeights struct {
	norms   norms
	weights [fewTimes][2 * shortField]float32
}

// The width of a slot is the length of its first field, plus shortField for a head. It is wide if
// the field is not short.
const wide = 2 * shortField

// widths returns the width of each slot. They are computed on first use. Concurrent callers can
// compute them at the same time, with the same result.
func (s *segment) widths() []uint16 {
	if known := s.widthCache.Load(); known != nil {
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
	s.widthCache.Store(&all)
	return all
}

// gatherer returns a gatherer for a query on the index, which must be released.
func (x *Index) gatherer() *gatherer {
	g, ok := x.analyzer.gatherers.Get().(*gatherer)
	if !ok {
		g = &gatherer{}
	}
	g.x, g.norms, g.arena = x, x.norms(), g.arena[:0]
	if g.first.norms != g.norms {
		g.first = firstWeights{norms: g.norms}
	}
	return g
}

// minQueries is the number of concurrent queries of an index on a machine with few processors.
// Each query has lists of up to some megabytes, so many more queries than processors would cost
// memory without finishing sooner. It is greater than one because some queries wait for texts.
const minQueries = 8

// maxQueries returns the number of concurrent queries of an index; other queries wait.
func maxQueries() int { return max(minQueries, 2*runtime.GOMAXPROCS(0)) }

// mostKept is the maximum capacity of an arena that is reused: 1 Mi entries, 8 MB.
const mostKept = 1 << 20

// release returns the gatherer to the pool, unless its arena is larger than mostKept. The lists
// must not be used afterwards.
func (g *gatherer) release() {
	pool := &g.x.analyzer.gatherers
	if g.x = nil; cap(g.arena) <= mostKept {
		pool.Put(g)
	}
}

// buffers returns the memory of a ranker for the documents of each layer, all 0. scores is valid
// until the next call; rows must be cleared with clearRows.
func (g *gatherer) buffers() (scores [][]float64, rows [][]int32) {
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

// clearRows sets the rows of some documents to 0.
func (g *gatherer) clearRows(refs []ref) {
	for _, of := range refs {
		g.rows[of.layer][of.doc] = 0
	}
}

// gather reads the postings of a concept, and sets its lists, the number of notes that have it
// and its idf. It does not read those of a late concept.
//
// It can be called again for a concept whose late was cleared.
func (g *gatherer) gather(c *concept) {
	c.k1 = g.x.profile.k1
	if c.late {
		return
	}
	c.lists, c.stats, c.docs = make([][]weighted, len(g.x.layers)), make([]layerStats, len(g.x.layers)), 0
	for i := range g.x.layers {
		if l := &g.x.layers[i]; c.repeatsIn(i, l) {
			c.lists[i], c.stats[i] = c.beside.lists[i], c.beside.stats[i]
		} else {
			c.lists[i], c.stats[i] = g.listOf(l, c.forms)
		}
		c.docs += c.stats[i].docs
	}
	g.weigh(c)
}

// repeatsIn reports whether a concept has the same occurrences in a layer as the concept beside it:
// the notes have the word in one form only.
func (c *concept) repeatsIn(i int, l *liveSegment) bool {
	if c.beside == nil || c.beside.stats[i].only < 0 {
		return false
	}
	first, end := l.termsOf(c.forms[0])
	return end > first && l.sameList(first, c.beside.stats[i].only)
}

// weigh sets the idf of a concept from the number of notes that have it.
//
//	idf = weight * ln(1 + (n - df + 0.5)/(df + 0.5))
//
// where n is the number of notes, and df the number of those that have the concept.
func (g *gatherer) weigh(c *concept) {
	n, df := float64(g.x.totals.notes), float64(c.docs)
	c.idf = c.weight * math.Log1p((n-df+.5)/(df+.5))
}

// gatherLate reads the postings of a late concept, which has one form. It keeps only those of
// documents that have rows. If the word has only one form in a layer, it uses the list of the
// concept beside it instead.
func (g *gatherer) gatherLate(c *concept) {
	c.lists, c.docs, c.repeats = make([][]weighted, len(g.x.layers)), 0, true
	for i := range g.x.layers {
		l, start := &g.x.layers[i], len(g.arena)
		first, end := l.termsOf(c.forms[0])
		if end == first {
			c.repeats = c.repeats && len(c.beside.lists[i]) == 0
			continue
		}
		// If the postings of the stem and of the word as written are equal, all occurrences of
		// the stem are in this form, and the list of the stem can be shared.
		if h := c.beside.stats[i]; h.only >= 0 && l.sameList(first, h.only) {
			c.lists[i] = c.beside.lists[i]
			c.docs += h.docs
			continue
		}
		c.repeats = false
		c.docs += g.appendTerm(l, first, float32(c.forms[0].weight), g.rows[i])
		c.lists[i] = g.arena[start:len(g.arena):len(g.arena)]
	}
	g.weigh(c)
}

// listOf returns the occurrences of some forms in a layer, by slot, and how the layer has them.
//
// If a layer has a single term for all forms, its postings are appended without sums.
func (g *gatherer) listOf(l *liveSegment, forms []form) ([]weighted, layerStats) {
	start, only := len(g.arena), -1
	weight, several := 0., false
	for _, f := range forms {
		first, end := l.termsOf(f)
		// A single term needs no sums, so its postings can be appended as they are.
		several = several || end-first > 1 || end > first && only >= 0
		if end > first {
			only, weight = first, f.weight
		}
	}
	h := layerStats{only: -1}
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

// termsOf returns the range of terms that a form matches: from first up to, not including, end.
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

// read reads the next posting of a document that is not deleted. It returns false at the end of
// the list.
func (l *liveSegment) read(r *postingReader) bool {
	for r.read() {
		if l.dead == nil || l.has(int(l.docOf[r.slot])) {
			return true
		}
	}
	return false
}

// Norms contain the parameters of the weight of an occurrence in each field, which depends on the
// length of the field: 1/(base + slope*length).
//
// For a field with weight w and the BM25 parameter b, this is w/(1-b + b*length/average), where
// average is the average length of the field. So base is (1-b)/w, and slope is b/(average*w).
type norms struct {
	first, last scale   // fields 0 and 2 of a head
	second      float64 // field 1 of a head, whatever its length
	unit        [2]scale
}

// A scale contains the parameters for one field.
type scale struct{ base, slope float64 }

// norms returns the norms of the documents that are not deleted. In a field of average length, an
// occurrence has the weight of the field.
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

// newScale returns the scale of a field with a total length over n documents or passages.
func newScale(w weighting, total uint64, n int) scale {
	// The length of the field does not matter, or there is no average.
	if total == 0 || w.b == 0 {
		return scale{1 / w.weight, 0}
	}
	return scale{(1 - w.b) / w.weight, w.b * float64(n) / float64(total) / w.weight}
}

// of returns the weight of a number of occurrences in a field. The conversions to float64, here
// and below, prevent fused multiply-add, which rounds differently, so that scores are the same on
// all machines.
func (n scale) of(count, length uint32) float64 {
	if count == 0 {
		return 0
	}
	return float64(count) / (n.base + float64(n.slope*float64(length)))
}

// count returns the weight of the occurrences of a posting.
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

// sum appends the occurrences of several terms, added up by slot. It adds them in the order of
// the forms and terms, so that the rounding does not depend on the layers.
func (g *gatherer) sum(l *liveSegment, forms []form) {
	if len(g.sums) < len(l.slots) {
		g.sums = make([]float32, len(l.slots))
	}
	seen := g.bitSet(len(l.slots))
	for _, f := range forms {
		first, end := l.termsOf(f)
		for term := first; term < end; term++ {
			g.sumTerm(l, term, float32(f.weight))
		}
	}
	// Scanning the bit set yields the slots in order, without sorting, and clears sums and seen
	// for the next use.
	for i := range seen {
		for ; seen[i] != 0; seen[i] &= seen[i] - 1 {
			slot := uint32(i*64 + bits.TrailingZeros64(seen[i]))
			g.arena = append(g.arena, weighted{slot, g.sums[slot]})
			g.sums[slot] = 0
		}
	}
}

// bitSet returns a bit set for n numbers, without any. Its user clears it after use.
func (g *gatherer) bitSet(n int) []uint64 {
	if len(g.seen) < n/64+1 {
		g.seen = make([]uint64, n/64+1)
	}
	return g.seen[:n/64+1]
}

// sumTerm adds the occurrences of one term to the sums.
func (g *gatherer) sumTerm(l *liveSegment, term int, weight float32) {
	start := len(g.arena)
	g.appendTerm(l, term, weight, nil)
	for _, w := range g.arena[start:] {
		g.sums[w.slot] += w.count
		g.seen[w.slot/64] |= 1 << (w.slot % 64)
	}
	g.arena = g.arena[:start]
}

// docsWith returns the number of documents of a layer that have a term and are not deleted.
func (g *gatherer) docsWith(l *liveSegment, term int) int {
	start := len(g.arena)
	n := g.appendTerm(l, term, 1, nil)
	g.arena = g.arena[:start]
	return n
}

// countDocs returns the number of documents in a list, which must be sorted by slot.
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

// A scored is a document with its score.
type scored struct {
	layer, doc int
	slot       uint32 // of its best passage
	order      uint32 // rank of its path in the layer
	score      float64
	path       string
	full       *fullScore // of a document that was scored in full; else nil
}

// A walker iterates over the documents of a layer that have any of the concepts.
//
// It reads the lists of all concepts in parallel, document by document. A document is scored once
// all of its slots are read.
type walker struct {
	*liveSegment
	number   int // index of the layer
	concepts []*concept
	rest     [][]weighted // by concept: the unread rest of its list
	required []uint32     // the rest of the slots that nextRequired visits
	shared   []bool       // by concept: the concept after it has the same list, and no rest of its own
	gains    []float64    // by slot of the current document, relative to the head
	touched  []uint32     // slots with a gain

	secondShare float64
}

// newWalker returns a walker at the begin of a layer.
func newWalker(x *Index, number int, concepts []*concept) *walker {
	w := &walker{liveSegment: &x.layers[number], number: number, concepts: concepts, secondShare: x.profile.secondShare}
	w.shared = make([]bool, len(concepts))
	for i, c := range concepts {
		list := c.lists[number]
		if i > 0 && c.beside == concepts[i-1] && shareMemory(list, c.beside.lists[number]) {
			w.shared[i-1], list = true, nil
		}
		w.rest = append(w.rest, list)
	}
	return w
}

// shareMemory reports whether two lists are the same memory, and not empty.
func shareMemory(a, b []weighted) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }

// next returns the next document; false at the end. score and skip advance to the one after it.
func (w *walker) next() (doc int, ok bool) {
	lowest := deletedSlot
	for _, list := range w.rest {
		if len(list) > 0 && list[0].slot < lowest {
			lowest = list[0].slot
		}
	}
	if lowest == deletedSlot {
		return 0, false
	}
	return int(w.docOf[lowest]), true
}

// nextRequired returns the next document that has any of the concepts and a required slot; false at the
// end. It skips the documents between without reading their occurrences.
func (w *walker) nextRequired() (doc int, ok bool) {
	for len(w.required) > 0 {
		doc := int(w.docOf[w.required[0]])
		head, end := w.docs[doc].head, w.end(doc)
		for i, list := range w.rest {
			w.rest[i] = list[firstFrom(list, head):]
		}
		for len(w.required) > 0 && w.required[0] < end {
			w.required = w.required[1:]
		}
		if next, ok := w.next(); !ok || next == doc {
			return next, ok
		}
	}
	return 0, false
}

// firstFrom returns the index of the first occurrence in a list whose slot is at least the given one. It
// takes time in proportion to the logarithm of the index.
func firstFrom(list []weighted, slot uint32) int {
	end := 1
	for end < len(list) && list[end-1].slot < slot {
		end *= 2
	}
	begin := end / 2
	at, _ := slices.BinarySearchFunc(list[begin:min(end, len(list))], slot, weighted.compareSlot)
	return begin + at
}

// score returns the score of a document and advances past it. The occurrences in the head count
// for each passage, together with its own.
//
//	score = common + best                                   at most one passage has a gain
//	score = common + best + secondShare*(common + second)   otherwise
func (w *walker) score(doc int) scored {
	head, end := w.docs[doc].head, w.end(doc)
	if need := int(end - head); len(w.gains) < need {
		w.gains = make([]float64, need)
	}
	common := 0.0
	for i := range w.rest {
		// common is what the head gains alone; gains contains what each passage adds to that.
		alone, beside := w.read(i, head, end)
		common += alone
		common += beside
	}
	slot, best, second := w.docs[doc].lead, 0.0, 0.0
	// Of passages with equal gains, the first one in the text wins.
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
		score: rounded(total), path: w.path(doc),
	}
}

// skip advances past a document without a score.
func (w *walker) skip(doc int) {
	end := w.end(doc)
	for i, list := range w.rest {
		for len(list) > 0 && list[0].slot < end {
			list = list[1:]
		}
		w.rest[i] = list
	}
}

// read adds the gain of a concept to each passage of a document, and returns the gain of the head
// alone. The gain is the idf times the term frequency of BM25; the length of the field is part of the
// count already. If the next concept shares its list, read adds the gain of that one too, and returns it as
// beside. Gains are added one after the other, because their order changes the rounding.
func (w *walker) read(i int, head, end uint32) (alone, beside float64) {
	list, inHead := w.rest[i], 0.0
	if len(list) == 0 || list[0].slot >= end {
		return 0, 0
	}
	c, other := w.concepts[i], (*concept)(nil)
	if w.shared[i] {
		other = w.concepts[i+1]
	}
	if list[0].slot == head {
		inHead, list = float64(list[0].count), list[1:]
		ratio := inHead / (inHead + c.k1)
		alone = float64(c.idf * ratio)
		if other != nil {
			beside = float64(other.idf * ratio)
		}
	}
	for ; len(list) > 0 && list[0].slot < end; list = list[1:] {
		count := inHead + float64(list[0].count)
		ratio := count / (count + c.k1)
		w.add(list[0].slot, head, float64(c.idf*ratio)-alone)
		if other != nil {
			w.add(list[0].slot, head, float64(other.idf*ratio)-beside)
		}
	}
	w.rest[i] = list
	return alone, beside
}

// add adds a gain to a passage.
func (w *walker) add(slot, head uint32, gain float64) {
	if w.gains[slot-head] == 0 {
		w.touched = append(w.touched, slot)
	}
	w.gains[slot-head] += gain
}

// rounded rounds a score, or a share, to four decimal places.
func rounded(score float64) float64 { return math.Round(score*1e4) / 1e4 }
