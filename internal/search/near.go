package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A fullScore is the score of a document in full: with the contributions of its neighbours, its thread
// and its person.
type fullScore struct {
	row         int32    // row of the ranker
	neighbours  [4]int32 // rows of the neighbours: 1 and 2 before, 1 and 2 after; noRow: none
	known       bool     // whether neighbours is set
	parts       Parts
	aboutPerson bool // it is of the one person that the query names
	aboutOther  bool // it is of another person
}

// previous is the position, in fullScore.neighbours, of the neighbour directly before a document.
const previous = 0

// noRow is the row of a neighbour that does not exist.
const noRow = -1

// A ranker scores the documents of a threaded profile. It scores in full the candidates with the
// best scores by their own words, and their neighbours. Each document whose counts it needs has a
// row.
//
// The steps are, as in threaded: scoreOwn, bestOwn, gatherNeighbours, count, scoreAll and rank.
type ranker struct {
	*searcher
	gather *gatherer
	person *personDocs

	ownScores [][]float64 // by layer and document: score by its own words; 0: none
	highest   float64     // the highest of these scores
	foundOwn  int         // number of documents with such a score

	refs  []ref     // by row: the document
	rows  [][]int32 // by layer and document: row + 1; 0: no row
	best  int       // the first best rows are the candidates with the best own scores
	tally tally
	full  []fullScore // of the first rows: those scored in full
}

// threaded runs the query on a threaded profile and returns the page that the options select.
func (s *searcher) threaded(g *gatherer) (Results, error) {
	r := &ranker{searcher: s, gather: g}
	r.ownScores, r.rows = g.buffers()
	r.refs = g.refs[:0]
	defer func() {
		g.clearRows(r.refs)
		clear(g.columns) // they refer to concepts of the query
		g.refs = r.refs
	}()
	// All documents are scored by their own words first, because the full score is too expensive
	// for all of them. Only the best of them, and their neighbours, get rows and a full score.
	if err := r.scoreOwn(); err != nil {
		return Results{}, err
	}
	// From here on, hits can be explained by the ranker; see searcher.why.
	s.ranker, r.person = r, s.x.docsOfPerson(s.correctedWords())
	r.gatherNeighbours(r.bestOwn())
	r.count()
	r.scoreAll()
	page := ranking{most: s.Limit + 1, after: s.After, tie: s.Tie}
	if err := r.rank(&page); err != nil {
		return Results{}, err
	}
	return s.results(&page, page.total, false)
}

// correctedWords returns the words of the query. A word that is in no document is replaced by the most
// similar word, if there is one.
func (p *plan) correctedWords() []string {
	words := slices.Clone(p.tokens)
	for i, word := range words {
		words[i] = cmp.Or(p.corrections[word], word)
	}
	return words
}

// scoreOwn scores all documents by their own words, except for late concepts.
func (r *ranker) scoreOwn() error {
	if r.all || len(r.must)+len(r.mustNot) > 0 {
		return r.scoreWalking()
	}
	for _, c := range r.concepts {
		if c.late {
			continue
		}
		if r.Canceled != nil {
			if err := r.Canceled(); err != nil {
				return err
			}
		}
		for layer, list := range c.lists {
			r.highest = c.addTo(r.ownScores[layer], r.x.layers[layer].docOf, list, r.highest)
		}
	}
	return nil
}

// scoreWalking does the work of scoreOwn for a query with requirements or exclusions, where
// having a word is not enough. No concept is late then.
func (r *ranker) scoreWalking() error {
	for _, c := range r.concepts {
		// each needs the lists of all concepts, so none can be late.
		c.late = false
		r.gather.gather(c)
	}
	return r.each(nil, func(f scored) {
		score := max(f.score, math.SmallestNonzeroFloat64)
		r.ownScores[f.layer][f.doc], r.highest = score, max(r.highest, score)
	})
}

// addTo adds the gains of the concept to scores, which are indexed by document, and returns the
// highest score or, if it is higher, highest. Occurrences in the head and in the passage of a
// document are added up first.
func (c *concept) addTo(scores []float64, docOf []uint32, list []weighted, highest float64) float64 {
	idf, saturation := c.idf, c.k1
	for i := 0; i < len(list); {
		doc, count := docOf[list[i].slot], float64(list[i].count)
		for i++; i < len(list) && docOf[list[i].slot] == doc; i++ {
			count += float64(list[i].count)
		}
		score := scores[doc] + float64(idf*(count/(count+saturation)))
		if scores[doc] = score; score > highest {
			highest = score
		}
	}
	return highest
}

// bestOwn returns the documents with the best own scores, at most as many as the profile has
// candidates, followed by those whose name is the query. It sets best.
func (r *ranker) bestOwn() []ref {
	most := r.x.profile.thread.candidates
	best, doubtful := r.sift(most)
	// Only the doubtful ones must be sorted, which are few as a rule.
	if room := most - len(best); len(doubtful) > room {
		doubtful = r.topOwn(doubtful, room)
	}
	for _, o := range doubtful {
		best = append(best, o.ref)
	}
	r.best = len(best)
	for named := range r.named {
		if r.admits(int(named.layer), int(named.doc)) && !slices.Contains(best, named) {
			best = append(best, named)
		}
	}
	return best
}

// An ownScore is a document with the score by its own words.
type ownScore struct {
	ref
	score float64
}

// topOwn returns the best documents of a list, most of them, in any order. The list must have
// more.
//
// It keeps a buffer of candidates, which it sorts and cuts when it is full.
func (r *ranker) topOwn(list []ownScore, most int) []ownScore {
	kept := make([]ownScore, 0, 2*most+64)
	full := false
	for _, o := range slices.Backward(list) { // the last ones are probably the newest
		// kept[most-1] is the worst of the best so far: everything after it can be dropped.
		if full && r.compareOwn(o, kept[most-1]) > 0 {
			continue
		}
		if kept = append(kept, o); len(kept) == cap(kept) {
			slices.SortFunc(kept, r.compareOwn)
			kept, full = kept[:most], true
		}
	}
	slices.SortFunc(kept, r.compareOwn)
	return kept[:most]
}

// compareOwn compares documents by descending own score, then by merit, then by path.
func (r *ranker) compareOwn(a, b ownScore) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	if c := r.x.member(a.ref).compareMerit(r.x.member(b.ref)); c != 0 {
		return c
	}
	return cmp.Compare(r.x.layers[a.layer].path(int(a.doc)), r.x.layers[b.layer].path(int(b.doc)))
}

// A foundOwn is a document with the step of its own score; see sift.
type foundOwn struct {
	ref
	step int32
}

// siftSteps is the number of steps into which sift divides the range of scores.
const siftSteps = 1024

// sift counts the documents with an own score in foundOwn. It returns the documents that are
// certainly among the best most ones, and the doubtful ones, of which some are.
//
// It sorts scores into steps of equal width, so that no list of all documents must be sorted. Only
// those in the step where the limit is reached are doubtful.
func (r *ranker) sift(most int) (best []ref, doubtful []ownScore) {
	if r.highest == 0 {
		return nil, nil
	}
	// steps is a histogram of the scores. It finds the best documents in linear time, without
	// sorting all of them.
	var steps [siftSteps + 1]int
	scale := siftSteps / r.highest
	found := r.gather.found[:0]
	for layer, scores := range r.ownScores {
		for doc, score := range scores {
			if score > 0 {
				step := int(score * scale)
				steps[step]++
				found = append(found, foundOwn{ref{int32(layer), int32(doc)}, int32(step)})
			}
		}
	}
	r.foundOwn, r.gather.found = len(found), found
	// least becomes the highest step such that it and the steps above it have at least most
	// documents. All documents above it are among the best, those in it possibly.
	least, n := siftSteps, steps[siftSteps]
	for ; least > 0 && n < most; least-- {
		n += steps[least-1]
	}
	best = make([]ref, 0, most+len(r.named))
	for i := range found {
		switch f := &found[i]; {
		case int(f.step) > least:
			best = append(best, f.ref)
		case int(f.step) == least:
			doubtful = append(doubtful, ownScore{f.ref, r.ownScores[f.layer][f.doc]})
		}
	}
	return best, doubtful
}

// gatherNeighbours assigns rows to the best documents and to those within two steps of them that the
// query admits, which are all scored in full, and then to the neighbours of all these.
func (r *ranker) gatherNeighbours(best []ref) {
	for _, of := range best {
		r.row(of)
	}
	// First all documents that are scored in full get rows, so that theirs are the first rows.
	// The neighbours of these, which only contribute words, follow.
	windows := r.gather.windows[:0]
	for i := range best {
		windows = append(windows, r.x.window(r.refs[i]))
		for _, step := range [...]int{-1, -2, 1, 2} {
			if n := windows[i].at(step); n != noRef && r.admits(int(n.layer), int(n.doc)) {
				r.row(n)
			}
		}
	}
	r.full = slices.Grow(r.gather.full[:0], len(r.refs))[:len(r.refs)]
	clear(r.full)
	for i := range windows {
		for middle := -2; middle <= 2; middle++ {
			r.setNeighbours(&windows[i], middle)
		}
	}
	r.gather.windows, r.gather.full = windows, r.full
}

// setNeighbours sets the neighbours of a document in a window, if it is scored in full and they are
// not set yet.
//
// middle is the position of the document in the window: 0 for the one that the window is of.
func (r *ranker) setNeighbours(w *window, middle int) {
	of := w.at(middle)
	if of == noRef {
		return
	}
	row := int(r.rows[of.layer][of.doc]) - 1
	// Windows overlap, so most documents occur in several of them.
	if row < 0 || row >= len(r.full) || r.full[row].known {
		return
	}
	r.full[row] = fullScore{row: int32(row), known: true, neighbours: [4]int32{
		r.row(w.at(middle - 1)), r.row(w.at(middle - 2)), r.row(w.at(middle + 1)), r.row(w.at(middle + 2)),
	}}
}

// row returns the row of a document, and assigns the next row if it has none. It returns noRow for
// noRef.
func (r *ranker) row(of ref) int32 {
	if of == noRef {
		return noRow
	}
	rows := r.rows[of.layer]
	if rows[of.doc] == 0 {
		r.refs = append(r.refs, of)
		rows[of.doc] = int32(len(r.refs))
	}
	return rows[of.doc] - 1
}

// scoreAll scores the documents of the first rows in full.
func (r *ranker) scoreAll() {
	for i := range r.full {
		r.full[i].parts.Text = r.tally.score(&r.full[i], &r.x.profile.thread)
	}
	// All scores by words are known now, so the best of each thread is too.
	r.shareThreads()
	if r.person == nil {
		return
	}
	for i := range r.full {
		f, of := &r.full[i], r.refs[i]
		f.aboutPerson = r.person.has(int(of.layer), r.x.layers[of.layer].docs[of.doc].head)
		// A document without persons is neither.
		f.aboutOther = !f.aboutPerson && r.x.member(of).has(knownFlag)
		if f.aboutPerson {
			p := &f.parts
			p.Person = float64((r.x.profile.thread.person - 1) * (p.Text + p.Neighbours + p.Thread))
		}
	}
}

// shareThreads adds to each document a share of the best score in its thread, among those that
// were scored in full. A document without a thread is a thread of its own.
func (r *ranker) shareThreads() {
	share := r.x.profile.thread.share
	for i := range r.full {
		if !r.x.member(r.refs[i]).inThread() {
			p := &r.full[i].parts
			p.Thread = float64(share * p.text())
		}
	}
	// Documents of a thread are adjacent in order, unless a gap separates them.
	order := r.inThreads()
	for from := 0; from < len(order); {
		to, best := from+1, r.full[order[from].row].parts.text()
		for to < len(order) && r.inSameThread(&order[to-1], &order[to]) {
			best = max(best, r.full[order[to].row].parts.text())
			to++
		}
		for ; from < to; from++ {
			r.full[order[from].row].parts.Thread = float64(share * best)
		}
	}
}

// inThreads returns the documents in threads that are scored in full, ordered by thread and
// position.
func (r *ranker) inThreads() []threadPosition {
	order, merged := r.gather.order[:0], r.gather.merged[:0]
	for layer := range r.x.layers {
		// Within a layer, ranks are in the order of threads. So a bit set of ranks sorts the
		// documents of the layer, and the sorted layers are merged.
		l := &r.x.layers[layer]
		marks := r.gather.bitSet(len(l.byThread))
		for i := range r.full {
			if of := r.refs[i]; int(of.layer) == layer && l.members[of.doc].inThread() {
				rank := l.rank[of.doc]
				marks[rank/64] |= 1 << (rank % 64)
			}
		}
		merged = r.merge(merged[:0], order, layer, marks)
		order, merged = merged, order
	}
	r.gather.order, r.gather.merged = order, merged
	return order
}

// merge appends to to the sorted documents of order and those of a layer whose ranks are in marks, in
// order. It clears marks.
func (r *ranker) merge(to, order []threadPosition, layer int, marks []uint64) []threadPosition {
	l, rows := &r.x.layers[layer], r.rows[layer]
	for i := range marks {
		for ; marks[i] != 0; marks[i] &= marks[i] - 1 {
			doc := l.byThread[i*64+bits.TrailingZeros64(marks[i])]
			m := &l.members[doc]
			p := threadPosition{wholeOf(m.thread), m.at(), wholeOf(m.seq), int(rows[doc]) - 1}
			for len(order) > 0 && order[0].compare(&p) <= 0 {
				to, order = append(to, order[0]), order[1:]
			}
			to = append(to, p)
		}
	}
	return append(to, order...)
}

// A threadPosition is a row with the position of its document in its thread.
type threadPosition struct {
	thread uint64
	at     int64
	seq    uint64
	row    int
}

// compare compares positions by thread, then by time, then by seq.
func (p *threadPosition) compare(o *threadPosition) int {
	if p.thread != o.thread {
		return cmp.Compare(p.thread, o.thread)
	}
	if p.at != o.at {
		return cmp.Compare(p.at, o.at)
	}
	return cmp.Compare(p.seq, o.seq)
}

// inSameThread reports whether two documents that are adjacent among those scored in full belong to
// the same thread, without a gap between them.
func (r *ranker) inSameThread(a, b *threadPosition) bool {
	return a.thread == b.thread && b.at-a.at <= r.x.profile.thread.gap.Milliseconds()
}

// rank adds all documents that were found to a ranking, with their full score or with one derived
// from their own score. A document that was not scored in full comes after all of the best, so if
// these fill the page it is only counted.
func (r *ranker) rank(page *ranking) error {
	enough, also, least := 0, 0, r.leastOf(page)
	for i := range r.full {
		of := r.refs[i]
		if r.ownScores[of.layer][of.doc] > 0 {
			also++
		}
		score := r.full[i].parts.sum()
		// This avoids the construction of results that cannot be on the page.
		if score < least {
			page.total++
		} else {
			f := r.scored(of, score, &r.full[i])
			if r.Filter != nil && !r.Filter(f.path) {
				continue
			}
			page.add(f)
		}
		if i < r.best {
			enough++
		}
	}
	// Without a cursor, enough of the best documents fill the page. All others come after them,
	// and need not be ranked.
	filled := page.after == nil && enough >= page.most
	if filled && r.Filter == nil {
		page.total += r.foundOwn - also
		return nil
	}
	for layer := range r.ownScores {
		if err := r.rankOthers(page, layer, filled); err != nil {
			return err
		}
	}
	return nil
}

// mostSelected is the largest number of scores that leastOf selects.
const mostSelected = 32

// leastOf returns a score such that no document with a lower one, of those that are scored in full,
// is on the page; 0 if it cannot be known before.
func (r *ranker) leastOf(page *ranking) float64 {
	if r.Filter != nil || page.after != nil || len(r.named) > 0 || page.most > mostSelected || page.most > len(r.full) {
		return 0
	}
	var list [mostSelected]float64
	best := list[:page.most] // descending
	for i := range r.full {
		score := r.full[i].parts.sum()
		if score <= best[len(best)-1] {
			continue
		}
		at := len(best) - 1
		for ; at > 0 && best[at-1] < score; at-- {
			best[at] = best[at-1]
		}
		best[at] = score
	}
	// Scores are rounded before they are compared, and documents with equal scores ordered.
	const rounding = 1e-4
	return best[len(best)-1] - rounding
}

// rankOthers adds the documents of a layer that were found but not scored in full. If filled, it
// only counts them.
func (r *ranker) rankOthers(page *ranking, layer int, filled bool) error {
	share, l, rows, step := 1+r.x.profile.thread.share, &r.x.layers[layer], r.rows[layer], 0
	for doc, score := range r.ownScores[layer] {
		if score == 0 || rows[doc] > 0 && int(rows[doc]) <= len(r.full) {
			continue
		}
		step++
		if err := r.canceled(step); err != nil {
			return err
		}
		switch {
		case r.Filter != nil && !r.Filter(l.path(doc)):
		case filled:
			page.total++
		default:
			// A document that was not scored in full is treated as a thread of its own.
			page.add(r.scored(ref{int32(layer), int32(doc)}, float64(share*score), nil))
		}
	}
	return nil
}

// scored returns a document with its score, rounded to four decimal places. f is nil if it was
// not scored in full.
func (r *ranker) scored(of ref, score float64, f *fullScore) scored {
	l := &r.x.layers[of.layer]
	doc := int(of.doc)
	return scored{
		layer: int(of.layer), doc: doc, slot: l.docs[doc].lead, order: l.order[doc], path: l.path(doc), full: f,
		score: rounded(score + r.bonus(int(of.layer), doc)),
	}
}
