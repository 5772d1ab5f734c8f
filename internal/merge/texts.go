package merge

import "bytes"

// A Result is the result of Texts.
type Result struct {
	Text []byte // ours with the changes of theirs since base; it may share memory with an input

	// Overlaps reports that not all changes of theirs are in the text: both sides changed the same
	// lines, or the same key of the frontmatter, in different ways. The text has ours there, except
	// for a key that ours removed and theirs changed. The caller must keep theirs in a separate
	// file.
	Overlaps bool
}

// Texts merges two texts of a note that both began as base. It never fails, whatever the bytes are,
// and takes about linear time. If only one of the two changed, or if both made the same change, the
// result is exactly that text.
func Texts(base, ours, theirs []byte) Result {
	switch {
	case bytes.Equal(ours, theirs), bytes.Equal(base, theirs):
		return Result{Text: ours}
	case bytes.Equal(base, ours):
		return Result{Text: theirs}
	}
	forms := versions[form]{formOf(base), formOf(ours), formOf(theirs)}
	// If one text mixes line breaks, lines are compared with their line breaks in all texts.
	mixed := forms.base.breaks == mixed || forms.ours.breaks == mixed || forms.theirs.breaks == mixed
	m := notes(versions[string]{
		forms.base.plain(base, mixed), forms.ours.plain(ours, mixed), forms.theirs.plain(theirs, mixed),
	})
	out := form{
		mark:   pick(forms.base.mark, forms.ours.mark, forms.theirs.mark),
		breaks: prefer(forms.base.breaks, forms.ours.breaks, forms.theirs.breaks),
		end:    prefer(forms.base.end, forms.ours.end, forms.theirs.end),
	}
	return Result{Text: out.write(m.text, mixed), Overlaps: m.overlaps}
}

// A versions contains three versions of a value that are merged.
type versions[T any] struct{ base, ours, theirs T }

// pick merges values that cannot be divided: it returns theirs if only they changed it, and
// otherwise ours.
func pick[T comparable](base, ours, theirs T) T {
	if ours == base {
		return theirs
	}
	return ours
}

// prefer is pick for types whose zero value means that a side does not have the value.
func prefer[T comparable](base, ours, theirs T) T {
	var none T
	switch {
	case theirs == none:
		return ours
	case ours == none:
		return theirs
	}
	return pick(base, ours, theirs)
}

// differ reports whether both sides changed a value in different ways.
func differ[T comparable](base, ours, theirs T) bool {
	return ours != base && theirs != base && ours != theirs
}

// A mergedText is a merged text in the form of form.plain, with a report of overlaps.
type mergedText struct {
	text     string
	overlaps bool
}

// notes merges the frontmatters by key and the bodies by line. If that is impossible, or if the
// result would not parse to the merged parts, it merges the whole texts by line.
//
// As a last resort it returns ours, with an overlap.
func notes(texts versions[string]) mergedText {
	b, okBase := readNote(texts.base)
	o, okOurs := readNote(texts.ours)
	t, okTheirs := readNote(texts.theirs)
	if !okBase || !okOurs || !okTheirs {
		return lines(texts)
	}
	h, overlaps := heads(versions[head]{b.head, o.head, t.head})
	body := lines(versions[string]{b.body, o.body, t.body})
	m := mergedText{h.raw + body.text, overlaps || body.overlaps}
	// Check the result: a merged frontmatter can have a syntax error, or end elsewhere.
	back, ok := readNote(m.text)
	if ok && back.body == body.text && back.head.equal(h) && (sameFrontmatter(b, o, t) || isLossless(texts, m)) {
		return m
	}
	// A merge by line can break the frontmatter too; then ours stays.
	if m = lines(texts); readable(m.text) {
		return m
	}
	return mergedText{texts.ours, true}
}

// readable reports whether readNote accepts a text.
func readable(text string) bool {
	_, ok := readNote(text)
	return ok
}

// sameFrontmatter reports whether all of the notes have a frontmatter, or none has. Otherwise the frontmatter
// of one may be body in another, and could be in both, or in neither, after a merge by parts.
func sameFrontmatter(b, o, t note) bool {
	there := func(n note) bool { return n.head.raw != "" }
	return there(b) == there(o) && there(b) == there(t)
}

// isLossless reports whether a merged text has neither lost nor doubled a line, nor restored a removed
// one.
func isLossless(texts versions[string], m mergedText) bool {
	a := newLineCounts(texts)
	out := a.table.split(m.text)
	return len(a.miscounted(out)) == 0 && (m.overlaps || !a.restoresRemoved(out))
}
