package markdown

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"golang.org/x/text/unicode/norm"
)

// A Heading begins a section of a note. It can be in a list item or a block quote, too. A heading
// without text is not a Heading.
type Heading struct {
	Level  int    // 1 to 6
	Text   string // without the markup of emphasis, code and links
	Slug   string // unique in the note, unless declarations repeat an id
	Parent int    // the index of the heading of the enclosing section, -1 for the note itself

	// Title reports that this is the note's only heading of level 1 and its first block. It is
	// another name of the note: everything under it belongs to the note.
	Title bool

	// Top reports that the heading is in no list and no quote. TopParent is the index of its parent
	// among such headings, -1 for the note itself. TopParent is -1 for headings that are not at the
	// top, too.
	Top       bool
	TopParent int

	Line           int // the line in which the heading begins
	LineEnd        int // the last line before the next heading; 0: the section ends with the note
	SubtreeLineEnd int // the last line before the next heading of its level or a higher one; 0: as above

	// Declaration is the declaration that makes the section an object; nil if there is none.
	Declaration *Declaration

	Own     Span // from the start of the heading's line to the next heading
	Subtree Span // from the same start to the next heading of its level or a higher one
	Content int  // the offset of the text after the heading

	setext bool // underlined
}

// Section returns the heading with a slug, and whether there is one.
func (d *Doc) Section(slug string) (Heading, bool) {
	for _, h := range d.Headings {
		if h.Slug == slug {
			return h, true
		}
	}
	return Heading{}, false
}

// HeadingAt returns the index in Headings of the section at a position, which counts all headings
// but the title, from 1. It returns -1 if there is none.
func (d *Doc) HeadingAt(section int) int {
	for i, h := range d.Headings {
		if h.Title {
			continue
		}
		if section--; section == 0 {
			return i
		}
	}
	return -1
}

// headingOf returns the index of the first heading with a slug, or NOT_FOUND.
func (d *Doc) headingOf(slug string) (int, error) {
	for i := range d.Headings {
		if d.Headings[i].Slug == slug {
			return i, nil
		}
	}
	return -1, noSection(slug)
}

// OwnEnd returns the offset where the note's own text ends: its first heading that is not its
// title, or the end.
func (d *Doc) OwnEnd() int {
	for _, h := range d.Headings {
		if !h.Title {
			return h.Own.Start
		}
	}
	return d.size
}

// isSetext reports whether a heading is underlined, and does not begin with #. at is the offset of
// its text: in a heading with #, these and blanks are before it.
func isSetext(text []byte, at int) bool {
	before := bytes.TrimRight(text[lineStart(text, at):at], " \t\r")
	return !bytes.HasSuffix(before, []byte{'#'})
}

// nest sets the parents and the ends of all headings. open is a stack of the headings that contain
// the present one, with ascending levels. Ends that are not set stay at the end of the note.
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

// nestTop sets the TopParent of all headings, as nest sets Parent, but it ignores headings in lists
// and quotes. Sections that are moved as text need this structure: a heading in a quote does not
// end a section at the top.
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

// markTitle finds the heading that is the note's title, and makes its subsections sections of the
// note. The title is the first block, the only heading of level 1, and has no declaration, because
// a heading with one is an object. body is the offset of root's text.
func markTitle(all []Heading, root ast.Node, body int) {
	first, ok := root.FirstChild().(*ast.Heading)
	if !ok || first.Level != 1 || len(all) == 0 || all[0].Level != 1 ||
		all[0].Declaration != nil {
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

// trimTitle returns the visible text of a heading: valid UTF-8 without blanks around it.
func trimTitle(s string) string {
	return strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
}

// emptySlug is the slug of a heading without letters and digits.
const emptySlug = "section"

// Slug returns the slug of a heading: its letters and digits in lower case, with one dash in place
// of each run of blanks, dashes, underscores and colons, and without other characters. It returns
// `section` if nothing is left. Letters are composed (NFC) first, so that they keep their accents.
func Slug(heading string) string {
	var b strings.Builder
	b.Grow(len(heading))
	dash := false
	for _, r := range norm.NFC.String(strings.ToLower(heading)) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
		case r == ' ' || r == '-' || r == '_' || r == ':':
			dash = true
		}
	}
	if b.Len() == 0 {
		return emptySlug
	}
	return b.String()
}

// A slugger makes the slugs of one note unique. For each used slug it contains the next number to
// try after it.
type slugger map[string]int

// next returns the slug of the heading, with the first number from 2 on that makes it unique if it
// is used already, and records it as used. Because the next number to try is recorded too, many
// equal headings take linear time.
func (s slugger) next(heading string) string {
	base := Slug(heading)
	slug := base
	for n := max(2, s[base]); s[slug] > 0; n++ {
		slug = base + "-" + strconv.Itoa(n)
		s[base] = n + 1
	}
	s[slug] = max(2, s[slug])
	return slug
}

// hasLetters reports whether a heading contains a letter or a digit for a slug.
func hasLetters(heading string) bool {
	return strings.ContainsFunc(heading, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	})
}
