package query

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
)

// nested makes the term of a function that takes a query or a target. What refs and refd find is found
// once, when the first thing is tested. The others concern the note of a thing alone: their query is
// answered once in each note that is looked at.
func (e *evaluator) nested(b Branch, t *Test) term {
	switch t.Op {
	case At:
		return e.at(b, t)
	case Refs:
		return e.refersTo(b, t)
	case Refd:
		set := once(func() *objectSet { return e.referredTo(t) })
		return term{
			most: e.estimate(t), price: nested, notes: func() []*index.Note { return set().list() },
			holds: func(i Item) bool { return set().has(i.note(), i.scope()) },
		}
	}
	in := e.within(b, t)
	out := term{most: e.estimate(t), price: nested, notes: in.notes}
	switch t.Op {
	case In:
		out.holds = func(i Item) bool {
			scope, ok := holderOf(i)
			return ok && in.of(i.note()).has(scope+1)
		}
	case Within:
		out.holds = func(i Item) bool {
			scope, ok := holderOf(i)
			return ok && in.of(i.note()).hasAround(i.note(), scope)
		}
	default: // has, contains: the members are the things for which it holds
		out.holds = func(i Item) bool { return in.of(i.note()).has(i.scope() + 1) }
	}
	return out
}

// holderOf is the position of the section that a thing is in; -1: the note. A note is in none.
func holderOf(i Item) (scope int, ok bool) {
	if i.Kind == Traits || i.Kind == Links {
		return i.scope(), true
	}
	return parentOf(i.note(), i.scope())
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

// referredTo is the set of what is referred to by what the query of a test finds.
func (e *evaluator) referredTo(t *Test) *objectSet {
	set := newObjectSet()
	e.each(t, func(i Item) { e.addTargets(set, i) })
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

// eachIn calls a function with what the query of a test finds in a note, or with its target if that is
// there, until it returns false.
func (e *evaluator) eachIn(n *index.Note, t *Test, f func(Item) bool) {
	if t.Target != "" {
		if o := e.Index.ResolveArg(t.Target, e.Clock).Object; o.Note == n && e.visit(1) {
			f(itemOf(o))
		}
		return
	}
	for i := range t.Query {
		if p := e.planOf(&t.Query[i]); p.mayBeIn(n) && !p.inNote(e, n, index.Location{}, f) {
			return
		}
	}
}

// walked are the notes that have all that the query of a test finds, by path.
func (e *evaluator) walked(t *Test) []*index.Note {
	if t.Target != "" {
		if o := e.Index.ResolveArg(t.Target, e.Clock).Object; o.Note != nil {
			return []*index.Note{o.Note}
		}
		return nil
	}
	var notes []*index.Note
	for i := range t.Query {
		notes = slices.AppendSeq(notes, e.planOf(&t.Query[i]).walk(""))
	}
	if len(t.Query) > 1 {
		return byPath(notes)
	}
	return notes
}

// within are the things in each note by which has, contains, in or within holds for things of a branch. Where
// these are objects that have or contain something, a note is looked at only until each has.
func (e *evaluator) within(b Branch, t *Test) *perNote[bits] {
	holders := b.Kind == Objects && (t.Op == Has || t.Op == Contains)
	var scopes []int // of the note that was looked at last
	return &perNote[bits]{
		walked: func() []*index.Note { return e.walked(t) },
		find: func(n *index.Note) *bits {
			var found *bits
			var waiting []int
			if holders {
				scopes = b.scopes(scopes[:0], n)
				waiting = scopes
			}
			e.eachIn(n, t, func(i Item) bool {
				if found == nil {
					found = &bits{}
				}
				found.addFor(t.Op, i)
				for len(waiting) > 0 && found.has(waiting[0]+1) {
					waiting = waiting[1:]
				}
				return !holders || len(waiting) > 0
			})
			return found
		},
	}
}

// scopes appends the positions of the sections of a note that are objects of the branch to a list; -1: the note.
func (b Branch) scopes(all []int, n *index.Note) []int {
	typ := b.Name
	if typ == Any {
		typ = ""
	}
	for o := range n.ObjectsBehind(typ, index.Location{}) {
		all = append(all, o.Number())
	}
	return all
}

// addFor adds a thing that a nested query finds: for has what it is in, for contains all that it is in,
// else itself.
func (b *bits) addFor(op Op, i Item) {
	n, scope := i.note(), i.scope()
	if op == In || op == Within {
		b.set(scope + 1)
		return
	}
	scope, ok := holderOf(i)
	if !ok {
		return
	}
	for ; op == Contains && scope >= 0; scope = n.Sections[scope].Parent {
		b.set(scope + 1)
	}
	b.set(scope + 1)
}

// at makes the term of another trait on the same line.
func (e *evaluator) at(b Branch, t *Test) term {
	in := &perNote[lines]{
		walked: func() []*index.Note { return e.walked(t) },
		find: func(n *index.Note) *lines {
			var found lines
			e.eachIn(n, t, func(i Item) bool {
				found.add(i.Trait)
				return true
			})
			if found == nil {
				return nil
			}
			return &found
		},
	}
	return term{
		most: e.estimate(t), price: nested, notes: in.notes,
		holds:  func(i Item) bool { return in.of(i.note()).hasOther(i.Trait) },
		traits: func(n *index.Note) []*index.Trait { return in.of(n).neighbours(b.Name) },
	}
}
