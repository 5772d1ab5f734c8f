package merge

import "slices"

// withoutShared returns the hunks without the lines that are also in an insertion of the other side that is
// adjacent to them.
func (t *table) withoutShared(hunks, insertions []hunk) []hunk {
	hunks = slices.Clone(hunks)
	for _, in := range insertions {
		if !in.inserts() {
			continue
		}
		// Only hunks that end or begin at the insertion are adjacent to it.
		i, _ := slices.BinarySearchFunc(hunks, in.start, func(h hunk, at int) int { return h.end - at })
		for ; i < len(hunks) && hunks[i].start <= in.start; i++ {
			hunks[i] = t.without(hunks[i], in)
		}
	}
	return hunks
}

// without returns a hunk without the lines that are also in an insertion directly before or after
// it.
func (t *table) without(h, in hunk) hunk {
	if h.inserts() {
		return h
	}
	switch in.start {
	case h.start:
		if n := prefix(h.lines, in.lines); t.isSameEdit(h.lines[:n], in.lines) {
			h.lines = h.lines[n:]
		}
	case h.end:
		if n := len(h.lines) - suffix(h.lines, in.lines); t.isSameEdit(h.lines[n:], in.lines) {
			h.lines = h.lines[:n]
		}
	}
	return h
}

// isSameEdit reports whether lines that are a part of an insertion are certainly the same edit. Part of a
// code block is not.
func (t *table) isSameEdit(part, insertion []line) bool {
	return len(part) == len(insertion) || !t.fenced(part)
}

// single divides each hunk that replaces lines by as many lines into hunks of one line, because
// these are changes of single lines, such as ticked items of a list.
func single(hunks []hunk) []hunk {
	var all []hunk
	for _, h := range hunks {
		if h.inserts() || h.growth() != 0 {
			all = append(all, h)
			continue
		}
		for i := range h.lines {
			all = append(all, hunk{h.start + i, h.start + i + 1, h.lines[i : i+1]})
		}
	}
	return all
}

// aligned reports whether hunks of single lines may be applied one by one: not if both sides put a
// line at different places, because then the hunks are not changes of single lines.
func aligned(split versions[[]hunk]) bool {
	theirs := places(split.theirs)
	for id, at := range places(split.ours) {
		if other, ok := theirs[id]; ok && at != other && at >= 0 && other >= 0 {
			return false
		}
	}
	return true
}

// places returns the line of the base at which each line is put, and -1 for a line that is put at
// several.
func places(hunks []hunk) map[rune]int {
	at := map[rune]int{}
	for _, h := range hunks {
		for _, l := range h.lines {
			place := h.start
			if _, again := at[l.id]; again {
				place = -1
			}
			at[l.id] = place
		}
	}
	return at
}
