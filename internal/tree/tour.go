package tree

import (
	"iter"
	"slices"
	"sort"
)

// A Visit is a node where a Tour comes upon it: in its own place, or below a node that stands for one above it.
type Visit struct {
	Node
	Above *Visit // nil: it is the top
	Depth int    // how many visits are above
	Via   int    // how many of these stand for other nodes and are followed

	source Node // see Tree.Source
}

// Place is where the visit is: the positions of the visits above it that stand for others, and its own. It means
// something also after its node is gone.
func (v *Visit) Place() []Position {
	place := []Position{v.Position()}
	for child, above := v, v.Above; above != nil; child, above = above, above.Above {
		if child.Via > above.Via {
			place = append(place, above.Position())
		}
	}
	slices.Reverse(place)
	return place
}

// A Tour is a walk of a node and all below it as its readers see them: what a node stands for is below it too. Where it
// stands for a node that it is in, or that is shown above it already, nothing is below it.
type Tour struct {
	Tree  *Tree
	Depth int             // levels below the top
	Opens func(Node) bool // whether the children of a node are walked; nil: always
}

// maxFollowed is how many references are followed, one in another.
const maxFollowed = 8

// Walk yields the visits in the order of the tree, a node before its children. With a place, only what is behind that.
// What is below a node that does not open is not looked at.
func (t Tour) Walk(top Node, behind []Position) iter.Seq[*Visit] {
	return func(yield func(*Visit) bool) {
		v := &Visit{Node: top}
		v.source, _ = t.Tree.Source(top)
		t.walk(v, behind, yield)
	}
}

// walk reports whether to go on.
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

// below is the visit of a child.
func (t Tour) below(v *Visit, n Node) *Visit {
	child := &Visit{Node: n, Above: v, Depth: v.Depth + 1, Via: v.Via}
	child.source, _ = t.Tree.Source(n)
	if v.source != v.Node {
		child.Via++
	}
	return child
}

// HasChildren reports whether the Tour walks children of a visit, if its node has any.
func (t Tour) HasChildren(v *Visit) bool {
	return v.Depth < t.Depth && (t.Opens == nil || t.Opens(v.Node)) && !t.ends(v)
}

// ends reports whether a visit stands for a node that it is in, or that is shown above it.
func (t Tour) ends(v *Visit) bool {
	if v.source == v.Node {
		return false
	}
	if v.Via >= maxFollowed || t.Tree.Within(v.Node, v.source) {
		return true
	}
	for above := v.Above; above != nil; above = above.Above {
		if above.source == v.source {
			return true
		}
	}
	return false
}
