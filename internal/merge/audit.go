package merge

import "slices"

// An audit counts lines, for a merge hunk by hunk can go wrong where lines were moved: one that ours
// has is gone if theirs moved it to a place where ours has something else, and stands twice if both
// moved it, to two places.
type audit struct {
	table  *table
	in     versions[[]line]
	counts versions[[]int32] // of each line
}

func newAudit(texts versions[string]) audit {
	t := newTable()
	in := versions[[]line]{t.split(texts.base), t.split(texts.ours), t.split(texts.theirs)}
	return audit{t, in, versions[[]int32]{t.counts(in.base), t.counts(in.ours), t.counts(in.theirs)}}
}

// lone reports whether no text has the line twice, and the base has it.
func (a audit) lone(id rune) bool {
	return a.counts.base[id] == 1 && a.counts.ours[id] <= 1 && a.counts.theirs[id] <= 1
}

// torn reports whether there is a line that one side moved, and the other removed from its place.
func (a audit) torn(ours, theirs script) bool {
	taken := make([]bool, len(a.table.lines))
	for _, h := range ours.hunks {
		for _, l := range a.in.base[h.start:h.end] {
			taken[l.id] = true
		}
	}
	for _, h := range theirs.hunks {
		for _, l := range a.in.base[h.start:h.end] {
			moved := a.counts.ours[l.id] != a.counts.theirs[l.id]
			if taken[l.id] && moved && a.lone(l.id) {
				return true
			}
		}
	}
	return false
}

// wrong are the lines of which a merged text has too few, or too many.
func (a audit) wrong(out []line) map[rune]bool {
	lines := map[rune]bool{}
	got := a.table.counts(out)
	for _, l := range a.in.base {
		if got[l.id] > 1 && a.lone(l.id) {
			lines[l.id] = true
		}
	}
	for _, l := range a.in.ours {
		if got[l.id] < a.least(l.id) {
			lines[l.id] = true
		}
	}
	return lines
}

// undone reports whether a line is there that stood once, and that one side removed.
func (a audit) undone(out []line) bool {
	return slices.ContainsFunc(out, func(l line) bool {
		return a.lone(l.id) && a.counts.ours[l.id]+a.counts.theirs[l.id] == 1
	})
}

// least is how often a line is to stand in the merged text: as often as in ours, without those that
// theirs removed.
func (a audit) least(id rune) int32 {
	return a.counts.ours[id] - max(0, a.counts.base[id]-a.counts.theirs[id])
}

// without are the hunks that neither take nor bring one of the lines; none at all if every one of
// the hunks stays.
func (a audit) without(hunks []hunk, lines map[rune]bool) []hunk {
	wrong := func(l line) bool { return lines[l.id] }
	var kept []hunk
	for _, h := range hunks {
		if !slices.ContainsFunc(h.lines, wrong) &&
			!slices.ContainsFunc(a.in.base[h.start:h.end], wrong) {
			kept = append(kept, h)
		}
	}
	if len(kept) == len(hunks) {
		return nil
	}
	return kept
}
