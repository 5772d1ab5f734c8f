package raven

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An aboutFiles returns the existing files that the arguments of a mutation name. Their versions
// are compared with if_version before any other check; see mutation.Change.
type aboutFiles func(context.Context, *repo.Tx) ([]vault.Path, error)

// named returns an aboutFiles for an argument that names an object, a section or a trait: the file
// of its note.
func named(ref string) aboutFiles {
	return func(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
		return notesOf(tx, ref), nil
	}
}

// notesOf returns the path of the note that ref names, or whose section or trait ref names. It
// returns nil if there is no such note, or if ref is ambiguous.
func notesOf(tx *repo.Tx, ref string) []vault.Path {
	idx := tx.Index()
	if t, _, err := findTrait(idx, ref); err == nil {
		return []vault.Path{vault.Path(t.Note.Path)}
	}
	o, err := locate(idx, ref, state.Clock(idx, tx.Now()))
	// The section may have been deleted. Its note is then compared with if_version.
	if note, _, inside := strings.Cut(ref, "#"); err != nil && inside {
		o, err = locate(idx, note, state.Clock(idx, tx.Now()))
	}
	if err != nil {
		return nil
	}
	return []vault.Path{vault.Path(o.Note.Path)}
}

// about returns the path of the note that the text is added to.
func (in addIn) about(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	in.To = in.destination(tx)
	if day, ok := in.day(tx); ok {
		return []vault.Path{tx.Index().Config().DailyPath(day)}, nil
	}
	return notesOf(tx, in.To), nil
}

// about returns the path of the note that gets the new trait.
func (in traitCreateIn) about(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	h, err := in.home(tx)
	switch {
	case h.day != "":
		return nil, nil // the note does not exist yet
	case err != nil:
		return notesOf(tx, in.ParentID), nil
	}
	return []vault.Path{vault.Path(h.object.Note.Path)}, nil
}

// about returns the path that the new note would have, where a note may already exist.
func (in newIn) about(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	t, ok := tx.Index().Schema().Type(in.Type)
	title := in.Title
	switch {
	case !ok && in.Path == "":
		return nil, nil
	case ok:
		checked := t.Check(mutation.Typed(in.Fields), state.Clock(tx.Index(), tx.Now()))
		title = in.title(checked.Fields[t.NameField()])
	}
	path, err := in.place(t, title)
	if err != nil { // run reports the error
		return nil, nil
	}
	return []vault.Path{path}, nil
}
