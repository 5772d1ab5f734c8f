package search

import (
	"cmp"
	"math"
	"slices"
)

// The parameters of BM25F. A weight says how much an occurrence in a field is worth against one in
// a body; a slope, how much a longer field takes off it.
const (
	saturation = .9

	titleWeight, titleSlope     = 12, .5
	pathWeight                  = 8
	alsoWeight, alsoSlope       = 3, .5
	headingWeight, headingSlope = 3, .5
	bodySlope                   = .7

	// secondShare is what the second best unit of a note adds to the best.
	secondShare = .2
)

// A weighted says how often something stands in a slot: occurrences in an average body.
type weighted struct {
	slot  uint32
	count float32
}

// gather reads the postings of a concept, counts the notes that have it, and weighs it.
func (x *Index) gather(c *concept) {
	c.lists = make([][]weighted, len(x.layers))
	for i := range x.layers {
		l := &x.layers[i]
		c.lists[i] = x.listOf(l, c.forms)
		c.docs += l.countDocs(c.lists[i])
	}
	n, df := float64(x.totals.notes), float64(c.docs)
	c.idf = c.weight * math.Log1p((n-df+.5)/(df+.5))
}

// gain is what a unit that has so many occurrences scores for the concept.
func (c *concept) gain(count float64) float64 {
	return c.idf * (count / (count + saturation))
}

// listOf are the occurrences of some forms in a layer, by slot.
func (x *Index) listOf(l *layer, forms []form) []weighted {
	var list []weighted
	read := 0
	for _, f := range forms {
		first, end := l.termsOf(f)
		for term := first; term < end; term++ {
			list = x.appendTerm(list, l, term, f.weight)
			read++
		}
	}
	if read > 1 {
		return sum(list)
	}
	return list
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

// appendTerm appends the occurrences of a term in the notes that are there.
func (x *Index) appendTerm(list []weighted, l *layer, term int, weight float64) []weighted {
	r := l.list(term)
	list = slices.Grow(list, len(r.data)) // a posting takes a byte at least
	for r.read() {
		if !l.has(int(l.docOf[r.slot])) {
			continue
		}
		count := 0.0
		if l.slots[r.slot].isHead() {
			count = x.headCount(l, r.counts, r.slot)
		} else {
			count = x.bodyCount(l, r.counts, r.slot)
		}
		list = append(list, weighted{r.slot, float32(weight * count)})
	}
	return list
}

// headCount weighs a posting of a head.
func (x *Index) headCount(l *layer, counts [fields]uint32, slot uint32) float64 {
	n, t := l.slots[slot].lengths, &x.totals
	title := normal(counts[fieldTitle], titleSlope, n[0], t.title, t.notes)
	also := normal(counts[fieldAlso], alsoSlope, n[1], t.also, t.notes)
	return float64(titleWeight*title) + float64(pathWeight*float64(counts[fieldPath])) +
		float64(alsoWeight*also)
}

// bodyCount weighs a posting of a unit.
func (x *Index) bodyCount(l *layer, counts [fields]uint32, slot uint32) float64 {
	n, t := l.slots[slot].lengths, &x.totals
	body := normal(counts[fieldBody], bodySlope, n[0], t.body, t.units)
	heading := normal(counts[fieldHeading], headingSlope, n[1], t.heading, t.units)
	return body + float64(headingWeight*heading)
}

// normal is a count for the length of the field that it is of, against the average length. The
// conversions, here and above, keep machines that multiply and add in one from rounding otherwise.
func normal(count uint32, slope float64, length uint32, total uint64, n int) float64 {
	if count == 0 {
		return 0
	}
	average := float64(total) / float64(n)
	return float64(count) / (1 - slope + float64(slope*float64(length)/average))
}

// sum adds up what stands of one slot, and sorts by slot. Of equal slots the order is kept, so that
// sums come out the same however the index is laid out.
func sum(list []weighted) []weighted {
	slices.SortStableFunc(list, func(a, b weighted) int { return cmp.Compare(a.slot, b.slot) })
	kept := list[:0]
	for _, w := range list {
		if n := len(kept); n > 0 && kept[n-1].slot == w.slot {
			kept[n-1].count += w.count
			continue
		}
		kept = append(kept, w)
	}
	return kept
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
	score      float64
	path       string
}

// A walker goes through the notes of a layer that have any of the concepts.
type walker struct {
	*layer
	number   int // of the layer
	concepts []*concept
	rest     [][]weighted // of each concept, what is not read yet
	gains    []float64    // by unit, of one note
	touched  []uint32     // the slots with a gain
}

func newWalker(x *Index, number int, concepts []*concept) *walker {
	w := &walker{layer: &x.layers[number], number: number, concepts: concepts}
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
		total += float64(secondShare * (common + second))
	}
	w.touched = w.touched[:0]
	return scored{w.number, doc, slot, math.Round(total*1e4) / 1e4, w.docs[doc].path}
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
