package raven

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

var (
	traitNumber = regexp.MustCompile(`^(.+):trait:(\d{1,9})$`)
	traitLine   = regexp.MustCompile(`^(.+):(\d{1,9})$`)
)

// findTrait returns the trait with an id, or at a current position (raven.md §6.4): `path:line` is
// the first trait of a line, and `path:trait:n` the trait with n traits of the schema before it in
// its note. stable reports whether it was found by its id.
//
// Positions change with every edit of the note, so they are accepted for reading only; see
// ownTrait.
func findTrait(idx *index.Index, id string) (t *index.Trait, stable bool, err error) {
	id = strings.TrimSpace(id)
	if t, ok := idx.Trait(id); ok {
		return t, true, nil
	}
	var holds func(t *index.Trait, before int) bool
	m := traitNumber.FindStringSubmatch(id)
	if m != nil {
		holds = func(_ *index.Trait, before int) bool { return before == numberOf(m[2]) }
	} else if m = traitLine.FindStringSubmatch(id); m != nil {
		holds = func(t *index.Trait, _ int) bool { return t.Line == numberOf(m[2]) }
	} else {
		return nil, false, noTrait(idx, id)
	}
	n, ok := idx.Note(strings.TrimSuffix(m[1], ".md") + ".md")
	if !ok {
		return nil, false, noTrait(idx, id)
	}
	// Checkboxes are not traits of the schema, so `path:trait:n` does not count them.
	before, byLine := 0, !traitNumber.MatchString(id)
	for t := range n.Traits() {
		if (byLine || !t.Task) && holds(t, before) {
			return t, false, nil
		}
		if !t.Task {
			before++
		}
	}
	return nil, false, noTrait(idx, id)
}

// numberOf returns the value of a few digits, or -1.
func numberOf(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// ownTrait returns the trait with an id, for a change. A position is an error, because another
// trait may be there when the change is made.
func ownTrait(idx *index.Index, id string) (*index.Trait, error) {
	t, stable, err := findTrait(idx, id)
	if err != nil || stable {
		return t, err
	}
	return nil, fault.New(fault.InvalidValue,
		"a trait is changed by its id, not by its position; the one there has the id %s", t.ID).
		With("argument", "id").With("id", t.ID).Fix("use the id %s", t.ID)
}

// noTrait returns NOT_FOUND for a trait, with the most similar ids. The message does not contain
// the id if it is too long to be one.
func noTrait(idx *index.Index, id string) *fault.Fault {
	f := fault.New(fault.NotFound, "no trait %q", id)
	if len(id) > 600 || strings.ContainsAny(id, "\n\x00") {
		f = fault.New(fault.NotFound, "no trait with that id")
	}
	near := nearTraits(idx, id)
	if len(near) > 0 {
		f = f.With("nearest", near)
	}
	for _, other := range firstOf(near, maxRetries) {
		f = f.Try("raven_trait_get", fault.Args{"id": other})
	}
	if len(near) == 0 {
		f = f.Try("raven_schema_traits", nil)
	}
	return f
}

// nearTraits returns the ids of traits that an invalid id may mean: the most similar ones or, if
// the id is a position in an existing note, the first traits of that note.
func nearTraits(idx *index.Index, id string) []string {
	note, _, placed := strings.Cut(id, ":")
	n, ok := idx.Note(strings.TrimSuffix(note, ".md") + ".md")
	if !placed || !ok {
		return idx.NearestTraits(id)
	}
	var ids []string
	for t := range n.Traits() {
		if ids = append(ids, t.ID); len(ids) == index.MaxNearest {
			break
		}
	}
	return ids
}

// annotationOf returns the annotation of a trait in the text of its note.
//
// It compares the position and the name, and returns NOT_FOUND if the text has changed since it was
// indexed.
func annotationOf(text []byte, t *index.Trait) (markdown.Trait, error) {
	for _, a := range markdown.Parse(text).Traits {
		if a.Span.Start == t.Position && a.Name == t.Type {
			return a, nil
		}
	}
	return markdown.Trait{}, notFound("no trait %q", t.ID)
}
