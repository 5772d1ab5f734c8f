package search

import (
	"math"
	"slices"
)

// A Match is the kind of a match: the strongest one that applies.
type Match string

// The kinds of matches, the strongest first (reference/retrieval.md §1).
const (
	Exact      Match = "exact"      // by its name, all phrases in quotes, or every word that counts
	Structural Match = "structural" // Options.Constrained is set, or it is of the person named
	Fuzzy      Match = "fuzzy"      // by some of the words, or by similar words
)

// Parts are the summands of a score.
type Parts struct {
	// own words
	Text float64 `json:"text"`
	// words of what is next to it in its thread
	Neighbours float64 `json:"neighbours,omitempty"`
	// a share of the best of its thread
	Thread float64 `json:"thread,omitempty"`
	// it is of the person whom the query names
	Person float64 `json:"person,omitempty"`
	// its name is the query
	Name float64 `json:"name,omitempty"`
}

// text returns the score by words.
func (p *Parts) text() float64 { return p.Text + p.Neighbours }

// sum returns the score without rounding.
func (p *Parts) sum() float64 { return p.Text + p.Neighbours + p.Thread + p.Person + p.Name }

// rounded returns the parts rounded to four decimal places.
func (p Parts) rounded() Parts {
	for _, n := range []*float64{&p.Text, &p.Neighbours, &p.Thread, &p.Person, &p.Name} {
		*n = rounded(*n)
	}
	return p
}

// Why explains why a document was found, and estimates how likely it is the right one.
//
// Matched and Missing are never nil.
type Why struct {
	// exact: the name, the phrases or all words asked for; structural: some of the words, and it
	// fits the filters; fuzzy: some of the words, or similar ones
	Match Match `json:"match"`
	// share of the words asked for that it has, from 0 to 1, each by how rare it is
	Coverage float64 `json:"coverage"`
	// words asked for that it has
	Matched []string `json:"matched"`
	// words asked for that it does not have
	Missing []string `json:"missing"`
	// what the score is the sum of
	Parts Parts `json:"parts"`
	// from 0 to 1: how often such a result was the right one in an evaluation
	Confidence float64 `json:"confidence"`
	// name of that evaluation
	Fit string `json:"fit"`
}

// explain sets Why of the hits of a page. first is the best score of all pages, and behind the
// first score of the next page, or 0.
func (s *searcher) explain(hits []Hit, list []scored, first, behind float64) {
	for i := range list {
		next := behind
		if i+1 < len(list) {
			next = list[i+1].score
		}
		hits[i].Why = s.why(&list[i], first, next)
	}
}

// why returns the explanation of a hit. next is the score of the hit after it, or 0.
func (s *searcher) why(f *scored, first, next float64) *Why {
	bonus := s.bonus(f.layer, f.doc)
	w := &Why{Matched: []string{}, Missing: []string{}, Parts: Parts{Text: f.score - bonus}}
	e := evidence{first: first, score: f.score, next: next}
	e.record = s.x.profile.isThreaded() && s.x.member(ref{int32(f.layer), int32(f.doc)}).has(recordFlag)
	if f.full != nil {
		w.Parts = s.ranker.tally.splitParts(f.full)
		e.aboutPerson, e.aboutOther = f.full.aboutPerson, f.full.aboutOther
	} else if share := s.x.profile.thread.share; share > 0 {
		// The document was not scored in full: its score is that of its own words, with the share
		// of a thread of its own; see rankOthers.
		w.Parts.Text /= 1 + share
		w.Parts.Thread = share * w.Parts.Text
	}
	w.Parts.Name = bonus
	w.Parts = w.Parts.rounded()
	fuzzy := s.setCoverage(f, w)
	e.coverage = w.Coverage
	switch {
	case bonus > 0, len(w.Missing) == 0 && !fuzzy && len(w.Matched) > 0, s.containsQuoted(f):
		w.Match = Exact
	case s.Constrained || e.aboutPerson:
		w.Match = Structural
	default:
		w.Match = Fuzzy
	}
	w.Confidence, w.Fit = s.x.profile.confidence(e)
	return w
}

// containsQuoted reports whether a document contains all phrases in quotes. It returns false if the
// query has none, or if texts are not available.
func (s *searcher) containsQuoted(f *scored) bool {
	if len(s.quoted) == 0 || s.Text == nil {
		return false
	}
	r := reader{scan: s.x.analyzer.scanner(), liveSegment: &s.x.layers[f.layer], textOf: s.Text}
	for _, q := range s.quoted {
		phrase := q.phrase
		if phrase == nil { // a single word
			if !slices.Contains(slotsWith(q.parts, r.slotsOf), f.slot) {
				return false
			}
			continue
		}
		// The signature avoids reading the text in most cases.
		if !mayContain(r.signature(f.slot), q.marks) || !r.contains(f, f.slot, phrase) {
			return false
		}
	}
	return true
}

// setCoverage sets the words of the query that a document has and lacks, and the coverage. It reports
// whether a matched word is only similar to the word of the query.
//
// The coverage is the sum of the idf of the words that the document has, divided by that of all
// words of the query. A missing word that neighbours have counts in part; see neighbourShare.
func (s *searcher) setCoverage(f *scored, w *Why) (fuzzy bool) {
	has, all := 0., 0.
	for i := range s.words {
		word := &s.words[i]
		worth := s.worth(word)
		all += worth
		if s.hasWord(f, word) {
			has += worth
			w.Matched = append(w.Matched, word.text)
			fuzzy = fuzzy || word.isLike
			continue
		}
		w.Missing = append(w.Missing, word.text)
		// A word that only neighbours have counts as missing, but adds to the coverage.
		has += float64(worth * s.neighbourShare(f, word))
	}
	if all > 0 {
		w.Coverage = rounded(has / all)
	}
	return fuzzy
}

// worth returns the weight of a word in the coverage: its idf. An unknown word weighs as much as
// the rarest.
func (s *searcher) worth(word *queryWord) float64 {
	if len(word.concepts) == 0 {
		return math.Log1p((float64(s.x.totals.notes) + .5) / .5)
	}
	return word.concepts[0].idf
}

// hasWord reports whether a document itself has a word.
func (s *searcher) hasWord(f *scored, word *queryWord) bool {
	l := &s.x.layers[f.layer]
	head, end := l.docs[f.doc].head, l.end(f.doc)
	return slices.ContainsFunc(word.concepts, func(c *concept) bool {
		list := c.lists[f.layer]
		// Any slot of the document suffices.
		i, _ := slices.BinarySearchFunc(list, head, weighted.compareSlot)
		return i < len(list) && list[i].slot < end
	})
}

// neighbourShare returns the share of a missing word, from 0 to 1, that the neighbours of a document
// contribute.
func (s *searcher) neighbourShare(f *scored, word *queryWord) float64 {
	if f.full == nil || s.ranker == nil {
		return 0
	}
	t, share := &s.x.profile.thread, 0.
	for i, row := range f.full.neighbours {
		if row == noRow {
			continue
		}
		r := s.ranker.refs[row]
		if !s.hasWord(&scored{layer: int(r.layer), doc: int(r.doc)}, word) {
			continue
		}
		if i == previous {
			share += t.previous
		} else {
			share += t.others
		}
	}
	return min(share, 1)
}
