package query

import (
	"iter"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A plan determines how a branch is answered: which notes are visited, and which test their items
// must pass.
//
// The notes to visit are those of the root or those of the term, whichever are fewer.
type plan struct {
	root
	term
	most   int                  // maximum number of notes
	narrow map[*index.Note]bool // notes of the term; nil: not computed yet
}

// A root describes all items of a branch before its tests. most and count come from the counts of
// the index, so a root visits nothing.
type root struct {
	kind  Kind
	name  string
	most  int                                     // maximum number of notes with such items
	total int                                     // number of items, or unknown
	notes func(from string) iter.Seq[*index.Note] // that can have items, by path
}

// rootOf returns the root of a branch.
//
// Sections without a declaration belong to the root section only, and are not objects of type:*.
func (e *evaluator) rootOf(b Branch) root {
	r := root{kind: b.Kind, name: b.Name}
	t := e.Index.Totals()
	all := func(from string) iter.Seq[*index.Note] { return e.Index.NotesWith("", from) }
	switch {
	case b.Kind == Traits && e.isTask(b.Name):
		tasks := e.Index.Tasks("")
		r.total, r.notes = tasks.Count(), tasks.Notes
		r.most = min(r.total, t.Notes)
	case b.Kind == Traits:
		r.total = e.Index.TraitCount(b.Name)
		r.most = min(r.total, t.Notes)
		r.notes = func(from string) iter.Seq[*index.Note] { return e.Index.NotesWithTrait(b.Name, from) }
	case b.Kind == Links:
		// The index does not count links.
		r.most, r.notes, r.total = t.Notes, all, unknown
	case b.Kind == Sections:
		r.total = e.Index.Count(vault.Section)
		r.most, r.notes = min(r.total, t.Notes), all
	case b.Name == Any:
		r.total = t.Notes + t.Sections - e.Index.Count(vault.Section)
		r.most, r.notes = t.Notes, all
	default:
		r.total = e.Index.Count(b.Name)
		r.most = min(r.total, t.Notes)
		r.notes = func(from string) iter.Seq[*index.Note] { return e.Index.NotesWith(b.Name, from) }
	}
	return r
}

// isTask reports whether the traits of a type are the checkboxes.
func (e *evaluator) isTask(typ string) bool {
	def, _ := e.schema.Trait(typ)
	return def == taskTrait
}

// typ returns the type of the root's objects as the index names it; "" for all types.
func (r root) typ() string {
	switch {
	case r.kind == Sections:
		return vault.Section
	case r.name == Any:
		return ""
	}
	return r.name
}

// planOf returns the plan of a branch, which is cached by the pointer: the branches of a query must
// not be copied during its evaluation.
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
	// Nested queries are planned once, however often their term is used.
	e.plans[b] = p
	return p
}

// walk yields the notes that contain all items that the plan finds, sorted by path, from a path
// on: those of the term if they are fewer, else those of the root.
func (p *plan) walk(from string) iter.Seq[*index.Note] {
	from = max(from, p.in.Path)
	// The notes of the term must be computed, so they are used only if they are fewer.
	switch {
	case p.term.most == unknown || p.term.most >= p.root.most:
		return p.root.notes(from)
	case p.term.walk != nil:
		return p.term.walk(from)
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

// run calls f with each item that the plan finds.
func (p *plan) run(e *evaluator, f func(Item)) {
	for i := range p.after(e, index.Location{}) {
		f(i)
	}
}

// after yields the items that the plan finds after a location, sorted by path, line and
// position.
func (p *plan) after(e *evaluator, after index.Location) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for n := range p.walk(after.Path) {
			if !p.in.Has(n.Path) {
				return
			}
			if !p.inNote(e, n, after, yield) {
				return
			}
		}
	}
}

// mayBeIn reports whether a note can contain items that the plan finds. A nested query of has() or
// within() is answered for one note at a time, so the notes of its term are looked up in a map,
// which is computed once.
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

// inNote calls found with each item in a note that the plan finds after a location, in reading
// order, until found returns false. It returns false if the caller must stop. It runs once for
// each visited note, so it avoids allocating iterators.
//
// A test with a set or with traits restricts the items before they are visited.
func (p *plan) inNote(e *evaluator, n *index.Note, after index.Location, found func(Item) bool) bool {
	switch {
	case p.near != nil && !p.near(n):
		return e.visit(1) // the note is looked at
	// The term knows the traits that can pass, so the other traits of the note are not visited.
	case p.kind == Traits && p.traits != nil:
		for _, t := range p.traits(n) {
			if t.Location().After(after) && !p.test(e, Item{Kind: Traits, Trait: t}, found) {
				return false
			}
		}
	case p.kind == Traits:
		for t := range n.TraitsAfter(p.name, after, p.passesValue) {
			if !p.test(e, Item{Kind: Traits, Trait: t}, found) {
				return false
			}
		}
	case p.kind == Links:
		for i := range n.Links {
			item := Item{Kind: Links, Object: n.Object(n.Links[i].Scope), Link: &n.Links[i]}
			if item.Location().After(after) && !p.test(e, item, found) {
				return false
			}
		}
	default:
		for o := range n.ObjectsAfter(p.typ(), after) {
			if !p.test(e, Item{Kind: p.kind, Object: o}, found) {
				return false
			}
		}
	}
	return true
}

// byValue reports whether the plan finds exactly the traits whose values pass.
func (p *plan) byValue() bool {
	return p.kind == Traits && p.near == nil && p.traits == nil && (p.holds == nil || p.count != nil)
}

// test calls found with an item of the root if it passes the test. It returns false if the caller
// must stop.
func (p *plan) test(e *evaluator, i Item, found func(Item) bool) bool {
	// Each tested item is a visit, whether it passes or not.
	if !e.visit(1) {
		return false
	}
	holds := p.holds == nil || p.count != nil || p.holds(i) // all items that are counted pass
	return e.failed == nil && (!holds || found(i))
}

// knownCount returns the number of items that the plan finds; false if the index does not know it.
//
//	no test                         the count of the root, except for links
//	a test that the index counts    its count
func (p *plan) knownCount() (int, bool) {
	switch {
	case p.holds == nil && p.total != unknown:
		return p.total, true
	case p.count != nil:
		return p.count(), true
	}
	return 0, false
}
