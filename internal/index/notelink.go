package index

import (
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A NoteLink is a link or an image of Markdown in a note that leads to no note: to a URL, or to another
// file. Its Scope is the position of the section that it is in; -1: the note. Its Written is empty: images do not contain
// it, and only a rewrite of the text, which parses it, needs it.
type NoteLink struct{ markdown.Link }

// Key returns the target in a form in which equal targets are equal (markdown.Link.Key).
func (l *NoteLink) Key(n *Note) string { return l.Link.Key(vault.Path(n.Path).Dir()) }

// readLinks takes the links of a text. section says which section a heading became.
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

// isThing reports whether a link is a thing of its own: one to a file is a reference too.
func isThing(l markdown.Link) bool { return l.Scheme != markdown.SchemeFile || l.Ext == "" }

// schemes are the schemes of links by the numbers that images have for them.
var schemes = []string{markdown.SchemeFile, markdown.SchemeURL, markdown.SchemeOther}

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

// minLink is the fewest bytes that a link can have.
const minLink = 8

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
