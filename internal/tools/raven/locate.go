package raven

import (
	"strings"

	"rookery/internal/fault"
	"rookery/internal/index"
)

// A place is what an id names: a note, or a section of one.
type place struct {
	note    *index.Note
	section *index.Section // nil: the note as a whole
}

// id is the place's own id.
func (p place) id() string {
	if p.section == nil {
		return p.note.ID
	}
	return p.note.ID + "#" + p.section.Slug
}

// locate finds what an id names. `.md` may stand behind the note's id, and a daily note goes by its
// bare date too (raven.md §6.5).
func locate(idx *index.Index, id string) (place, error) {
	name, slug, inside := strings.Cut(strings.TrimSpace(id), "#")
	name = strings.TrimSuffix(name, ".md")
	n, ok := idx.ByID(name)
	if daily, alias := idx.Config().DailyID(name); !ok && alias {
		n, ok = idx.ByID(daily)
	}
	if !ok {
		return place{}, notFound("no object %q", id)
	}
	if !inside {
		return place{note: n}, nil
	}
	if s, ok := n.Section(slug); ok {
		return place{n, s}, nil
	}
	return place{}, notFound("no section %q", id)
}

// locateNote finds a note; a section is refused.
func locateNote(idx *index.Index, id string) (*index.Note, error) {
	p, err := locate(idx, id)
	if err != nil {
		return nil, err
	}
	if p.section != nil {
		return nil, fault.New(fault.InvalidValue,
			"%s is a section: its fields are its heading, which edit changes", p.id()).
			With("argument", "id").Fix("rookery edit %s OLD NEW", p.note.ID)
	}
	return p.note, nil
}

// notFound is NOT_FOUND. It echoes no id that could not be one.
func notFound(format, id string) *fault.Fault {
	f := fault.New(fault.NotFound, format, id)
	if len(id) > 600 || strings.ContainsAny(id, "\n\x00") {
		f = fault.New(fault.NotFound, "no object of that id")
	}
	return f.Fix("rookery object list")
}
