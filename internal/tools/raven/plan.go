package raven

import (
	"context"
	"slices"

	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/tool"
	"rookery/internal/tools/mutate"
)

// mutated is the answer of the tools that change one object: what they did, or, of a dry run, what
// they would do (CONTRACT §1 and §3, raven.md §6.7 and §6.11).
type mutated struct {
	tool.Aside    `json:"-"`
	Action        string         `json:"action,omitempty" jsonschema:"created, updated, deleted or unchanged"`
	ID            string         `json:"id,omitempty"`
	Type          string         `json:"type,omitempty"`
	File          string         `json:"file,omitempty"`
	UpdatedFields []string       `json:"updated_fields,omitzero"`
	NewValues     map[string]any `json:"new_values,omitzero"`
	MissingFields []string       `json:"missing_fields,omitempty" jsonschema:"fields to unset that were not there"`
	TrashPath     string         `json:"trash_path,omitempty"`
	Line          int            `json:"line,omitempty"`
	Content       string         `json:"content,omitempty"`
	Object        *object        `json:"object,omitempty"`
	Erased        *erasedParts   `json:"erased,omitempty"`
	Job           *job.Brief     `json:"job,omitempty" jsonschema:"that erases; alone, as long as nothing is erased yet"`

	DryRun      bool                `json:"dry_run,omitempty"`
	WouldCreate *wouldCreate        `json:"would_create,omitempty"`
	WouldUpdate *wouldUpdate        `json:"would_update,omitempty"`
	WouldDelete *wouldDelete        `json:"would_delete,omitempty"`
	WouldModify []mutate.FileChange `json:"would_modify_files,omitempty"`
	SideEffects []string            `json:"side_effects,omitzero"`
}

// shorten leaves the flat keys.
func (m *mutated) Shorten() { m.Object = nil }

type wouldCreate struct {
	ID     string         `json:"id"`
	Type   string         `json:"type"`
	File   string         `json:"file"`
	Fields map[string]any `json:"fields"`
}

type wouldUpdate struct {
	ID      string            `json:"id"`
	Changes map[string]oldNew `json:"changes"`
}

type oldNew struct {
	Old any `json:"old"`
	New any `json:"new"`
}

type wouldDelete struct {
	ID string `json:"id"`
}

// modified notes in the meta which files a mutation changed.
func (m *mutated) modified(ctx context.Context, tx *repo.Tx) error {
	return mutate.NoteFiles(ctx, tx, &m.Aside)
}

// planned turns the answer of a call into its plan, if the call is a dry run.
func (m *mutated) planned(ctx context.Context, tx *repo.Tx, before *object) error {
	if !tx.DryRun() {
		return m.modified(ctx, tx)
	}
	files, err := mutate.FileChanges(ctx, tx)
	if err != nil {
		return err
	}
	plan := mutated{Aside: m.Aside, DryRun: true, WouldModify: files, SideEffects: m.effects()}
	switch m.Action {
	case "created":
		plan.WouldCreate = &wouldCreate{m.ID, m.Type, m.File, m.Object.Fields}
	case "deleted":
		plan.WouldDelete = &wouldDelete{m.ID}
	default:
		plan.WouldUpdate = &wouldUpdate{m.ID, m.changes(before)}
	}
	*m = plan
	return nil
}

// effects are what a call does beside what it was asked for.
func (m *mutated) effects() []string {
	effects := append([]string{}, m.SideEffects...)
	if m.TrashPath != "" {
		effects = append(effects, m.ID+" goes to "+m.TrashPath)
	}
	return effects
}

// changes are the old and new values of the fields that a call names. The old value of one that only
// a default filled is null.
func (m *mutated) changes(before *object) map[string]oldNew {
	all := map[string]oldNew{}
	for name, now := range m.NewValues {
		var old any
		if before != nil && !slices.Contains(before.FromDefault, name) {
			old = before.Fields[name]
		}
		all[name] = oldNew{old, now}
	}
	return all
}
