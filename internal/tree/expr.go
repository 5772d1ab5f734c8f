package tree

import (
	"slices"
	"strings"
)

// An Op is what an Expr does.
type Op string

// The operators. Those of groups have Subs, the others compare the property with the path of the Expr with its values.
const (
	OpAnd Op = "and"
	OpOr  Op = "or"
	OpNot Op = "not"

	OpUnder    Op = "under"    // some node above has the address, the uid or the name
	OpChildOf  Op = "childof"  // the node directly above has
	OpAncestor Op = "ancestor" // Subs[0] holds of some node above

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

// An Expr says of each node whether it holds. The nil Expr holds of all.
type Expr struct {
	Op     Op
	Subs   []*Expr
	Path   []string // the names of a property and of those in it
	Values []string
}

// A Truth is what an Expr says of a node: No, Yes, or that only the text of the node tells.
type Truth int

// The truths.
const (
	No Truth = iota
	Unknown
	Yes
)

// truth is Yes or No.
func truth(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// A TextOf gives the texts of a node: its body, or its content.
type TextOf func(n Node, content bool) string

// An Evaluator says of nodes whether an Expr holds of them.
type Evaluator struct {
	tree  *Tree
	clock Clock
	text  TextOf // nil: texts are not known

	targets map[string]target
	read    []*comparison // of the Exprs that were compared, of which there are few
}

// NewEvaluator returns an Evaluator. Dates such as `today` mean those of the clock.
func NewEvaluator(t *Tree, c Clock) *Evaluator {
	return &Evaluator{tree: t, clock: c, targets: map[string]target{}}
}

// With returns the Evaluator with the texts of nodes.
func (e *Evaluator) With(text TextOf) *Evaluator {
	with := *e
	with.text = text
	return &with
}

// Holds says whether an Expr holds of a node.
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
		return Yes - e.Holds(x.Subs[0], n)
	case OpUnder, OpChildOf:
		return truth(e.below(x, n))
	case OpAncestor:
		return e.ancestor(x.Subs[0], n)
	}
	return e.compares(x, n)
}

// ancestor says whether an Expr holds of some node above.
func (e *Evaluator) ancestor(x *Expr, n Node) Truth {
	most := No
	for above, ok := e.tree.Parent(n); ok && most < Yes; above, ok = e.tree.Parent(above) {
		most = max(most, e.Holds(x, above))
	}
	return most
}

// A target is what the value of under and childof names.
type target struct {
	node   Node
	found  bool
	folded string
}

// below reports whether a node is below what the value names.
func (e *Evaluator) below(x *Expr, n Node) bool {
	to, known := e.targets[x.Values[0]]
	if !known {
		to.node, to.found = e.tree.Find(x.Values[0])
		to.folded = fold(x.Values[0])
		e.targets[x.Values[0]] = to
	}
	for above, ok := e.tree.Parent(n); ok; above, ok = e.tree.Parent(above) {
		if to.found && above == to.node || fold(e.tree.Name(above)) == to.folded && to.folded != "" {
			return true
		}
		if x.Op == OpChildOf {
			return false
		}
	}
	return false
}

// needsText reports whether a property is one that only the text of a node tells.
func needsText(path []string) (content, needs bool) {
	if len(path) != 1 {
		return false, false
	}
	content = strings.EqualFold(path[0], "content")
	return content, content || strings.EqualFold(path[0], "body")
}

// compares says whether a property compares with the values.
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

// NeedsText reports whether the Expr has a property that only the text of a node tells.
func (x *Expr) NeedsText() bool {
	if x == nil {
		return false
	}
	_, needs := needsText(x.Path)
	return needs || slices.ContainsFunc(x.Subs, (*Expr).NeedsText)
}

// Terms is how many comparisons and terms about ancestors the Expr has.
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
