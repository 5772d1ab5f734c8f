package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// A Heading opens a section of a note. Headings stand wherever Markdown has them, in list items and
// block quotes too; one without text of its own is none.
type Heading struct {
	Level  int    // 1 to 6
	Text   string // without what stands in emphasis, code and links
	Slug   string // unique in the note, but for ids that declarations give twice
	Parent int    // the index of the heading that it stands under, -1 for the note itself

	// Title says that this is the note's only heading of level 1 and its first block. It is another
	// name of the note: what stands under it stands under the note.
	Title bool

	// Top says that the heading is in no list and no quote. TopParent is the index of the heading that it is
	// below of those alone, -1 for the note itself; of a heading that is not at the top it means nothing.
	Top       bool
	TopParent int

	Line           int // where the heading begins
	LineEnd        int // the last line before the next heading; 0: the section ends with the note
	SubtreeLineEnd int // the last line before the next heading of its level or higher; 0: as above

	// Embedded is the declaration that makes an object of the section; nil: there is none.
	Embedded *Embedded

	Own     Span // from the start of the heading's line to the next heading
	Subtree Span // from there to the next heading of its level or higher
	Content int  // where the text after the heading begins

	setext bool // underlined
}

// Section finds a heading by its slug.
func (d *Doc) Section(slug string) (Heading, bool) {
	for _, h := range d.Headings {
		if h.Slug == slug {
			return h, true
		}
	}
	return Heading{}, false
}

// OwnEnd is where the note's own text ends: at its first heading that is not its title.
func (d *Doc) OwnEnd() int {
	for _, h := range d.Headings {
		if !h.Title {
			return h.Own.Start
		}
	}
	return d.size
}

// isSetext tells a heading that is underlined from one that begins with #. Its text begins at the
// offset: before the text of the latter stand # and blanks.
func isSetext(text []byte, at int) bool {
	before := bytes.TrimRight(text[lineStart(text, at):at], " \t\r")
	return !bytes.HasSuffix(before, []byte{'#'})
}

// nest fills in what a heading says about the headings around it.
func nest(all []Heading) {
	nestTop(all)
	var open []int
	for i := range all {
		h := &all[i]
		if i > 0 {
			all[i-1].Own.End, all[i-1].LineEnd = h.Own.Start, h.Line-1
		}
		for len(open) > 0 && all[open[len(open)-1]].Level >= h.Level {
			above := &all[open[len(open)-1]]
			above.Subtree.End, above.SubtreeLineEnd = h.Own.Start, h.Line-1
			open = open[:len(open)-1]
		}
		h.Parent = -1
		if len(open) > 0 {
			h.Parent = open[len(open)-1]
		}
		open = append(open, i)
	}
}

// nestTop fills in what the headings at the top are below.
func nestTop(all []Heading) {
	var open []int
	for i := range all {
		h := &all[i]
		if h.TopParent = -1; !h.Top {
			continue
		}
		for len(open) > 0 && all[open[len(open)-1]].Level >= h.Level {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			h.TopParent = open[len(open)-1]
		}
		open = append(open, i)
	}
}

// markTitle finds the heading that is the note's title, and gives its sections to the note. One with
// a declaration is an object, and no title.
func markTitle(all []Heading, root ast.Node, body int) {
	first, ok := root.FirstChild().(*ast.Heading)
	if !ok || first.Level != 1 || len(all) == 0 || all[0].Level != 1 ||
		all[0].Embedded != nil {
		return
	}
	if first.Lines().Len() == 0 || body+first.Lines().At(0).Start < all[0].Own.Start {
		return // the first block is a heading without text of its own
	}
	for _, h := range all[1:] {
		if h.Level == 1 {
			return
		}
	}
	all[0].Title = true
	for i := range all {
		if all[i].Parent == 0 {
			all[i].Parent = -1
		}
		if all[i].TopParent == 0 {
			all[i].TopParent = -1
		}
	}
}

// trimTitle is the text of a heading as it is shown: valid UTF-8 without blanks around it.
func trimTitle(s string) string {
	return strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
}
