package search

import (
	"cmp"
	"math"
	"slices"
)

// A full is the score of a thing with all that its neighbours, its thread and its person add.
type full struct {
	row    int  // of the counts of the ranker
	known  bool // near is
	near   [4]int
	parts  Parts
	theirs bool // it is of the one person whom the query names
	others bool // it is somebody else's
}

// Of the four neighbours of a thing, the one right before it comes first.
const previous = 0

// nobody is the row of a neighbour that there is none of.
const nobody = -1

// A ranker scores things of a threaded profile: the best by their own words, and those near them, in full.
type ranker struct {
	*searcher
	gather  *gatherer
	threads threads
	naming  *naming

	own      [][]float64 // by layer, by thing: what it scores by its own words; 0: nothing
	foundOwn int         // so many things score anything

	refs  []ref     // of the rows
	rows  [][]int32 // by layer, by thing: its row + 1; 0: none
	best  int       // so many of the first rows are the best by their own words
	tally []float32 // of each row: what the head has of each concept, and then what the unit has
	full  []full    // of the first rows

	nothing []float32 // what nobody has of each concept
}

// threaded scores what is found, and returns the page that the options ask for.
func (s *searcher) threaded(g *gatherer) (Results, error) {
	r := &ranker{searcher: s, gather: g, threads: threads{s.x, map[uint64][]stretch{}}}
	r.own, r.rows = g.room()
	r.refs = g.refs[:0]
	defer func() {
		g.clearRows(r.refs)
		g.refs = r.refs
	}()
	if err := r.scoreOwn(); err != nil {
		return Results{}, err
	}
	s.ranker, r.naming = r, s.x.naming(s.likely())
	r.gatherNear(r.bestOwn())
	r.count()
	r.scoreAll()
	page := ranking{most: s.Limit + 1, after: s.After, tie: s.Tie}
	if err := r.rank(&page); err != nil {
		return Results{}, err
	}
	return s.results(&page, page.total, false)
}

// likely are the words of the query, and in place of those that are in no note what is most like them.
func (p *plan) likely() []string {
	words := slices.Clone(p.tokens)
	for i, word := range words {
		words[i] = cmp.Or(p.meant[word], word)
	}
	return words
}

// scoreOwn scores everything by its own words, but for the concepts that count only in full.
func (r *ranker) scoreOwn() error {
	if r.all || len(r.must)+len(r.never) > 0 {
		return r.scoreWalking()
	}
	for _, c := range r.concepts {
		if c.late {
			continue
		}
		if r.Ended != nil {
			if err := r.Ended(); err != nil {
				return err
			}
		}
		for layer, list := range c.lists {
			c.addTo(r.own[layer], r.x.layers[layer].docOf, list)
		}
	}
	return nil
}

// scoreWalking is scoreOwn for a query with signs: not all that has words of it is found.
func (r *ranker) scoreWalking() error {
	for _, c := range r.concepts {
		c.late = false
		r.gather.gather(c)
	}
	return r.each(nil, func(f scored) { r.own[f.layer][f.doc] = max(f.score, math.SmallestNonzeroFloat64) })
}

// addTo adds to the scores of some things what they gain by the concept: their heads and units taken together.
func (c *concept) addTo(scores []float64, docOf []uint32, list []weighted) {
	idf, saturation := c.idf, c.saturation
	for i := 0; i < len(list); {
		doc, count := docOf[list[i].slot], float64(list[i].count)
		for i++; i < len(list) && docOf[list[i].slot] == doc; i++ {
			count += float64(list[i].count)
		}
		scores[doc] += float64(idf * (count / (count + saturation)))
	}
}

// bestOwn are the best by their own words, and what has the query as its name.
func (r *ranker) bestOwn() []ref {
	most := r.x.profile.thread.candidates
	best, doubtful := r.sift(most)
	if room := most - len(best); len(doubtful) > room {
		doubtful = r.chosen(doubtful, room)
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

// An own is a thing that was found by its own words.
type own struct {
	ref
	score float64
}

// chosen are so many of the best of a list, which has more, in any order.
func (r *ranker) chosen(list []own, most int) []own {
	kept := make([]own, 0, 2*most+64)
	full := false
	for _, o := range slices.Backward(list) { // what came last is most likely to be the newest
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

// compareOwn orders things by their own scores, the best first.
func (r *ranker) compareOwn(a, b own) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	if c := r.x.member(a.ref).compareMerit(r.x.member(b.ref)); c != 0 {
		return c
	}
	return cmp.Compare(r.x.layers[a.layer].path(int(a.doc)), r.x.layers[b.layer].path(int(b.doc)))
}

// sieve is into how many steps scores are parted to find the best.
const sieve = 1024

// sift counts what is found, and finds those that are certainly among so many of the best, and those that may be.
func (r *ranker) sift(most int) (best []ref, doubtful []own) {
	highest := 0.
	for _, scores := range r.own {
		for _, score := range scores {
			highest = max(highest, score)
		}
	}
	if highest == 0 {
		return nil, nil
	}
	var steps [sieve + 1]int
	scale := sieve / highest
	for _, scores := range r.own {
		for _, score := range scores {
			if score > 0 {
				r.foundOwn++
				steps[int(score*scale)]++
			}
		}
	}
	least, n := sieve, steps[sieve]
	for ; least > 0 && n < most; least-- {
		n += steps[least-1]
	}
	best = make([]ref, 0, most+len(r.named))
	for layer, scores := range r.own {
		for doc, score := range scores {
			if score == 0 {
				continue
			}
			of := ref{int32(layer), int32(doc)}
			switch step := int(score * scale); {
			case step == least:
				doubtful = append(doubtful, own{of, score})
			case step > least:
				best = append(best, of)
			}
		}
	}
	return best, doubtful
}

// gatherNear gives rows to some things and to those near them, which are scored in full, and then to the neighbours of
// all these.
func (r *ranker) gatherNear(best []ref) {
	for _, of := range best {
		r.row(of)
	}
	windows := r.gather.windows[:0]
	for i := range best {
		windows = append(windows, r.threads.window(r.refs[i]))
		for _, step := range [...]int{-1, -2, 1, 2} {
			if n := windows[i].at(step); n != without && r.admits(int(n.layer), int(n.doc)) {
				r.row(n)
			}
		}
	}
	r.full = slices.Grow(r.gather.full[:0], len(r.refs))[:len(r.refs)]
	clear(r.full)
	for i := range windows {
		for middle := -2; middle <= 2; middle++ {
			r.placeNear(&windows[i], middle)
		}
	}
	r.gather.windows, r.gather.full = windows, r.full
}

// placeNear notes the neighbours of a thing in a window, if it is scored in full and they are not known.
func (r *ranker) placeNear(w *window, middle int) {
	of := w.at(middle)
	if of == without {
		return
	}
	row := int(r.rows[of.layer][of.doc]) - 1
	if row < 0 || row >= len(r.full) || r.full[row].known {
		return
	}
	r.full[row] = full{row: row, known: true, near: [4]int{
		r.row(w.at(middle - 1)), r.row(w.at(middle - 2)), r.row(w.at(middle + 1)), r.row(w.at(middle + 2)),
	}}
}

// row is the row of a thing, which it is given if it has none; nobody for without.
func (r *ranker) row(of ref) int {
	if of == without {
		return nobody
	}
	rows := r.rows[of.layer]
	if rows[of.doc] == 0 {
		r.refs = append(r.refs, of)
		rows[of.doc] = int32(len(r.refs))
	}
	return int(rows[of.doc]) - 1
}

// count fills in what the things with rows have of each concept.
func (r *ranker) count() {
	size := 2 * len(r.refs) * len(r.concepts)
	r.tally = slices.Grow(r.gather.tally[:0], size)[:size]
	clear(r.tally)
	r.gather.tally = r.tally
	for i, c := range r.concepts {
		if c.late {
			r.gather.gatherLate(c)
		}
		for layer, list := range c.lists {
			rows, s := r.rows[layer], r.x.layers[layer].segment
			for _, w := range list {
				doc := s.docOf[w.slot]
				row := rows[doc]
				if row == 0 {
					continue
				}
				at := 2*int(row-1)*len(r.concepts) + i
				if w.slot != s.docs[doc].head {
					at += len(r.concepts)
				}
				r.tally[at] += w.count
			}
		}
	}
}

// counts are what the unit of a row has of each concept, and heads what its head has; of nobody nothing.
func (r *ranker) counts(row int) (heads, units []float32) {
	n := len(r.concepts)
	if row == nobody {
		return r.nothing, r.nothing
	}
	return r.tally[2*row*n:][:n], r.tally[(2*row+1)*n:][:n]
}

// scoreAll scores the first rows in full.
func (r *ranker) scoreAll() {
	r.nothing = make([]float32, len(r.concepts))
	for i := range r.full {
		r.scoreWords(&r.full[i])
	}
	r.shareThreads()
	if r.naming == nil {
		return
	}
	for i := range r.full {
		f, of := &r.full[i], r.refs[i]
		f.theirs = r.naming.has(int(of.layer), r.x.layers[of.layer].docs[of.doc].head)
		f.others = !f.theirs && r.x.member(of).has(knownFlag)
		if f.theirs {
			p := &f.parts
			p.Person = float64((r.x.profile.thread.person - 1) * (p.Text + p.Neighbours + p.Thread))
		}
	}
}

// scoreWords scores a thing by its words, and by those of its neighbours.
func (r *ranker) scoreWords(f *full) {
	t := &r.x.profile.thread
	heads, units := r.counts(f.row)
	var near [4][]float32
	for i, row := range f.near {
		_, near[i] = r.counts(row)
	}
	n := len(heads)
	units, before, a, b, c := units[:n], near[previous][:n], near[1][:n], near[2][:n], near[3][:n]
	whole := 0.
	for i, own := range heads {
		count := float64(own+units[i]) + float64(t.previous*float64(before[i])) + float64(t.others*float64(a[i]+b[i]+c[i]))
		if count > 0 {
			whole += r.concepts[i].gain(count)
		}
	}
	f.parts.Text = whole
}

// part parts the score by words of a thing: its own ones, and what those of its neighbours add.
func (r *ranker) part(f *full) Parts {
	heads, units := r.counts(f.row)
	p, alone := f.parts, 0.
	for i, c := range r.concepts {
		if own := float64(heads[i] + units[i]); own > 0 {
			alone += c.gain(own)
		}
	}
	p.Text, p.Neighbours = alone, p.text()-alone
	return p
}

// shareThreads adds to each thing a share of the best score of its thread, as far as that was scored. What is in no
// thread is one of its own.
func (r *ranker) shareThreads() {
	share := r.x.profile.thread.share
	for i := range r.full {
		if !r.x.member(r.refs[i]).inThread() {
			p := &r.full[i].parts
			p.Thread = float64(share * p.text())
		}
	}
	order := r.inThreads()
	for from := 0; from < len(order); {
		to, best := from+1, r.full[order[from].row].parts.text()
		for to < len(order) && r.together(&order[to-1], &order[to]) {
			best = max(best, r.full[order[to].row].parts.text())
			to++
		}
		for ; from < to; from++ {
			r.full[order[from].row].parts.Thread = float64(share * best)
		}
	}
}

// inThreads are the rows of things in threads that are scored in full, in the order of the threads.
func (r *ranker) inThreads() []placed {
	order, merged := r.gather.order[:0], r.gather.merged[:0]
	for layer := range r.x.layers {
		keys := r.gather.keys[:0]
		for i := range r.full {
			if of := r.refs[i]; int(of.layer) == layer && r.x.member(of).inThread() {
				keys = append(keys, uint64(r.x.layers[layer].rank[of.doc])<<32|uint64(i))
			}
		}
		slices.Sort(keys)
		merged = r.merge(merged[:0], order, keys)
		order, merged, r.gather.keys = merged, order, keys
	}
	r.gather.order, r.gather.merged = order, merged
	return order
}

// merge appends what is in order and the rows of some keys, whose lower half is the row.
func (r *ranker) merge(to, order []placed, keys []uint64) []placed {
	for _, key := range keys {
		i := int(uint32(key))
		m := r.x.member(r.refs[i])
		p := placed{wholeOf(m.thread), m.at(), wholeOf(m.seq), i}
		for len(order) > 0 && order[0].compare(p) <= 0 {
			to, order = append(to, order[0]), order[1:]
		}
		to = append(to, p)
	}
	return append(to, order...)
}

// A placed is where the thing of a row is in its thread.
type placed struct {
	thread uint64
	at     int64
	seq    uint64
	row    int
}

func (p placed) compare(o placed) int {
	if p.thread != o.thread {
		return cmp.Compare(p.thread, o.thread)
	}
	if p.at != o.at {
		return cmp.Compare(p.at, o.at)
	}
	return cmp.Compare(p.seq, o.seq)
}

// together reports whether two things that follow each other among those that were scored are of one thread.
func (r *ranker) together(a, b *placed) bool {
	return a.thread == b.thread && b.at-a.at <= r.x.profile.thread.gap.Milliseconds()
}

// rank adds all that was found to a ranking: with its full score, or with its own. What is not among the best by its
// own words is behind each of these, and is only counted where these fill the page.
func (r *ranker) rank(page *ranking) error {
	enough, also := 0, 0
	for i := range r.full {
		of := r.refs[i]
		if r.own[of.layer][of.doc] > 0 {
			also++
		}
		score := r.full[i].parts.sum()
		if r.Filter == nil && page.isBehind(score) && len(r.named) == 0 {
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
	filled := page.after == nil && enough >= page.most
	if filled && r.Filter == nil {
		page.total += r.foundOwn - also
		return nil
	}
	for layer := range r.own {
		if err := r.rankOthers(page, layer, filled); err != nil {
			return err
		}
	}
	return nil
}

// rankOthers adds what is found of a layer and not scored in full.
func (r *ranker) rankOthers(page *ranking, layer int, filled bool) error {
	share, l, rows, step := 1+r.x.profile.thread.share, &r.x.layers[layer], r.rows[layer], 0
	for doc, score := range r.own[layer] {
		if score == 0 || rows[doc] > 0 && int(rows[doc]) <= len(r.full) {
			continue
		}
		if step++; step%lookEvery == 0 && r.Ended != nil {
			if err := r.Ended(); err != nil {
				return err
			}
		}
		switch {
		case r.Filter != nil && !r.Filter(l.path(doc)):
		case filled:
			page.total++
		default:
			page.add(r.scored(ref{int32(layer), int32(doc)}, float64(share*score), nil))
		}
	}
	return nil
}

// scored is a thing with its score.
func (r *ranker) scored(of ref, score float64, f *full) scored {
	l := &r.x.layers[of.layer]
	doc := int(of.doc)
	return scored{
		layer: int(of.layer), doc: doc, slot: l.docs[doc].lead, order: l.order[doc], path: l.path(doc), full: f,
		score: math.Round((score+r.bonus(int(of.layer), doc))*1e4) / 1e4,
	}
}
