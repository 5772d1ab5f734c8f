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
