package search

import "slices"

// A gathering finds the offset in a text from which marks are not needed for a snippet: the end of a
// snippet that begins with the first window of marks that contains all concepts of the text, and is
// worth as much as such a window can be. The zero value needs all marks.
type gathering struct {
	has     []bool  // by concept: whether the text has it
	last    []int   // by concept: the start of its last mark, or -1
	missing int     // number of concepts of the text without a mark
	length  int     // maximum length of a window
	most    float64 // the greatest worth of a window
	first   int     // start of the window that isComplete found
	end     int     // 0: not known
}

// sums are the memory of the gatherings of a marker, and the greatest worth for the last concepts.
type sums struct {
	has   []bool
	most  float64
	last  []int
	worth []float64
}

// mostGathered is the maximum number of concepts of a text for which a gathering can find an end.
// greatestSum takes time in proportion to the factorial of their number.
const mostGathered = 4

// gathering returns a gathering for a text with some concepts. If has is nil or has none, it is not
// known which ones the text has. It is valid until the next call.
func (m *marker) gathering(has []bool) gathering {
	s := &m.sums
	s.last, s.worth = s.last[:0], s.worth[:0]
	for i, ok := range has {
		s.last = append(s.last, -1)
		if ok {
			s.worth = append(s.worth, m.worth[i])
		}
	}
	g := gathering{has: has, last: s.last, missing: len(s.worth), length: m.length}
	if g.missing == 0 || g.missing > mostGathered {
		return gathering{}
	}
	if !slices.Equal(s.has, has) {
		s.has, s.most = append(s.has[:0], has...), greatestSum(s.worth, 0, 0)
	}
	g.most = s.most
	return g
}

// greatestSum returns the greatest worth of a window with concepts of the given worth, besides those
// that are in worth already, and those of its last mark, which are in gain. Windows can have their
// concepts in different orders, which changes the rounding of the sums.
func greatestSum(rest []float64, worth, gain float64) (most float64) {
	if len(rest) == 0 {
		return worth + gain
	}
	for i := range rest {
		rest[0], rest[i] = rest[i], rest[0]
		// The next concept is in the same mark, or in the next one.
		most = max(most, greatestSum(rest[1:], worth, gain+rest[0]), greatestSum(rest[1:], worth+gain, rest[0]))
		rest[0], rest[i] = rest[i], rest[0]
	}
	return most
}

// isPast reports whether the marks from an offset on are not needed.
func (g *gathering) isPast(at int) bool { return g.end > 0 && at >= g.end }

// isComplete adds the next marks, and reports whether there is a window with all concepts now. Then
// decide must be called.
func (g *gathering) isComplete(marks []mark) bool {
	for i := range marks {
		if g.last == nil || g.end > 0 {
			return false
		}
		g.add(&marks[i])
	}
	if len(marks) == 0 || g.last == nil || g.missing > 0 {
		return false
	}
	m := &marks[len(marks)-1]
	g.first = m.start
	for c, ok := range g.has {
		if ok {
			g.first = min(g.first, g.last[c])
		}
	}
	return m.end-g.first <= g.length
}

// add adds the next mark.
func (g *gathering) add(m *mark) {
	for _, c := range m.concepts {
		// The text has more than the postings show, so nothing is known of later windows.
		if !g.has[c] {
			g.last = nil
			return
		}
		if g.last[c] < 0 {
			g.missing--
		}
		g.last[c] = m.start
	}
}

// decide sets the end, given the worth of the best window so far. If that is not the greatest, all
// marks are needed.
func (g *gathering) decide(worth float64) {
	if worth < g.most {
		*g = gathering{}
		return
	}
	g.end = g.first + g.length
}
