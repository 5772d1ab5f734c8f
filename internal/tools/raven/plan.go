package raven

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// An answer is the output of a tool that makes one change. It reports the change or, in a dry run,
// the planned change (CONTRACT §1 and §3, raven.md §6.7 and §6.11).
//
// An output is used once: finish and toOperation change it in place and must be called at most
// once.
type answer interface {
	// finish completes the answer after the draft is complete: it records the changed files or, in
	// a dry run, converts the answer into a plan.
	finish(ctx context.Context, tx *repo.Tx) error

	// toOperation completes the answer of an operation of a batch. It keeps only the flat members,
	// or in a dry run the plan, and does not list files, because the batch lists them.
	toOperation(dry bool)

	// result returns the beginning of the answer.
	result() *answerHead
}

// An answerHead is the beginning of every answer. In a dry run, and in the answer of a bulk call's
// plan, Action is empty.
type answerHead struct {
	tool.Aside `json:"-"`
	// created, updated, deleted or unchanged
	Action string `json:"action,omitempty"`
	ID     string `json:"id,omitempty"`
}

// result implements answer.
func (d *answerHead) result() *answerHead { return d }

// An assigned reports the fields or traits that a call set or removed.
type assigned struct {
	UpdatedFields []string       `json:"updated_fields,omitzero"`
	NewValues     map[string]any `json:"new_values,omitzero"`
	// fields of unset that did not exist
	MissingFields []string `json:"missing_fields,omitempty"`
}

// A plan is the answer of a dry run. C describes an object or trait that would be created.
//
// At most one of WouldCreate, WouldUpdate and WouldDelete is set. The zero value, which every
// answer of a real call contains, adds nothing to the JSON.
type plan[C any] struct {
	DryRun      bool                  `json:"dry_run,omitempty"`
	WouldCreate *C                    `json:"would_create,omitempty"`
	WouldUpdate *wouldUpdate          `json:"would_update,omitempty"`
	WouldDelete *wouldDelete          `json:"would_delete,omitempty"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
	SideEffects []string              `json:"side_effects,omitzero"`
}

// finishAnswer implements answer.settle. turn converts the answer into a plan. It lists the files
// before turn, which may clear the answer.
func finishAnswer[C any](ctx context.Context, tx *repo.Tx, a *tool.Aside, p *plan[C], turn func()) error {
	if !tx.DryRun() {
		return mutation.NoteFiles(ctx, tx, a)
	}
	files, err := mutation.FileChanges(ctx, tx)
	if err != nil {
		return err
	}
	turn()
	p.WouldModify = files
	return nil
}

// An objectOut is the output of the tools that change one object.
//
// All members are optional, because one struct serves creation, update, deletion and erasure.
// Object is the object after the change; a deletion shows it as it was before.
type objectOut struct {
	answerHead
	Type string `json:"type,omitempty"`
	File string `json:"file,omitempty"`
	assigned
	TrashPath string       `json:"trash_path,omitempty"`
	Line      int          `json:"line,omitempty"`
	Content   string       `json:"content,omitempty"`
	Object    *object      `json:"object,omitempty"`
	Erased    *erasedParts `json:"erased,omitempty"`
	// the job that erases; the only member until something is erased
	Job *job.Brief `json:"job,omitempty"`
	plan[wouldCreate]

	was *object // the object before an update
}

var _ answer = (*objectOut)(nil)

// Shorten removes the object, so that only the flat members remain.
func (m *objectOut) Shorten() { m.Object = nil }

// A wouldCreate is an object that a dry run would create.
type wouldCreate struct {
	ID     string         `json:"id"`
	Type   string         `json:"type"`
	File   string         `json:"file"`
	Fields map[string]any `json:"fields"`
}

// A wouldUpdate is an object or trait that a dry run would change, with the changes by field.
type wouldUpdate struct {
	ID      string            `json:"id"`
	Changes map[string]oldNew `json:"changes"`
}

// An oldNew is the change of one field.
type oldNew struct {
	Old any `json:"old"`
	New any `json:"new"`
}

// A wouldDelete is an object or trait that a dry run would delete.
type wouldDelete struct {
	ID string `json:"id"`
}

// finish implements answer.
func (m *objectOut) finish(ctx context.Context, tx *repo.Tx) error {
	return finishAnswer(ctx, tx, &m.Aside, &m.plan, m.toPlan)
}

// toOperation implements answer.
func (m *objectOut) toOperation(dry bool) {
	if dry {
		m.toPlan()
	}
	m.Shorten()
}

// toPlan converts the answer into the plan of the same call. Only the warnings, the meta and the
// plan remain.
func (m *objectOut) toPlan() {
	p := plan[wouldCreate]{DryRun: true, SideEffects: m.effects()}
	switch m.Action {
	case "created":
		p.WouldCreate = &wouldCreate{m.ID, m.Type, m.File, m.Object.Fields}
	case "deleted":
		p.WouldDelete = &wouldDelete{m.ID}
	default:
		p.WouldUpdate = &wouldUpdate{m.ID, m.changes()}
	}
	*m = objectOut{answerHead: answerHead{Aside: m.Aside}, plan: p}
}

// effects returns sentences about the side effects of the call.
func (m *objectOut) effects() []string {
	effects := append([]string{}, m.SideEffects...)
	if m.TrashPath != "" {
		effects = append(effects, m.ID+" goes to "+m.TrashPath)
	}
	return effects
}

// changes returns the old and new values of the fields that the call sets. The old value is null if
// it was a default of the schema.
//
// The values are those of the answer, in which references are full ids.
func (m *objectOut) changes() map[string]oldNew {
	all := map[string]oldNew{}
	for name, now := range m.NewValues {
		var old any
		if m.was != nil && !slices.Contains(m.was.FromDefault, name) {
			old = m.was.Fields[name]
		}
		all[name] = oldNew{old, now}
	}
	return all
}

// A traitOut is the output of the tools that change one trait.
//
// TraitFacts is set only for a new trait. Trait is the state after the change, or before a
// deletion.
type traitOut struct {
	answerHead
	*TraitFacts
	assigned
	// the current state, or the last one of a deleted object
	Trait *trait `json:"trait,omitempty"`
	plan[wouldCreateTrait]

	was *trait // the trait before an update
}

var _ answer = (*traitOut)(nil)

// Shorten removes the trait, so that only the flat members remain.
func (m *traitOut) Shorten() { m.Trait = nil }

// TraitFacts contains the flat members about a new trait.
type TraitFacts struct {
	TraitType string `json:"trait_type"`
	Value     any    `json:"value"`
	// the text, without annotations
	Content string   `json:"content"`
	Parent  *typedID `json:"parent"`
}

// A typedID is the id of an object, with its type.
type typedID struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// A wouldCreateTrait is a trait that a dry run would create.
type wouldCreateTrait struct {
	ID string `json:"id"`
	*TraitFacts
}

// factsOf returns the flat members about a new trait.
func factsOf(t trait) *TraitFacts {
	return &TraitFacts{t.TraitType, t.Value, t.ContentText, &typedID{t.Parent.ID, t.Parent.Type}}
}

// finish implements answer.
func (m *traitOut) finish(ctx context.Context, tx *repo.Tx) error {
	return finishAnswer(ctx, tx, &m.Aside, &m.plan, m.toPlan)
}

// toOperation implements answer.
func (m *traitOut) toOperation(dry bool) {
	if dry {
		m.toPlan()
	}
	m.Shorten()
}

// toPlan converts the answer into the plan of the same call.
func (m *traitOut) toPlan() {
	p := plan[wouldCreateTrait]{DryRun: true, SideEffects: append([]string{}, m.SideEffects...)}
	switch m.Action {
	case "created":
		p.WouldCreate = &wouldCreateTrait{m.ID, m.TraitFacts}
	case "deleted":
		p.WouldDelete = &wouldDelete{m.ID}
	default:
		p.WouldUpdate = &wouldUpdate{m.ID, m.changes()}
	}
	*m = traitOut{answerHead: answerHead{Aside: m.Aside}, plan: p}
}

// changes returns the old and new values of the traits that the call sets.
//
// The name value stands for the trait itself, as in the arguments.
func (m *traitOut) changes() map[string]oldNew {
	all := map[string]oldNew{}
	for name, now := range m.NewValues {
		all[name] = oldNew{m.was.valueOf(name), now}
	}
	return all
}

// valueOf returns the value that a name means in a change: that of the trait itself, or that of
// another trait on its line. It returns nil if the line has no such trait.
func (t *trait) valueOf(name string) any {
	if t.isOwn(name) {
		return t.Value
	}
	return t.Siblings[name]
}

// isOwn reports whether a name means the trait itself in a change.
func (t *trait) isOwn(name string) bool { return slices.Contains([]string{"value", t.TraitType}, name) }

// warnQuarantine adds a warning if the note is quarantined.
func warnQuarantine(a *tool.Aside, n *index.Note) {
	if q := n.Quarantine; q != nil {
		a.Warn("NOTE_QUARANTINED", n.Path+" does not parse; it is kept as text",
			map[string]any{"path": n.Path, "line": q.Line})
	}
}
