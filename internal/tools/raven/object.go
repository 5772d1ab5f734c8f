package raven

import (
	"time"

	"rookery/internal/index"
	"rookery/internal/markdown"
	"rookery/internal/vault"
)

// An object is one object as callers see it (raven.md §6.2).
type object struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	FilePath     string         `json:"file_path"`
	Heading      *string        `json:"heading"`
	HeadingLevel *int           `json:"heading_level"`
	Fields       map[string]any `json:"fields"`
	FromDefault  []string       `json:"from_default,omitempty" jsonschema:"fields that the schema's default fills"`
	Parent       *kin           `json:"parent"`
	FileRoot     *kin           `json:"file_root"`
	LineStart    int            `json:"line_start"`
	LineEnd      *int           `json:"line_end"`
	SubtreeEnd   *int           `json:"subtree_line_end,omitempty"`
	Quarantined  *problem       `json:"quarantined,omitempty"`
	FirstSeen    time.Time      `json:"first_seen_at"`
	LastModified time.Time      `json:"last_modified_at"`
}

// A kin is an object that another one stands under.
type kin struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Heading *string        `json:"heading"`
	Fields  map[string]any `json:"fields"`
}

// A problem is why a note does not parse.
type problem struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// objectAt is the object at a place.
func objectAt(idx *index.Index, p index.Object) object {
	if p.Section != nil {
		return sectionObject(idx, p)
	}
	return noteObject(idx, p.Note)
}

func noteObject(idx *index.Index, n *index.Note) object {
	fields, fromDefault := fieldsOf(idx, n)
	o := object{
		ID: n.ID, Type: n.Type, FilePath: n.Path, Fields: fields, FromDefault: fromDefault,
		LineStart: 1, FirstSeen: n.Created, LastModified: n.Modified,
	}
	if q := n.Quarantine; q != nil {
		o.Quarantined = &problem{q.Line, q.Message}
	}
	return o
}

func sectionObject(idx *index.Index, p index.Object) object {
	n, s := p.Note, p.Section
	o := object{
		ID: p.ID(), Type: p.Type(), FilePath: n.Path,
		Heading: &s.Title, HeadingLevel: &s.Level, Fields: sectionFields(p), LineStart: s.Line,
		LineEnd: orNil(s.LineEnd), SubtreeEnd: orNil(s.SubtreeEnd),
		FirstSeen: s.Created, LastModified: s.Modified,
	}
	o.FileRoot = noteKin(idx, n)
	o.Parent = o.FileRoot
	if above, ok := p.Parent(); ok && above.Section != nil {
		o.Parent = &kin{
			ID: above.ID(), Type: above.Type(), Heading: &above.Section.Title,
			Fields: sectionFields(above),
		}
	}
	return o
}

// sectionFields are the fields of what stands under a heading: those of its declaration, or, of a
// plain section, its title and level. The id of a declaration is the object's, and no field.
func sectionFields(p index.Object) map[string]any {
	if p.Type() == vault.Section {
		return map[string]any{"title": p.Section.Title, "level": p.Section.Level}
	}
	fields := map[string]any{}
	for _, f := range p.Fields() {
		if f.Name != "id" {
			fields[f.Name] = shown(f.Value)
		}
	}
	return fields
}

func noteKin(idx *index.Index, n *index.Note) *kin {
	fields, _ := fieldsOf(idx, n)
	return &kin{ID: n.ID, Type: n.Type, Fields: fields}
}

// orNil is a line, or null for the end of the note.
func orNil(line int) *int {
	if line == 0 {
		return nil
	}
	return &line
}

// fieldsOf are the fields of a note as callers see them, and the names of those that a default
// fills.
func fieldsOf(idx *index.Index, n *index.Note) (map[string]any, []string) {
	fields := map[string]any{}
	for _, f := range n.Fields {
		fields[f.Name] = shown(f.Value)
	}
	if n.Type == vault.Daily {
		if date, ok := idx.Config().IsDaily(vault.Path(n.Path)); ok {
			fields["date"] = string(date)
		}
		return fields, nil
	}
	if n.Quarantine != nil {
		return fields, nil
	}
	t, ok := idx.Schema().Type(n.Type)
	if !ok {
		return fields, nil
	}
	filled, names := t.Defaults(fields)
	for _, name := range names {
		fields[name] = shown(filled[name])
	}
	return fields, names
}

// shown is a value as callers see it: a reference is the id that it names.
func shown(v any) any {
	switch v := v.(type) {
	case markdown.Ref:
		return string(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = shown(e)
		}
		return list
	}
	return v
}
