package tree

import "slices"

// A Rule says whether a node, or a node and all below it, are expanded in the view of a session.
type Rule struct {
	UID       string `json:"uid"`
	Expanded  bool   `json:"expanded"`
	Recursive bool   `json:"recursive,omitempty"`

	// MaxDepth of a recursive rule is how many levels it expands or collapses, the node included; what is deeper is
	// collapsed. 0: there is no bound.
	MaxDepth int `json:"maxDepth,omitempty"`
}

// Rules are the rules of a view, the oldest first. The newest one that is about a node decides.
type Rules []Rule

// MaxRules is how many rules a view has at most.
const MaxRules = 500

// Add returns the rules with one more. What the new one makes useless is left out: older rules about the same
// node, and if it is recursive those about the nodes below it, which below reports by their uids.
func (r Rules) Add(rule Rule, below func(uid string) bool) Rules {
	kept := make(Rules, 0, len(r)+1)
	for _, old := range r {
		useless := old.UID == rule.UID && (rule.Recursive || !old.Recursive)
		if !useless && rule.Recursive && below(old.UID) {
			useless = true
		}
		if !useless {
			kept = append(kept, old)
		}
	}
	return append(kept, rule)
}

// A Viewer answers which nodes of a tree a view expands.
type Viewer struct {
	tree      *Tree
	rules     map[string][]int // positions in the list, by uid
	list      Rules
	otherwise bool
	standing  map[Node]standing
}

// A standing is the newest recursive rule about a node and all below it, and how deep the node is below the top of that.
type standing struct {
	rule  int // -1: none
	depth int
}

// NewViewer returns a Viewer. expanded is what holds of nodes that no rule is about.
func NewViewer(t *Tree, rules Rules, expanded bool) *Viewer {
	v := &Viewer{
		tree: t, list: rules, otherwise: expanded, rules: map[string][]int{}, standing: map[Node]standing{},
	}
	for i, r := range rules {
		v.rules[r.UID] = append(v.rules[r.UID], i)
	}
	return v
}

// Expanded reports whether the view shows the children of a node.
func (v *Viewer) Expanded(n Node) bool {
	if len(v.list) == 0 {
		return v.otherwise
	}
	above := v.of(n)
	newest := above.rule
	for _, i := range v.rules[v.tree.UID(n)] {
		newest = max(newest, i)
	}
	switch {
	case newest < 0:
		return v.otherwise
	case newest == above.rule && v.list[newest].MaxDepth > 0 && above.depth >= v.list[newest].MaxDepth:
		return false
	}
	return v.list[newest].Expanded
}

// of is what stands of the recursive rules at a node.
func (v *Viewer) of(n Node) standing {
	if s, known := v.standing[n]; known {
		return s
	}
	s := standing{rule: -1}
	if above, ok := v.tree.Parent(n); ok {
		s = v.of(above)
		s.depth++
	}
	for _, i := range v.rules[v.tree.UID(n)] {
		if v.list[i].Recursive && i > s.rule {
			s = standing{rule: i}
		}
	}
	v.standing[n] = s
	return s
}

// Visible reports whether a node is shown in the view of a node above it, or the same.
func (v *Viewer) Visible(n, top Node) bool {
	for _, above := range slices.Backward(v.tree.Ancestors(n)) {
		if n == top {
			return true
		}
		if !v.Expanded(above) {
			return false
		}
		n = above
	}
	return n == top
}
