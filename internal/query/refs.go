package query

import (
	"sort"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
)

// An aim is what references that are written alike lead to, if that does not depend on their note.
type aim struct {
	fixed bool
	to    index.Object
}

// targetOf is the object that a reference of a note leads to. It is not ok if it leads to none.
func (e *evaluator) targetOf(n *index.Note, r *index.Ref) (index.Object, bool) {
	a, known := e.targets[r.Mention]
	if !known {
		a = e.aimOf(n, r)
		e.targets[r.Mention] = a
	}
	if a.fixed {
		return a.to, a.to.Note != nil
	}
	o := e.refs.From(n, r.Target).Object
	return o, o.Note != nil
}

// aimOf finds out whether what a reference leads to depends on its note: it does if it is relative, or if
// it is ambiguous from everywhere.
func (e *evaluator) aimOf(n *index.Note, r *index.Ref) aim {
	if strings.HasPrefix(r.Target, "#") || strings.HasPrefix(r.Target, ".") {
		return aim{}
	}
	to := e.refs.Resolve(r.Target)
	return aim{fixed: to.Matches == nil, to: to.Object}
}

// refsOf calls a function with the references of a thing: of a note all in it, of what is under a heading
// those in its subtree, of a trait those on its line or in its field.
func refsOf(i Item, f func(*index.Ref)) {
	n := i.note()
	if i.Kind == Traits {
		for _, r := range n.RefsOn(i.Trait.Line) {
			if ofTrait(i.Trait, r) {
				f(r)
			}
		}
		return
	}
	first, end := subtree(n, i.scope())
	for j := range n.Refs {
		if r := &n.Refs[j]; r.Scope >= first && r.Scope < end {
			f(r)
		}
	}
}

// ofTrait reports whether a reference on the line of a trait is one of it.
func ofTrait(t *index.Trait, r *index.Ref) bool {
	if t.Field {
		return r.InField && r.Field == t.Type
	}
	return r.Line == t.Line && !r.InField
}

// subtree are the positions of the sections that something in a note holds, from the first up to the end:
// itself first. Of the note they are all, and -1.
func subtree(n *index.Note, scope int) (first, end int) {
	if scope < 0 {
		return -1, len(n.Sections)
	}
	behind := sort.Search(len(n.Sections)-scope-1, func(i int) bool {
		return n.Sections[scope+1+i].Line >= endOf(&n.Sections[scope])
	})
	return scope, scope + 1 + behind
}

// endOf is the line behind the subtree of a section.
func endOf(s *index.Section) int {
	if s.SubtreeEnd == 0 {
		return int(^uint(0) >> 1)
	}
	return s.SubtreeEnd + 1
}

// covers reports whether a reference in the note of a thing is one of the thing.
func covers(i Item, r *index.Ref) bool {
	if i.Kind == Traits {
		return ofTrait(i.Trait, r)
	}
	first, end := subtree(i.note(), i.scope())
	return r.Scope >= first && r.Scope < end
}

// addTargets puts what the references of a thing lead to into a set, and all that these are in.
func (e *evaluator) addTargets(set *objectSet, i Item) {
	refsOf(i, func(r *index.Ref) {
		if !e.visit(1) {
			return
		}
		if o, ok := e.targetOf(i.note(), r); ok {
			set.addAll(o.Note, o.Number())
		}
	})
}

// refersTo makes the term of the things with a reference to a target, or to what a query finds. It looks
// at the references of the things, or, where the query finds fewer, at the backlinks of what it finds.
func (e *evaluator) refersTo(b Branch, t *Test) term {
	if t.Target != "" || e.estimate(t) <= e.rootOf(b).most/manyMore {
		return e.byBacklinks(t)
	}
	set := once(func() *objectSet {
		set := newObjectSet()
		e.each(t, func(i Item) { set.add(i.note(), i.scope()) })
		return set
	})
	known := map[*index.Note][]*index.Ref{}
	return term{most: unknown, price: nested, holds: func(i Item) bool {
		n := i.note()
		refs, met := known[n]
		if !met {
			refs = e.refsInto(n, set())
			known[n] = refs
		}
		return anyCovered(i, refs)
	}}
}

// manyMore is how many times more things than targets there must be for backlinks to be fewer.
const manyMore = 8

func anyCovered(i Item, refs []*index.Ref) bool {
	for _, r := range refs {
		if covers(i, r) {
			return true
		}
	}
	return false
}

// refsInto are the references of a note that lead to something in a set, or to what is in that.
func (e *evaluator) refsInto(n *index.Note, set *objectSet) []*index.Ref {
	var refs []*index.Ref
	for i := range n.Refs {
		if !e.visit(1) {
			return nil
		}
		r := &n.Refs[i]
		if o, ok := e.targetOf(n, r); ok && set.hasAround(o.Note, o.Number()) {
			refs = append(refs, r)
		}
	}
	return refs
}

// byBacklinks makes the term of the things with one of the backlinks of a target, or of what a query finds.
func (e *evaluator) byBacklinks(t *Test) term {
	known := once(func() map[*index.Note][]*index.Ref {
		refs := map[*index.Note][]*index.Ref{}
		for _, id := range e.idsOf(t) {
			for l := range e.refs.Backlinks(id, index.Location{}) {
				if !e.visit(1) {
					break
				}
				refs[l.Source.Note] = append(refs[l.Source.Note], l.Ref)
			}
		}
		return refs
	})
	out := term{price: nested, holds: func(i Item) bool { return anyCovered(i, known()[i.note()]) }}
	for _, id := range e.targetIDs(t) {
		out.most += e.refs.CountBacklinks(id)
	}
	if t.Target == "" {
		out.most = unknown
	}
	out.notes = func() []*index.Note {
		var notes []*index.Note
		for n := range known() {
			notes = append(notes, n)
		}
		return byPath(notes)
	}
	return out
}

// targetIDs are the ids that the target of a test leads to: one, or none. A day needs no note.
func (e *evaluator) targetIDs(t *Test) []string {
	if t.Target == "" {
		return nil
	}
	if id := e.Index.ResolveArg(t.Target, e.Clock).ID; id != "" {
		return []string{id}
	}
	return nil
}

// idsOf are the ids of the target of a test, or of what its query finds.
func (e *evaluator) idsOf(t *Test) []string {
	if t.Target != "" {
		return e.targetIDs(t)
	}
	var ids []string
	e.each(t, func(i Item) { ids = append(ids, i.ID()) })
	return ids
}

// links makes the term of the things with a link that passes a test.
func (e *evaluator) links(t *Test) term {
	passes := func(Item) bool { return true }
	price := cheap
	if len(t.Parts) > 0 {
		inner := e.compile(Branch{Kind: Links}, t.Parts[0])
		passes, price = inner.holds, dear
	}
	return term{most: unknown, price: price, holds: func(i Item) bool {
		n := i.note()
		first, end := subtree(n, i.scope())
		for j := range n.Links {
			l := &n.Links[j]
			own := l.Scope >= first && l.Scope < end
			if i.Kind == Traits {
				own = l.Line == i.Trait.Line && !i.Trait.Field
			}
			if own && e.visit(1) && passes(Item{Kind: Links, Object: n.Object(l.Scope), Link: l}) {
				return true
			}
		}
		return false
	}}
}
