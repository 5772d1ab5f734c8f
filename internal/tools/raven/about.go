package raven

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An aboutFiles returns the files that a mutation is about, as far as its arguments name files that are there:
// those whose versions are compared with if_version first.
type aboutFiles func(context.Context, *repo.Tx) ([]vault.Path, error)

// named is about the note of what an argument names: an object, a section or a trait.
func named(ref string) aboutFiles {
	return func(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
		return notesOf(tx, ref), nil
	}
}

// notesOf is the path of the note that a reference leads to, or into; none if it leads to no note, or to
// several.
func notesOf(tx *repo.Tx, ref string) []vault.Path {
	idx := tx.Index()
	if t, _, err := findTrait(idx, ref); err == nil {
		return []vault.Path{vault.Path(t.Note.Path)}
	}
	o, err := locate(idx, ref, state.Clock(idx, tx.Now()))
	if note, _, inside := strings.Cut(ref, "#"); err != nil && inside { // the section may be gone
		o, err = locate(idx, note, state.Clock(idx, tx.Now()))
	}
	if err != nil {
		return nil
	}
	return []vault.Path{vault.Path(o.Note.Path)}
}

// about is about the note that the text is added to.
func (in addIn) about(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	in.To = in.destination(tx)
	if day, ok := in.day(tx); ok {
		return []vault.Path{tx.Index().Config().DailyPath(day)}, nil
	}
	return notesOf(tx, in.To), nil
}

// about is about the note that the new trait goes into.
func (in traitCreateIn) about(_ context.Context, tx *repo.Tx) ([]vault.Path, error) {
	h, err := in.home(tx)
	switch {
	case h.day != "":
		return nil, nil // the note is to be made
	case err != nil:
		return notesOf(tx, in.ParentID), nil
	}
	return []vault.Path{vault.Path(h.object.Note.Path)}, nil
}

// about is about the note that has the path of the new one.
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
	if err != nil { // the call is refused for it
		return nil, nil
	}
	return []vault.Path{path}, nil
}
