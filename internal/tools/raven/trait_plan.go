package raven

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// traitMutated is the answer of the tools that change one trait.
type traitMutated struct {
	did
	*TraitFacts
	assigned
	Trait *trait `json:"trait,omitempty" jsonschema:"the current state, or the last one of a deleted object"`
	plan[wouldCreateTrait]

	was *trait // before an update
}

var _ answer = (*traitMutated)(nil)

// Shorten leaves the flat keys.
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

func (m *traitMutated) settle(ctx context.Context, tx *repo.Tx) error {
	return settle(ctx, tx, &m.Aside, &m.plan, m.turn)
}

func (m *traitMutated) part(dry bool) {
	if dry {
		m.turn()
	}
	m.Shorten()
}

// turn makes the answer the plan of the same call.
func (m *traitMutated) turn() {
	p := plan[wouldCreateTrait]{DryRun: true, SideEffects: append([]string{}, m.SideEffects...)}
	switch m.Action {
	case "created":
		p.WouldCreate = &wouldCreateTrait{m.ID, m.TraitFacts}
	case "deleted":
		p.WouldDelete = &wouldDelete{m.ID}
	default:
		p.WouldUpdate = &wouldUpdate{m.ID, m.changes()}
	}
	*m = traitMutated{did: did{Aside: m.Aside}, plan: p}
}

// changes are the old and new values of what a call names.
func (m *traitMutated) changes() map[string]oldNew {
	all := map[string]oldNew{}
	for name, now := range m.NewValues {
		all[name] = oldNew{m.was.valueOf(name), now}
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
