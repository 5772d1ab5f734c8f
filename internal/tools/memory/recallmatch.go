package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/search"
)

// The levels at which a memory is found, as answers name them. levelPattern is also the name of a
// match of a file by a part of its path. semantic is the strategy that no deployment offers yet.
const (
	levelDirect  = "direct"
	levelFile    = "file"
	levelQuery   = "query"
	levelPattern = "pattern"
	semantic     = "semantic"
)

// The confidences of matches that are not found by words (reference/memory-build.md §2.23): certain
// for a memory requested by id, and fitting for an exact match of the file or the filters. Words
// have a confidence that the search computes.
const (
	certain = 1.0
	fitting = .95
)

// ruled is the value of Fit for a confidence that a rule determines, not the words of a query.
const ruled = "rule"

// A match is a memory that was found, with the reason. If several levels find a memory, it is one
// match, at the first of these levels.
type match struct {
	*memory.Card
	level      string             // the level that found it first
	confidence float64            // from 0 to 1
	fuzzy      bool               // it has only some of the words, or similar words
	why        memory.Explanation // the explanation in the answer
}

// direct finds the memory with the given id. It returns NOT_FOUND if there is none; a memory that
// does not pass the filter is not a match, and the answer is empty.
func (r *recallRun) direct() error {
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

// add counts a match and adds it to the answer, unless the answer is full. A memory that was found
// before is ignored. The caller must pass the matches in the order of the answer.
func (r *recallRun) add(m match) {
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
	m.why.Fit = cmp.Or(m.why.Fit, ruled)
	m.why.Level = m.level
	r.found = append(r.found, m)
}

// byFile finds the memories of a file: first those of its exact path and, if they are fewer than
// the limit, those of paths that match. going reports whether the call may continue; it is false
// after a timeout or a cancellation.
//
// The second part is omitted if the first has filled the limit. Total then does not include the
// matches by pattern: it counts only the levels that ran.
func (r *recallRun) byFile(going func() bool) {
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

// fileMatch converts a match of a file. The confidence of an inexact match grows with the share of
// the path that it has in common, from 0.5 to that of an exact match: with half of the path it is
// 0.725.
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

// addRanked adds matches in their order, but the superseded ones after all others. each yields the
// matches of one level, so superseded memories are last within their level only.
func (r *recallRun) addRanked(each func(yield func(match))) {
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

// structural finds the memories that pass the filters, the most important first. It visits all of
// them, because the total counts them.
func (r *recallRun) structural(going func() bool) {
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

// byWords finds memories with a search by words. The total counts a memory once, even if an earlier
// level also found it.
//
// The search does not know the memories that were found before, so it is asked for as many results
// more. Its filter counts the matches that were found before, and that number is subtracted from
// its total. A hit that was found before changes only the confidence; see addHit. Phrases in quotes
// do not restrict the matches: a memory that contains all of them is an exact match.
func (r *recallRun) byWords(ctx context.Context) error {
	found, again := len(r.found), 0 // again: number of search results that an earlier level found
	o := search.Options{
		Limit: r.in.Limit + found, Snippet: -1, Canceled: ctx.Err, Tie: r.compareRanks, Explain: true,
		Constrained: r.in.filters() || r.filter.Success != nil,
	}
	if o.Constrained || found > 0 {
		o.Filter = func(id string) bool {
			c, ok := r.memories.Card(id)
			if !ok || !r.filter.Has(c) {
				return false
			}
			if r.seen[id] {
				again++
			}
			return true
		}
	}
	if strings.ContainsAny(r.in.text(), quotes) {
		o.Text = r.textOf(ctx)
	}
	res, err := r.search.Search(search.PlainQuery(r.in.text()), o)
	if err != nil {
		return err
	}
	total := r.total + res.Total - again
	for i, hit := range res.Items {
		if c, ok := r.memories.Card(hit.Doc); ok {
			r.addHit(c, &res.Items[i])
		}
	}
	r.total = total
	return nil
}

// quotes are the characters that can enclose a phrase. A query without them needs no texts.
const quotes = `"“”„`

// textOf returns a function that reads the searchable text of a memory. The search calls it to find
// out whether a hit contains the phrases in quotes.
func (r *recallRun) textOf(ctx context.Context) func(id string) ([]byte, error) {
	return func(id string) ([]byte, error) {
		c, err := card(r.memories, id, "memory_id")
		if err != nil {
			return nil, err
		}
		m, err := r.Vault.Memory(ctx, c)
		if err != nil {
			return nil, err
		}
		return []byte(m.Text()), nil
	}
}

// compareRanks compares memories with the same score: superseded ones are last, and the others are
// ordered by rank (reference/memory.md §A4.10). It returns 0 if one of the memories does not exist
// at this version; the search then decides.
func (r *recallRun) compareRanks(a, b string) int {
	x, y := r.rankOf(a), r.rankOf(b)
	if x.card == nil || y.card == nil {
		return 0
	}
	return cmp.Or(cmp.Compare(x.superseded, y.superseded), memory.ByRank(x.card, y.card))
}

// A rank is the order of memories with the same score. It is kept for the duration of the call,
// because a sort compares a memory several times.
type rank struct {
	card       *memory.Card // nil: there is no such memory
	superseded int          // 1 if another memory supersedes it, else 0
}

// rankOf returns the rank of a memory, which it looks up once.
func (r *recallRun) rankOf(id string) *rank {
	m, ok := r.ranks[id]
	if !ok {
		m = &rank{}
		if c, there := r.memories.Card(id); there {
			m.card, m.superseded = c, min(len(r.memories.SupersededBy(id)), 1)
		}
		if r.ranks == nil {
			r.ranks = map[string]*rank{}
		}
		r.ranks[id] = m
	}
	return m
}

// addHit adds a memory that the search by words found. If it was found by its file before, the
// higher of the two confidences applies, and its place and its level stay the same. A hit that was
// counted before but is not part of the answer cannot occur: with that many matches no search by
// words takes place.
func (r *recallRun) addHit(c *memory.Card, hit *search.Hit) {
	if r.seen[c.ID] {
		i := slices.IndexFunc(r.found, func(m match) bool { return m.ID == c.ID })
		r.found[i].confidence = max(r.found[i].confidence, hit.Why.Confidence)
		return
	}
	why := hit.Why
	r.add(match{
		Card: c, level: levelPattern, fuzzy: why.Match == search.Fuzzy, confidence: why.Confidence,
		why: memory.Explanation{
			Match: string(why.Match), Coverage: &why.Coverage, Matched: why.Matched, Missing: why.Missing,
			Score: &hit.Score, Parts: &why.Parts, Fit: why.Fit,
		},
	})
}
