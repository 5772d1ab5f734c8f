package raven

import (
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An object is an object as an answer shows it (raven.md §6.2). At depth 0 only Within is set,
// otherwise only ObjectContext.
//
// A projection writes the members of the embedded structs beside id and type.
type object struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	*Within
	*ObjectContext
}

// Within is the context of an object at depth 0.
type Within struct {
	ParentID *string `json:"parent_id"`
}

// ObjectContext is the context of an object from depth 1 on.
//
// Heading, HeadingLevel, Parent and FileRoot are null for a whole note. Lines are counted from 1;
// LineEnd is null if the object ends with the note, and for a whole note.
type ObjectContext struct {
	FilePath     string         `json:"file_path"`
	Heading      *string        `json:"heading"`
	HeadingLevel *int           `json:"heading_level"`
	Fields       map[string]any `json:"fields"`
	// fields whose value is cut; the first 20
	CutFields []string `json:"cut_fields,omitempty"`
	// fields with a default value of the schema
	FromDefault []string  `json:"from_default,omitempty"`
	Parent      *ancestor `json:"parent"`
	FileRoot    *ancestor `json:"file_root"`
	// the references in the fields; the first 200
	Refs      []reference `json:"refs"`
	LineStart int         `json:"line_start"`
	LineEnd   *int        `json:"line_end"`
	*Subtree
	Quarantined  *problem  `json:"quarantined,omitempty"`
	FirstSeen    time.Time `json:"first_seen_at"`
	LastModified time.Time `json:"last_modified_at" title:"last changed"`
}

// Subtree is the additional context of a section.
//
// Lines up to LineEnd are the section's own text; those up to SubtreeEnd include its subsections.
type Subtree struct {
	// the last line of the section with its subsections; null at the end of the file
	SubtreeEnd *int `json:"subtree_line_end"`
}

// An ancestor is an object that contains another one.
//
// It has no references and no times, so that the context of an object stays small. Above is set at
// depth 2 only.
type ancestor struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Heading *string        `json:"heading"`
	Fields  map[string]any `json:"fields"`
	// fields whose value is cut; the first 20
	Cut []string `json:"cut_fields,omitempty"`
	*Above
}

// Above is the parent of an ancestor, which only depth 2 shows.
type Above struct {
	// null where this is a file
	Parent *grandparent `json:"parent"`
}

// A grandparent is the parent of a parent.
type grandparent struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Heading *string        `json:"heading"`
	Fields  map[string]any `json:"fields"`
	// fields whose value is cut; the first 20
	Cut []string `json:"cut_fields,omitempty"`
}

// A problem is the reason why the frontmatter of a note cannot be parsed.
type problem struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// A renderer builds the objects and traits of answers, from one state of the vault and at one
// depth. It caches the targets of references. It is for one call and one goroutine.
//
// Copies are cheap and share the caches, so methods have value receivers. The values that it
// returns can share maps with the index and must not be modified.
type renderer struct {
	idx   *index.Index
	refs  *index.Resolver
	depth int
	whole bool // show the fields of objects in full, because the answer has a single object
	// lines caches the line of the last trait. All copies of the renderer share it.
	lines *lineCache
}

// newRenderer returns a renderer for lists. It shortens large fields; see forSingle.
func newRenderer(idx *index.Index, depth int) renderer {
	return renderer{idx: idx, refs: idx.Resolver(), depth: depth, lines: &lineCache{}}
}

// forSingle returns the renderer for an answer with a single object.
func (d renderer) forSingle() renderer {
	d.whole = true
	return d
}

// objectAt returns an object as a single answer at the default depth shows it.
func objectAt(idx *index.Index, o index.Object) object {
	return newRenderer(idx, rich).forSingle().object(o)
}

// object returns an object as the answer shows it.
//
// At depth 0 it reads nothing but the ids. Otherwise the fields contain the defaults of the schema,
// and references are resolved. The fields of an answer with a single object are shortened only
// above maxWhole bytes.
func (d renderer) object(o index.Object) object {
	shown := object{ID: o.ID(), Type: o.Type()}
	if d.depth == slim {
		shown.Within = withinOf(o)
		return shown
	}
	fields, fromDefault := d.fields(o)
	var cut []string
	if !d.whole || tool.SizeOf(fields) > maxWhole {
		fields, cut = listedFields(fields)
	}
	c := &ObjectContext{
		FilePath: o.Note.Path, Fields: fields, CutFields: cut, FromDefault: fromDefault,
		Refs: d.references(o.Note, refsInFields(o)), LineStart: 1,
		FirstSeen: o.Note.Created, LastModified: o.Note.Modified,
	}
	if q := o.Note.Quarantine(); q != nil && o.Section == nil {
		c.Quarantined = &problem{q.Line, q.Message}
	}
	if o.Section != nil {
		d.place(c, o)
	}
	shown.ObjectContext = c
	return shown
}

// withinOf returns the context of an object at depth 0.
func withinOf(o index.Object) *Within {
	above, ok := o.Parent()
	if !ok {
		return &Within{}
	}
	id := above.ID()
	return &Within{&id}
}

// place sets the fields of c that depend on the place of a section in its note.
func (d renderer) place(c *ObjectContext, o index.Object) {
	s := o.Section
	level := s.Level()
	c.Heading, c.HeadingLevel = headingOf(s), &level
	c.LineStart, c.LineEnd = s.Line(), orNil(s.LineEnd())
	c.Subtree = &Subtree{orNil(s.SubtreeEnd())}
	c.FirstSeen, c.LastModified = s.Created, s.Modified
	above, _ := o.Parent()
	c.Parent, c.FileRoot = d.parent(above), d.root(o.Note)
}

// parent returns an object as the parent of another one. At depth 2 it has its own parent too, which
// is the last one: the nesting does not go on.
func (d renderer) parent(o index.Object) *ancestor {
	k := d.plain(o)
	if d.depth == deep {
		k.Above = &Above{}
		if above, ok := o.Parent(); ok {
			p := d.plain(above)
			k.Parent = &grandparent{p.ID, p.Type, p.Heading, p.Fields, p.Cut}
		}
	}
	return k
}

// root returns a note as the root of an object in it.
func (d renderer) root(n *index.Note) *ancestor { return d.plain(index.Object{Note: n}) }

// plain returns an object as an ancestor without its own parent.
func (d renderer) plain(o index.Object) *ancestor {
	fields, _ := d.fields(o)
	fields, cut := listedFields(fields)
	k := &ancestor{ID: o.ID(), Type: o.Type(), Fields: fields, Cut: cut}
	if o.Section != nil {
		k.Heading = headingOf(o.Section)
	}
	return k
}

// headingOf returns the heading of a section, shortened if it is long.
func headingOf(s *index.Section) *string {
	if len(s.Title) <= maxListed {
		return &s.Title
	}
	return new(tool.Beginning(s.Title, maxListed))
}

// orNil returns a pointer to a line, or nil for 0, which means the end of the note.
func orNil(line int) *int {
	if line == 0 {
		return nil
	}
	return &line
}

// fields returns the fields of an object as the answer shows them, and the names of those with a
// default value. A section without a declaration has the fields title and level, and a daily note
// has its date. The id in a declaration is not a field.
//
// A note with invalid frontmatter has no defaults, because its fields are unknown and not absent.
func (d renderer) fields(o index.Object) (map[string]any, []string) {
	if isPlain(o) {
		return map[string]any{"title": o.Section.Title, "level": o.Section.Level()}, nil
	}
	t, known := d.idx.Schema().Type(o.Type())
	fields := map[string]any{}
	for _, f := range o.Fields() {
		if isField(o, f.Name) {
			fields[f.Name] = d.value(o.Note, t, f.Name, f.Value)
		}
	}
	if isDaily(o) {
		if date, ok := d.dateOf(o); ok {
			fields["date"] = date
		}
		return fields, nil
	}
	if !known || o.Note.Quarantine() != nil {
		return fields, nil
	}
	filled, names := t.Defaults(fields)
	for _, name := range names {
		fields[name] = d.value(o.Note, t, name, filled[name])
	}
	return fields, names
}

// field returns the value of one of the fields, or nil if there is none. It does not compute the
// others.
//
// It must return the same value that fields would return under that name. Filters call it for many
// objects, where resolving the references in all fields would be too slow.
func (d renderer) field(o index.Object, name string) any {
	if isPlain(o) {
		fields, _ := d.fields(o)
		return fields[name]
	}
	if isDaily(o) && name == "date" {
		if date, ok := d.dateOf(o); ok {
			return date
		}
	}
	t, known := d.idx.Schema().Type(o.Type())
	// The last of two fields with the same name counts.
	for _, f := range slices.Backward(o.Fields()) {
		if f.Name == name && isField(o, name) {
			return d.value(o.Note, t, name, f.Value)
		}
	}
	if isDaily(o) || !known || o.Note.Quarantine() != nil {
		return nil
	}
	if def, ok := t.Field(name); ok && def.HasDefault {
		return d.value(o.Note, t, name, def.Default)
	}
	return nil
}

// isPlain reports whether an object is a section without a declaration.
func isPlain(o index.Object) bool { return o.Section != nil && o.Type() == vault.Section }

// isDaily reports whether an object is a daily note.
func isDaily(o index.Object) bool { return o.Section == nil && o.Type() == vault.Daily }

// isField reports whether a stored value is a field of the object. The id in a declaration is not.
func isField(o index.Object, name string) bool { return o.Section == nil || name != "id" }

// dateOf returns the day in the path of a daily note, or false if the path does not have one.
func (d renderer) dateOf(o index.Object) (string, bool) {
	date, ok := d.idx.Config().IsDaily(vault.Path(o.Note.Path))
	return string(date), ok
}

// value returns the value of a field in a note as the answer shows it: references with a target
// become the id of the target. n and t may be nil.
func (d renderer) value(n *index.Note, t *vault.Type, name string, v any) any {
	if t == nil {
		return d.resolvedValue(n, v, false)
	}
	f, ok := t.Field(name)
	return d.resolvedValue(n, v, ok && f.IsRef())
}

// A detail is embedded in the input of every tool that returns objects or traits. It selects how
// much of their context the answer contains (raven.md §6.3).
//
// Slim and Depth 0 mean the same. Slim is the argument that all tools have; Depth is Raven's.
type detail struct {
	// 0: ids; 1: and parent, file, references (default); 2: and theirs
	Depth *int `json:"depth,omitempty" rare:"true" min:"0" max:"2"`
	// depth 0
	Slim bool `json:"slim,omitempty"`
}

// The depths of an answer, from ids only to the context of the context.
const (
	slim = iota
	rich
	deep
)

// level returns the depth that the arguments select.
func (d detail) level() (int, error) {
	switch {
	case d.Slim && d.Depth != nil && *d.Depth != slim:
		return 0, fault.New(fault.InvalidValue, "slim is depth 0: omit one of the two").
			With("argument", "depth")
	case d.Slim:
		return slim, nil
	case d.Depth == nil:
		return rich, nil
	}
	return *d.Depth, nil
}

// noteTimeZone records the time zone of the vault and its first day of the week in the meta
// (raven.md §6.10). Answers whose filters contain words such as today depend on both.
func noteTimeZone(a interface{ Note(key string, value any) }, idx *index.Index) {
	a.Note("timezone", idx.Config().Timezone)
	a.Note("week_start", strings.ToLower(idx.Config().WeekStart.String()))
}
