package search

import "slices"

// A tally contains the occurrences of the concepts of a query in the documents that have a row of a
// ranker.
type tally struct {
	columns []column
	k1      float64   // k1 of BM25
	counts  []float32 // by row: occurrences in the head by column, then those in the passage
	zeros   []float32 // counts of a document that does not exist: all 0
}

// A column is the occurrences of a concept. A late concept with the same occurrences as the concept
// beside it, which is the one before it, has no column of its own.
type column struct {
	*concept
	late float64 // idf of such a late concept; 0: none
}

// count sets the tally. It reads the postings of late concepts.
func (r *ranker) count() {
	g := r.gather
	t := tally{columns: g.columns[:0], k1: r.x.profile.k1}
	for _, c := range r.concepts {
		if c.late {
			g.gatherLate(c)
			if last := len(t.columns) - 1; c.repeats && last >= 0 && t.columns[last].concept == c.beside {
				t.columns[last].late = c.idf
				continue
			}
		}
		t.columns = append(t.columns, column{concept: c})
	}
	size := 2 * len(r.refs) * len(t.columns)
	t.counts, t.zeros = slices.Grow(g.counts[:0], size)[:size], make([]float32, len(t.columns))
	clear(t.counts)
	g.columns, g.counts = t.columns, t.counts
	for i := range t.columns {
		for layer, list := range t.columns[i].lists {
			t.countList(i, list, r.x.layers[layer].segment, r.rows[layer])
		}
	}
	r.tally = t
}

// countList adds the occurrences in a segment to a column, for the documents that have a row. rows
// contains the row + 1 of each document, or 0.
func (t *tally) countList(column int, list []weighted, s *segment, rows []int32) {
	n := len(t.columns)
	for _, w := range list {
		doc := s.docOf[w.slot]
		row := rows[doc]
		if row == 0 {
			continue
		}
		at := 2*int(row-1)*n + column
		if w.slot != s.docs[doc].head {
			at += n
		}
		t.counts[at] += w.count
	}
}

// of returns the occurrences in the head and in the passage of a row, by column; zeros for noRow.
func (t *tally) of(row int32) (heads, units []float32) {
	n := len(t.columns)
	if row == noRow {
		return t.zeros, t.zeros
	}
	both := t.counts[2*int(row)*n:][:2*n]
	return both[:n], both[n:]
}

// score returns the score of a document by its own words and those of its neighbours.
//
// The count of a concept is the sum of the weights of its occurrences:
//
//	count = head + passage + previous*before + others*(the three other neighbours)
//
// where previous and others are shares of the profile, and neighbours count with their passages.
// The score is the sum of idf*count/(count+k1) over all concepts.
func (t *tally) score(f *fullScore, p *threading) float64 {
	heads, units := t.of(f.row)
	var near [4][]float32
	for i, row := range f.neighbours {
		_, near[i] = t.of(row)
	}
	n := len(heads)
	units, before, a, b, c := units[:n], near[previous][:n], near[1][:n], near[2][:n], near[3][:n]
	whole, columns := 0., t.columns[:n]
	for i, own := range heads {
		// The occurrences of neighbours are added before saturation, so a word that the document
		// itself has often gains little from them. Heads of neighbours do not count.
		count := float64(own+units[i]) + float64(p.previous*float64(before[i])) +
			float64(p.others*float64(a[i]+b[i]+c[i]))
		// This needs no test for a count of 0, which gains nothing: a mispredicted branch takes
		// longer than the division.
		ratio := count / (count + t.k1)
		whole += float64(columns[i].idf * ratio)
		whole += float64(columns[i].late * ratio)
	}
	return whole
}

// splitParts returns the parts of a score, with the score by words divided into the contributions of
// the document's own words and of its neighbours.
func (t *tally) splitParts(f *fullScore) Parts {
	heads, units := t.of(f.row)
	p, alone := f.parts, 0.
	for i := range t.columns {
		c, own := &t.columns[i], float64(heads[i]+units[i])
		ratio := own / (own + t.k1)
		alone += float64(c.idf * ratio)
		alone += float64(c.late * ratio)
	}
	p.Text, p.Neighbours = alone, p.text()-alone
	return p
}
