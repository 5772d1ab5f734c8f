package merge

import (
	"slices"
	"sort"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// A gap is a part of two sequences that does not match: a from a0 to a1 became b from b0 to b1.
type gap struct{ a0, a1, b0, b1 int }

// A comparer finds the gaps between two sequences of lines. Lines that both have once match first; what
// stands between them is left to the diff module, whose search is bounded, and which therefore is
// asked again about what it left.
type comparer struct {
	a, b   []rune
	effort int // steps that are left; without any, what is not matched yet stays so
	gaps   []gap
}

// searchWidth is the number of changes about which the diff module stops to look for the best match.
const searchWidth = 100

// gaps are what differs, in order; between any two of them something matches.
func gaps(a, b []rune) []gap {
	c := &comparer{a: a, b: b, effort: 1<<20 + 64*(len(a)+len(b))}
	c.compare(gap{0, len(a), 0, len(b)})
	return c.gaps
}

func (c *comparer) compare(g gap) {
	g = c.trim(g)
	if g.a0 == g.a1 && g.b0 == g.b1 {
		return
	}
	var parts []gap
	if g.a0 < g.a1 && g.b0 < g.b1 {
		parts = c.parts(g)
	}
	if len(parts) == 0 || len(parts) == 1 && parts[0] == g {
		c.gaps = append(c.gaps, g)
		return
	}
	for _, p := range parts {
		c.compare(p)
	}
}

// trim takes off what is equal at both ends.
func (c *comparer) trim(g gap) gap {
	for g.a0 < g.a1 && g.b0 < g.b1 && c.a[g.a0] == c.b[g.b0] {
		g.a0, g.b0 = g.a0+1, g.b0+1
	}
	for g.a0 < g.a1 && g.b0 < g.b1 && c.a[g.a1-1] == c.b[g.b1-1] {
		g.a1, g.b1 = g.a1-1, g.b1-1
	}
	return g
}

// parts are what is left of a gap between lines that match; none if its effort is not to be had.
func (c *comparer) parts(g gap) []gap {
	size := g.a1 - g.a0 + g.b1 - g.b0
	search := min(size, searchWidth)
	c.effort -= size + search*search
	if c.effort < 0 {
		return nil
	}
	if parts := c.between(g, c.anchors(g)); parts != nil {
		return parts
	}
	var parts []gap
	for _, d := range lcs.DiffRunes(c.a[g.a0:g.a1], c.b[g.b0:g.b1]) {
		parts = append(parts, gap{g.a0 + d.Start, g.a0 + d.End, g.b0 + d.ReplStart, g.b0 + d.ReplEnd})
	}
	return parts
}

// A pair is a line of a and the line of b that it matches.
type pair struct{ a, b int }

// between are the parts of a gap around the pairs; nil if there are no pairs.
func (c *comparer) between(g gap, pairs []pair) []gap {
	if len(pairs) == 0 {
		return nil
	}
	parts := make([]gap, 0, len(pairs)+1)
	for _, p := range pairs {
		parts = append(parts, gap{g.a0, p.a, g.b0, p.b})
		g.a0, g.b0 = p.a+1, p.b+1
	}
	return append(parts, g)
}

// anchors are the pairs of lines that stand once in either part of the gap, as many as have the same
// order in both.
func (c *comparer) anchors(g gap) []pair {
	inB := once(c.b[g.b0:g.b1])
	var pairs []pair
	for id, a := range once(c.a[g.a0:g.a1]) {
		if b, ok := inB[id]; ok && a >= 0 && b >= 0 {
			pairs = append(pairs, pair{g.a0 + a, g.b0 + b})
		}
	}
	slices.SortFunc(pairs, func(p, q pair) int { return p.a - q.a })
	return rising(pairs)
}

// once says where each value stands, and -1 for one that stands in several places.
func once(values []rune) map[rune]int {
	at := make(map[rune]int, len(values))
	for i, v := range values {
		if _, again := at[v]; again {
			i = -1
		}
		at[v] = i
	}
	return at
}

// rising is a longest series of the pairs that rises in b as it does in a.
func rising(pairs []pair) []pair {
	before := make([]int, len(pairs)) // the pair before each in its series
	var ends []int                    // ends[n] is the pair with the least b that ends n+1 of them
	for i, p := range pairs {
		n := sort.Search(len(ends), func(n int) bool { return pairs[ends[n]].b >= p.b })
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
	}
	if len(ends) == 0 {
		return nil
	}
	series := make([]pair, len(ends))
	at := ends[len(ends)-1]
	for n := len(ends) - 1; n >= 0; n-- {
		series[n] = pairs[at]
		at = before[at]
	}
	return series
}
