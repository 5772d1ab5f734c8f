package merge

import "slices"

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
