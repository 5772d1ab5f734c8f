package query

import (
	"slices"

	"rookery/internal/index"
)

// nested makes the term of a function that takes a query or a target. The query is answered once, when
// the first thing is tested, or before that if it finds less than the branch.
func (e *evaluator) nested(b Branch, t *Test) term {
	switch t.Op {
	case At:
		return e.at(t)
	case Refs:
		return e.refersTo(b, t)
	}
	out := term{most: e.estimate(t), price: nested}
	set := once(func() *objectSet { return e.setFor(t) })
	out.notes = func() []*index.Note { return set().list() }
	switch t.Op {
	case In:
		out.holds = func(i Item) bool {
			scope, ok := i.scope(), true
			if i.Kind != Traits {
				scope, ok = parentOf(i.note(), scope)
			}
			return ok && set().has(i.note(), scope)
		}
	case Within:
		out.holds = func(i Item) bool {
			scope, ok := i.scope(), true
			if i.Kind == Objects || i.Kind == Sections {
				scope, ok = parentOf(i.note(), scope)
			}
			return ok && set().hasAround(i.note(), scope)
		}
	default: // has, contains, refd: the set holds the things for which it holds
		out.holds = func(i Item) bool { return set().has(i.note(), i.scope()) }
	}
	return out
}

// once makes a function that makes its value when it is first called.
func once[T any](make func() T) func() T {
	var value T
	made := false
	return func() T {
		if !made {
			value, made = make(), true
		}
		return value
	}
}

// estimate is how many notes a nested query concerns at most.
func (e *evaluator) estimate(t *Test) int {
	if t.Target != "" && t.Op != Refd {
		return 1
	}
	if t.Op == Refd {
		return unknown
	}
	most := 0
	for i := range t.Query {
		most += e.planOf(&t.Query[i]).most
	}
	return most
}

// setFor is the set of what a function holds for, or, of in and within, of what its query finds.
func (e *evaluator) setFor(t *Test) *objectSet {
	set := newObjectSet()
	e.each(t, func(i Item) {
		n, scope := i.note(), i.scope()
		switch t.Op {
		case In, Within:
			set.add(n, scope)
		case Refd:
			e.addTargets(set, i)
		default:
			if i.Kind != Traits {
				parent, ok := parentOf(n, scope)
				if !ok {
					return
				}
				scope = parent
			}
			if t.Op == Has {
				set.add(n, scope)
			} else {
				set.addAll(n, scope)
			}
		}
	})
	return set
}

// each calls a function with what the query of a test finds, or with its target.
func (e *evaluator) each(t *Test, f func(Item)) {
	if t.Target != "" {
		if o := e.Index.ResolveArg(t.Target, e.Clock).Object; o.Note != nil && e.visit(1) {
			f(itemOf(o))
		}
		return
	}
	for i := range t.Query {
		e.planOf(&t.Query[i]).run(e, f)
	}
}

// at makes the term of another trait on the same line.
func (e *evaluator) at(t *Test) term {
	out := term{most: e.estimate(t), price: nested}
	set := once(func() *lineSet {
		set := &lineSet{of: map[*index.Note]*[]*index.Trait{}}
		e.each(t, func(i Item) { set.add(i.Trait) })
		return set
	})
	out.holds = func(i Item) bool { return set().hasOther(i.Trait) }
	out.notes = func() []*index.Note { return byPath(slices.Clone(set().notes)) }
	return out
}
