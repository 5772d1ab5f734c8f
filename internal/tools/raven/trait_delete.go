package raven

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A traitDeleteIn is the input of raven_trait_delete.
type traitDeleteIn struct {
	tool.Vault
	// due-e2bae6c0
	ID string `json:"id" size:"id" alias:"trait_id"`
	tool.Brief
	tool.Mutation
}

// traitDelete returns the tool raven_trait_delete, which removes a trait from its line or field.
func (f tools) traitDelete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_trait_delete", Family: Family, Title: "Delete a trait",
		Role: auth.Editor, Kind: tool.Destroy,
		Route:    tool.Route{Method: "DELETE", Path: "/traits/{id}"},
		Commands: []tool.Command{{Words: "trait delete", Args: []string{"id"}}},
	}, func(ctx context.Context, c auth.Caller, in traitDeleteIn) (traitOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, in.Slim, noteTarget(in.ID)}, in.run)
	})
}

// run drafts the removal of the annotation, and of its line if that contains nothing else.
//
// The text around the annotation stays. The ids of the other traits are passed along with the text,
// because the index could not tell equal lines apart after one of them is gone.
func (in traitDeleteIn) run(ctx context.Context, tx *repo.Tx, out *traitOut) error {
	s, err := state.Schema(tx.Index())
	if err != nil {
		return err
	}
	t, err := ownTrait(tx.Index(), in.ID)
	if err != nil {
		return err
	}
	if t.Task {
		return fault.New(fault.InvalidTrait, "a checkbox is not an annotation, and cannot be deleted by itself; "+
			"remove the line, or its checkbox, from the text").With("line", t.Line).
			Fix("use raven_edit on %s", t.Note.ID)
	}
	before := newRenderer(tx.Index(), rich).trait(t)
	path := vault.Path(t.Note.Path)
	text, _, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	if text, err = withoutTrait(text, t, s); err != nil {
		return withFile(err, path)
	}
	if err := tx.PutTraits(ctx, path, text, idsWithout(t, text)); err != nil {
		return err
	}
	out.Action, out.ID, out.Trait = "deleted", before.ID, &before
	warnQuarantine(&out.Aside, t.Note)
	return nil
}

// idsWithout returns the ids of the annotations in a note without one of its traits, so that the
// remaining traits keep their ids even if several lines are equal. It returns nil for a pinned
// trait, whose id is in the text.
func idsWithout(t *index.Trait, text []byte) []string {
	if t.Pinned() {
		return nil
	}
	gone := map[string]bool{t.ID: true}
	if box := checkboxOf(t); box != nil && tasksIn(text) < countTasks(t.Note) {
		gone[box.ID] = true // the whole line was removed
	}
	return slices.DeleteFunc(t.Note.TraitIDs(), func(id string) bool { return gone[id] })
}

// withoutTrait returns the text of a note without a trait. Removing a field that the type of the
// note requires is an error. A trait in the frontmatter is a field and is removed as one.
func withoutTrait(text []byte, t *index.Trait, s *vault.Schema) ([]byte, error) {
	if !t.Field {
		own, err := annotationOf(text, t)
		if err != nil {
			return nil, err
		}
		return markdown.RemoveTrait(text, own)
	}
	if typ, ok := s.Type(t.Note.Type); ok {
		if f := unsettable(typ, t.Type); f != nil {
			return nil, f.With("line", t.Line)
		}
	}
	return markdown.UnsetFields(text, []string{t.Type})
}
