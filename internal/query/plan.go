package query

import (
	"iter"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A plan is how a branch is answered: which notes are walked, and what is tested of what is in them.
type plan struct {
	root
	term
	most   int                  // notes, at most
	narrow map[*index.Note]bool // those of the narrowest term, when they were asked for
}

// A root is all that a branch finds without its tests.
type root struct {
	kind  Kind
	name  string
	most  int                                     // notes with something of it, at most
	count int                                     // how many there are
	notes func(from string) iter.Seq[*index.Note] // that may have some, by path
}

// rootOf is the root of a branch.
func (e *evaluator) rootOf(b Branch) root {
	r := root{kind: b.Kind, name: b.Name}
	t := e.Index.Totals()
	all := func(from string) iter.Seq[*index.Note] { return e.Index.NotesWith("", from) }
	switch {
	case b.Kind == Traits:
		r.count = e.Index.TraitCount(b.Name)
		r.most = min(r.count, t.Notes)
		r.notes = func(from string) iter.Seq[*index.Note] { return e.Index.NotesWithTrait(b.Name, from) }
	case b.Kind == Links:
		r.most, r.notes, r.count = t.Notes, all, unknown
	case b.Kind == Sections:
		r.count = e.Index.Count(vault.Section)
		r.most, r.notes = min(r.count, t.Notes), all
	case b.Name == Any:
		r.count = t.Notes + t.Sections - e.Index.Count(vault.Section)
		r.most, r.notes = t.Notes, all
	default:
		r.count = e.Index.Count(b.Name)
		r.most = min(r.count, t.Notes)
		r.notes = func(from string) iter.Seq[*index.Note] { return e.Index.NotesWith(b.Name, from) }
	}
	return r
}

// typ is the type of the objects of the root, as the index names it.
func (r root) typ() string {
	switch {
	case r.kind == Sections:
		return vault.Section
	case r.name == Any:
		return ""
	}
	return r.name
}

// planOf is the plan of a branch, made once.
func (e *evaluator) planOf(b *Branch) *plan {
	if p := e.plans[b]; p != nil {
		return p
	}
	p := &plan{root: e.rootOf(*b)}
	p.term = term{most: unknown}
	if b.Where != nil {
		p.term = e.compile(*b, b.Where)
	}
	p.most = p.root.most
	if p.term.most != unknown {
		p.most = min(p.most, p.term.most)
	}
	e.plans[b] = p
	return p
}

// walk are the notes in which all that the plan finds is, from a path on: those of the root, or those of
// its narrowest term, if they are fewer.
func (p *plan) walk(from string) iter.Seq[*index.Note] {
	if p.term.most == unknown || p.term.most >= p.root.most {
		return p.root.notes(from)
	}
	notes := p.term.notes()
	first, _ := slices.BinarySearchFunc(notes, from, func(n *index.Note, path string) int {
		switch {
		case n.Path < path:
			return -1
		case n.Path > path:
			return 1
		}
		return 0
	})
	return slices.Values(notes[first:])
}

// run calls a function with all that the plan finds.
func (p *plan) run(e *evaluator, f func(Item)) {
	for i := range p.behind(e, index.Location{}) {
		f(i)
	}
}

// behind yields what the plan finds behind a spot, by path, line and position.
func (p *plan) behind(e *evaluator, after index.Location) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for n := range p.walk(after.Path) {
			if !p.inNote(e, n, after, yield) {
				return
			}
		}
	}
}

// mayBeIn reports whether a note is among those of the narrowest term.
func (p *plan) mayBeIn(n *index.Note) bool {
	if p.term.most == unknown || p.term.most >= p.root.most {
		return true
	}
	if p.narrow == nil {
		p.narrow = map[*index.Note]bool{}
		for _, each := range p.term.notes() {
			p.narrow[each] = true
		}
	}
	return p.narrow[n]
}

// inNote calls a function with what the plan finds in a note behind a spot, in reading order, until the function
// returns false. It returns whether to go on. It runs once for each note that is looked at, so it makes no iterators.
func (p *plan) inNote(e *evaluator, n *index.Note, after index.Location, found func(Item) bool) bool {
	switch {
	case p.kind == Traits && p.traits != nil:
		for _, t := range p.traits(n) {
			if t.Spot().After(after) && !p.test(e, Item{Kind: Traits, Trait: t}, found) {
				return false
			}
		}
	case p.kind == Traits:
		for t := range n.TraitsBehind(p.name, after, p.says) {
			if !p.test(e, Item{Kind: Traits, Trait: t}, found) {
				return false
			}
		}
	case p.kind == Links:
		for i := range n.Links {
			item := Item{Kind: Links, Object: n.Object(n.Links[i].Scope), Link: &n.Links[i]}
			if item.Spot().After(after) && !p.test(e, item, found) {
				return false
			}
		}
	default:
		for o := range n.ObjectsBehind(p.typ(), after) {
			if !p.test(e, Item{Kind: p.kind, Object: o}, found) {
				return false
			}
		}
	}
	return true
}

// test calls a function with a thing of the root that passes. It returns whether to go on.
func (p *plan) test(e *evaluator, i Item, found func(Item) bool) bool {
	if !e.visit(1) {
		return false
	}
	holds := p.holds == nil || p.set != nil || p.holds(i) // of a set all that may pass do
	return e.failed == nil && (!holds || found(i))
}

// known is how many things the plan finds, if the index knows that without a walk.
func (p *plan) known() (int, bool) {
	switch {
	case p.holds == nil && p.count != unknown:
		return p.count, true
	case p.set != nil:
		return p.set.Count(), true
	}
	return 0, false
}
