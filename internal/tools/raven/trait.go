package raven

import (
	"slices"
	"time"

	"rookery/internal/index"
)

// A trait is one trait as callers see it (raven.md §6.3): at depth 0 with the id of its parent only,
// else with its context.
type trait struct {
	ID        string `json:"id"`
	TraitType string `json:"trait_type"`
	Value     any    `json:"value" jsonschema:"as the schema types it; null where there is none"`
	*Within
	*TraitContext
}

// TraitContext is what an answer says of a trait from depth 1 on. Siblings and times stand there
// under both names that the document has for them.
type TraitContext struct {
	FromDefault  bool           `json:"from_default,omitempty" jsonschema:"the value is the default of the trait"`
	Content      string         `json:"content" jsonschema:"the line"`
	ContentText  string         `json:"content_text" title:"text" jsonschema:"the line without its annotations"`
	FilePath     string         `json:"file_path" title:"file"`
	LineNumber   int            `json:"line_number" title:"line"`
	Parent       *kin           `json:"parent"`
	FileRoot     *kin           `json:"file_root"`
	Refs         []reference    `json:"refs" jsonschema:"the references on the line"`
	Siblings     map[string]any `json:"sibling_traits" title:"other traits" jsonschema:"the other traits on the line"`
	Others       map[string]any `json:"other_traits"`
	FirstSeen    time.Time      `json:"first_seen_at"`
	LastModified time.Time      `json:"last_modified_at" title:"last changed"`
	Created      time.Time      `json:"created_at"`
}

// trait is a trait as callers see it.
func (d drawer) trait(t *index.Trait) trait {
	value, fromDefault := d.idx.TraitValue(t)
	shown := trait{ID: t.ID, TraitType: t.Type, Value: value}
	parent := t.Parent()
	if d.depth == slim {
		id := parent.ID()
		shown.Within = &Within{&id}
		return shown
	}
	siblings := d.siblings(t)
	shown.TraitContext = &TraitContext{
		FromDefault: fromDefault, Content: t.Content, ContentText: t.ContentText,
		FilePath: t.Note.Path, LineNumber: t.Line,
		Parent: d.kin(parent), FileRoot: d.root(t.Note), Refs: d.references(refsOfTrait(t)),
		Siblings: siblings, Others: siblings,
		FirstSeen: t.Created, LastModified: t.Modified, Created: t.Created,
	}
	return shown
}

// siblings are the values of the other traits on the line; of several of a type the first.
func (d drawer) siblings(t *index.Trait) map[string]any {
	all := map[string]any{}
	for _, s := range t.Siblings() {
		if _, seen := all[s.Type]; !seen {
			all[s.Type], _ = d.idx.TraitValue(s)
		}
	}
	return all
}

// refsOfTrait are the references on the line of a trait, or in the field that it is.
func refsOfTrait(t *index.Trait) []*index.Ref {
	if t.Field {
		return slices.DeleteFunc(t.Note.Object(-1).RefsOf(), func(r *index.Ref) bool {
			return !r.InField || r.Field != t.Type
		})
	}
	return slices.DeleteFunc(t.Note.RefsOn(t.Line), func(r *index.Ref) bool { return r.InField })
}
