package merge

import (
	"fmt"
	"slices"
	"strings"
)

// A Hunk is a part in which two texts differ, with the equal lines around it.
type Hunk struct {
	Old, New Range
	Lines    []string // each with its line break, after '-' (old), '+' (new) or ' ' (both)
}

// A Range is a range of lines of a text, counted from 1. An empty one is after line Line.
type Range struct{ Line, Count int }

// First returns the number of the first line, or of the line after an empty range.
func (r Range) First() int {
	if r.Count == 0 {
		return r.Line + 1
	}
	return r.Line
}

// around is the largest number of equal lines on each side of a hunk.
const around = 3

// Hunks returns the parts in which two texts differ, by lines and in order.
//
// Each hunk has up to three equal lines before and after the differences, like diff -u.
func Hunks(old, now string) []Hunk {
	t := newTable()
	a, b := t.numbers(old), t.numbers(now)
	var hunks []Hunk
	all := gaps(a, b)
	for i := 0; i < len(all); {
		n := i + 1
		// Gaps whose contexts would touch or overlap are in one hunk.
		for n < len(all) && all[n].a0-all[n-1].a1 <= 2*around {
			n++
		}
		hunks = append(hunks, t.hunk(a, b, all[i:n]))
		i = n
	}
	return hunks
}

// numbers returns the numbers of the lines of a text, including blank ones.
func (t *table) numbers(text string) []rune {
	var all []rune
	for s := range strings.Lines(text) {
		all = append(all, t.number(s))
	}
	return all
}

// hunk returns the hunk of gaps that are near each other.
func (t *table) hunk(a, b []rune, near []gap) Hunk {
	first, last := near[0], near[len(near)-1]
	before, after := min(around, first.a0), min(around, len(a)-last.a1)
	h := Hunk{
		Old: rangeOf(first.a0-before, last.a1+after), New: rangeOf(first.b0-before, last.b1+after),
	}
	add := func(mark string, lines []rune) {
		for _, l := range lines {
			h.Lines = append(h.Lines, mark+t.lines[l])
		}
	}
	at := first.a0 - before
	for _, g := range near {
		add(" ", a[at:g.a0])
		add("-", a[g.a0:g.a1])
		add("+", b[g.b0:g.b1])
		at = g.a1
	}
	add(" ", a[at:last.a1+after])
	return h
}

// rangeOf returns the range of lines between two indices.
func rangeOf(from, to int) Range {
	if from == to {
		return Range{from, 0}
	}
	return Range{from + 1, to - from}
}

// String returns the hunk in the unified format of diff -u.
func (h Hunk) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "@@ -%s +%s @@\n", h.Old, h.New)
	for _, line := range h.Lines {
		b.WriteString(line)
		if !strings.HasSuffix(line, lf) {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return b.String()
}

// String returns the range in the unified format.
func (r Range) String() string {
	if r.Count == 1 {
		return fmt.Sprint(r.Line)
	}
	return fmt.Sprintf("%d,%d", r.Line, r.Count)
}

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
