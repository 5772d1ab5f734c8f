package query

import (
	"sort"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
)

// A refTarget is the target of references with the same text, if it does not depend on the note of the
// reference. The zero aim is that of a reference that must be resolved in its note.
type refTarget struct {
	fixed bool         // the target does not depend on the note
	to    index.Object // zero: no target
}

// targetOf returns the object to which a reference of a note resolves; false if there is none.
//
// Targets that do not depend on the note are cached by the text of the reference.
func (e *evaluator) targetOf(n *index.Note, r *index.Ref) (index.Object, bool) {
	a, known := e.targets[r.Mention]
	if !known {
		a = e.refTarget(n, r)
		e.targets[r.Mention] = a
	}
	if a.fixed {
		return a.to, a.to.Note != nil
	}
	o := e.refs.From(n, r.Target).Object
	return o, o.Note != nil
}

// refTarget returns the aim of a reference. The target depends on the note if the reference is
// relative, or ambiguous without a note.
func (e *evaluator) refTarget(n *index.Note, r *index.Ref) refTarget {
	// A relative reference.
	if strings.HasPrefix(r.Target, "#") || strings.HasPrefix(r.Target, ".") {
		return refTarget{}
	}
	to := e.refs.Resolve(r.Target)
	return refTarget{fixed: to.Matches == nil, to: to.Object}
}

// refsOf calls f with each reference of an item: of a note all references, of a section those of
// its subtree, of a trait those on its line or in its field. It is the same relation as ownsAny, in
// the direction from the item to its references.
func refsOf(i Item, f func(*index.Ref)) {
	refs := i.note().Refs
	// The value of a field can have several lines, so its references are found by the field.
	if i.Kind == Traits && !i.Trait.Field {
		refs = i.note().RefsOnLine(i.Trait.Line())
	}
	o := ownerOf(i)
	for j := range refs {
		if r := &refs[j]; o.owns(r) {
			f(r)
		}
	}
}

// A refOwner tells which references of a note belong to an item: to a trait or, if trait is nil, to
// the sections from first up to, not including, end.
type refOwner struct {
	trait      *index.Trait
	first, end int
}

// ownerOf returns the refOwner of an item.
func ownerOf(i Item) (o refOwner) {
	if i.Kind == Traits {
		return refOwner{trait: i.Trait}
	}
	o.first, o.end = subtree(i.note(), i.scope())
	return o
}

// owns reports whether a reference in the note of the item belongs to the item.
func (o refOwner) owns(r *index.Ref) bool {
	if o.trait != nil {
		return ofTrait(o.trait, r)
	}
	// Scopes of references are section numbers, which are consecutive in a subtree.
	return r.Scope() >= o.first && r.Scope() < o.end
}

// ofTrait reports whether a reference on the line of a trait belongs to the trait.
func ofTrait(t *index.Trait, r *index.Ref) bool {
	if t.Field {
		return r.InField && r.Field() == t.Type
	}
	return r.Line() == t.Line() && !r.InField
}

// subtree returns the range of sections, from first up to, not including, end, that an object
// contains, including itself. For the note (scope -1), first is -1.
//
// Sections are in the order of the text, so the subtree of a section follows it directly.
func subtree(n *index.Note, scope int) (first, end int) {
	if scope < 0 {
		return -1, len(n.Sections)
	}
	behind := sort.Search(len(n.Sections)-scope-1, func(i int) bool {
		return n.Sections[scope+1+i].Line() >= endOf(&n.Sections[scope])
	})
	return scope, scope + 1 + behind
}

// endOf returns the line after the subtree of a section; the greatest int if it reaches to the
// end of the note.
func endOf(s *index.Section) int {
	if s.SubtreeEnd() == 0 {
		return int(^uint(0) >> 1)
	}
	return s.SubtreeEnd() + 1
}

// addTargets adds the targets of the references of an item, and all objects that contain them, to
// a set.
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

// refersTo returns the term for items with a reference to a target, or to an item of a query. It
// examines the references of the tested items or, if the query finds far fewer items than the
// branch has, the backlinks of these.
//
// Both ways give the same items; they differ in the number of visits. The first needs the whole set
// of targets in memory, the second the references to them.
func (e *evaluator) refersTo(b Branch, t *Test) term {
	// A single target, or few: following backlinks visits less than all items.
	if t.Target != "" || e.estimate(t) <= e.rootOf(b).most/manyMore {
		return e.byBacklinks(t)
	}
	set := once(func() *objectSet {
		set := newObjectSet()
		e.each(t, func(i Item) { set.add(i.note(), i.scope()) })
		return set
	})
	// The references of a note into the set are found once, for all of its items.
	known := map[*index.Note][]*index.Ref{}
	return term{most: unknown, cost: nested, holds: func(i Item) bool {
		n := i.note()
		refs, met := known[n]
		if !met {
			refs = e.refsInto(n, set())
			known[n] = refs
		}
		return ownsAny(i, refs)
	}}
}

// manyMore is the ratio of notes to targets from which refersTo uses backlinks.
const manyMore = 8

// ownsAny reports whether any of the references belongs to an item.
func ownsAny(i Item, refs []*index.Ref) bool {
	if len(refs) == 0 {
		return false
	}
	o := ownerOf(i)
	for _, r := range refs {
		if o.owns(r) {
			return true
		}
	}
	return false
}

// refsInto returns the references of a note whose target is in a set, or in an object of the set.
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

// byBacklinks returns the term for items with a backlink of a target, or of an item that a query
// finds. The backlinks are collected when the first item is tested. Their number is an upper bound
// of the notes of the term for a target; for a query it is not known before the query is answered.
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
	out := term{cost: nested, holds: func(i Item) bool { return ownsAny(i, known()[i.note()]) }}
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

// targetIDs returns the id of the target of a test, if it has one. The daily note of a date has
// an id even if it does not exist.
func (e *evaluator) targetIDs(t *Test) []string {
	if t.Target == "" {
		return nil
	}
	if id := e.Index.ResolveArg(t.Target, e.Clock).ID; id != "" {
		return []string{id}
	}
	return nil
}

// idsOf returns the ids of the target of a test, or of the items that its query finds.
func (e *evaluator) idsOf(t *Test) []string {
	if t.Target != "" {
		return e.targetIDs(t)
	}
	var ids []string
	e.each(t, func(i Item) { ids = append(ids, i.ID()) })
	return ids
}

// links returns the term for items with a link that passes a test. Without a test, any link passes.
// A link that is tested is a visit.
//
// A note has all links in it, a section those in its subtree, and a trait those on its line; a
// trait that is a field has none.
func (e *evaluator) links(t *Test) term {
	passes := func(Item) bool { return true }
	price := cheap
	if len(t.Parts) > 0 {
		inner := e.compile(Branch{Kind: Links}, t.Parts[0])
		passes, price = inner.holds, expensive
	}
	return term{most: unknown, cost: price, holds: func(i Item) bool {
		n := i.note()
		first, end := subtree(n, i.scope())
		for j := range n.Links {
			l := &n.Links[j]
			own := l.Scope >= first && l.Scope < end
			if i.Kind == Traits {
				// A trait has the links of its line.
				own = l.Line == i.Trait.Line() && !i.Trait.Field
			}
			if own && e.visit(1) && passes(Item{Kind: Links, Object: n.Object(l.Scope), Link: l}) {
				return true
			}
		}
		return false
	}}
}
