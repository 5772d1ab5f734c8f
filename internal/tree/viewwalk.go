package tree

import (
	"iter"
	"sort"
)

// Walk yields a node and what the view shows below it, in the order of the tree, down to a depth below the node. With a
// position, only what is behind that. What is below a node that is collapsed is not looked at, nor is what a node shows
// that stands for another one.
func (v *Viewer) Walk(top Node, behind *Position, depth int) iter.Seq[Node] {
	return func(yield func(Node) bool) { v.walk(top, behind, depth, yield) }
}

// walk reports whether to go on.
func (v *Viewer) walk(n Node, behind *Position, depth int, yield func(Node) bool) bool {
	shown := behind == nil
	if behind != nil {
		switch c := v.tree.Compare(n.Position(), *behind); {
		case c > 0:
			behind, shown = nil, true
		case c == 0:
			behind = nil
		}
	}
	if shown && !yield(n) {
		return false
	}
	if depth < 1 || n.embeds() || !v.Expanded(n) {
		return true
	}
	children := v.tree.Children(n)
	if behind != nil {
		first := sort.Search(len(children), func(i int) bool {
			return v.tree.Compare(children[i].Position(), *behind) > 0
		})
		children = children[max(0, first-1):]
	}
	for _, child := range children {
		if !v.walk(child, behind, depth-1, yield) {
			return false
		}
		behind = nil
	}
	return true
}

// embeds reports whether the text of a note or a section is one transclusion: it stands for another node.
func (n Node) embeds() bool {
	switch {
	case n.Section > 0:
		return n.section().Embeds
	case n.Note != nil:
		return n.Note.Embeds && len(n.Note.Sections) == 0
	}
	return false
}

// Opens reports whether a view shows children of a node, down to a depth below it.
func (v *Viewer) Opens(n Node, depth int) bool { return depth > 0 && !n.embeds() && v.Expanded(n) }
