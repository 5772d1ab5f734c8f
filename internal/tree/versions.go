package tree

import (
	"strconv"

	"github.com/rookeryhq/rookery/internal/index"
)

// A stateNode is a node in one of the two states of a comparison. The nodes of a state are a list,
// and refer to each other by their positions in it.
type stateNode struct {
	Node
	parent int // position of its parent; -1 for the top
	index  int // position among the children of its parent
	match  int // position of the same node in the other state; -1 if there is none
}

// CompareVersions compares two states of a node and everything below it. Nodes match by UID; the
// rest match by address. The sections of a note with the same text in both states are not compared.
// A nil node means that it does not exist in that state. The comparison stops, with the changes
// found so far, when going returns false.
//
// Moved means another parent, or another address of the top; renamed means another name below the
// same parent. A moved node is not reported as renamed too.
//
// The order of the result is: all removed nodes in the order of the first state, then the changes
// of all other nodes in the order of the second. Transclusions are not followed.
func (d *Differ) CompareVersions(a, b *Node, going func() bool) Diff {
	d.begin()
	d.own = true
	left := d.collect(d.Tree, d.After, a, going)
	right := d.collect(d.After, d.Tree, b, going)
	d.matchVersions(left, right)
	for i := range left {
		if e := &left[i]; e.match < 0 && going() {
			d.out.Summary.Removed++
			d.add(StructureChange{Op: removed, NodeID: e.ID()}, e.Node, parentIn(left, e), e.index)
		}
	}
	late := reordered(left, right)
	for j := range right {
		if !going() {
			break
		}
		d.version(left, right, j, late[j])
	}
	return d.out
}

// collect returns the nodes of a state in the order of the tree, each after its parent. It omits
// the sections of a note that has the same text in the other state. top is nil if the node does not
// exist; then the list is empty. It stops when going returns false.
func (d *Differ) collect(t, other *Tree, top *Node, going func() bool) []stateNode {
	if top == nil {
		return nil
	}
	var all []stateNode
	var visit func(n Node, above, index, depth int)
	visit = func(n Node, above, index, depth int) {
		at := len(all)
		all = append(all, stateNode{n, above, index, -1})
		// Folders are always compared, because isSame returns false for them.
		if depth >= d.MaxDepth || n.Section == 0 && isSame(other, n) {
			return
		}
		for i, child := range t.OwnChildren(n) {
			if !going() {
				return
			}
			visit(child, at, i, depth+1)
		}
	}
	visit(*top, -1, 0, 0)
	return all
}

// isSame reports whether a note has the same path, text and UID in another state.
func isSame(other *Tree, n Node) bool {
	if n.Note == nil {
		return false
	}
	f, ok := other.Index.File(n.Note.Path)
	return ok && f.Note != nil && f.Digest == n.Note.Digest && f.Note.UID == n.Note.UID
}

// uid returns the UID of a node.
func (t *Tree) uid(n Node) index.UID {
	switch n.Kind() {
	case Section:
		return n.section().UID
	case Note:
		return n.Note.UID
	}
	return t.Index.FolderUID(n.Folder)
}

// matchVersions finds the matching nodes of the two states, and sets match on both sides: by UID,
// and those without a match by address.
func (d *Differ) matchVersions(left, right []stateNode) {
	uids := make(map[index.UID]int, len(left))
	for i := range left {
		uids[d.Tree.uid(left[i].Node)] = i
	}
	for j := range right {
		if i, ok := uids[d.After.uid(right[j].Node)]; ok {
			left[i].match, right[j].match = j, i
		}
	}
	ids := map[string]int{}
	for i := range left {
		if left[i].match < 0 {
			ids[left[i].ID()] = i
		}
	}
	for j := range right {
		// A node that was deleted and created again has another UID at the same address.
		if i, ok := ids[right[j].ID()]; ok && right[j].match < 0 {
			left[i].match, right[j].match = j, i
		}
	}
}

// parentIn returns the parent of a node in a state; for the top, the top itself.
func parentIn(all []stateNode, e *stateNode) Node {
	if e.parent < 0 {
		return e.Node
	}
	return all[e.parent].Node
}

// sameParent reports whether a node has the same parent in both states.
func sameParent(left, right []stateNode, j int) bool {
	e := &right[j]
	was := &left[e.match]
	if e.parent < 0 || was.parent < 0 {
		return e.parent == was.parent
	}
	return right[e.parent].match == was.parent
}

// reordered returns the positions of the nodes that stayed below their parent, and changed their
// place among the others that did. As few nodes as possible count as changed.
func reordered(left, right []stateNode) map[int]bool {
	places := map[int][]int{} // by the parent, the positions that its children had
	for j := range right {
		if e := &right[j]; e.match >= 0 && e.parent >= 0 && sameParent(left, right, j) {
			places[e.parent] = append(places[e.parent], left[e.match].index)
		}
	}
	kept := make(map[int]map[int]bool, len(places))
	for parent, list := range places {
		kept[parent] = longestIncreasing(list)
	}
	late := map[int]bool{}
	for j := range right {
		e := &right[j]
		if e.match >= 0 && e.parent >= 0 && sameParent(left, right, j) && !kept[e.parent][left[e.match].index] {
			late[j] = true
		}
	}
	return late
}

// version records the changes of the node at position j of the second state: that it was added, or
// else its move or new name, its new place among its siblings, and its changed properties. late
// says that it is reordered.
func (d *Differ) version(left, right []stateNode, j int, late bool) {
	e := &right[j]
	parent := parentIn(right, e)
	if e.match < 0 {
		d.out.Summary.Added++
		d.add(StructureChange{Op: added, NodeID: e.ID()}, e.Node, parent, e.index)
		return
	}
	was := left[e.match].Node
	change := StructureChange{NodeID: e.ID(), From: was.ID(), To: e.ID()}
	switch {
	case !sameParent(left, right, j) || e.parent < 0 && change.From != change.To:
		d.out.Summary.Moved++
		change.Op = "moved"
		d.add(change, e.Node, parent, e.index)
	case e.parent >= 0 && key(was) != key(e.Node):
		d.out.Summary.Renamed++
		change.Op = "renamed"
		d.add(change, e.Node, parent, e.index)
	}
	if late {
		d.out.Summary.Reordered++
		d.add(StructureChange{Op: "reordered", NodeID: e.ID()}, e.Node, parent, e.index)
	}
	// The text is the same, so the payload is.
	if e.Section == 0 && e.Note != nil && was.Note != nil && isSame(d.Tree, e.Node) {
		return
	}
	d.payload(was, e.Node)
}

// version returns a sequence number in the form of answers, such as v42.
func version(seq uint64) string { return "v" + strconv.FormatUint(seq, 10) }

// Changed returns the address of the first of the nodes that changed after the version since, and
// the version that last changed it. For a note or a section, that is the note; for a folder, the
// folder, if its children or its own file changed. In a vault with strict versions, it is the
// vault, if any note or folder changed. It returns "" and 0 if nothing changed.
//
// It is the test of a write with an expected version: the caller has read the nodes at since, and
// must not overwrite a change that it has not seen.
func (t *Tree) Changed(since uint64, nodes ...Node) (id string, seq uint64) {
	if seq := t.Index.NotesVersion(); t.Index.Config().Tree.Strict && seq > since {
		return t.Root().ID(), seq
	}
	for _, n := range nodes {
		if seq := t.Version(n); seq > since {
			return n.Holder().ID(), seq
		}
	}
	return "", 0
}

// Holder returns the note of a section; any other node itself.
func (n Node) Holder() Node {
	n.Section = 0
	return n
}
