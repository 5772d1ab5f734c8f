package query

import (
	"iter"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
)

// nested returns the term of a function that takes a query or a target. The queries of refs and
// refd are answered once, when the first item is tested. The other functions depend only on the
// note of an item, so their query is answered for each note that is visited.
//
//	has, contains   the item is a holder of what the query finds
//	in, within      a holder of the item is what the query finds
//	at              the query finds another trait on the same line
//	refs, refd      the item refers to what the query finds, or the other way round
func (e *evaluator) nested(b Branch, t *Test) term {
	switch t.Op {
	case At:
		return e.at(b, t)
	case Refs:
		return e.refersTo(b, t)
	case Refd:
		set := once(func() *objectSet { return e.referredTo(t) })
		return term{
			most: e.estimate(t), cost: nested, notes: func() []*index.Note { return set().list() },
			holds: func(i Item) bool { return set().has(i.note(), i.scope()) },
		}
	}
	in := e.within(b, t)
	out := term{most: e.estimate(t), cost: nested, notes: in.notes}
	switch t.Op {
	case In, Within:
		holds := func(n *index.Note, scope int) bool {
			if t.Op == In {
				return in.get(n).has(scope + 1)
			}
			return in.get(n).hasAround(n, scope)
		}
		out.holds = func(i Item) bool {
			scope, ok := holderOf(i)
			return ok && holds(i.note(), scope)
		}
		if b.Kind == Traits {
			traits := e.Index.AllTraitNumbers(b.Name)
			out.countIn = func(n *index.Note) int {
				return e.count(traits(n), func(i int) bool { return holds(n, n.TraitScope(i)) })
			}
		}
	default: // has and contains: the holders are members of the set
		out.holds = func(i Item) bool { return in.get(i.note()).has(i.scope() + 1) }
	}
	return out
}

// count returns how many of the positions of traits pass. It visits each of them, and stops if the
// query fails.
func (e *evaluator) count(all iter.Seq[int], passes func(int) bool) (count int) {
	for i := range all {
		if !e.visit(1) {
			break
		}
		if passes(i) {
			count++
		}
	}
	return count
}

// holderOf returns the position of the section that contains an item; -1: the note. ok is false
// for a note, which nothing contains.
func holderOf(i Item) (scope int, ok bool) {
	if i.Kind == Traits || i.Kind == Links {
		return i.scope(), true
	}
	return parentOf(i.note(), i.scope())
}

// once returns a function that calls make on its first call and returns the same value on each
// call.
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

// estimate returns an upper bound of the number of notes that a nested query concerns, or unknown.
// It plans the nested query, but does not answer it. A function on a target concerns one note.
// Items that refd() finds are in other notes than those that its query visits, so their number is
// unknown.
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

// referredTo returns the set of the targets of references in the items that the query of a test
// finds, and of the objects that contain these targets.
func (e *evaluator) referredTo(t *Test) *objectSet {
	set := newObjectSet()
	e.each(t, func(i Item) { e.addTargets(set, i) })
	return set
}

// each calls f with each item that the query of a test finds, or with its target.
//
// A target that does not exist is skipped.
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

// eachIn calls f with each item in a note that the query of a test finds, or with its target if
// that is in the note, until f returns false. The items of the note are visited again for each test
// that needs them.
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

// candidateNotes returns notes that contain all items that the query of a test finds, sorted by path.
func (e *evaluator) candidateNotes(t *Test) []*index.Note {
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

// within returns, for each note, the set of objects by which has, contains, in or within hold for
// the items of a branch. For has and contains of objects, the search in a note ends as soon as
// each of its objects is in the set.
//
// The set contains holders for has and contains, and the found items themselves for in and within.
func (e *evaluator) within(b Branch, t *Test) *perNote[bits] {
	holders := b.Kind == Objects && (t.Op == Has || t.Op == Contains)
	// of the last note
	var scopes []int
	return &perNote[bits]{
		candidates: func() []*index.Note { return e.candidateNotes(t) },
		find: func(n *index.Note) *bits {
			var found *bits
			var waiting []int
			if holders {
				scopes = b.scopes(scopes[:0], n)
				waiting = scopes
			}
			e.eachScope(n, t, func(scope int) bool {
				if found == nil {
					found = &bits{}
				}
				found.addFor(t.Op, n, scope)
				// Drop the objects that are known to have an item; stop when none is left.
				for len(waiting) > 0 && found.has(waiting[0]+1) {
					waiting = waiting[1:]
				}
				return !holders || len(waiting) > 0
			})
			return found
		},
	}
}

// eachScope calls f for each item in a note that the query of a test finds, until f returns false:
// with the scope of the item itself for in and within, and with that of its holder for has and
// contains, where a note has no holder and is left out.
//
// Of traits that are found by their values, only the scopes are read.
func (e *evaluator) eachScope(n *index.Note, t *Test, f func(scope int) bool) {
	if !e.byValue(t) {
		e.eachIn(n, t, func(i Item) bool {
			if t.Op == In || t.Op == Within {
				return f(i.scope())
			}
			scope, ok := holderOf(i)
			return !ok || f(scope)
		})
		return
	}
	e.eachByValue(n, t, func(at int) bool { return f(n.TraitScope(at)) })
}

// eachByValue calls f with the position, in the note, of each trait that the query of a test finds by
// its value, until f returns false; see byValue.
func (e *evaluator) eachByValue(n *index.Note, t *Test, f func(at int) bool) {
	for i := range t.Query {
		p := e.planOf(&t.Query[i])
		if !p.mayBeIn(n) {
			continue
		}
		for at := range n.TraitNumbers(p.name, p.passesValue) {
			if !e.visit(1) || !f(at) {
				return
			}
		}
	}
}

// byValue reports whether the query of a test finds traits by nothing but their values.
func (e *evaluator) byValue(t *Test) bool {
	for i := range t.Query {
		if !e.planOf(&t.Query[i]).byValue() {
			return false
		}
	}
	return t.Target == ""
}

// scopes appends the positions of the sections of a note that are objects of the branch to all;
// -1: the note.
func (b Branch) scopes(all []int, n *index.Note) []int {
	typ := b.Name
	if typ == Any {
		typ = ""
	}
	for o := range n.ObjectsAfter(typ, index.Location{}) {
		all = append(all, o.Number())
	}
	return all
}

// addFor adds the scope of an item that a nested query found; see eachScope. For contains, it adds
// all holders of the item.
func (b *bits) addFor(op Op, n *index.Note, scope int) {
	// All sections around the holder are holders too, up to the note.
	for ; op == Contains && scope >= 0; scope = n.Sections[scope].Parent() {
		b.set(scope + 1)
	}
	b.set(scope + 1)
}

// at returns the term for another trait on the same line. The nested query is answered for the note
// of the tested trait, and its results are kept by line. traits of the term are the traits on these
// lines, so the other traits of the note are not visited.
func (e *evaluator) at(b Branch, t *Test) term {
	own := e.Index.AllTraitNumbers(b.Name)
	in := &perNote[lines]{
		candidates: func() []*index.Note { return e.candidateNotes(t) },
		find: func(n *index.Note) *lines {
			found := lines{note: n}
			e.eachNumber(n, t, found.add)
			if found.traits == nil {
				return nil
			}
			return &found
		},
	}
	return term{
		most: e.estimate(t), cost: nested, notes: in.notes,
		holds: func(i Item) bool { return in.get(i.note()).hasOther(i.note().NumberOf(i.Trait)) },
		traits: func(n *index.Note) (all []*index.Trait) {
			for i := range in.get(n).neighbours(own) {
				all = append(all, &n.Annotations[i])
			}
			return all
		},
		countIn: func(n *index.Note) int {
			found := in.get(n)
			return e.count(found.neighbours(own), found.hasOther)
		},
	}
}

// eachNumber calls f with the position, in the note, of each trait that the query of a test finds.
func (e *evaluator) eachNumber(n *index.Note, t *Test, f func(int)) {
	if !e.byValue(t) {
		e.eachIn(n, t, func(i Item) bool {
			f(n.NumberOf(i.Trait))
			return true
		})
		return
	}
	e.eachByValue(n, t, func(at int) bool {
		f(at)
		return true
	})
}
