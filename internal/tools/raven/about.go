package raven

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A targetFiles returns the existing files that the arguments of a mutation name. Their versions
// are compared with if_version before any other check; see mutation.Change.
//
// A targetFiles runs in the transaction before the change is drafted, so it sees the state that the
// version of the caller is compared with. It must find files leniently: arguments that name
// nothing, or several objects, give no files and no error, because run reports such arguments
// afterwards with a better message than a version conflict. Files that the change touches without
// being named, such as notes with references to a moved note, are not among them; the transaction
// compares these when they are staged.
type targetFiles func(context.Context, *repo.Tx) ([]vault.Path, error)

// noteTarget returns a targetFiles for an argument that names an object, a section or a trait: the file
// of its note.
func noteTarget(ref string) targetFiles {
	return func(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
		return notesOf(tx, ref), nil
	}
}

// notesOf returns the path of the note that ref names, or whose section or trait ref names. It
// returns nil if there is no such note, or if ref is ambiguous. The three readings are tried in
// this order: the id of a trait, the id or name of an object, and for a text with # the part before
// it.
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

// targets returns the path of the note that the text is added to.
//
// It repeats the choice that spot makes, without reading a text. The note of a day may not exist
// yet; its path is then still returned, so that a caller who has seen another note there gets a
// conflict.
func (in addIn) targets(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	in.To = in.destination(tx)
	if day, ok := in.day(tx); ok {
		return []vault.Path{tx.Index().Config().DailyPath(day)}, nil
	}
	return notesOf(tx, in.To), nil
}

// targets returns the path of the note that gets the new trait. For a trait that goes into a daily
// note that must be created first there is nothing to compare.
func (in traitCreateIn) targets(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	h, err := in.parent(tx)
	switch {
	case h.day != "":
		return nil, nil // the note does not exist yet
	case err != nil:
		return notesOf(tx, in.ParentID), nil
	}
	return []vault.Path{vault.Path(h.object.Note.Path)}, nil
}

// targets returns the path that the new note would have, where a note may already exist.
//
// A path is compared although the note should not exist, because the caller may have seen a version
// of the vault in which it did not. The title can come from the field that names objects of the
// type, so the fields are read first; their problems are ignored here and reported by run.
func (in newIn) targets(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	t, ok := tx.Index().Schema().Type(in.Type)
	title := in.Title
	switch {
	case !ok && in.Path == "":
		return nil, nil
	case ok:
		checked := t.Check(mutation.TypedFields(in.Fields), state.Clock(tx.Index(), tx.Now()))
		title = in.title(checked.Fields[t.NameField()])
	}
	path, err := in.place(t, title)
	if err != nil { // run reports the error
		return nil, nil
	}
	return []vault.Path{path}, nil
}
