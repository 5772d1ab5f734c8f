package merge

import "slices"

// A merger builds a merged text from the base and the changes of both sides. It must be used by
// one goroutine.
type merger struct {
	table    *table
	base     []line
	above    versions[[]string] // of ours and theirs: the blank lines above each line of the base
	hunks    versions[[]hunk]   // of ours and theirs: those that are left
	out      []line             // the merged lines so far
	overlaps bool
}

// merge3 applies the hunks of both sides to the base. It returns the merged lines, and reports
// whether some hunks overlap. It does not change the scripts.
func (t *table) merge3(base []line, ours, theirs script) (out []line, overlaps bool) {
	w := &merger{table: t, base: base}
	w.above.ours, w.above.theirs = ours.above, theirs.above
	// Lines that a side put next to an insertion of the other, and that the insertion has too,
	// are the same edit.
	w.hunks.ours = t.withoutShared(ours.hunks, theirs.hunks)
	w.hunks.theirs = t.withoutShared(theirs.hunks, ours.hunks)
	w.run(0, len(base))
	return w.out, w.overlaps
}

// run appends the merged lines of a part of the base. No hunk of w must reach beyond the part.
func (w *merger) run(at, to int) {
	for len(w.hunks.ours)+len(w.hunks.theirs) > 0 {
		c := w.cluster()
		w.keep(at, c.start)
		w.mergeCluster(c)
		at = c.end
	}
	w.keep(at, to)
}

// keep appends lines of the base that neither side changed, with their merged blank lines.
func (w *merger) keep(from, to int) {
	for i := from; i < to; i++ {
		l := w.base[i]
		w.put(line{l.id, pick(l.above, w.above.ours[i], w.above.theirs[i])})
	}
}

// put appends lines to the merged text.
func (w *merger) put(lines ...line) { w.out = append(w.out, lines...) }

// mergeCluster appends the merged lines of a cluster.
func (w *merger) mergeCluster(c cluster) {
	ours := c.side(w.base, c.ours, w.above.ours)
	theirs := c.side(w.base, c.theirs, w.above.theirs)
	switch {
	// Only ours changed the part, or both made the same change.
	case len(c.theirs) == 0, slices.EqualFunc(ours, theirs, same):
		w.put(w.spaced(c, ours, w.above.theirs)...)
	case len(c.ours) == 0:
		w.put(w.spaced(c, theirs, w.above.ours)...)
	case c.start == c.end:
		w.join(ours, theirs, w.below(c))
	case c.sameChange():
		w.put(c.ours[0].lines...)
	case includesAll(c.ours, c.theirs):
		w.put(ours...)
	case includesAll(c.theirs, c.ours):
		w.put(theirs...)
	default:
		w.resolve(c, ours, theirs)
	}
}

// resolve appends a cluster that the sides changed in different ways. It tries to keep the lines
// that both have and to join the lines that either added to them; else to merge changes of single
// lines; else it appends ours, which is an overlap.
func (w *merger) resolve(c cluster, ours, theirs []line) {
	head := prefix(ours, theirs)
	tail := suffix(ours[head:], theirs[head:])
	split := versions[[]hunk]{ours: single(c.ours), theirs: single(c.theirs)}
	switch {
	case c.replacesAll() && head+tail >= c.end-c.start:
		w.put(ours[:head]...)
		w.join(ours[head:len(ours)-tail], theirs[head:len(theirs)-tail], w.below(c))
		w.put(ours[len(ours)-tail:]...)
	case len(split.ours)+len(split.theirs) > len(c.ours)+len(c.theirs) && aligned(split):
		// Run the single lines of the cluster as a merge of its own, then continue with the other
		// hunks.
		rest := w.hunks
		w.hunks.ours = w.table.withoutShared(split.ours, split.theirs)
		w.hunks.theirs = w.table.withoutShared(split.theirs, split.ours)
		w.run(c.start, c.end)
		w.hunks = rest
	default:
		w.put(ours...)
		w.overlaps = true
	}
}

// spaced returns a line that one side changed, with the blank lines that the other side put above
// it. It returns other lines unchanged.
func (w *merger) spaced(c cluster, lines []line, other []string) []line {
	if c.end != c.start+1 || len(lines) != 1 {
		return lines
	}
	base := w.base[c.start].above
	return []line{{lines[0].id, pick(base, lines[0].above, other[c.start])}}
}

// below returns the blank lines that ours added after a cluster.
func (w *merger) below(c cluster) string {
	if w.above.ours[c.end] == w.base[c.end].above {
		return ""
	}
	return w.above.ours[c.end]
}
