package raven

import (
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// A priorObject is an object that a call changes, in its state before the change.
//
// Both values are kept: the object with its position, to find it again in the index after the
// change, and its rendered form, to compare fields with it.
type priorObject struct {
	index.Object
	// shown is the object as an answer shows it. It is built before the change, because the draft
	// changes the index.
	shown object
}

// priorOf returns the past of an object in idx.
func priorOf(idx *index.Index, o index.Object) priorObject { return priorObject{o, objectAt(idx, o)} }

// find returns the same object in a later state. A section is identified by its line, because an edit
// may rename it. If the section no longer exists, in returns the note. It returns false if the note
// does not exist.
//
// The line of a section's heading is stable under all edits that these tools make within a section;
// the slug is not, because it follows the text of the heading.
func (p priorObject) find(idx *index.Index) (index.Object, bool) {
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

// updated fills the output of a call that changed an object, or that did not have to change it.
//
// The action is unchanged if the call, or this operation of a batch, has staged nothing. If the
// change made the frontmatter invalid, the answer has a warning instead of an error: the caller
// asked for exactly this text.
func (m *objectOut) updated(tx *repo.Tx, was priorObject) error {
	o, ok := was.find(tx.Index())
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
