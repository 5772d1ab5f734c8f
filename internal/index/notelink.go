package index

import (
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A NoteLink is a Markdown link or image in a note that leads to a URL or to a file that is not a
// note. Its Scope is the position of the section that contains it, -1 for the note. Its Written is
// empty, because images do not contain it: only a rewrite of the text needs it, and that parses the
// text.
type NoteLink struct{ markdown.Link }

// Key returns the target in a form in which equal targets are equal (markdown.Link.Key). n is the
// note that contains the link.
func (l *NoteLink) Key(n *Note) string { return l.Link.Key(vault.Path(n.Path).Dir()) }

// readLinks sets the links of a note. section maps the position of a heading to that of its
// section.
func (n *Note) readLinks(links []markdown.Link, section func(int) int) {
	if len(links) == 0 {
		return
	}
	n.Links = make([]NoteLink, len(links))
	for i, l := range links {
		l.Scope, l.Written = section(l.Scope), markdown.Span{}
		n.Links[i] = NoteLink{l}
	}
}

// isThing reports whether a link is counted as a thing. A link to a file is not, because it is
// counted as a reference.
func isThing(l markdown.Link) bool { return l.Scheme != markdown.SchemeFile || l.Ext == "" }

// schemes lists the schemes of links by the numbers that they have in images.
var schemes = []string{markdown.SchemeFile, markdown.SchemeURL, markdown.SchemeOther}

// links writes links, with each line as the difference to the previous one.
func (w *imageWriter) links(all []NoteLink) {
	w.count(len(all))
	line := 0
	for _, l := range all {
		w.flags(l.Image, l.Scheme == markdown.SchemeURL, l.Scheme == markdown.SchemeOther)
		w.raw(l.Target)
		w.raw(l.Display)
		w.raw(l.Ext)
		w.int(l.Line - line)
		w.int(l.Span.Start)
		w.int(l.Span.End - l.Span.Start)
		w.int(l.Scope)
		line = l.Line
	}
}

// minLink is the smallest number of bytes of a link in an image.
const minLink = 8

// links reads the links of a note. It fails for an unknown scheme.
func (b *blockReader) links(n *Note) {
	count := b.count(minLink)
	if count == 0 {
		return
	}
	n.Links = make([]NoteLink, count)
	line := 0
	for i := range n.Links {
		l := &n.Links[i]
		flags := b.flags()
		if l.Image = flags&1 != 0; int(flags>>1) >= len(schemes) {
			b.fail()
			return
		}
		l.Scheme = schemes[flags>>1]
		l.Target, l.Display, l.Ext = b.raw(), b.raw(), b.raw()
		line += b.int()
		l.Line = line
		l.Span.Start = b.int()
		l.Span.End = l.Span.Start + b.int()
		l.Scope = b.scope(len(n.Sections))
	}
}
