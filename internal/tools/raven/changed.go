package raven

import (
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// A past is an object that a call changes, as it was before.
type past struct {
	index.Object
	shown object
}

// before is an object in the state in which a call finds it.
func before(idx *index.Index, o index.Object) past { return past{o, objectAt(idx, o)} }

// in finds the object in a later state. A section that an edit renamed is the one in its line; of one
// that is no more, the note is left.
func (p past) in(idx *index.Index) (index.Object, bool) {
	n, ok := idx.Note(p.Note.Path)
	if !ok || p.Section == nil {
		return index.Object{Note: n}, ok
	}
	for i := range n.Sections {
		if n.Sections[i].Line == p.Section.Line {
			return n.Object(i), true
		}
	}
	return index.Object{Note: n}, true
}

// updated fills the answer of a call that changed an object, or found it as it should be.
func (m *mutated) updated(tx *repo.Tx, was past) error {
	o, ok := was.in(tx.Index())
	if !ok {
		return notFound("no object %q", was.ID())
	}
	shown := objectAt(tx.Index(), o)
	m.ID, m.Type, m.File, m.Object = shown.ID, shown.Type, o.Note.Path, &shown
	m.Action = "updated"
	if !tx.Touched() {
		m.Action = "unchanged"
	}
	warnQuarantine(&m.Aside, o.Note)
	m.was = &was.shown
	return nil
}
