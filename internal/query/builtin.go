package query

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// reads returns a getter that needs only the item. A getter returns the value of a field: nil for
// none, a string, a float64, a bool, a time.Time, or a list of these.
func reads(get func(Item) any) func(*evaluator, Item) any {
	return func(_ *evaluator, i Item) any { return get(i) }
}

// ofObject returns a getter for a field of an object.
func ofObject(get func(index.Object) any) func(*evaluator, Item) any {
	return func(_ *evaluator, i Item) any { return get(i.Object) }
}

// ofSection returns a getter for a field of a section; its value is nil for a note.
func ofSection(get func(*index.Section) any) func(*evaluator, Item) any {
	return func(_ *evaluator, i Item) any {
		if i.Object.Section == nil {
			return nil
		}
		return get(i.Object.Section)
	}
}

// ofLink returns a getter for a field of a link.
func ofLink(get func(*index.NoteLink) any) func(*evaluator, Item) any {
	return func(_ *evaluator, i Item) any { return get(i.Link) }
}

// orNone returns a text, or nil if it is empty.
func orNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// orEnd returns a line as a number, or nil for 0, which is the end of the note.
func orEnd(line int) any {
	if line == 0 {
		return nil
	}
	return float64(line)
}

// Fields that items of several kinds have.
var (
	idField   = fieldDef{get: reads(func(i Item) any { return i.ID() })}
	pathField = fieldDef{get: reads(func(i Item) any { return i.note().Path })}
	tagsField = fieldDef{list: true, fold: index.TagKey, get: reads(func(i Item) any { return tagsOf(i.note()) })}
	firstSeen = fieldDef{class: moment, get: reads(func(i Item) any { created, _ := timesOf(i); return created })}
	lastSeen  = fieldDef{class: moment, get: reads(func(i Item) any { _, modified := timesOf(i); return modified })}
)

// objectFields are the built-in fields of objects.
var objectFields = map[string]fieldDef{
	"id": idField, "file_path": pathField, "tags": tagsField,
	"type":          {class: choice, get: ofObject(func(o index.Object) any { return o.Type() })},
	"alias":         {list: true, get: ofObject(aliasesOf)},
	"heading":       {get: ofSection(func(s *index.Section) any { return s.Title })},
	"heading_level": {class: numeric, get: ofSection(func(s *index.Section) any { return float64(s.Level()) })},
	"line_start":    {class: numeric, get: ofObject(lineStart)},
	"first_seen_at": firstSeen, "last_modified_at": lastSeen, "created": firstSeen, "modified": lastSeen,
}

// sectionFields are the fields of sections.
var sectionFields = map[string]fieldDef{
	"id": idField, "file_path": pathField, "tags": tagsField,
	"file_object_id":   {get: ofObject(func(o index.Object) any { return o.Note.ID })},
	"slug":             {get: ofSection(func(s *index.Section) any { return s.Slug })},
	"title":            {get: ofSection(func(s *index.Section) any { return s.Title })},
	"level":            {class: numeric, get: ofSection(func(s *index.Section) any { return float64(s.Level()) })},
	"line_start":       {class: numeric, get: ofObject(lineStart)},
	"line_end":         {class: numeric, get: ofSection(func(s *index.Section) any { return orEnd(s.LineEnd()) })},
	"direct_line_end":  {class: numeric, get: ofSection(func(s *index.Section) any { return orEnd(s.LineEnd()) })},
	"subtree_line_end": {class: numeric, get: ofSection(func(s *index.Section) any { return orEnd(s.SubtreeEnd()) })},
	"parent_section_id": {get: ofObject(func(o index.Object) any {
		if above, ok := o.Parent(); ok && above.Section != nil {
			return above.ID()
		}
		return nil
	})},
	"first_seen_at": firstSeen, "last_modified_at": lastSeen, "created": firstSeen, "modified": lastSeen,
}

// traitFields are the built-in fields of traits. The field value comes from the schema.
var traitFields = map[string]fieldDef{
	"id": idField, "file_path": pathField,
	"line_number":   {class: numeric, get: reads(func(i Item) any { return float64(i.Trait.Line()) })},
	"content_text":  {get: reads(func(i Item) any { return i.Trait.ContentText() })},
	"first_seen_at": firstSeen, "last_modified_at": lastSeen, "created": firstSeen, "modified": lastSeen,
}

// linkFields are the fields of links.
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

// lineStart returns the line in which an object begins, from 1.
func lineStart(o index.Object) any {
	if o.Section == nil {
		return 1.0
	}
	return float64(o.Section.Line())
}

// timesOf returns when an item was created and last modified.
//
// An object or a link has the times of its section or note.
func timesOf(i Item) (created, modified any) {
	switch {
	case i.Kind == Traits:
		return i.Trait.Created, i.Trait.Modified
	case i.Object.Section != nil:
		return i.Object.Section.Created, i.Object.Section.Modified
	}
	return i.Object.Note.Created, i.Object.Note.Modified
}

// tagsOf returns the tags of a note with all their ancestors: for a/b also a. It returns nil if
// the note has none.
//
// So a test of a tag also finds notes with tags below it.
func tagsOf(n *index.Note) any {
	if len(n.Tags) == 0 {
		return nil
	}
	list := []any{}
	for _, t := range n.Tags {
		// The tag, then each of its ancestors.
		for name := strings.Trim(t.Name, "/"); name != ""; {
			list = append(list, name)
			name = name[:max(0, strings.LastIndexByte(name, '/'))]
		}
	}
	return list
}

// aliasesOf returns the values of the fields alias and aliases of an object; nil if it has none.
//
// Each of the two fields can be a single value or a list.
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

// schemaValue returns the value of a field of an object: the value in the note, else the default of
// its type, else nil. The date of a daily note comes from its path. The field id of a section is
// its address and not a value.
func (e *evaluator) schemaValue(o index.Object, name string) any {
	daily := o.Section == nil && o.Note.Type == vault.Daily
	if daily && name == "date" {
		if day, ok := e.Index.Config().IsDaily(vault.Path(o.Note.Path)); ok {
			return string(day)
		}
	}
	fields := o.Fields()
	for i := len(fields) - 1; i >= 0; i-- { // the last one of the same name counts
		if fields[i].Name == name && (o.Section == nil || name != "id") {
			return fields[i].Value
		}
	}
	t, known := e.schema.Type(o.Type())
	// A quarantined note has no fields, so defaults do not apply either.
	if daily || !known || o.Note.Quarantine() != nil {
		return nil
	}
	if def, ok := t.Field(name); ok && def.HasDefault {
		return def.Default
	}
	return nil
}
