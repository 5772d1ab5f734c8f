package memory

import (
	"context"
	"slices"

	"rookery/internal/memory"
	"rookery/internal/repo"
	"rookery/internal/search"
)

// The levels at which a memory is found, and the words for them in answers.
const (
	levelDirect  = "direct"
	levelFile    = "file"
	levelQuery   = "query"
	levelPattern = "pattern"
	semantic     = "semantic"
)

// certain is the confidence in a memory that was asked for by its id, and fitting that in one that is just what was
// asked for by its file or by filters (reference/memory-build.md §2.23).
const (
	certain = 1.0
	fitting = .95
)

// ruled is how a confidence is reckoned that is none of words.
const ruled = "rule"

// A match is a memory that was found, and why.
type match struct {
	*memory.Card
	level      string
	confidence float64
	fuzzy      bool
	why        memory.Explanation
}

// direct finds the memory of an id.
func (r *recalling) direct() error {
	c, err := card(r.memories, r.in.MemoryID, "memory_id")
	if err != nil {
		return err
	}
	r.used = []string{levelDirect}
	if r.filter.Has(c) {
		r.add(match{Card: c, level: levelDirect, confidence: certain, why: memory.Explanation{Match: "exact"}})
	}
	return nil
}

// add adds a memory, unless it is there or there are enough, and counts it.
func (r *recalling) add(m match) {
	if r.seen[m.ID] {
		return
	}
	r.seen[m.ID] = true
	r.total++
	if len(r.found) >= r.in.Limit {
		return
	}
	if !slices.Contains(r.used, m.level) {
		r.used = append(r.used, m.level)
	}
	if m.why.Fit == "" {
		m.why.Fit = ruled
	}
	m.why.Level = m.level
	r.found = append(r.found, m)
}

// byFile finds the memories of a file: of its very path, and if these are too few of paths that match.
func (r *recalling) byFile(going func() bool) {
	for _, exact := range []bool{true, false} {
		if !exact && r.total >= r.in.Limit {
			return
		}
		r.addRanked(func(yield func(match)) {
			for _, m := range r.memories.OfFile(r.in.File, exact) {
				if !going() {
					return
				}
				if r.filter.Has(m.Card) {
					yield(fileMatch(m))
				}
			}
		})
	}
}

// fileMatch is why a memory was found by a file.
func fileMatch(m memory.FileMatch) match {
	found := match{
		Card: m.Card, level: levelFile, confidence: fitting,
		why: memory.Explanation{Match: "exact", File: m.Path},
	}
	if !m.Exact {
		found.confidence, found.why.Match = min(fitting, .5+.45*m.Share), levelPattern
	}
	return found
}

// addRanked adds memories in their order, those that others supersede behind all others.
func (r *recalling) addRanked(each func(yield func(match))) {
	var superseded []match
	each(func(m match) {
		if len(r.memories.SupersededBy(m.ID)) > 0 {
			superseded = append(superseded, m)
			return
		}
		r.add(m)
	})
	for _, m := range superseded {
		r.add(m)
	}
}

// structural finds the memories that pass the filters.
func (r *recalling) structural(going func() bool) {
	r.addRanked(func(yield func(match)) {
		for c := range r.memories.Ranked(r.filter) {
			if !going() {
				return
			}
			yield(match{
				Card: c, level: levelQuery, confidence: fitting, why: memory.Explanation{Match: "structural"},
			})
		}
	})
}

// byWords finds memories by words.
func (r *recalling) byWords(ctx context.Context) error {
	q := search.PlainQuery(r.in.text())
	res, err := r.search.Search(q, search.Options{
		Limit: r.in.Limit - len(r.found), Snippet: -1, Ended: ctx.Err,
		Filter: func(id string) bool {
			c, ok := r.memories.Card(id)
			return ok && !r.seen[id] && r.filter.Has(c)
		},
	})
	if err != nil {
		return err
	}
	rest := res.Total - len(res.Items)
	cards := make([]*memory.Card, 0, len(res.Items))
	for _, hit := range res.Items {
		c, _ := r.memories.Card(hit.Doc)
		cards = append(cards, c)
	}
	r.Vault.PrefetchMemories(ctx, cards)
	for i, hit := range res.Items {
		c := cards[i]
		m, err := r.Vault.Memory(ctx, c)
		if err != nil {
			return err
		}
		r.add(wordMatch(q, r.search, c, m, hit.Score))
	}
	r.total += rest
	return nil
}

// How sure it is that a memory is meant which has some share of the words asked for: no word, and all of them.
// It is a rule until the search itself is calibrated.
const (
	leastSure = .05
	mostSure  = .9
)

// byCoverage is how a confidence is reckoned of the words that a memory has.
const byCoverage = "coverage"

// wordMatch is why a memory was found by words.
func wordMatch(q search.Query, x *search.Index, c *memory.Card, m *memory.Memory, score float64) match {
	matched, lacking := x.Coverage(q, repo.SearchMemory(c, m))
	coverage := 0.0
	if n := len(matched) + len(lacking); n > 0 {
		coverage = float64(len(matched)) / float64(n)
	}
	return match{
		Card: c, level: levelPattern, fuzzy: true, confidence: leastSure + (mostSure-leastSure)*coverage*coverage,
		why: memory.Explanation{
			Match: "fuzzy", Coverage: &coverage, Matched: matched, Missing: lacking, Score: &score, Fit: byCoverage,
		},
	}
}
