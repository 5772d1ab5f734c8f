package merge

import "slices"

// apart are the hunks without the lines that they have in common with an insertion of the other side
// that they touch.
func (t *table) apart(hunks, insertions []hunk) []hunk {
	hunks = slices.Clone(hunks)
	for _, in := range insertions {
		if !in.inserts() {
			continue
		}
		i, _ := slices.BinarySearchFunc(hunks, in.start, func(h hunk, at int) int { return h.end - at })
		for ; i < len(hunks) && hunks[i].start <= in.start; i++ {
			hunks[i] = t.without(hunks[i], in)
		}
	}
	return hunks
}

// without is a hunk without what it has in common with an insertion directly before or behind it.
func (t *table) without(h, in hunk) hunk {
	if h.inserts() {
		return h
	}
	switch in.start {
	case h.start:
		if n := prefix(h.lines, in.lines); t.told(h.lines[:n], in.lines) {
			h.lines = h.lines[n:]
		}
	case h.end:
		if n := len(h.lines) - suffix(h.lines, in.lines); t.told(h.lines[n:], in.lines) {
			h.lines = h.lines[:n]
		}
	}
	return h
}

// told reports whether lines that are a part of an insertion can be told to be the same edit, which a
// part of a block of code cannot.
func (t *table) told(part, insertion []line) bool {
	return len(part) == len(insertion) || !t.fenced(part)
}

// single makes a hunk for each line of a hunk that has as many lines as it replaces: they are
// changes of line after line, as where several items of a list are ticked.
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

// aligned reports whether hunks for each line may be put one by one: not if both sides bring a line,
// but to different places, for then one side's lines are not changes of line after line.
func aligned(split versions[[]hunk]) bool {
	theirs := places(split.theirs)
	for id, at := range places(split.ours) {
		if other, ok := theirs[id]; ok && at != other && at >= 0 && other >= 0 {
			return false
		}
	}
	return true
}

// places says at which line of the base each line is brought, and -1 for one that is brought twice.
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
