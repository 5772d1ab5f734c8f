package query

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// reads makes the getter of a field that needs nothing but the thing.
func reads(get func(Item) any) func(*evaluator, Item) any {
	return func(_ *evaluator, i Item) any { return get(i) }
}

// ofObject makes the getter of a field of an object.
func ofObject(get func(index.Object) any) func(*evaluator, Item) any {
	return func(_ *evaluator, i Item) any { return get(i.Object) }
}

// ofSection makes the getter of a field of a section.
func ofSection(get func(*index.Section) any) func(*evaluator, Item) any {
	return func(_ *evaluator, i Item) any {
		if i.Object.Section == nil {
			return nil
		}
		return get(i.Object.Section)
	}
}

// ofLink makes the getter of a field of a link.
func ofLink(get func(*index.NoteLink) any) func(*evaluator, Item) any {
	return func(_ *evaluator, i Item) any { return get(i.Link) }
}

// orNone is a text, or nil for the empty one.
func orNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// orEnd is a line, or nil for the end of the note.
func orEnd(line int) any {
	if line == 0 {
		return nil
	}
	return float64(line)
}

// Fields that several kinds of things have.
var (
	idField   = fieldDef{get: reads(func(i Item) any { return i.ID() })}
	pathField = fieldDef{get: reads(func(i Item) any { return i.note().Path })}
	tagsField = fieldDef{list: true, fold: index.TagKey, get: reads(func(i Item) any { return tagsOf(i.note()) })}
	firstSeen = fieldDef{class: moment, get: reads(func(i Item) any { created, _ := timesOf(i); return created })}
	lastSeen  = fieldDef{class: moment, get: reads(func(i Item) any { _, modified := timesOf(i); return modified })}
)

var objectFields = map[string]fieldDef{
	"id": idField, "file_path": pathField, "tags": tagsField,
	"type":          {class: choice, get: ofObject(func(o index.Object) any { return o.Type() })},
	"alias":         {list: true, get: ofObject(aliasesOf)},
	"heading":       {get: ofSection(func(s *index.Section) any { return s.Title })},
	"heading_level": {class: numeric, get: ofSection(func(s *index.Section) any { return float64(s.Level) })},
	"line_start":    {class: numeric, get: ofObject(lineStart)},
	"first_seen_at": firstSeen, "last_modified_at": lastSeen, "created": firstSeen, "modified": lastSeen,
}

var sectionFields = map[string]fieldDef{
	"id": idField, "file_path": pathField, "tags": tagsField,
	"file_object_id":   {get: ofObject(func(o index.Object) any { return o.Note.ID })},
	"slug":             {get: ofSection(func(s *index.Section) any { return s.Slug })},
	"title":            {get: ofSection(func(s *index.Section) any { return s.Title })},
	"level":            {class: numeric, get: ofSection(func(s *index.Section) any { return float64(s.Level) })},
	"line_start":       {class: numeric, get: ofObject(lineStart)},
	"line_end":         {class: numeric, get: ofSection(func(s *index.Section) any { return orEnd(s.LineEnd) })},
	"direct_line_end":  {class: numeric, get: ofSection(func(s *index.Section) any { return orEnd(s.LineEnd) })},
	"subtree_line_end": {class: numeric, get: ofSection(func(s *index.Section) any { return orEnd(s.SubtreeEnd) })},
	"parent_section_id": {get: ofObject(func(o index.Object) any {
		if above, ok := o.Parent(); ok && above.Section != nil {
			return above.ID()
		}
		return nil
	})},
	"first_seen_at": firstSeen, "last_modified_at": lastSeen, "created": firstSeen, "modified": lastSeen,
}

var traitFields = map[string]fieldDef{
	"id": idField, "file_path": pathField,
	"line_number":   {class: numeric, get: reads(func(i Item) any { return float64(i.Trait.Line) })},
	"content_text":  {get: reads(func(i Item) any { return i.Trait.ContentText })},
	"first_seen_at": firstSeen, "last_modified_at": lastSeen, "created": firstSeen, "modified": lastSeen,
}

var linkFields = map[string]fieldDef{
	"source_id":      idField,
	"source_type":    {get: ofObject(func(o index.Object) any { return o.Type() })},
	"file_path":      pathField,
	"line":           {class: numeric, get: ofLink(func(l *index.NoteLink) any { return float64(l.Line) })},
	"position_start": {class: numeric, get: ofLink(func(l *index.NoteLink) any { return float64(l.Span.Start) })},
	"position_end":   {class: numeric, get: ofLink(func(l *index.NoteLink) any { return float64(l.Span.End) })},
	"raw_target":     {exact: true, get: ofLink(func(l *index.NoteLink) any { return l.Target })},
	"display":        {get: ofLink(func(l *index.NoteLink) any { return orNone(l.Display) })},
	"is_image":       {class: truth, get: ofLink(func(l *index.NoteLink) any { return l.Image })},
	"scheme": {class: choice, values: []string{markdown.SchemeFile, markdown.SchemeURL, markdown.SchemeOther},
		get: ofLink(func(l *index.NoteLink) any { return l.Scheme })},
	"ext":            {get: ofLink(func(l *index.NoteLink) any { return orNone(l.Ext) })},
	"normalized_key": {exact: true, get: reads(func(i Item) any { return i.Link.Key(i.Object.Note) })},
}

func lineStart(o index.Object) any {
	if o.Section == nil {
		return 1.0
	}
	return float64(o.Section.Line)
}

// timesOf are when a thing was first seen and when it last changed.
func timesOf(i Item) (created, modified any) {
	switch {
	case i.Kind == Traits:
		return i.Trait.Created, i.Trait.Modified
	case i.Object.Section != nil:
		return i.Object.Section.Created, i.Object.Section.Modified
	}
	return i.Object.Note.Created, i.Object.Note.Modified
}

// tagsOf are the tags of a note, and all that they are below.
func tagsOf(n *index.Note) any {
	if len(n.Tags) == 0 {
		return nil
	}
	list := []any{}
	for _, t := range n.Tags {
		for name := strings.Trim(t.Name, "/"); name != ""; {
			list = append(list, name)
			name = name[:max(0, strings.LastIndexByte(name, '/'))]
		}
	}
	return list
}

// aliasesOf are the other names of an object, as its fields alias and aliases say them.
func aliasesOf(o index.Object) any {
	var list []any
	for _, name := range []string{"alias", "aliases"} {
		switch f, _ := o.Field(name); v := f.Value.(type) {
		case nil:
		case []any:
			list = append(list, v...)
		default:
			list = append(list, v)
		}
	}
	if list == nil {
		return nil
	}
	return list
}

// schemaValue is the value of a field of an object: as it is written, else the default of its type; nil if
// it has none. A daily note has its date by its path.
func (e *evaluator) schemaValue(o index.Object, name string) any {
	daily := o.Section == nil && o.Note.Type == vault.Daily
	if daily && name == "date" {
		if day, ok := e.Index.Config().IsDaily(vault.Path(o.Note.Path)); ok {
			return string(day)
		}
	}
	fields := o.Fields()
	for i := len(fields) - 1; i >= 0; i-- { // of two of a name the last counts
		if fields[i].Name == name && (o.Section == nil || name != "id") {
			return fields[i].Value
		}
	}
	t, known := e.schema.Type(o.Type())
	if daily || !known || o.Note.Quarantine != nil {
		return nil
	}
	if def, ok := t.Field(name); ok && def.HasDefault {
		return def.Default
	}
	return nil
}
