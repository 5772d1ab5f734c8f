// Package merge merges two versions of one note: theirs, which was written with an editor or synced
// from elsewhere, and ours, which is in the log. The rule is reference/log.md §5. Its goals: no
// edit is lost, none is applied twice, and every byte that was not edited stays.
//
// Texts is the merge. It gets the text from which both versions began, the base. A part that it
// cannot merge is an overlap: the merged text has ours there, and the caller keeps theirs in a
// separate file. So an overlap loses nothing either, and if the merge would have to guess, it
// reports an overlap. A Measure finds the base among the earlier texts of the note: the nearest
// one.
//
// # What is merged how
//
// Line breaks, the byte order mark and a line break at the end are properties of a text, and are
// merged separately from the lines: an editor that writes other line breaks has not changed every
// line. If a text mixes line breaks, lines are compared with theirs.
//
// Frontmatter is merged key by key. A key is the bytes of its lines. If one side only wrote a key
// in another notation, as editors do that rewrite all of them, the key is unchanged. If a
// frontmatter does not parse, or if the result would not parse to the merged keys, the whole note
// is merged by line.
//
// The rest is merged by line. It differs from most merges in three ways, because a note is not a
// program:
//
//   - A blank line is not a line of its own, but belongs to the line below it. Blank lines are
//     equal to each other, so they would match where nothing else does, and turn an edit that both
//     sides have into two copies of a paragraph. If both sides changed the blank lines above a
//     line, ours stay.
//   - Insertions of both sides at one place are not an overlap, because lists and logs grow at
//     their ends. Ours come first, and lines that both have occur once. There are no blank lines
//     between items of a list unless the list has some; between other parts, those of their authors
//     stay. Code blocks are never mixed.
//   - Lines that are replaced by as many lines are changes of single lines, so that two people can
//     tick neighbouring items of a list.
//
// A merge of hunks does not detect moved lines: it could drop a line that one side moved to a place
// that the other changed, or keep two copies of a line that both moved. So the lines are counted at
// the end, and hunks of theirs that make a count wrong are left out, which is an overlap.
//
// # Guarantees
//
// If one side changed nothing, or if both made the same change, the result is exactly the other's
// text. A line of ours is in the result unless theirs removed it. A line that theirs added is in
// the result, or it is an overlap. A line that occurs once in the base and at most once in either
// version does not occur twice in the result; a line that is new in both may, because it was
// written in two places. If nothing overlaps and no line was moved or occurs twice, merging theirs
// again with the result changes no line of it.
//
// The package is pure, never fails, and takes about linear time: the search for matching lines is
// bounded, so in texts with almost nothing in common, some lines may count as changed without need.
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

// lines merges plain texts line by line.
func lines(texts versions[string]) mergedText {
	switch {
	case texts.ours == texts.theirs, texts.base == texts.theirs:
		return mergedText{text: texts.ours}
	case texts.base == texts.ours:
		return mergedText{text: texts.theirs}
	}
	// The audit numbers the lines of all three texts.
	a := newLineCounts(texts)
	t, base := a.table, a.in.base
	ours, theirs := newScript(base, a.in.ours), newScript(base, a.in.theirs)
	overlaps := a.movedAndRemoved(ours, theirs)
	// Each round omits the hunks of theirs that made counts of lines wrong. Without any hunk of
	// theirs, the result is ours, which is never wrong.
	for round := 0; ; round++ {
		out, over := t.merge3(base, ours, theirs)
		overlaps = overlaps || over
		wrong := a.miscounted(out)
		if len(wrong) == 0 {
			return mergedText{t.write(out), overlaps}
		}
		overlaps = true
		theirs.hunks = a.hunksWithout(theirs.hunks, wrong)
		if round == maxRounds {
			theirs.hunks = nil
		}
	}
}

// maxRounds is how often wrong hunks of theirs are left out before all of theirs are.
const maxRounds = 4

// join adds the insertions of both sides at one place, or their replacements of the same lines:
// ours first, then theirs, and lines that both have once. Code blocks are not divided, so their
// lines count as inserted by both only if one insertion contains all of the other. below is the
// blank lines that ours added after the place.
func (w *merger) join(ours, theirs []line, below string) {
	fenced := w.table.fenced(ours) || w.table.fenced(theirs)
	switch {
	// Ours contains the insertion of theirs, so it is complete; and the other way round.
	case within(theirs, ours, fenced):
		w.put(ours...)
	case within(ours, theirs, fenced):
		w.put(theirs...)
	case fenced:
		// No lines are matched, so each insertion stays in one piece.
		w.interleave(ours, theirs, below, []gap{{0, len(ours), 0, len(theirs)}})
	default:
		w.interleave(ours, theirs, below, gaps(numbers(ours), numbers(theirs)))
	}
}

// within reports whether the lines are in the text, in order; if whole is set, whether they are its
// beginning or its end.
func within(lines, text []line, whole bool) bool {
	if whole {
		return prefix(lines, text) == len(lines) || suffix(lines, text) == len(lines)
	}
	for _, l := range text {
		if len(lines) > 0 && same(lines[0], l) {
			lines = lines[1:]
		}
	}
	return len(lines) == 0
}

// interleave adds two insertions that match except for the gaps: all of ours, and theirs after ours in
// each gap.
func (w *merger) interleave(ours, theirs []line, below string, gaps []gap) {
	tight := !w.isLooseList(ours) && !w.isLooseList(theirs)
	// Sentinels after the insertions; that of ours has the blank lines that follow.
	ours = append(slices.Clone(ours), line{end, below})
	theirs = append(slices.Clone(theirs), line{id: end})
	at := 0
	for _, g := range gaps {
		if g.b0 == g.b1 {
			continue
		}
		w.put(ours[at:g.a1]...)
		at = g.a1
		first := theirs[g.b0]
		// Lines of both sides meet here, so the blank lines between them must be chosen.
		if g.a0 < g.a1 {
			first.above = w.blanksBetween(longer(ours[at].above, first.above), first, tight)
		}
		w.put(first)
		w.put(theirs[g.b0+1 : g.b1]...)
		ours[at].above = longer(ours[at].above, theirs[g.b1].above)
	}
	w.put(ours[at : len(ours)-1]...)
}

// blanksBetween returns the blank lines between parts of different sides: the given ones, or none between
// items that make one list.
func (w *merger) blanksBetween(blanks string, below line, tight bool) string {
	if tight && w.isListLine(w.out[len(w.out)-1]) && w.table.kinds[below.id] == item {
		return ""
	}
	return blanks
}

// isListLine reports whether a line belongs to a list, as far as the line shows.
func (w *merger) isListLine(l line) bool {
	return w.table.kinds[l.id] == item || w.table.kinds[l.id] == inside
}

// isLooseList reports whether an insertion has blank lines between items of a list, including an item
// directly before it.
func (w *merger) isLooseList(lines []line) bool {
	listed := len(w.out) > 0 && w.isListLine(w.out[len(w.out)-1])
	for _, l := range lines {
		if listed && l.above != "" && w.table.kinds[l.id] == item {
			return true
		}
		listed = w.isListLine(l)
	}
	return false
}

// longer returns the longer of two series of blank lines, and a if they are equally long.
func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}
