package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/search"
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
	found, again := len(r.found), 0 // again: what words find too that is there already
	o := search.Options{
		Limit: r.in.Limit + found, Snippet: -1, Ended: ctx.Err, Tie: r.byMerit, Explain: true,
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

// quotes are the signs between which a text is to be found as it is.
const quotes = `"“”„`

// textOf reads what is said in a memory.
func (r *recalling) textOf(ctx context.Context) func(id string) ([]byte, error) {
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

// byMerit orders memories of one score: those that others supersede behind all others, then by their rank
// (reference/memory.md §A4.10).
func (r *recalling) byMerit(a, b string) int {
	x, y := r.meritOf(a), r.meritOf(b)
	if x.card == nil || y.card == nil {
		return 0
	}
	return cmp.Or(cmp.Compare(x.superseded, y.superseded), memory.ByRank(x.card, y.card))
}

// A merit is by what memories of one score are ordered.
type merit struct {
	card       *memory.Card // nil: there is none
	superseded int          // 1 if another one supersedes it, else 0
}

// meritOf looks up the merit of a memory once.
func (r *recalling) meritOf(id string) *merit {
	m, ok := r.merits[id]
	if !ok {
		m = &merit{}
		if c, there := r.memories.Card(id); there {
			m.card, m.superseded = c, min(len(r.memories.SupersededBy(id)), 1)
		}
		if r.merits == nil {
			r.merits = map[string]*merit{}
		}
		r.merits[id] = m
	}
	return m
}

// addHit adds a memory that was found by words. Where it is there already by a file, it is as sure as the surer of both.
func (r *recalling) addHit(c *memory.Card, hit *search.Hit) {
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
