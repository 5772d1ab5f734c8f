package merge

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
