package tree

import (
	"slices"
	"strings"
)

// An Op is the operator of an Expr.
type Op string

// The operators. The first three combine Subs. OpUnder, OpChildOf and OpAncestor test the nodes
// above. The others compare the property at Path with Values.
const (
	OpAnd Op = "and"
	OpOr  Op = "or"
	OpNot Op = "not"

	OpUnder    Op = "under"    // an ancestor has this address, UID or name
	OpChildOf  Op = "childof"  // the parent has this address, UID or name
	OpAncestor Op = "ancestor" // Subs[0] is true for an ancestor

	OpEqual      Op = "="
	OpNotEqual   Op = "!="
	OpGreater    Op = ">"
	OpAtLeast    Op = ">="
	OpLess       Op = "<"
	OpAtMost     Op = "<="
	OpContains   Op = "contains"
	OpStartsWith Op = "startswith"
	OpBetween    Op = "between" // two values, both included
	OpIn         Op = "in"
	OpExists     Op = "exists"
	OpMissing    Op = "missing"
)

// An Expr is a condition on nodes. The nil Expr is true for all nodes. It is immutable after it is
// parsed, and independent of the vault, so several Evaluators can use it at once.
type Expr struct {
	Op     Op
	Subs   []*Expr
	Path   []string // the name of a property, followed by names of members in it
	Values []string
}

// A Truth is the result of an Expr for a node. Unknown means that it depends on the text of the
// node, which was not given. The order of the values makes AND a minimum, OR a maximum and NOT a
// difference. A caller evaluates an Expr with the index first, and reads a text only for Unknown.
type Truth int

// The truths, in ascending order.
const (
	No Truth = iota
	Unknown
	Yes
)

// truth returns Yes for true and No for false.
func truth(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// A TextOf returns a text of a node: its content, if content is true, else its body.
type TextOf func(n Node, content bool) string

// An Evaluator evaluates Exprs for nodes. It caches what it has resolved, so it must be used by one
// goroutine at a time. A copy from With shares the cache of targets.
type Evaluator struct {
	tree  *Tree
	clock Clock
	text  TextOf // nil if texts are not available

	targets map[string]target // by the value of under or childof
	read    []*comparison     // a list, because an evaluation has few comparisons
}

// NewEvaluator returns an Evaluator without texts. The clock defines dates such as `today`.
func NewEvaluator(t *Tree, c Clock) *Evaluator {
	return &Evaluator{tree: t, clock: c, targets: map[string]target{}}
}

// With returns a copy of the Evaluator that reads the texts of nodes with text.
func (e *Evaluator) With(text TextOf) *Evaluator {
	with := *e
	with.text = text
	return &with
}

// Holds evaluates an Expr for a node.
//
// AND stops at the first No, and OR at the first Yes.
func (e *Evaluator) Holds(x *Expr, n Node) Truth {
	if x == nil {
		return Yes
	}
	switch x.Op {
	case OpAnd:
		least := Yes
		for _, sub := range x.Subs {
			if least = min(least, e.Holds(sub, n)); least == No {
				break
			}
		}
		return least
	case OpOr:
		most := No
		for _, sub := range x.Subs {
			if most = max(most, e.Holds(sub, n)); most == Yes {
				break
			}
		}
		return most
	case OpNot:
		// This maps No to Yes, Yes to No, and Unknown to itself.
		return Yes - e.Holds(x.Subs[0], n)
	case OpUnder, OpChildOf:
		return truth(e.below(x, n))
	case OpAncestor:
		return e.ancestor(x.Subs[0], n)
	}
	return e.compares(x, n)
}

// ancestor evaluates an Expr for the ancestors of a node, and returns the greatest result.
func (e *Evaluator) ancestor(x *Expr, n Node) Truth {
	most := No
	for above, ok := e.tree.Parent(n); ok && most < Yes; above, ok = e.tree.Parent(above) {
		most = max(most, e.Holds(x, above))
	}
	return most
}

// A target is the node that the value of under or childof names.
type target struct {
	node   Node
	found  bool
	folded string
}

// below reports whether an ancestor of a node, or its parent for childof, is the node that the
// value names, or has the value as its name, ignoring case. The node itself does not count. Each
// value is resolved once.
func (e *Evaluator) below(x *Expr, n Node) bool {
	to, known := e.targets[x.Values[0]]
	if !known {
		to.node, to.found = e.tree.Find(x.Values[0])
		to.folded = fold(x.Values[0])
		e.targets[x.Values[0]] = to
	}
	for above, ok := e.tree.Parent(n); ok; above, ok = e.tree.Parent(above) {
		// The value can be an address, a UID or a name. All nodes with the name count.
		if to.found && above == to.node || fold(e.tree.Name(above)) == to.folded && to.folded != "" {
			return true
		}
		// Only the parent counts.
		if x.Op == OpChildOf {
			return false
		}
	}
	return false
}

// needsText reports whether a property is in the text of a node and not in the index, and whether
// it is the content.
func needsText(path []string) (content, needs bool) {
	if len(path) != 1 {
		return false, false
	}
	content = strings.EqualFold(path[0], "content")
	return content, content || strings.EqualFold(path[0], "body")
}

// compares evaluates a comparison for a node. It is Unknown only for a property in the text while
// the Evaluator has no texts.
func (e *Evaluator) compares(x *Expr, n Node) Truth {
	c := e.comparison(x)
	switch {
	case c.plain != nil:
		return truth(e.testText(c, c.plain(e.tree, n)))
	case !c.needsText:
		return truth(e.test(c, e.operand(n, c.property)))
	case e.text == nil:
		return Unknown
	}
	return truth(e.testText(c, e.text(n, c.content)))
}

// NeedsText reports whether the Expr has a property that is in the text of a node and not in the
// index.
func (x *Expr) NeedsText() bool {
	if x == nil {
		return false
	}
	_, needs := needsText(x.Path)
	return needs || slices.ContainsFunc(x.Subs, (*Expr).NeedsText)
}

// Terms returns the number of comparisons and of terms about ancestors in the Expr.
func (x *Expr) Terms() int {
	if x == nil {
		return 0
	}
	if len(x.Subs) == 0 {
		return 1
	}
	sum := 0
	for _, sub := range x.Subs {
		sum += sub.Terms()
	}
	return sum
}
