package tree

import (
	"iter"
	"slices"
	"sort"
)

// A Visit is one occurrence of a node in a Tour: in its own place, or below a node that transcludes
// one above it.
//
// A node can be visited several times in one Tour, once for each place where a reader sees it.
type Visit struct {
	Node
	Parent *Visit // the parent visit; nil for the top
	Depth  int    // number of visits above
	Via    int    // number of transclusions that were followed to get here

	source Node // see Tree.Source
}

// Place returns the place of the visit: the positions of the visits above it at which a
// transclusion was followed, and its own. A Place stays usable after its node is deleted.
func (v *Visit) Place() []Position {
	place := []Position{v.Position()}
	for child, above := v, v.Parent; above != nil; child, above = above, above.Parent {
		// The positions below are those of nodes elsewhere in the tree, so the place of the
		// transclusion is needed too.
		if child.Via > above.Via {
			place = append(place, above.Position())
		}
	}
	slices.Reverse(place)
	return place
}

// A Tour is a walk of a node and everything below it in the form that readers see: the children of
// a node that is a transclusion are those of its Source. If the Source contains the node, or is
// shown above it already, the walk does not go below the node. So every Tour is finite, however
// large Depth is.
type Tour struct {
	Tree  *Tree
	Depth int             // levels below the top
	Opens func(Node) bool // reports whether the children of a node are walked; nil means always
}

// maxFollowed is the largest number of transclusions inside each other that a Tour follows.
const maxFollowed = 8

// Walk yields the visits in the order of the tree, a node before its children. If behind is not
// empty, it yields only the visits after that place. It does not read below a node that is not
// opened.
func (t Tour) Walk(top Node, behind []Position) iter.Seq[*Visit] {
	return func(yield func(*Visit) bool) {
		v := &Visit{Node: top}
		v.source, _ = t.Tree.Source(top)
		t.walk(v, behind, yield)
	}
}

// walk visits v and everything below it, and reports whether the walk continues: whether yield
// returned true each time. behind is the rest of the place after which visits are yielded, relative
// to v; empty: all are yielded. Of a folder with many children, those before the place are skipped
// by binary search.
func (t Tour) walk(v *Visit, behind []Position, yield func(*Visit) bool) bool {
	shown := len(behind) == 0
	if !shown {
		switch c := t.Tree.Compare(v.Position(), behind[0]); {
		case c > 0:
			behind, shown = nil, true
		case c == 0:
			behind = behind[1:]
		}
	}
	if shown && !yield(v) {
		return false
	}
	if !t.HasChildren(v) {
		return true
	}
	children := t.Tree.Children(v.Node)
	if len(behind) > 0 {
		first := sort.Search(len(children), func(i int) bool {
			return t.Tree.Compare(children[i].Position(), behind[0]) > 0
		})
		// The child before the first one after the place may contain the place.
		children = children[max(0, first-1):]
	}
	for _, n := range children {
		if !t.walk(t.below(v, n), behind, yield) {
			return false
		}
		behind = nil
	}
	return true
}

// below returns the visit of a child.
func (t Tour) below(v *Visit, n Node) *Visit {
	child := &Visit{Node: n, Parent: v, Depth: v.Depth + 1, Via: v.Via}
	child.source, _ = t.Tree.Source(n)
	if v.source != v.Node {
		child.Via++
	}
	return child
}

// HasChildren reports whether the Tour goes below a visit. Its node need not have children.
func (t Tour) HasChildren(v *Visit) bool {
	return v.Depth < t.Depth && (t.Opens == nil || t.Opens(v.Node)) && !t.ends(v)
}

// ends reports whether the walk must not follow the transclusion of a visit, because it would
// repeat nodes that are shown above, or because too many are followed already.
//
// Otherwise a note that transcludes a part of itself, or two notes that transclude each other,
// would have no end.
func (t Tour) ends(v *Visit) bool {
	if v.source == v.Node {
		return false
	}
	if v.Via >= maxFollowed || t.Tree.Within(v.Node, v.source) {
		return true
	}
	for above := v.Parent; above != nil; above = above.Parent {
		if above.source == v.source {
			return true
		}
	}
	return false
}
