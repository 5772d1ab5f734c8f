package merge

import "bytes"

// Merged is the result of Texts.
type Merged struct {
	Text []byte // ours, with what theirs changed since base; it may share memory with an input

	// Overlaps says that not all of theirs could go into the text: both changed the same lines, or
	// the same key of the frontmatter, and differently. The text has ours there, but a key that ours
	// removed and theirs changed, and whoever calls keeps theirs whole in a file of its own.
	Overlaps bool
}

// Texts merges two texts of a note that were both made from base. It never fails, whatever the
// bytes are, and takes about linear time. If only one of the two changed, or both alike, the result
// is that text to the byte.
func Texts(base, ours, theirs []byte) Merged {
	switch {
	case bytes.Equal(ours, theirs), bytes.Equal(base, theirs):
		return Merged{Text: ours}
	case bytes.Equal(base, ours):
		return Merged{Text: theirs}
	}
	forms := versions[form]{formOf(base), formOf(ours), formOf(theirs)}
	mixed := forms.base.breaks == mixed || forms.ours.breaks == mixed || forms.theirs.breaks == mixed
	m := notes(versions[string]{
		forms.base.plain(base, mixed), forms.ours.plain(ours, mixed), forms.theirs.plain(theirs, mixed),
	})
	out := form{
		mark:   pick(forms.base.mark, forms.ours.mark, forms.theirs.mark),
		breaks: prefer(forms.base.breaks, forms.ours.breaks, forms.theirs.breaks),
		end:    prefer(forms.base.end, forms.ours.end, forms.theirs.end),
	}
	return Merged{Text: out.write(m.text, mixed), Overlaps: m.overlaps}
}

// versions are the three of something that are merged.
type versions[T any] struct{ base, ours, theirs T }

// pick merges what cannot be divided: theirs if only they changed it, ours otherwise.
func pick[T comparable](base, ours, theirs T) T {
	if ours == base {
		return theirs
	}
	return ours
}

// prefer is pick where the zero value is one that has no opinion.
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

// differ reports whether both changed something, and not to the same.
func differ[T comparable](base, ours, theirs T) bool {
	return ours != base && theirs != base && ours != theirs
}

// A joint is a merged text in the form that plain gives.
type joint struct {
	text     string
	overlaps bool
}

// notes merges the frontmatters by key and the bodies by line. Where that cannot be done, or what
// comes out would not read as what went in, the whole texts are merged by line.
func notes(texts versions[string]) joint {
	b, okBase := readNote(texts.base)
	o, okOurs := readNote(texts.ours)
	t, okTheirs := readNote(texts.theirs)
	if !okBase || !okOurs || !okTheirs {
		return lines(texts)
	}
	h, overlaps := heads(versions[head]{b.head, o.head, t.head})
	body := lines(versions[string]{b.body, o.body, t.body})
	m := joint{h.raw + body.text, overlaps || body.overlaps}
	back, ok := readNote(m.text)
	if ok && back.body == body.text && back.head.equal(h) && (alike(b, o, t) || sound(texts, m)) {
		return m
	}
	if m = lines(texts); readable(m.text) {
		return m
	}
	return joint{texts.ours, true}
}

func readable(text string) bool {
	_, ok := readNote(text)
	return ok
}

// alike reports whether all of the notes have a frontmatter, or none. If not, what is frontmatter in
// one may be body in another, and stand in both, or in neither, after a merge by parts.
func alike(b, o, t note) bool {
	there := func(n note) bool { return n.head.raw != "" }
	return there(b) == there(o) && there(b) == there(t)
}

// sound reports whether a merged text has neither lost nor doubled a line, nor brought one back.
func sound(texts versions[string], m joint) bool {
	a := newAudit(texts)
	out := a.table.split(m.text)
	return len(a.wrong(out)) == 0 && (m.overlaps || !a.undone(out))
}
