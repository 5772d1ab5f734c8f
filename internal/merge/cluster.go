package merge

import "slices"

// A cluster is a part of the base, from line start up to, not including, end, with the hunks of
// both sides that change it.
type cluster struct {
	start, end   int
	ours, theirs []hunk
}

// cluster removes the next hunks from w and returns them: the insertions of both sides at one
// place, or a hunk with all hunks that, directly or through others, share a line with it or are
// inside it.
func (w *merger) cluster() cluster {
	start := len(w.base)
	for _, hunks := range [][]hunk{w.hunks.ours, w.hunks.theirs} {
		if len(hunks) > 0 {
			start = min(start, hunks[0].start)
		}
	}
	c := cluster{start: start, end: start}
	// Insertions are taken alone, before hunks that begin at the same line, so that they do not
	// conflict with them.
	insertion := func(h hunk) bool { return h.end == start }
	c.ours, w.hunks.ours = splitPrefix(w.hunks.ours, insertion)
	c.theirs, w.hunks.theirs = splitPrefix(w.hunks.theirs, insertion)
	if len(c.ours)+len(c.theirs) > 0 {
		return c
	}
	c.end = start + 1
	// A hunk of one side can extend the cluster so that it reaches further hunks of the other, so
	// repeat until none is added.
	for before := -1; before < len(c.ours)+len(c.theirs); {
		before = len(c.ours) + len(c.theirs)
		var more []hunk
		more, w.hunks.ours = splitPrefix(w.hunks.ours, c.touches)
		c.ours = c.append(c.ours, more)
		more, w.hunks.theirs = splitPrefix(w.hunks.theirs, c.touches)
		c.theirs = c.append(c.theirs, more)
	}
	return c
}

// touches reports whether a hunk, which must not be before the cluster, shares a line with it or is
// inside it.
func (c *cluster) touches(h hunk) bool { return h.start < c.end }

// append extends the cluster by the hunks more, and returns to with them appended.
func (c *cluster) append(to, more []hunk) []hunk {
	for _, h := range more {
		c.end = max(c.end, h.end)
	}
	return append(to, more...)
}

// splitPrefix divides hunks into the longest prefix of wanted ones, and the rest. Appending to first
// does not change rest.
func splitPrefix(hunks []hunk, wanted func(hunk) bool) (first, rest []hunk) {
	n := 0
	for n < len(hunks) && wanted(hunks[n]) {
		n++
	}
	return hunks[:n:n], hunks[n:]
}

// side returns the lines of one side for the cluster: the base with the hunks of the side
// applied, and with the blank lines above each line as the side has them.
func (c *cluster) side(base []line, hunks []hunk, above []string) []line {
	var all []line
	at := c.start
	keep := func(to int) {
		for ; at < to; at++ {
			all = append(all, line{base[at].id, above[at]})
		}
	}
	for _, h := range hunks {
		keep(h.start)
		all = append(all, h.lines...)
		at = h.end
	}
	keep(c.end)
	return all
}

// sameChange reports whether both sides only removed lines, or replaced lines, not necessarily the same
// ones, by the same lines. Then the lines that either side removed are removed.
func (c *cluster) sameChange() bool {
	brings := func(h hunk) bool { return len(h.lines) > 0 }
	if !slices.ContainsFunc(c.ours, brings) && !slices.ContainsFunc(c.theirs, brings) {
		return true
	}
	return len(c.ours) == 1 && len(c.theirs) == 1 &&
		slices.EqualFunc(c.ours[0].lines, c.theirs[0].lines, same)
}

// maxIncluded is the largest number of hunks that says compares with one, because each comparison may
// read all lines of that one.
const maxIncluded = 100

// includesAll reports whether one side has a single hunk in a cluster that includes everything that the
// hunks of the other side do. If those remove lines, the hunk must have no other lines than theirs,
// because others could be changed versions of the removed lines.
func includesAll(one, other []hunk) bool {
	// False is always safe: the cluster is resolved in another way, or is an overlap.
	if len(one) != 1 || len(other) > maxIncluded {
		return false
	}
	lines, removes := 0, false
	for _, h := range other {
		if !one[0].includes(h) {
			return false
		}
		lines += len(h.lines)
		removes = removes || len(h.lines) == 0
	}
	return !removes || len(one[0].lines) == lines
}

// includes reports whether a hunk removes the lines that a smaller one does, and has its lines in the
// same place.
func (h hunk) includes(small hunk) bool {
	removed := small.end - small.start
	at := func(i int) bool {
		return i >= 0 && i+len(small.lines) <= len(h.lines) &&
			prefix(small.lines, h.lines[i:]) == len(small.lines)
	}
	switch {
	// The smaller hunk must be inside, and remove fewer lines.
	case small.start < h.start, small.end > h.end, removed == h.end-h.start:
		return false
	case len(small.lines) == 0:
		return true
	case small.start == h.start:
		return at(0)
	case small.end == h.end:
		return at(len(h.lines) - len(small.lines))
	// Both replace line by line, so the position of each new line is known.
	case h.growth() == 0 && small.growth() == 0:
		return at(small.start - h.start)
	}
	// Otherwise the lines can be anywhere in the hunk.
	for i := range h.lines {
		if at(i) {
			return true
		}
	}
	return false
}

// replacesAll reports whether each side has a single hunk in a cluster that replaces all of it, so that
// neither keeps a line of the base.
func (c *cluster) replacesAll() bool {
	for _, hunks := range [][]hunk{c.ours, c.theirs} {
		if len(hunks) != 1 || hunks[0].start != c.start || hunks[0].end != c.end {
			return false
		}
	}
	return true
}
