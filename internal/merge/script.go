package merge

import "slices"

// A hunk is a change of one side: the lines of the base from start up to, not including, end were
// replaced by lines.
type hunk struct {
	start, end int
	lines      []line
}

// inserts reports whether the hunk removes no lines.
func (h hunk) inserts() bool { return h.start == h.end }

// growth returns how many lines longer the hunk makes the text.
func (h hunk) growth() int { return len(h.lines) - (h.end - h.start) }

// A script is the change of the base by one side.
type script struct {
	hunks []hunk   // in order; no two of them are adjacent
	above []string // by line of the base: the blank lines above it on this side, if the side has the line
}

// newScript compares a side with the base. A change that could be in several places, such as a line
// added to equal lines, is in the last of them, so that the same change of both sides is in the
// same place.
func newScript(base, side []line) script {
	s := script{above: make([]string, len(base))}
	for i, l := range base {
		s.above[i] = l.above
	}
	at, from := 0, 0
	for _, g := range slideGaps(numbers(base), numbers(side)) {
		for ; at < g.a0; at, from = at+1, from+1 {
			s.above[at] = side[from].above
		}
		s.hunks = append(s.hunks, hunk{g.a0, g.a1, side[g.b0:g.b1]})
		at, from = g.a1, g.b1
	}
	for ; at < len(base); at, from = at+1, from+1 {
		s.above[at] = side[from].above
	}
	return s
}

// slideGaps returns the gaps, each moved down as far as possible.
func slideGaps(a, b []rune) []gap {
	var all []gap // in reverse order
	limit := len(a)
	for _, g := range slices.Backward(gaps(a, b)) {
		g = g.slide(a, b, limit)
		// The gap was moved down to the one after it, so they become one.
		if last := len(all) - 1; last >= 0 && g.a1 == limit {
			all[last].a0, all[last].b0 = g.a0, g.b0
		} else {
			all = append(all, g)
		}
		limit = all[len(all)-1].a0
	}
	slices.Reverse(all)
	return all
}

// slide moves a gap that is empty on one side down as far as possible before the limit.
func (g gap) slide(a, b []rune, limit int) gap {
	for (g.a0 == g.a1) != (g.b0 == g.b1) && g.a1 < limit {
		// The gap can move down by a line if its first line is equal to the line after it.
		first := b[g.b0]
		if g.b0 == g.b1 {
			first = a[g.a0]
		}
		if first != a[g.a1] {
			break
		}
		g = gap{g.a0 + 1, g.a1 + 1, g.b0 + 1, g.b1 + 1}
	}
	return g
}
