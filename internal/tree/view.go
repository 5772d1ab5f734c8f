package tree

import "slices"

// A Rule says whether a node is expanded in the view of a session; a recursive one, also everything
// below it.
//
// MaxDepth is the number of levels to which a recursive rule applies, including that of the node.
// Deeper nodes are collapsed. 0 means no limit.
type Rule struct {
	UID       string `json:"uid"`                 // of the node
	Expanded  bool   `json:"expanded"`            // whether the view shows the children of the node
	Recursive bool   `json:"recursive,omitempty"` // whether the rule applies to the nodes below, too
	MaxDepth  int    `json:"maxDepth,omitempty"`
}

// Rules are the rules of a view, the oldest first. The newest rule that applies to a node counts.
// They are stored with a session, so they refer to nodes by their UIDs. Add returns a new list.
type Rules []Rule

// MaxRules is the largest number of rules of a view. Add does not enforce it.
//
// A caller of Add checks it.
const MaxRules = 500

// Add returns the rules with one more at the end. It drops the older rules that the new one
// replaces: those for the same node and, if the new one is recursive, those for the nodes below it.
// A rule that is not recursive does not replace a recursive one. below reports whether a UID is
// that of such a node.
func (r Rules) Add(rule Rule, below func(uid string) bool) Rules {
	kept := make(Rules, 0, len(r)+1)
	for _, old := range r {
		// An old recursive rule still applies to the nodes below, so only a recursive one replaces
		// it.
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

// A Viewer evaluates the rules of a view for the nodes of a tree. It must be used by one goroutine
// at a time. The recursive rule of each node is cached, so a walk of the tree evaluates each rule
// once.
type Viewer struct {
	tree     *Tree
	rules    map[string][]int // positions in the list, by uid
	list     Rules
	fallback bool               // result for nodes to which no rule applies
	matches  map[Node]ruleMatch // cache of match
}

// A ruleMatch is the newest recursive rule that applies to a node, and the depth of the node below
// the node of the rule.
type ruleMatch struct {
	rule  int // position in the list; -1 for none
	depth int
}

// NewViewer returns a Viewer. expanded is the result for nodes to which no rule applies.
func NewViewer(t *Tree, rules Rules, expanded bool) *Viewer {
	v := &Viewer{
		tree: t, list: rules, fallback: expanded, rules: map[string][]int{}, matches: map[Node]ruleMatch{},
	}
	for i, r := range rules {
		v.rules[r.UID] = append(v.rules[r.UID], i)
	}
	return v
}

// Expanded reports whether the view shows the children of a node. The newest rule for the node
// counts, or the newest recursive rule for a node above it if that is newer. A recursive rule with
// a MaxDepth collapses the nodes below that depth.
func (v *Viewer) Expanded(n Node) bool {
	if len(v.list) == 0 {
		return v.fallback
	}
	above := v.match(n)
	// A rule of the node itself counts only if it is newer than the recursive rule.
	newest := above.rule
	for _, i := range v.rules[v.tree.UID(n)] {
		newest = max(newest, i)
	}
	switch {
	case newest < 0:
		return v.fallback
	case newest == above.rule && v.list[newest].MaxDepth > 0 && above.depth >= v.list[newest].MaxDepth:
		return false
	}
	return v.list[newest].Expanded
}

// match returns the recursive rule that applies to a node.
func (v *Viewer) match(n Node) ruleMatch {
	if s, known := v.matches[n]; known {
		return s
	}
	s := ruleMatch{rule: -1}
	// The recursion goes up to the vault once, because each result is cached.
	if above, ok := v.tree.Parent(n); ok {
		s = v.match(above)
		s.depth++
	}
	for _, i := range v.rules[v.tree.UID(n)] {
		if v.list[i].Recursive && i > s.rule {
			s = ruleMatch{rule: i}
		}
	}
	v.matches[n] = s
	return s
}

// Visible reports whether a node is shown in the view of top: whether it is top, or below it and
// all nodes between are expanded.
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
