package raven

import (
	"context"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A traitUpdateIn is the input of raven_trait_update. Exactly one of ID, Query and Filter is given,
// and at least one of Set and Unset.
type traitUpdateIn struct {
	tool.Vault
	// due-e2bae6c0
	ID string `json:"id,omitempty" size:"id" alias:"trait_id,object_id,reference"`
	// value for the trait itself; any other trait by its name, on the same line: {"status": "done"}
	Set tool.Fields `json:"set,omitempty" alias:"fields" complete:"trait_value" of:"id"`
	// names of other traits to remove from the line; value removes only the value of the trait
	// itself
	Unset []string `json:"unset,omitempty" complete:"trait"`
	bulkIn
	tool.Brief
	tool.Mutation
}

// traitUpdate returns the tool raven_trait_update, which changes the value of a trait and the other
// traits on its line.
func (f tools) traitUpdate() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_trait_update", Family: Family, Title: "Update a trait",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "PATCH", Path: "/traits/{id}"},
		Commands: []tool.Command{{Words: "trait update", Args: []string{"id?"}, Pairs: "set"}},
	}, func(ctx context.Context, c auth.Caller, in traitUpdateIn) (bulkTraitOut, error) {
		if err := in.validate(); err != nil {
			return bulkTraitOut{}, err
		}
		return f.updateTraits(ctx, c, in)
	})
}

// validate returns an error if the arguments are invalid. It does not read the vault.
func (in traitUpdateIn) validate() error {
	if err := in.checkOne(in.ID, in.DryRun); err != nil {
		return err
	}
	if len(in.Set) == 0 && len(in.Unset) == 0 {
		return fault.New(fault.MissingRequired, "name a trait to set or to unset").With("argument", "set")
	}
	return nil
}

// updateTraits changes one trait, or all results of a query.
func (f tools) updateTraits(
	ctx context.Context, c auth.Caller, in traitUpdateIn,
) (bulkTraitOut, error) {
	plan, err := planOf(in.PlanToken, "raven_trait_update", in.ID, in.Query, in.Filter, in.Set, in.Unset)
	if err != nil {
		return bulkTraitOut{}, err
	}
	w := request{c, in.Vault.Vault, &in.Mutation, in.Slim, optionalTarget(in.ID)}
	return draft(ctx, f, w, func(ctx context.Context, tx *repo.Tx, out *bulkTraitOut) (err error) {
		if out.expected = plan; !in.isBulk() {
			return in.run(ctx, tx, &out.traitOut)
		}
		out.Action = "updated"
		out.BulkAnswer, err = in.bulkIn.run(ctx, tx, query.Traits, &out.Aside, stepOf(in.runOn))
		return err
	})
}

// runOn drafts the change of one result of a query, the one with this id.
func (in traitUpdateIn) runOn(ctx context.Context, tx *repo.Tx, id string, out *traitOut) error {
	in.ID = id
	return in.run(ctx, tx, out)
}

// run drafts the change.
//
// The trait is found by its id, the arguments become a rewrite of its line or its field, and the
// note is staged with the new text. Other lines are not touched. Removing a trait that the line
// does not have is no error; the answer lists its name.
func (in traitUpdateIn) run(ctx context.Context, tx *repo.Tx, out *traitOut) error {
	if _, err := state.Schema(tx.Index()); err != nil {
		return err
	}
	t, err := ownTrait(tx.Index(), in.ID)
	if err != nil {
		return err
	}
	before := newRenderer(tx.Index(), rich).trait(t)
	w, err := in.check(tx, t)
	if err != nil {
		return err
	}
	path := vault.Path(t.Note.Path)
	text, _, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	if text, err = w.apply(text); err != nil {
		return withFile(err, path)
	}
	if err := tx.Put(ctx, path, text); err != nil {
		return err
	}
	warnRefs(tx, &out.Aside, t.Note.Path)
	out.UpdatedFields, out.NewValues = in.names(), map[string]any{}
	for _, name := range in.Unset {
		if _, had := before.Siblings[name]; !had && !before.isOwn(name) {
			out.MissingFields = append(out.MissingFields, name)
		}
	}
	return out.updated(tx, &before, w)
}

// names returns the names that the call sets or removes, sorted.
func (in traitUpdateIn) names() []string {
	names := append(slices.Collect(maps.Keys(in.Set)), in.Unset...)
	slices.Sort(names)
	return slices.Compact(names)
}

// A rewrite is a change of the line of a trait or, for a trait in the frontmatter, of the fields.
//
// It is independent of the text: apply looks for the annotation or the checkbox again, and fails if
// it is gone.
type rewrite struct {
	trait *index.Trait
	mark  string           // the new mark of the checkbox; "": unchanged
	today string           // the date for a task that becomes done
	set   []markdown.Field // the trait itself first; a nil value means no value
	// unset are the traits to remove from the line.
	unset []string
}

// given reports whether the change sets a trait to a value.
func (w rewrite) given(name string) bool {
	return slices.ContainsFunc(w.set, func(f markdown.Field) bool {
		return f.Key == name && f.Value != nil
	})
}

// ticks reports whether the change sets the checkbox of the line, and name is one of its names.
func (w rewrite) ticks(name string) bool {
	return w.mark != "" && slices.Contains([]string{"value", index.TaskType, statusTrait}, name)
}

// apply returns the text with the change. The rest of the text stays the same.
//
// Annotations are written before the checkbox is set, since setting it can add a date to the line.
func (w rewrite) apply(text []byte) (_ []byte, err error) {
	if w.trait.Field {
		return w.applyFields(text)
	}
	if !w.trait.Task {
		if text, err = w.applyTraits(text); err != nil {
			return nil, err
		}
	}
	if w.trait.Checkbox() == "" {
		return text, nil
	}
	return w.applyTask(text)
}

// applyTraits is apply for annotations.
func (w rewrite) applyTraits(text []byte) ([]byte, error) {
	own, err := annotationOf(text, w.trait)
	if err != nil {
		return nil, err
	}
	if text, err = markdown.SetTrait(text, own, w.set); err != nil {
		return nil, err
	}
	if len(w.unset) == 0 {
		return text, nil
	}
	return markdown.RemoveTraits(text, own.Line, w.unset)
}

// applyFields is apply for a trait in the frontmatter.
func (w rewrite) applyFields(text []byte) ([]byte, error) {
	text, err := markdown.SetFields(text, w.set)
	if err != nil || len(w.unset) == 0 {
		return text, err
	}
	return markdown.UnsetFields(text, w.unset)
}

// updated fills the output of a call that changed a trait, or that did not have to change it.
//
// The new values are those of the index after the change, not those of the call: a date such as
// tomorrow is shown as the day that was written.
func (m *traitOut) updated(tx *repo.Tx, before *trait, w rewrite) error {
	t, ok := tx.Index().Trait(before.ID)
	if !ok {
		return noTrait(tx.Index(), before.ID)
	}
	shown := newRenderer(tx.Index(), rich).trait(t)
	for _, name := range m.UpdatedFields {
		key := name
		if before.isOwn(name) {
			key = before.TraitType
		}
		switch m.NewValues[name] = nil; {
		case w.given(key):
			m.NewValues[name] = shown.valueOf(name)
		case w.ticks(name):
			m.NewValues[name] = index.TaskValue(t.Checkbox())
		}
	}
	m.Action, m.ID, m.Trait = "updated", t.ID, &shown
	if !tx.Touched() {
		m.Action = "unchanged"
	}
	warnQuarantine(&m.Aside, t.Note)
	m.was = before
	return nil
}

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
			"remove the line, or its checkbox, from the text").With("line", t.Line()).
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
			return nil, f.With("line", t.Line())
		}
	}
	return markdown.UnsetFields(text, []string{t.Type})
}
