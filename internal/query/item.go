package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An Item is one thing that a query finds.
type Item struct {
	Kind   Kind
	Object index.Object    // of Objects and Sections; of Links, what the link is in
	Trait  *index.Trait    // of Traits
	Link   *index.NoteLink // of Links
}

// ID is the id of the thing; of a link, that of what it is in.
func (i Item) ID() string {
	if i.Kind == Traits {
		return i.Trait.ID
	}
	return i.Object.ID()
}

// Spot is where the thing is in lists.
func (i Item) Spot() index.Location {
	switch i.Kind {
	case Traits:
		return i.Trait.Spot()
	case Links:
		return index.Location{Path: i.Object.Note.Path, Line: i.Link.Line, Position: i.Link.Span.Start}
	}
	return i.Object.Spot()
}

// note is the note that the thing is in.
func (i Item) note() *index.Note {
	if i.Kind == Traits {
		return i.Trait.Note
	}
	return i.Object.Note
}

// scope is the position of the section that the thing is, or is in; -1: the note.
func (i Item) scope() int {
	if i.Kind == Traits {
		return i.Trait.Scope
	}
	return i.Object.Number()
}

// kinds are the kinds in their order at one spot.
var kinds = []Kind{Objects, Sections, Traits, Links}

// compareSpots orders things by where they are.
func compareSpots(a, b Item) int {
	s, t := a.Spot(), b.Spot()
	return cmp.Or(strings.Compare(s.Path, t.Path), s.Line-t.Line, s.Position-t.Position,
		slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind))
}

// isPlain reports whether an object is a section that declares nothing.
func isPlain(o index.Object) bool { return o.Section != nil && o.Type() == vault.Section }

// itemOf is an object as a thing.
func itemOf(o index.Object) Item {
	if isPlain(o) {
		return Item{Kind: Sections, Object: o}
	}
	return Item{Kind: Objects, Object: o}
}
