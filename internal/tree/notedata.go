package tree

import (
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A noteData is the data of a note that a Checker uses for each of its nodes. It is computed once,
// when it is first needed.
type noteData struct {
	note *index.Note
	text []byte

	// nil until the method that returns each is called
	ends         []Extent
	refs         map[int][]*index.Ref
	firstByTitle map[string]int
}

// extents returns the extents of the nodes of the note, by node number.
func (c *noteData) extents() []Extent {
	if c.ends == nil {
		c.ends = Extents(c.text, markdown.Parse(c.text))
	}
	return c.ends
}

// references returns the references to notes, by the number of the node whose own text or fields
// contain them; 0 is the note. References to files are left out.
func (c *noteData) references() map[int][]*index.Ref {
	if c.refs == nil {
		c.refs = map[int][]*index.Ref{}
		lines := NewLines(c.note)
		for i := range c.note.Refs {
			if r := &c.note.Refs[i]; !r.IsFile() {
				at := lines.Node(r.Line).Section
				c.refs[at] = append(c.refs[at], r)
			}
		}
	}
	return c.refs
}

// firstWithTitle returns the position of the first section with each folded title, among the
// sections that are nodes.
func (c *noteData) firstWithTitle() map[string]int {
	if c.firstByTitle == nil {
		c.firstByTitle = map[string]int{}
		for i := range c.note.Sections {
			s := &c.note.Sections[i]
			// Sections that are not nodes have no addresses, so their titles cannot clash.
			if title := fold(s.Title); isNode(s) {
				if _, there := c.firstByTitle[title]; !there {
					c.firstByTitle[title] = i
				}
			}
		}
	}
	return c.firstByTitle
}
