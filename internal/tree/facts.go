package tree

import (
	"bytes"
	"cmp"
	"sort"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A folderInfo is the description of a folder in its own file (`_folder.md`). It is zero for a
// folder without one.
type folderInfo struct {
	Type   string
	Title  string
	Fields []index.Field
	Order  []string
}

// folderInfo returns the description of a folder. A field title takes precedence over a title
// heading.
//
// It is read from the index each time, which costs a few lookups.
func (t *Tree) folderInfo(dir string) folderInfo {
	f, ok := t.Index.Folder(dir)
	if !ok {
		return folderInfo{}
	}
	a := folderInfo{Type: t.Index.FolderType(dir), Title: f.Title, Fields: f.Fields, Order: f.Order()}
	a.Title = cmp.Or(titleField(f.Fields), a.Title)
	return a
}

// isNode reports whether a section is a node: its heading is not in a list or a quote.
func isNode(s *index.Section) bool { return s.Top }

// parentOf returns the position of the node that contains a section; -1 for the note.
func parentOf(s *index.Section) int { return int(s.TopParent) }

// IsTop reports whether a heading is that of a node.
func IsTop(h markdown.Heading) bool { return h.Top && !h.Title }

// UID returns the stable identity of the node.
func (t *Tree) UID(n Node) string {
	switch n.Kind() {
	case Section:
		return n.section().UID.String()
	case Note:
		return n.Note.UID.String()
	}
	return t.Index.FolderUID(n.Folder).String()
}

// byUID returns the node with a UID; false for any other text, and for a UID that no node has. For
// a folder without a file it goes through all folders.
func (t *Tree) byUID(id string) (Node, bool) {
	u, ok := index.ParseUID(id)
	if !ok {
		return Node{}, false
	}
	if o, found := t.Index.Node(u); found {
		return Node{Note: o.Note, Section: o.Number() + 1}, true
	}
	dir, found := t.Index.NodeFolder(u)
	return Node{Folder: dir}, found
}

// part returns the index's data about the own text of a node; nil for a folder without a file.
func (t *Tree) part(n Node) *index.NodePart {
	switch n.Kind() {
	case Section:
		return &n.section().NodePart
	case Note:
		return &n.Note.NodePart
	}
	if f, ok := t.Index.Folder(n.Folder); ok {
		return &f.NodePart
	}
	return nil
}

// maxReferences is the largest number of transclusions that Source follows in a row.
const maxReferences = 8

// Source returns the node whose payload and children a node shows: itself or, if its own text is
// one transclusion, the node to which that leads. If it leads to none, or through more than
// maxReferences transclusions, as in a cycle, Source returns n and false.
func (t *Tree) Source(n Node) (source Node, ok bool) {
	source = n
	for range maxReferences + 1 {
		target := t.embedded(source)
		if target == "" {
			return source, true
		}
		to := t.Index.From(source.Note, target)
		if to.Object.Note == nil || to.FragmentMissing {
			return n, false
		}
		source = Node{Note: to.Object.Note, Section: to.Object.Number() + 1}
		// The target is a heading in a list or a quote, which is not a node.
		if source.Section > 0 && !isNode(source.section()) {
			return n, false
		}
	}
	return n, false
}

// embedded returns the target of the transclusion that is the own text of a node. It returns "" if
// the own text is something else, or if the node has child nodes, which a transclusion would hide.
// The index only has a flag for the transclusion; its target is the first embed in the references
// of the node's own text.
func (t *Tree) embedded(n Node) string {
	if n.Note == nil || !t.part(n).Embeds {
		return ""
	}
	// A child node would not be visible behind a transclusion.
	for range sectionsTo(n, 1) {
		return ""
	}
	refs, line := n.Note.Refs, 0
	if n.Section > 0 {
		line = n.section().Line()
	}
	for i := sort.Search(len(refs), func(i int) bool { return refs[i].Line() > line }); i < len(refs); i++ {
		switch r := &refs[i]; {
		case r.Scope() > n.Section-1:
			return ""
		case r.Scope() == n.Section-1 && r.Form == markdown.Embed && !r.IsFile():
			return r.Target
		}
	}
	return ""
}

// Reference returns the reference of a node to its Source; nil if the node is its own source.
func (t *Tree) Reference(n Node) *Reference {
	if t.embedded(n) == "" {
		return nil
	}
	source, ok := t.Source(n)
	if !ok {
		return &Reference{Broken: true}
	}
	return &Reference{TargetID: source.ID()}
}

// ChangedAddresses returns the new addresses by the old ones of the nodes in some notes whose
// address is different after a change. was and is are these notes before and after it. Nodes match
// by their UIDs, in any of the notes. Nodes that were deleted are not in the result. It walks all
// nodes of the notes.
func ChangedAddresses(before, after *Tree, was, is []*index.Note) map[string]string {
	now := map[string]Node{}
	for _, n := range is {
		for below := range after.Walk(Node{Note: n}, nil) {
			now[after.UID(below)] = below
		}
	}
	moved := map[string]string{}
	for _, n := range was {
		for below := range before.Walk(Node{Note: n}, nil) {
			if to, ok := now[before.UID(below)]; ok && to.ID() != below.ID() {
				moved[below.ID()] = to.ID()
			}
		}
	}
	return moved
}

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
				at := lines.Node(r.Line()).Section
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

// An Extent is the place of a node in the text of its note.
type Extent struct {
	Own     markdown.Span // its own text: after its heading and declaration, up to the first node below it
	Content markdown.Span // its own text and everything below it
	Start   int           // beginning of its heading; for a note, of its text
}

// Extents returns the extents of a note and of its sections, by node number: the note first.
// Sections that are not nodes have no ends. A Node.Section is thus an index of the result.
//
// d must be the result of parsing text. The own text of a note begins after its title heading.
func Extents(text []byte, d *markdown.Doc) []Extent {
	own := markdown.Span{Start: d.Body, End: len(text)}
	all := []Extent{{Own: own, Content: own, Start: d.Body}}
	var at []int // the positions of headings that are nodes
	for i, h := range d.Headings {
		if h.Title {
			all[0].Own.Start, all[0].Content.Start = h.Content, h.Content
			continue
		}
		all = append(all, extentOf(h))
		if IsTop(h) {
			at = append(at, i)
		}
	}
	// The title heading, if there is one, has no extent. It comes before all headings that have.
	title := len(d.Headings) + 1 - len(all)
	if len(at) > 0 {
		all[0].Own.End = d.Headings[at[0]].Own.Start
	}
	for k, i := range at {
		e := &all[i+1-title]
		e.Own.End, e.Content.End = len(text), len(text)
		if k+1 < len(at) {
			e.Own.End = d.Headings[at[k+1]].Own.Start
		}
		// The content ends at the next heading of the same or a higher rank.
		for _, j := range at[k+1:] {
			if d.Headings[j].Level <= d.Headings[i].Level {
				e.Content.End = d.Headings[j].Own.Start
				break
			}
		}
	}
	return all
}

// extentOf returns the beginnings of a section, without its ends.
func extentOf(h markdown.Heading) Extent {
	start := h.Content
	if h.Declaration != nil {
		start = h.Declaration.Span.End
	}
	return Extent{Own: markdown.Span{Start: start}, Content: markdown.Span{Start: start}, Start: h.Own.Start}
}

// Cut returns a part of a text without the blank lines around it, and without a line break at its
// end. The result shares the memory of text.
func Cut(text []byte, s markdown.Span) []byte {
	part := bytes.TrimRight(text[s.Start:max(s.Start, s.End)], " \t\r\n")
	for {
		line, rest, found := bytes.Cut(part, []byte("\n"))
		if !found || len(bytes.TrimSpace(line)) > 0 {
			return part
		}
		part = rest
	}
}
