package index

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// fragment returns the object that a fragment names inside o: a section, by its slug or the text of
// its heading; a section below others (`A#B`); or a block (`^id`). For a block, inner is the note
// and line is the line of the block; otherwise line is 0.
func (o Object) fragment(fragment string) (inner Object, line int, ok bool) {
	if id, block := strings.CutPrefix(fragment, "^"); block {
		line, ok = o.Note.Blocks[id]
		return Object{Note: o.Note}, line, ok
	}
	if fragment == "" {
		return Object{}, 0, false
	}
	if inner, ok = o.part(fragment); ok { // the id of a section may have a # in it
		return inner, 0, true
	}
	inner = o
	// Each part names a section below the one before it.
	for part := range strings.SplitSeq(fragment, "#") {
		if inner, ok = inner.part(strings.TrimSpace(part)); !ok {
			return Object{}, 0, false
		}
	}
	return inner, 0, true
}

// part returns the first section below o that a heading names: by its slug, by its text, by its
// folded text, or by the slug of the text, in this order of preference. If o is a note, its title
// heading names o itself. ok is false if no section fits. It goes through the sections of the note
// once for each form.
func (o Object) part(heading string) (Object, bool) {
	if heading == "" {
		return Object{}, false
	}
	n, slug, folded := o.Note, markdown.Slug(heading), fold(heading)
	forms := []func(s, title string) bool{
		func(s, _ string) bool { return s == heading },
		func(_, title string) bool { return title == heading },
		func(_, title string) bool { return fold(title) == folded },
		func(s, _ string) bool { return s == slug },
	}
	// A better form of any section is preferred to a worse form of an earlier one.
	for _, is := range forms {
		if o.Section == nil && n.Title != "" && is(n.TitleSlug, n.Title) {
			return o, true
		}
		for i := range n.Sections {
			s := n.Object(i)
			if is(s.Section.Slug, s.Section.Title) && s.Section != o.Section && s.within(o) {
				return s, true
			}
		}
	}
	return Object{}, false
}
