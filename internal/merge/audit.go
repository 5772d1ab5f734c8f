package merge

import "slices"

// A lineCounts counts lines, because a merge by hunks can be wrong if lines were moved: a line of ours
// is lost if theirs moved it to a place that ours changed, and is doubled if both moved it to
// different places.
type lineCounts struct {
	table  *table
	in     versions[[]line]
	counts versions[[]int32] // number of occurrences by line
}

// newLineCounts returns the audit of three texts.
func newLineCounts(texts versions[string]) lineCounts {
	t := newTable()
	in := versions[[]line]{t.split(texts.base), t.split(texts.ours), t.split(texts.theirs)}
	return lineCounts{t, in, versions[[]int32]{t.counts(in.base), t.counts(in.ours), t.counts(in.theirs)}}
}

// isUnique reports whether the base has the line once, and the other texts at most once.
func (a lineCounts) isUnique(id rune) bool {
	return a.counts.base[id] == 1 && a.counts.ours[id] <= 1 && a.counts.theirs[id] <= 1
}

// movedAndRemoved reports whether a line was moved by one side, and removed at its old place by the other.
func (a lineCounts) movedAndRemoved(ours, theirs script) bool {
	taken := make([]bool, len(a.table.lines))
	for _, h := range ours.hunks {
		for _, l := range a.in.base[h.start:h.end] {
			taken[l.id] = true
		}
	}
	for _, h := range theirs.hunks {
		for _, l := range a.in.base[h.start:h.end] {
			// Both sides removed the line at its place, but one of them has it elsewhere.
			moved := a.counts.ours[l.id] != a.counts.theirs[l.id]
			if taken[l.id] && moved && a.isUnique(l.id) {
				return true
			}
		}
	}
	return false
}

// miscounted returns the lines that a merged text has too rarely or too often.
func (a lineCounts) miscounted(out []line) map[rune]bool {
	lines := map[rune]bool{}
	got := a.table.counts(out)
	for _, l := range a.in.base {
		// Too often: for example, both sides moved the line, to different places.
		if got[l.id] > 1 && a.isUnique(l.id) {
			lines[l.id] = true
		}
	}
	for _, l := range a.in.ours {
		// Too rarely: for example, one side moved the line to a place that the other changed.
		if got[l.id] < a.minCount(l.id) {
			lines[l.id] = true
		}
	}
	return lines
}

// restoresRemoved reports whether out contains a line that the base has once, and that one side removed.
func (a lineCounts) restoresRemoved(out []line) bool {
	return slices.ContainsFunc(out, func(l line) bool {
		return a.isUnique(l.id) && a.counts.ours[l.id]+a.counts.theirs[l.id] == 1
	})
}

// minCount returns how often a line must be in the merged text: as often as in ours, less the number
// that theirs removed.
func (a lineCounts) minCount(id rune) int32 {
	return a.counts.ours[id] - max(0, a.counts.base[id]-a.counts.theirs[id])
}

// hunksWithout returns the hunks that neither remove nor add one of the lines; nil if that would be all
// of the hunks.
func (a lineCounts) hunksWithout(hunks []hunk, lines map[rune]bool) []hunk {
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
