package merge

import (
	"slices"
	"sort"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// A gap is a part of two sequences that does not match: a[a0:a1] was replaced by b[b0:b1].
type gap struct{ a0, a1, b0, b1 int }

// A comparer finds the gaps between two sequences of lines. It first matches lines that occur once
// in both. The diff module compares the parts between them. Its search is bounded, so it is called
// again for the gaps that it leaves.
//
// The zero value is not usable; see gaps.
type comparer struct {
	a, b   []rune
	effort int // steps that are left; at 0 no more lines are matched
	gaps   []gap
}

// searchWidth is the number of changes at which the diff module ends its search for the best match.
const searchWidth = 100

// gaps returns the differences in order. Between any two of them, something matches.
func gaps(a, b []rune) []gap {
	c := &comparer{a: a, b: b, effort: 1<<20 + 64*(len(a)+len(b))}
	c.compare(gap{0, len(a), 0, len(b)})
	return c.gaps
}

// compare adds the differences in a gap to c.gaps. It compares the parts that remain again, until no
// more lines match.
func (c *comparer) compare(g gap) {
	g = c.trim(g)
	if g.a0 == g.a1 && g.b0 == g.b1 {
		return
	}
	var parts []gap
	if g.a0 < g.a1 && g.b0 < g.b1 {
		parts = c.parts(g)
	}
	// Nothing in the gap matches, or the effort is used up.
	if len(parts) == 0 || len(parts) == 1 && parts[0] == g {
		c.gaps = append(c.gaps, g)
		return
	}
	for _, p := range parts {
		c.compare(p)
	}
}

// trim removes equal lines at both ends.
func (c *comparer) trim(g gap) gap {
	for g.a0 < g.a1 && g.b0 < g.b1 && c.a[g.a0] == c.b[g.b0] {
		g.a0, g.b0 = g.a0+1, g.b0+1
	}
	for g.a0 < g.a1 && g.b0 < g.b1 && c.a[g.a1-1] == c.b[g.b1-1] {
		g.a1, g.b1 = g.a1-1, g.b1-1
	}
	return g
}

// parts divides a gap at lines that match. It returns nil if the effort is used up.
func (c *comparer) parts(g gap) []gap {
	size := g.a1 - g.a0 + g.b1 - g.b0
	// The cost of a comparison is linear in the size, and quadratic in the changes up to the
	// width of the search.
	search := min(size, searchWidth)
	c.effort -= size + search*search
	if c.effort < 0 {
		return nil
	}
	// Lines that occur once are reliable, and divide most gaps without a search.
	if parts := c.between(g, c.anchors(g)); parts != nil {
		return parts
	}
	var parts []gap
	for _, d := range lcs.DiffRunes(c.a[g.a0:g.a1], c.b[g.b0:g.b1]) {
		parts = append(parts, gap{g.a0 + d.Start, g.a0 + d.End, g.b0 + d.ReplStart, g.b0 + d.ReplEnd})
	}
	return parts
}

// A pair contains the indices of a line of a and of the matching line of b. A Measure uses it for
// the numbers of a line and of the line below it.
type pair struct{ a, b int }

// between returns the parts of a gap between the pairs; nil if there are no pairs.
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

// anchors returns pairs of lines that occur once in both parts of the gap: as many as have the same
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
	return longestIncreasing(pairs)
}

// once returns the index of each value, and -1 for a value that occurs more than once.
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

// longestIncreasing returns a longest subsequence of the pairs that also ascends in b. pairs ascend in a.
func longestIncreasing(pairs []pair) []pair {
	before := make([]int, len(pairs)) // the pair before each in its series
	var ends []int                    // ends[n] is the pair with the least b that ends n+1 of them
	for i, p := range pairs {
		// Patience sorting: ends ascends in b, so the position of p is found by binary search.
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
