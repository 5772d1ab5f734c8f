package raven

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
