package tree

import (
	"cmp"
	"sort"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// An about is what the file of a folder says of it (`_folder.md`). It is empty for a folder without one.
type about struct {
	Type   string
	Title  string
	Fields []index.Field
	Order  []string
}

// about is what the file of a folder says.
func (t *Tree) about(dir string) about {
	f, ok := t.Index.Folder(dir)
	if !ok {
		return about{}
	}
	a := about{Type: t.Index.FolderType(dir), Title: f.Title, Fields: f.Fields, Order: f.Order()}
	for _, field := range f.Fields {
		if title, is := field.Value.(string); is && strings.EqualFold(field.Name, "title") {
			a.Title = cmp.Or(title, a.Title)
		}
	}
	return a
}

// isNode reports whether a section is a node: its heading is in no list and no quote.
func isNode(s *index.Section) bool { return s.Top }

// parentOf is the position of the section that a section is below, of those that are nodes; -1: the note.
func parentOf(s *index.Section) int { return int(s.TopParent) }

// IsTop reports whether a heading is that of a node.
func IsTop(h markdown.Heading) bool { return h.Top && !h.Title }

// UID is the stable identity of the node.
func (t *Tree) UID(n Node) string {
	switch n.Kind() {
	case Section:
		return n.section().UID.String()
	case Note:
		return n.Note.UID.String()
	}
	return t.Index.FolderUID(n.Folder).String()
}

// byUID finds a node by its uid.
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

// part is what the index knows of the own text of a node; nil: the folder has no file.
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

// mostReferences is how many references that lead to one another are followed.
const mostReferences = 8

// Source is the node whose payload and children a node shows: itself, or, if its own text is one transclusion, the
// node that this leads to. ok is false if it leads to none, or to itself.
func (t *Tree) Source(n Node) (source Node, ok bool) {
	source = n
	for range mostReferences {
		target := t.embedded(source)
		if target == "" {
			return source, true
		}
		to := t.Index.From(source.Note, target)
		if to.Object.Note == nil || to.FragmentMissing {
			return n, false
		}
		source = Node{Note: to.Object.Note, Section: to.Object.Number() + 1}
		if source.Section > 0 && !isNode(source.section()) {
			return n, false
		}
	}
	return n, false
}

// embedded is the target of the transclusion that is the own text of a node; empty: it is something else, or the node has
// nodes of its own below it, which must stay in sight.
func (t *Tree) embedded(n Node) string {
	if n.Note == nil || !t.part(n).Embeds {
		return ""
	}
	for range sectionsTo(n, 1) {
		return ""
	}
	refs, line := n.Note.Refs, 0
	if n.Section > 0 {
		line = n.section().Line
	}
	for i := sort.Search(len(refs), func(i int) bool { return refs[i].Line > line }); i < len(refs); i++ {
		switch r := &refs[i]; {
		case r.Scope > n.Section-1:
			return ""
		case r.Scope == n.Section-1 && r.Form == markdown.Embed && !r.IsFile():
			return r.Target
		}
	}
	return ""
}

// Reference is what the node stands for; nil: for itself.
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

// Readdressed are the new addresses of the nodes of some notes by their old ones, of those that have another address
// after a change: the same nodes by their uids, in whichever of the notes after it.
func Readdressed(before, after *Tree, was, is []*index.Note) map[string]string {
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
