package raven

import (
	"context"
	"slices"

	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/tool"
	"rookery/internal/tools/mutate"
)

// traitMutated is the answer of the tools that change one trait: what they did, or, of a dry run,
// what they would do (CONTRACT §1 and §3, raven.md §6.7 and §6.11).
type traitMutated struct {
	tool.Aside `json:"-"`
	Action     string `json:"action,omitempty" jsonschema:"created, updated, deleted or unchanged"`
	ID         string `json:"id,omitempty"`
	*TraitFacts
	UpdatedFields []string       `json:"updated_fields,omitzero"`
	NewValues     map[string]any `json:"new_values,omitzero"`
	MissingFields []string       `json:"missing_fields,omitempty" jsonschema:"traits to unset that were not on the line"`
	Trait         *trait         `json:"trait,omitempty" jsonschema:"as it is now; of one that is deleted, as it was"`

	DryRun      bool                `json:"dry_run,omitempty"`
	WouldCreate *wouldCreateTrait   `json:"would_create,omitempty"`
	WouldUpdate *wouldUpdate        `json:"would_update,omitempty"`
	WouldDelete *wouldDelete        `json:"would_delete,omitempty"`
	WouldModify []mutate.FileChange `json:"would_modify_files,omitempty"`
	SideEffects []string            `json:"side_effects,omitzero"`
}

// shorten leaves the flat keys.
func (m *traitMutated) Shorten() { m.Trait = nil }

// TraitFacts is what the answer says of a new trait beside the trait itself.
type TraitFacts struct {
	TraitType string   `json:"trait_type"`
	Value     any      `json:"value"`
	Content   string   `json:"content" jsonschema:"the text, without annotations"`
	Parent    *typedID `json:"parent"`
}

// A typedID names an object.
type typedID struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

type wouldCreateTrait struct {
	ID string `json:"id"`
	*TraitFacts
}

// factsOf is what the answer says of a new trait.
func factsOf(t trait) *TraitFacts {
	return &TraitFacts{t.TraitType, t.Value, t.ContentText, &typedID{t.Parent.ID, t.Parent.Type}}
}

// planned turns the answer of a call into its plan, if the call is a dry run.
func (m *traitMutated) planned(ctx context.Context, tx *repo.Tx, before *trait) error {
	if !tx.DryRun() {
		return mutate.NoteFiles(ctx, tx, &m.Aside)
	}
	files, err := mutate.FileChanges(ctx, tx)
	if err != nil {
		return err
	}
	plan := traitMutated{
		Aside: m.Aside, DryRun: true, WouldModify: files,
		SideEffects: append([]string{}, m.SideEffects...),
	}
	switch m.Action {
	case "created":
		plan.WouldCreate = &wouldCreateTrait{m.ID, m.TraitFacts}
	case "deleted":
		plan.WouldDelete = &wouldDelete{m.ID}
	default:
		plan.WouldUpdate = &wouldUpdate{m.ID, m.changes(before)}
	}
	*m = plan
	return nil
}

// changes are the old and new values of what a call names.
func (m *traitMutated) changes(before *trait) map[string]oldNew {
	all := map[string]oldNew{}
	for name, now := range m.NewValues {
		all[name] = oldNew{before.valueOf(name), now}
	}
	return all
}

// valueOf is the value of a trait by the name that a change has for it: its own, or that of another
// trait on its line; null if the line has none of that name.
func (t *trait) valueOf(name string) any {
	if t.isOwn(name) {
		return t.Value
	}
	return t.Siblings[name]
}

// isOwn reports whether a name that a change has for a value means that of the trait itself.
func (t *trait) isOwn(name string) bool { return slices.Contains([]string{"value", t.TraitType}, name) }

// warnQuarantine warns of a note that does not parse.
func warnQuarantine(a *tool.Aside, n *index.Note) {
	if q := n.Quarantine; q != nil {
		a.Warn("NOTE_QUARANTINED", n.Path+" does not parse; it is kept as text",
			map[string]any{"path": n.Path, "line": q.Line})
	}
}
