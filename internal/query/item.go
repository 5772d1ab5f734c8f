package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An Item is one result of a query. Only the fields of its kind are set.
type Item struct {
	Kind   Kind
	Object index.Object    // of an object or a section; for a link, its source
	Trait  *index.Trait    // of a trait
	Link   *index.NoteLink // of a link
}

// ID returns the id of the item; for a link, that of its source.
func (i Item) ID() string {
	if i.Kind == Traits {
		return i.Trait.ID
	}
	return i.Object.ID()
}

// Location returns the location of the item, which determines its position in lists.
func (i Item) Location() index.Location {
	switch i.Kind {
	case Traits:
		return i.Trait.Location()
	case Links:
		return index.Location{Path: i.Object.Note.Path, Line: i.Link.Line, Position: i.Link.Span.Start}
	}
	return i.Object.Location()
}

// note returns the note that contains the item.
func (i Item) note() *index.Note {
	if i.Kind == Traits {
		return i.Trait.Note
	}
	return i.Object.Note
}

// scope returns the position, in its note, of the section that the item is or is in; -1 if it is
// the note.
//
// It is the index of the section in Note.Sections.
func (i Item) scope() int {
	if i.Kind == Traits {
		return i.Trait.Scope
	}
	return i.Object.Number()
}

// kinds contains the kinds in the order in which items at the same location are sorted.
var kinds = []Kind{Objects, Sections, Traits, Links}

// compareLocations compares items by location, then by kind.
//
// The order is by path, line, position and kind.
func compareLocations(a, b Item) int {
	s, t := a.Location(), b.Location()
	return cmp.Or(strings.Compare(s.Path, t.Path), s.Line-t.Line, s.Position-t.Position,
		slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind))
}

// isPlain reports whether an object is a section without a declaration.
func isPlain(o index.Object) bool { return o.Section != nil && o.Type() == vault.Section }

// itemOf returns an object as an item.
func itemOf(o index.Object) Item {
	if isPlain(o) {
		return Item{Kind: Sections, Object: o}
	}
	return Item{Kind: Objects, Object: o}
}
