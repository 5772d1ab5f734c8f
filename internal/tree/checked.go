package tree

import (
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A checked is what a Checker needs of a note for each of its nodes, found once.
type checked struct {
	note *index.Note
	text []byte

	ends  []Extent
	refs  map[int][]*index.Ref
	heads map[string]int
}

// extents are where the nodes of the note are in its text.
func (c *checked) extents() []Extent {
	if c.ends == nil {
		c.ends = Extents(c.text, markdown.Parse(c.text))
	}
	return c.ends
}

// references are those that lead to notes, by the node in whose own text or fields they are.
func (c *checked) references() map[int][]*index.Ref {
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

// firsts are the positions of the first sections with a title, by the folded title, of those that are nodes.
func (c *checked) firsts() map[string]int {
	if c.heads == nil {
		c.heads = map[string]int{}
		for i := range c.note.Sections {
			s := &c.note.Sections[i]
			if title := fold(s.Title); isNode(s) {
				if _, there := c.heads[title]; !there {
					c.heads[title] = i
				}
			}
		}
	}
	return c.heads
}
