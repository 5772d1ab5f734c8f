package tree

import (
	"slices"
	"strings"
)

// A Diff is how one subtree differs from another (reference/tree.md, C8.5).
type Diff struct {
	Structure []StructureChange `json:"structure"`
	Payload   []PayloadChange   `json:"payload"`
	Metadata  []PayloadChange   `json:"metadata"`
	Summary   DiffSummary       `json:"summary"`
}

// A StructureChange is a node that came, went, has another name or another place.
type StructureChange struct {
	Op       string `json:"op" jsonschema:"added, removed, moved, reordered or renamed"`
	NodeID   string `json:"nodeId"`
	UID      string `json:"uid,omitempty"`
	ParentID string `json:"parentId"`
	Index    int    `json:"index" jsonschema:"among the children of its parent, from 0"`
	From     string `json:"from,omitempty" jsonschema:"of renamed: the address in the first subtree"`
	To       string `json:"to,omitempty" jsonschema:"of renamed: the address in the second one"`
}

// A PayloadChange is a property that differs.
type PayloadChange struct {
	NodeID   string `json:"nodeId"`
	Property string `json:"property"`
	Before   any    `json:"before,omitempty"`
	After    any    `json:"after,omitempty"`
	Diff     string `json:"diff,omitempty" jsonschema:"of body: in the unified format"`
}

// A DiffSummary counts the changes of each kind.
type DiffSummary struct {
	Added     int `json:"added"`
	Removed   int `json:"removed"`
	Moved     int `json:"moved"`
	Reordered int `json:"reordered"`
	Renamed   int `json:"renamed"`
	Payload   int `json:"payload"`
	Metadata  int `json:"metadata"`
}

// A Differ compares two subtrees of a tree.
type Differ struct {
	Tree     *Tree
	MaxDepth int // levels below the roots

	// Body returns the change of the own texts of two nodes; ok is false if they are the same. Nil: texts are not
	// compared.
	Body func(a, b Node) (change PayloadChange, ok bool)

	out Diff
}

// Compare compares two nodes with all below them: children by kind and name, those that are left by type and order.
func (d *Differ) Compare(a, b Node) Diff {
	d.out = Diff{Structure: []StructureChange{}, Payload: []PayloadChange{}, Metadata: []PayloadChange{}}
	d.pair(a, b, 0)
	return d.out
}

// pair compares two nodes that match.
func (d *Differ) pair(a, b Node, depth int) {
	d.payload(a, b)
	if depth >= d.MaxDepth {
		return
	}
	left, right := d.Tree.Children(a), d.Tree.Children(b)
	to := d.match(left, right)
	var order []int // the positions in right of what matches, in the order of left
	for i, n := range left {
		if to[i] < 0 {
			d.all("removed", n, a, i)
			continue
		}
		order = append(order, to[i])
	}
	kept := longestRise(order)
	for i, n := range left {
		if to[i] < 0 {
			continue
		}
		other := right[to[i]]
		if key(n) != key(other) {
			d.out.Summary.Renamed++
			d.add(StructureChange{Op: "renamed", NodeID: other.ID(), From: n.ID(), To: other.ID()}, other, b, to[i])
		}
		if !kept[to[i]] {
			d.out.Summary.Reordered++
			d.add(StructureChange{Op: "reordered", NodeID: other.ID()}, other, b, to[i])
		}
		d.pair(n, other, depth+1)
	}
	for j, n := range right {
		if !slices.Contains(to, j) {
			d.all("added", n, b, j)
		}
	}
}

// key is what children match by: their kind and their name in the address.
func key(n Node) string {
	if n.Section > 0 {
		return "#" + n.section().Slug
	}
	return entry(n)
}

// match is for each node of one list the position of the node of the other list that matches, -1 if none does.
func (d *Differ) match(left, right []Node) []int {
	to, taken := make([]int, len(left)), make([]bool, len(right))
	find := func(i int, same func(Node) bool) {
		if to[i] >= 0 {
			return
		}
		for j, n := range right {
			if !taken[j] && same(n) {
				to[i], taken[j] = j, true
				return
			}
		}
	}
	for i, n := range left {
		to[i] = -1
		find(i, func(o Node) bool { return key(o) == key(n) })
	}
	for i, n := range left {
		typ := d.Tree.Type(n)
		find(i, func(o Node) bool { return o.Kind() == n.Kind() && d.Tree.Type(o) == typ && !hasKey(left, key(o)) })
	}
	return to
}

func hasKey(nodes []Node, k string) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool { return key(n) == k })
}

// longestRise are the numbers of a longest part of a list that rises.
func longestRise(list []int) map[int]bool {
	length, before := make([]int, len(list)), make([]int, len(list))
	best := -1
	for i := range list {
		length[i], before[i] = 1, -1
		for j := range i {
			if list[j] < list[i] && length[j]+1 > length[i] {
				length[i], before[i] = length[j]+1, j
			}
		}
		if best < 0 || length[i] > length[best] {
			best = i
		}
	}
	kept := map[int]bool{}
	for i := best; i >= 0; i = before[i] {
		kept[list[i]] = true
	}
	return kept
}

// add notes a change of the structure.
func (d *Differ) add(c StructureChange, n, parent Node, index int) {
	c.UID, c.ParentID, c.Index = d.Tree.UID(n), parent.ID(), index
	d.out.Structure = append(d.out.Structure, c)
}

// all notes that a node and all below it came or went.
func (d *Differ) all(op string, n, parent Node, index int) {
	if op == "added" {
		d.out.Summary.Added++
	} else {
		d.out.Summary.Removed++
	}
	d.add(StructureChange{Op: op, NodeID: n.ID()}, n, parent, index)
	for i, child := range d.Tree.Children(n) {
		d.all(op, child, n, i)
	}
}

// payload compares the properties of two nodes.
func (d *Differ) payload(a, b Node) {
	before, after := fieldsOf(d.Tree, a), fieldsOf(d.Tree, b)
	var names []string
	for _, f := range append(slices.Clone(before), after...) {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	for _, name := range names {
		was, is := valueIn(before, name), valueIn(after, name)
		if Text(was) != Text(is) {
			d.changed(PayloadChange{NodeID: b.ID(), Property: name, Before: Shown(was), After: Shown(is)})
		}
	}
	if d.Body != nil {
		if change, differs := d.Body(a, b); differs {
			change.NodeID, change.Property = b.ID(), "body"
			d.changed(change)
		}
	}
	was, is := d.Tree.Tags(a), d.Tree.Tags(b)
	if strings.Join(was, ",") != strings.Join(is, ",") {
		d.out.Summary.Metadata++
		d.out.Metadata = append(d.out.Metadata, PayloadChange{NodeID: b.ID(), Property: "tags", Before: was, After: is})
	}
}

func (d *Differ) changed(c PayloadChange) {
	d.out.Summary.Payload++
	d.out.Payload = append(d.out.Payload, c)
}

// fieldsOf are the type, the title and the fields of a node.
func fieldsOf(t *Tree, n Node) []Property {
	return append([]Property{{"payloadType", t.Type(n)}, {"title", t.Name(n)}}, t.Payload(n)...)
}

// valueIn is the value of a property; nil: it is not there.
func valueIn(all []Property, name string) any {
	for _, p := range all {
		if p.Name == name {
			return p.Value
		}
	}
	return nil
}
