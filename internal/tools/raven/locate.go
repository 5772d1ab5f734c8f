package raven

import (
	"strings"

	"rookery/internal/fault"
	"rookery/internal/index"
)

// locate finds the object that an id names; see index.Find.
func locate(idx *index.Index, id string) (index.Object, error) {
	if o, ok := idx.Find(strings.TrimSpace(id)); ok {
		return o, nil
	}
	if strings.Contains(id, "#") {
		return index.Object{}, notFound("no section %q", id)
	}
	return index.Object{}, notFound("no object %q", id)
}

// locateNote finds a note; a section is refused.
func locateNote(idx *index.Index, id string) (*index.Note, error) {
	p, err := locate(idx, id)
	if err != nil {
		return nil, err
	}
	if p.Section != nil {
		return nil, fault.New(fault.InvalidValue,
			"%s is a section: its fields are its heading, which edit changes", p.ID()).
			With("argument", "id").Fix("rookery edit %s OLD NEW", p.Note.ID)
	}
	return p.Note, nil
}

// notFound is NOT_FOUND. It echoes no id that could not be one.
func notFound(format, id string) *fault.Fault {
	f := fault.New(fault.NotFound, format, id)
	if len(id) > 600 || strings.ContainsAny(id, "\n\x00") {
		f = fault.New(fault.NotFound, "no object of that id")
	}
	return f.Fix("rookery object list")
}
