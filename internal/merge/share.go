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
		if h.inserts() || len(h.lines) != h.end-h.start {
			all = append(all, h)
			continue
		}
		for i := range h.lines {
			all = append(all, hunk{h.start + i, h.start + i + 1, h.lines[i : i+1]})
		}
	}
	return all
}
