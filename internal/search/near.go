package search

import (
	"cmp"
	"math"
	"slices"
)

// A full is the score of a thing with all that its neighbours, its thread and its person add.
type full struct {
	row    int // of the counts of the ranker
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

	own   [][]float64 // by layer, by thing: what it scores by its own words; 0: nothing
	refs  []ref       // of the rows
	rows  [][]int32   // by layer, by thing: its row + 1; 0: none
	best  int         // so many of the first rows are the best by their own words
	tally []float32   // of each row: what the head has of each concept, and then what the unit has
	full  []full      // of the first rows

	nothing []float32 // what nobody has of each concept
}

// threaded scores what is found, and returns the page that the options ask for.
func (s *searcher) threaded(g *gatherer) (Results, error) {
	r := &ranker{searcher: s, gather: g, threads: threads{s.x, map[uint64][]stretch{}}}
	r.own, r.rows = g.room()
	defer func() { g.clearRows(r.refs) }()
	if err := r.scoreOwn(); err != nil {
		return Results{}, err
	}
	s.ranker, r.naming = r, s.x.naming(s.tokens)
	r.gatherNear(r.bestOwn())
	r.count()
	r.scoreAll()
	page := ranking{most: s.Limit + 1, after: s.After, tie: s.Tie}
	if err := r.rank(&page); err != nil {
		return Results{}, err
	}
	return s.results(&page, page.total, false)
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
	least, best := leastOf(r.own, most), ranking{most: most, tie: r.Tie}
	for layer, scores := range r.own {
		for doc, score := range scores {
			if score > 0 && score >= least {
				best.add(r.scored(ref{int32(layer), int32(doc)}, score, nil))
			}
		}
	}
	list := best.kept
	if len(list) > most {
		list = best.list()
	}
	refs := make([]ref, 0, len(list)+len(r.named))
	for _, f := range list {
		refs = append(refs, ref{int32(f.layer), int32(f.doc)})
	}
	r.best = len(refs)
	for named := range r.named {
		if r.admits(int(named.layer), int(named.doc)) && !slices.Contains(refs, named) {
			refs = append(refs, named)
		}
	}
	return refs
}

// leastOf is a score that is not above any of the so many best, but for rounding.
func leastOf(lists [][]float64, most int) float64 {
	const rounding = 1e-4
	best, least := make([]float64, 0, 2*most), 0.
	for _, scores := range lists {
		for _, score := range scores {
			if score <= least {
				continue
			}
			if best = append(best, score); len(best) == cap(best) {
				best = greatest(best, most)
				least = best[most-1]
			}
		}
	}
	if len(best) < most {
		return 0
	}
	return greatest(best, most)[most-1] - rounding
}

// greatest are so many of the greatest of a list, in descending order.
func greatest(list []float64, most int) []float64 {
	slices.SortFunc(list, func(a, b float64) int { return cmp.Compare(b, a) })
	return list[:most]
}

// gatherNear gives rows to some things and to those near them, which are scored in full, and then to the neighbours of
// all these.
func (r *ranker) gatherNear(best []ref) {
	for _, of := range best {
		r.row(of)
	}
	around := make([]neighbourhood, len(best), 2*len(best))
	for i := range around {
		around[i] = r.threads.around(r.refs[i])
		for _, pair := range [][2]ref{around[i].before, around[i].behind} {
			for _, n := range pair {
				if n != without && r.admits(int(n.layer), int(n.doc)) {
					r.row(n)
				}
			}
		}
	}
	r.full = make([]full, len(r.refs))
	for i := range r.full {
		if i >= len(around) {
			around = append(around, r.threads.around(r.refs[i]))
		}
		n := around[i]
		r.full[i] = full{row: i, near: [4]int{
			r.row(n.before[0]), r.row(n.before[1]), r.row(n.behind[0]), r.row(n.behind[1]),
		}}
	}
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
	r.tally = make([]float32, 2*len(r.refs)*len(r.concepts))
	for i, c := range r.concepts {
		if c.late {
			r.gather.gatherLate(c)
		}
		for layer, list := range c.lists {
			rows, s := r.rows[layer], r.x.layers[layer].segment
			for _, w := range list {
				doc := s.docOf[w.slot]
				if row := rows[doc]; row > 0 {
					at := 2*int(row-1)*len(r.concepts) + i
					if w.slot != s.docs[doc].head {
						at += len(r.concepts)
					}
					r.tally[at] += w.count
				}
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
		f.others = !f.theirs && r.x.member(of).known > 0
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
	before, a, b, c := near[previous], near[1], near[2], near[3]
	alone, whole := 0., 0.
	for i, concept := range r.concepts {
		own := float64(heads[i]) + float64(units[i])
		all := own + float64(t.previous*float64(before[i])) + float64(t.others*float64(a[i]+b[i]+c[i]))
		if all == 0 {
			continue
		}
		gain := 0.
		if own > 0 {
			gain = concept.gain(own)
			alone += gain
		}
		if all != own {
			gain = concept.gain(all)
		}
		whole += gain
	}
	f.parts.Text, f.parts.Neighbours = alone, whole-alone
}

// shareThreads adds to each thing a share of the best score of its thread, as far as that was scored. What is in no
// thread is one of its own.
func (r *ranker) shareThreads() {
	share := r.x.profile.thread.share
	var order []int
	for i := range r.full {
		if r.x.member(r.refs[i]).inThread() {
			order = append(order, i)
			continue
		}
		p := &r.full[i].parts
		p.Thread = float64(share * p.text())
	}
	slices.SortFunc(order, func(a, b int) int { return r.x.member(r.refs[a]).compare(r.x.member(r.refs[b])) })
	for from := 0; from < len(order); {
		to, best := from+1, r.full[order[from]].parts.text()
		for to < len(order) && r.together(order[to-1], order[to]) {
			best = max(best, r.full[order[to]].parts.text())
			to++
		}
		for ; from < to; from++ {
			r.full[order[from]].parts.Thread = float64(share * best)
		}
	}
}

// together reports whether two things that follow each other among those that were scored are of one thread.
func (r *ranker) together(a, b int) bool {
	return r.x.member(r.refs[a]).thread == r.x.member(r.refs[b]).thread && r.threads.joined(r.refs[a], r.refs[b])
}

// rank adds all that was found to a ranking: with its full score, or with its own. What is not among the best by its
// own words is behind each of these, and is only counted where these fill the page.
func (r *ranker) rank(page *ranking) error {
	enough := 0
	for i := range r.full {
		f := r.scored(r.refs[i], r.full[i].parts.sum(), &r.full[i])
		if r.Filter == nil || r.Filter(f.path) {
			page.add(f)
			if i < r.best {
				enough++
			}
		}
	}
	filled := page.after == nil && enough >= page.most
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
