package raven

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
)

// A normalObject is a new object as raven_new would write it.
type normalObject struct {
	Type    string         `json:"type"`
	Path    string         `json:"path"`
	Fields  map[string]any `json:"fields"`
	Content string         `json:"content,omitempty"`
}

// A normalChange is a change of fields, or of the traits on a line, as it would be written.
//
// The values are those after parsing: dates in their standard form, numbers as numbers, references
// as full ids.
type normalChange struct {
	ID    string         `json:"id"`
	Set   map[string]any `json:"set"`
	Unset []string       `json:"unset"`
}

// A normalTrait is a new trait as raven_trait_create would write it.
type normalTrait struct {
	TraitType string         `json:"trait_type"`
	Value     any            `json:"value"`
	ParentID  string         `json:"parent_id"`
	Content   string         `json:"content"`
	Others    map[string]any `json:"other_traits,omitempty"`
}

// normal returns the change in the form in which it would be written.
//
// raven_validate shows it, so that a caller sees how its arguments are read before anything is
// written. The content is that of the call; a template is not rendered.
func (in newIn) normal(tx *repo.Tx) (any, error) {
	t, err := noteType(tx, in.Type)
	if err != nil {
		return nil, err
	}
	n, err := in.plan(tx, t)
	if err != nil {
		return nil, err
	}
	return normalObject{t.Name, n.path.ID(), n.fields, in.Content}, nil
}

// normal returns the change in the form in which it would be written.
func (in setIn) normal(tx *repo.Tx) (any, error) {
	o, err := settable(tx, in.ID)
	if err != nil {
		return nil, err
	}
	_, checked, err := in.check(tx, o)
	if err != nil {
		return nil, err
	}
	return normalChange{o.ID(), checked.Fields, append([]string{}, in.Unset...)}, nil
}

// normal returns the change in the form in which it would be written.
func (in traitCreateIn) normal(tx *repo.Tx) (any, error) {
	line, h, err := in.plan(tx)
	if err != nil {
		return nil, err
	}
	n := normalTrait{
		TraitType: line.Name, Value: line.Value, Content: strings.TrimSpace(line.Content),
		Others: fieldMap(line.Others),
	}
	if h.day != "" {
		n.ParentID = tx.Index().Config().DailyPath(h.day).ID()
	} else {
		n.ParentID = h.object.ID()
	}
	return n, nil
}

// normal returns the change in the form in which it would be written.
//
// The trait itself is listed as value, under the name of the argument that sets it.
func (in traitUpdateIn) normal(tx *repo.Tx) (any, error) {
	t, err := ownTrait(tx.Index(), in.ID)
	if err != nil {
		return nil, err
	}
	w, err := in.check(tx, t)
	if err != nil {
		return nil, err
	}
	set := fieldMap(w.set)
	if v, ok := set[t.Type]; ok {
		delete(set, t.Type)
		set["value"] = v
	}
	return normalChange{t.ID, set, append([]string{}, w.unset...)}, nil
}

// fieldMap returns fields as a map from name to value.
func fieldMap(fields []markdown.Field) map[string]any {
	all := map[string]any{}
	for _, f := range fields {
		all[f.Key] = f.Value
	}
	return all
}
