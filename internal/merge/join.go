package merge

import "slices"

// join puts what both sides inserted at one place, or instead of the same lines: ours first, then
// theirs, and once what both inserted. Blocks of code stay whole, so what stands in them counts as
// inserted by both only if all of one insertion does. Below are the blank lines that ours put behind.
func (w *weaver) join(ours, theirs []line, below string) {
	fenced := w.table.fenced(ours) || w.table.fenced(theirs)
	switch {
	case within(theirs, ours, fenced):
		w.put(ours...)
	case within(ours, theirs, fenced):
		w.put(theirs...)
	case fenced:
		w.mingle(ours, theirs, below, []gap{{0, len(ours), 0, len(theirs)}})
	default:
		w.mingle(ours, theirs, below, gaps(numbers(ours), numbers(theirs)))
	}
}

// within reports whether the lines stand in the text, in their order; whole: as its beginning or its
// end.
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

// mingle puts two insertions that match but for the gaps: all of ours, and theirs behind ours in each
// gap.
func (w *weaver) mingle(ours, theirs []line, below string, gaps []gap) {
	tight := !w.loose(ours) && !w.loose(theirs)
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
		if g.a0 < g.a1 {
			first.above = w.parting(longer(ours[at].above, first.above), first, tight)
		}
		w.put(first)
		w.put(theirs[g.b0+1 : g.b1]...)
		ours[at].above = longer(ours[at].above, theirs[g.b1].above)
	}
	w.put(ours[at : len(ours)-1]...)
}

// parting are the blank lines between two pieces of different sides: those given, or none between
// items that make one list.
func (w *weaver) parting(blanks string, below line, tight bool) string {
	if tight && w.listed(w.out[len(w.out)-1]) && w.table.kinds[below.id] == item {
		return ""
	}
	return blanks
}

// listed reports whether a line belongs to a list, as far as a line shows.
func (w *weaver) listed(l line) bool {
	return w.table.kinds[l.id] == item || w.table.kinds[l.id] == inside
}

// loose reports whether an insertion has blank lines between items of a list, the one before it
// included.
func (w *weaver) loose(lines []line) bool {
	listed := len(w.out) > 0 && w.listed(w.out[len(w.out)-1])
	for _, l := range lines {
		if listed && l.above != "" && w.table.kinds[l.id] == item {
			return true
		}
		listed = w.listed(l)
	}
	return false
}

// longer is the longer of two series of blank lines, the first if they are equally long.
func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}
