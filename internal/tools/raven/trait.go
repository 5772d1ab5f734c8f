package raven

import (
	"time"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A trait is a trait as an answer shows it (raven.md §6.3). At depth 0 only Within is set,
// otherwise only TraitContext.
//
// The id of a trait is stable: it stays the same when its line moves or changes. Its position does
// not.
type trait struct {
	ID        string `json:"id"`
	TraitType string `json:"trait_type"`
	// with the type of the schema; null if it has no value
	Value any `json:"value"`
	*Within
	*TraitContext
}

// TraitContext is the context of a trait from depth 1 on. Siblings and times have two names each,
// because the specification uses both.
type TraitContext struct {
	// the value is the default of the trait
	FromDefault bool `json:"from_default,omitempty"`
	// the mark of the checkbox that the line begins with: a space, x or another
	Checkbox string `json:"checkbox,omitempty"`
	// whether the line is done, if a checkbox, @status or @done says so
	Done *bool `json:"done,omitempty"`
	// dates of the task, as the plugins Tasks and Dataview of Obsidian write them
	Fields *taskFields `json:"fields,omitempty"`
	// the line; of a long one, a part
	Content string `json:"content"`
	// the line without its annotations
	ContentText string    `json:"content_text" title:"text"`
	FilePath    string    `json:"file_path" title:"file"`
	LineNumber  int       `json:"line_number" title:"line"`
	Parent      *ancestor `json:"parent"`
	FileRoot    *ancestor `json:"file_root"`
	// the references on the line; the first 200
	Refs []reference `json:"refs"`
	// the other traits on the line; long values are cut
	Siblings     map[string]any `json:"sibling_traits" title:"other traits"`
	Others       map[string]any `json:"other_traits"`
	FirstSeen    time.Time      `json:"first_seen_at"`
	LastModified time.Time      `json:"last_modified_at" title:"last changed"`
	Created      time.Time      `json:"created_at"`
}

// trait returns a trait as the answer shows it.
//
// The value has the type of the schema, and is the default of the trait if the text has none.
// Siblings and Others are the same map.
func (d renderer) trait(t *index.Trait) trait {
	value, fromDefault := d.idx.TraitValue(t)
	if !d.whole {
		value = cutValue(value, maxListed)
	}
	shown := trait{ID: t.ID, TraitType: t.Type, Value: value}
	parent := t.Parent()
	if d.depth == slim {
		id := parent.ID()
		shown.Within = &Within{&id}
		return shown
	}
	siblings := d.siblings(t)
	shown.TraitContext = &TraitContext{
		FromDefault: fromDefault, Checkbox: t.Checkbox, Done: d.done(t), Fields: taskFieldsOf(t),
		Content: tool.Beginning(t.Content, maxListed), ContentText: tool.Beginning(t.ContentText, maxListed),
		FilePath: t.Note.Path, LineNumber: t.Line,
		Parent: d.parent(parent), FileRoot: d.root(t.Note), Refs: d.references(t.Note, d.refsOfTrait(t)),
		Siblings: siblings, Others: siblings,
		FirstSeen: t.Created, LastModified: t.Modified, Created: t.Created,
	}
	return shown
}

// siblings returns the values of the other traits on the line by type. Of several traits of one
// type it returns the first.
func (d renderer) siblings(t *index.Trait) map[string]any {
	all := map[string]any{}
	for typ, first := range d.lines.load(t).first {
		other := first[0]
		if other == t {
			other = first[1]
		}
		if other != nil {
			all[typ], _ = d.idx.TraitValue(other)
		}
	}
	all, _ = listedFields(all)
	return all
}

// refsOfTrait returns the references on the line of a trait or, for a trait in the frontmatter, in
// its field.
func (d renderer) refsOfTrait(t *index.Trait) []*index.Ref {
	refs := d.lines.load(t).refs
	if !t.Field {
		return refs
	}
	var own []*index.Ref
	for _, r := range refs {
		if r.Field == t.Type && len(own) < maxRefs {
			own = append(own, r)
		}
	}
	return own
}

// A lineCache caches the traits and references of one line, or of the frontmatter of one note,
// because consecutive traits of a list are often on the same line.
type lineCache struct {
	note *index.Note
	line int // 0: the frontmatter
	// first contains the first two traits of each type, by position, so that the siblings of a
	// trait can leave it out.
	first map[string][2]*index.Trait
	refs  []*index.Ref
}

// load makes l the line of a trait, and returns it.
//
// Two consecutive calls for traits of one line cost one walk over the line. Checkboxes are not
// siblings.
func (l *lineCache) load(t *index.Trait) *lineCache {
	line := t.Line
	if t.Field {
		line = 0
	}
	if l.note == t.Note && l.line == line {
		return l
	}
	*l = lineCache{note: t.Note, line: line, first: map[string][2]*index.Trait{}}
	for _, other := range append(t.Siblings(), t) {
		if !other.Task {
			l.add(other)
		}
	}
	if t.Field {
		l.refs = refsInFields(t.Note.Object(-1))
		return l
	}
	refs := t.Note.RefsOnLine(t.Line)
	for i := range refs {
		if !refs[i].InField {
			l.refs = append(l.refs, &refs[i])
		}
	}
	return l
}

// add keeps the first two traits of each type, by position.
func (l *lineCache) add(t *index.Trait) {
	two := l.first[t.Type]
	switch {
	case two[0] == nil || t.Position < two[0].Position:
		two = [2]*index.Trait{t, two[0]}
	case two[1] == nil || t.Position < two[1].Position:
		two[1] = t
	}
	l.first[t.Type] = two
}
