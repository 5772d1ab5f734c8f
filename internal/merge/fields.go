package merge

import (
	"reflect"
	"slices"
	"strings"
)

// heads merges frontmatters key by key, and reports whether there is an overlap.
func heads(in versions[head]) (head, bool) {
	switch {
	// Unchanged texts are not taken apart, so that they stay as they are.
	case in.ours.raw == in.theirs.raw, in.base.raw == in.theirs.raw:
		return in.ours, false
	case in.base.raw == in.ours.raw:
		return in.theirs, false
	}
	k := &fieldMerger{in: in}
	for _, f := range in.ours.fields {
		k.add(in.base.get(f.key), f, in.theirs.get(f.key))
	}
	for _, f := range in.theirs.fields {
		// Keys that ours does not have come after those of ours.
		if in.ours.get(f.key).lines == "" {
			f.above = k.newLinesAbove(f.above)
			k.add(in.base.get(f.key), field{}, f)
		}
	}
	return k.head(), k.overlaps
}

// A fieldMerger collects the fields of the merged frontmatter.
type fieldMerger struct {
	in       versions[head]
	fields   []field
	overlaps bool
}

// add merges one key. A field without lines is one that a side does not have.
func (k *fieldMerger) add(base, ours, theirs field) {
	out := ours
	switch {
	case ours.lines == theirs.lines, theirs.same(base) && !theirs.keepsChangedComments(base, ours):
	case ours.same(base) && !ours.keepsChangedComments(base, theirs):
		out = theirs
	// Ours removed a key that theirs changed: the key stays, because the change would be lost
	// otherwise.
	case ours.lines == "":
		out = theirs
		k.overlaps = true
	// Both changed the key: ours stays. It is an overlap unless the values are equal and no
	// comment of theirs is lost.
	default:
		k.overlaps = k.overlaps || theirs.commented() || theirs.lines == "" ||
			!reflect.DeepEqual(ours.value, theirs.value)
	}
	// The key was removed.
	if out.lines == "" {
		return
	}
	if ours.lines != "" && theirs.lines != "" {
		out.above = pick(base.above, ours.above, theirs.above)
		k.overlaps = k.overlaps || differ(base.above, ours.above, theirs.above)
	}
	k.fields = append(k.fields, out)
}

// same reports whether a side did not change a field of the base: its bytes, or, because some
// editors rewrite all fields, its value, unless it has a comment.
func (f field) same(base field) bool {
	if f.lines == base.lines {
		return true
	}
	return f.lines != "" && base.lines != "" && !f.commented() &&
		reflect.DeepEqual(f.value, base.value)
}

// keepsChangedComments reports whether the other side removed a field whose comments above this side has
// changed.
func (f field) keepsChangedComments(base, other field) bool {
	return f.lines != "" && other.lines == "" && f.above != base.above
}

// commented reports whether the lines of a field contain a #, which can begin a comment.
func (f field) commented() bool { return strings.Contains(f.lines, "#") }

// newLinesAbove returns the lines above a field that theirs added, without comments of the base that are
// in the result already, because comments at the end of the base are above the first field that
// either side adds.
func (k *fieldMerger) newLinesAbove(above string) string {
	var b strings.Builder
	for line := range strings.Lines(above) {
		if strings.TrimSpace(line) == "" || !k.in.base.hasBetween(line) || !k.hasLineAbove(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// hasLineAbove reports whether a line is already above a merged field.
func (k *fieldMerger) hasLineAbove(line string) bool { return head{fields: k.fields}.hasBetween(line) }

// hasBetween reports whether a line is among the lines between the fields.
func (h head) hasBetween(line string) bool {
	within := func(text string) bool { return slices.Contains(strings.SplitAfter(text, lf), line) }
	return within(h.tail) || slices.ContainsFunc(h.fields, func(f field) bool { return within(f.above) })
}

// head returns the merged frontmatter with its two lines `---`.
func (k *fieldMerger) head() head {
	in := k.in
	h := head{fields: k.fields, tail: pick(in.base.tail, in.ours.tail, in.theirs.tail)}
	k.overlaps = k.overlaps || differ(in.base.tail, in.ours.tail, in.theirs.tail)
	there := pick(in.base.raw != "", in.ours.raw != "", in.theirs.raw != "")
	if !there && len(h.fields) == 0 && h.tail == "" {
		return head{}
	}
	h.open = prefer(in.base.open, in.ours.open, in.theirs.open)
	h.close = prefer(in.base.close, in.ours.close, in.theirs.close)
	h.write()
	return h
}
