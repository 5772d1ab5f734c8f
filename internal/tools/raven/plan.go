package raven

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// An answer is that of a tool that changes one thing: what the call did, or, of a dry run, what it would
// do (CONTRACT §1 and §3, raven.md §6.7 and §6.11).
type answer interface {
	// settle ends the answer of a call whose draft is complete: it names the files that change, or turns the
	// answer of a dry run into its plan.
	settle(ctx context.Context, tx *repo.Tx) error

	// part ends the answer of a part of a call. It has the flat keys alone, or those of a plan, and no files: they
	// are told of the whole call.
	part(dry bool)

	aside() *tool.Aside
}

// did is what an answer begins with.
type did struct {
	tool.Aside `json:"-"`
	Action     string `json:"action,omitempty" jsonschema:"created, updated, deleted or unchanged"`
	ID         string `json:"id,omitempty"`
}

func (d *did) aside() *tool.Aside { return &d.Aside }

// assigned says what became of the fields, or traits, that a call names.
type assigned struct {
	UpdatedFields []string       `json:"updated_fields,omitzero"`
	NewValues     map[string]any `json:"new_values,omitzero"`
	MissingFields []string       `json:"missing_fields,omitempty" jsonschema:"fields of unset that did not exist"`
}

// plan is what a dry run answers in place of the rest. C is what it says of a thing that would be made.
type plan[C any] struct {
	DryRun      bool                  `json:"dry_run,omitempty"`
	WouldCreate *C                    `json:"would_create,omitempty"`
	WouldUpdate *wouldUpdate          `json:"would_update,omitempty"`
	WouldDelete *wouldDelete          `json:"would_delete,omitempty"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
	SideEffects []string              `json:"side_effects,omitzero"`
}

// settle ends an answer; see answer. turn makes a plan of it.
func settle[C any](ctx context.Context, tx *repo.Tx, a *tool.Aside, p *plan[C], turn func()) error {
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

// mutated is the answer of the tools that change one object.
type mutated struct {
	did
	Type string `json:"type,omitempty"`
	File string `json:"file,omitempty"`
	assigned
	TrashPath string       `json:"trash_path,omitempty"`
	Line      int          `json:"line,omitempty"`
	Content   string       `json:"content,omitempty"`
	Object    *object      `json:"object,omitempty"`
	Erased    *erasedParts `json:"erased,omitempty"`
	Job       *job.Brief   `json:"job,omitempty" jsonschema:"the job that erases; the only member until something is erased"`
	plan[wouldCreate]

	was *object // before an update
}

var _ answer = (*mutated)(nil)

// Shorten leaves the flat keys.
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

func (m *mutated) settle(ctx context.Context, tx *repo.Tx) error {
	return settle(ctx, tx, &m.Aside, &m.plan, m.turn)
}

func (m *mutated) part(dry bool) {
	if dry {
		m.turn()
	}
	m.Shorten()
}

// turn makes the answer the plan of the same call.
func (m *mutated) turn() {
	p := plan[wouldCreate]{DryRun: true, SideEffects: m.effects()}
	switch m.Action {
	case "created":
		p.WouldCreate = &wouldCreate{m.ID, m.Type, m.File, m.Object.Fields}
	case "deleted":
		p.WouldDelete = &wouldDelete{m.ID}
	default:
		p.WouldUpdate = &wouldUpdate{m.ID, m.changes()}
	}
	*m = mutated{did: did{Aside: m.Aside}, plan: p}
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
func (m *mutated) changes() map[string]oldNew {
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
