package tree

import (
	"slices"
	"sort"
	"strings"
)

// A Diff is the difference between two subtrees (reference/tree.md, C8.5).
type Diff struct {
	Structure []StructureChange `json:"structure"`
	Payload   []PayloadChange   `json:"payload"`
	Metadata  []PayloadChange   `json:"metadata"`
	// counts of all changes
	Summary DiffSummary `json:"summary"`
	// there are more changes than the lists have
	Truncated bool `json:"truncated,omitempty"`
}

// A StructureChange is a node that was added, removed, renamed, moved or reordered.
type StructureChange struct {
	// added, removed, moved, reordered or renamed
	Op       string `json:"op"`
	NodeID   string `json:"nodeId"`
	UID      string `json:"uid,omitempty"`
	ParentID string `json:"parentId"`
	// among the children of its parent, from 0
	Index int `json:"index"`
	// of renamed: the address in the first subtree
	From string `json:"from,omitempty"`
	// of renamed: the address in the second one
	To string `json:"to,omitempty"`
}

// A PayloadChange is a property with different values.
type PayloadChange struct {
	NodeID   string `json:"nodeId"`
	Property string `json:"property"`
	Before   any    `json:"before,omitempty"`
	After    any    `json:"after,omitempty"`
	// of body: in the unified format
	Diff string `json:"diff,omitempty"`
}

// A DiffSummary is the numbers of changes of each kind. They include changes that are not in the
// lists of a truncated Diff.
type DiffSummary struct {
	Added     int `json:"added"`
	Removed   int `json:"removed"`
	Moved     int `json:"moved"`
	Reordered int `json:"reordered"`
	Renamed   int `json:"renamed"`
	Payload   int `json:"payload"`
	Metadata  int `json:"metadata"`
}

// A Differ compares two subtrees of a tree, or of two states of it. It must be used for one
// comparison at a time.
//
// There are two ways to match nodes. Compare matches the children of matching nodes by name, for
// two different subtrees. CompareVersions matches by UID, for one subtree at two versions.
type Differ struct {
	Tree     *Tree
	After    *Tree // the tree of the second subtree; nil means Tree
	MaxDepth int   // levels below the roots

	// Body compares the own texts of two nodes; it returns ok false if they are equal. If it is
	// nil, texts are not compared.
	Body func(a, b Node) (change PayloadChange, ok bool)

	// Fits reports whether the answer has room for one more change. After the first change that
	// does not fit, changes are only counted. A nil Fits means no limit.
	Fits func(change any) bool

	out Diff
	own bool // compare own payloads, and do not follow transclusions
}

// Compare compares two nodes and everything below them. Children match by kind and name; the rest
// match by kind and type, in order.
func (d *Differ) Compare(a, b Node) Diff {
	d.begin()
	d.pair(a, b, 0)
	return d.out
}

// begin starts a comparison with an empty result.
func (d *Differ) begin() {
	d.out = Diff{Structure: []StructureChange{}, Payload: []PayloadChange{}, Metadata: []PayloadChange{}}
	if d.After == nil {
		d.After = d.Tree
	}
}

// pair compares two nodes that match, and their children down to MaxDepth. depth is the number of
// levels below the roots. Children that match are compared recursively; the others are recorded as
// added or removed with everything below them.
func (d *Differ) pair(a, b Node, depth int) {
	d.payload(a, b)
	if depth >= d.MaxDepth {
		return
	}
	left, right := d.Tree.Children(a), d.After.Children(b)
	to := d.match(left, right)
	var order []int // positions in right of the matches, in the order of left
	for i, n := range left {
		if to[i] < 0 {
			d.addSubtree(removed, n, a, i)
			continue
		}
		order = append(order, to[i])
	}
	// As few nodes as possible count as reordered: those that are not in a longest part that kept
	// its order.
	kept := longestIncreasing(order)
	matched := make([]bool, len(right))
	for i, n := range left {
		if to[i] < 0 {
			continue
		}
		matched[to[i]] = true
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
		if !matched[j] {
			d.addSubtree(added, n, b, j)
		}
	}
}

// Key returns the part of the node's address below its parent: `#goals`, `website`, or `archive/`.
func (n Node) Key() string { return key(n) }

// key returns the text by which children match: their kind and their name in the address.
func key(n Node) string {
	if n.Section > 0 {
		return "#" + n.section().Slug
	}
	return entry(n)
}

// match returns, for each node of left, the position of the matching node of right, -1 if there is
// none. A node matches the first one with the same key, else the first with the same kind and type
// whose key no node of left has. So a renamed child matches only a child that could not match by
// name.
func (d *Differ) match(left, right []Node) []int {
	to, keys := make([]int, len(left)), map[string]int{}
	// The loop runs backward so that the first of several nodes with the same key is the one in
	// keys.
	for j, n := range slices.Backward(right) {
		keys[key(n)] = j
	}
	known := map[string]bool{}
	for i, n := range left {
		k := key(n)
		to[i] = -1
		if j, ok := keys[k]; ok && !known[k] {
			to[i] = j
		}
		known[k] = true
	}
	rest := map[[2]string][]int{} // positions by kind and type
	for j, n := range right {
		if !known[key(n)] {
			of := [2]string{string(n.Kind()), d.After.Type(n)}
			rest[of] = append(rest[of], j)
		}
	}
	for i, n := range left {
		of := [2]string{string(n.Kind()), d.Tree.Type(n)}
		if all := rest[of]; to[i] < 0 && len(all) > 0 {
			to[i], rest[of] = all[0], all[1:]
		}
	}
	return to
}

// longestIncreasing returns the numbers in a longest increasing subsequence of a list of distinct
// numbers.
//
// It keeps, for each length, the subsequence with the smallest last number, and takes time in
// proportion to n log n.
func longestIncreasing(list []int) map[int]bool {
	var ends []int // by length-1: position at which the best subsequence of that length ends
	before := make([]int, len(list))
	for i, n := range list {
		at := sort.Search(len(ends), func(k int) bool { return list[ends[k]] >= n })
		if before[i] = -1; at > 0 {
			before[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		} else {
			ends[at] = i
		}
	}
	kept := make(map[int]bool, len(ends))
	if len(ends) > 0 {
		for at := ends[len(ends)-1]; at >= 0; at = before[at] {
			kept[list[at]] = true
		}
	}
	return kept
}

// add records a change of the structure. n is the node after the change, or before it if it was
// removed.
func (d *Differ) add(c StructureChange, n, parent Node, index int) {
	t := d.After
	if c.Op == removed {
		t = d.Tree
	}
	c.UID, c.ParentID, c.Index = t.UID(n), parent.ID(), index
	if d.fits(c) {
		d.out.Structure = append(d.out.Structure, c)
	}
}

// fits reports whether a change can be listed. After the first one that cannot, it returns false
// for all, and the result is marked as truncated.
func (d *Differ) fits(change any) bool {
	fits := !d.out.Truncated && (d.Fits == nil || d.Fits(change))
	d.out.Truncated = !fits
	return fits
}

// The operations of nodes that are in one subtree only.
const (
	added   = "added"
	removed = "removed"
)

// addSubtree records that a node and everything below it were added or removed. op is added or
// removed; the node is in the second subtree or in the first. Every node counts on its own in the
// summary.
//
// It does not follow transclusions, because the nodes of a Source are elsewhere in the tree.
func (d *Differ) addSubtree(op string, n, parent Node, index int) {
	t := d.After
	if op == added {
		d.out.Summary.Added++
	} else {
		d.out.Summary.Removed++
		t = d.Tree
	}
	d.add(StructureChange{Op: op, NodeID: n.ID()}, n, parent, index)
	for i, child := range t.OwnChildren(n) {
		d.addSubtree(op, child, n, i)
	}
}

// payload compares the properties, the bodies and the tags of two nodes. Values are compared as
// texts, so 1 and "1" are equal. The order of tags counts.
func (d *Differ) payload(a, b Node) {
	before, after := d.fieldsOf(d.Tree, a), d.fieldsOf(d.After, b)
	was, is := valuesOf(before), valuesOf(after)
	for i, f := range append(slices.Clone(before), after...) {
		// The field was compared in the part of before.
		if _, twice := was[f.Name]; i >= len(before) && twice {
			continue
		}
		if old, now := was[f.Name], is[f.Name]; Text(old) != Text(now) {
			d.addPayload(PayloadChange{
				NodeID: b.ID(), Property: f.Name, Before: AnswerValue(old), After: AnswerValue(now),
			})
		}
	}
	if d.Body != nil {
		if change, differs := d.Body(a, b); differs {
			change.NodeID, change.Property = b.ID(), "body"
			d.addPayload(change)
		}
	}
	tagged, tags := d.Tree.Tags(a), d.After.Tags(b)
	if strings.Join(tagged, ",") != strings.Join(tags, ",") {
		d.out.Summary.Metadata++
		c := PayloadChange{NodeID: b.ID(), Property: "tags", Before: tagged, After: tags}
		if d.fits(c) {
			d.out.Metadata = append(d.out.Metadata, c)
		}
	}
}

// addPayload records a change of a property.
func (d *Differ) addPayload(c PayloadChange) {
	d.out.Summary.Payload++
	if d.fits(c) {
		d.out.Payload = append(d.out.Payload, c)
	}
}

// fieldsOf returns the type, the title and the fields of a node as properties. For CompareVersions,
// these are the fields of the node itself; for Compare, those of its Source.
func (d *Differ) fieldsOf(t *Tree, n Node) []Property {
	first := []Property{{"payloadType", t.Type(n)}, {"title", t.Name(n)}}
	if d.own {
		return append(first, t.OwnPayload(n)...)
	}
	return append(first, t.Payload(n)...)
}

// valuesOf returns the values of properties by name. If a name occurs twice, the first counts.
func valuesOf(all []Property) map[string]any {
	values := make(map[string]any, len(all))
	for _, p := range all {
		if _, twice := values[p.Name]; !twice {
			values[p.Name] = p.Value
		}
	}
	return values
}
