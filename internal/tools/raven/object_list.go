package raven

import (
	"context"
	_ "embed"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

//go:embed object_list.md
var objectListDoc string

// An objectListIn is the input of raven_object_list. All its filters must match.
type objectListIn struct {
	tool.Vault
	Type  string      `json:"type,omitempty" complete:"type" jsonschema:"only objects of this type; section lists headings"`
	Field tool.Fields `json:"field,omitempty" complete:"type_field" of:"type" jsonschema:"only objects with these values: name=value, or an object; a list matches by element"`
	timeFilters
	detail
	tool.AsOf
	tool.Page
}

// An objectListOut is the output of raven_object_list and raven_untyped.
type objectListOut struct {
	tool.Aside `json:"-"`
	Items      []object `json:"items"`
}

// objectList returns the tool raven_object_list, which lists objects by type, fields and times.
func (f tools) objectList() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_object_list", Family: Family, Title: "List objects", Doc: objectListDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/objects"},
		Commands: []tool.Command{{Words: "object list"}},
		Columns:  []string{"id", "type", "heading", "last_modified_at", "fields"},
		Empty: []tool.Empty{
			{Of: "objects of type {type}", Tool: "raven_new",
				Args: map[string]string{"type": "{type}", "title": "Title"}},
			{Of: "objects", Tool: "raven_new", Args: map[string]string{"type": "page", "title": "Title"}},
		},
	}, f.listObjects)
}

// listObjects runs raven_object_list.
//
// Objects are listed by path and, within a note, by line: the note first, then its sections.
func (f tools) listObjects(
	ctx context.Context, c auth.Caller, in objectListIn,
) (objectListOut, error) {
	var out objectListOut
	depth, err := in.level()
	if err != nil {
		return out, err
	}
	v, err := f.viewAt(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	q, err := newSelection(v, in)
	if err != nil {
		return out, err
	}
	q.going = state.Going(ctx)
	out.Items, err = state.Page(ctx, pager(&out.Aside, in.Page), q.listing(), newDrawer(v.Index, depth).object)
	out.Note("version", v.Version())
	zoned(&out.Aside, v.Index)
	return out, err
}

// A selection selects the objects of a list.
//
// Filters are tested against the fields as answers show them, with the defaults of the schema and
// with references as full ids.
type selection struct {
	drawer renderer // for the state of the vault that is listed
	typ    string   // empty: all types except sections without a declaration
	fields []fieldFilter
	times  window
	notes  noteWalk // the notes that can contain selected objects

	going func() bool // reports whether to continue; see state.Going
}

// newSelection returns the selection of a call. If the type, a field, a value or a time is invalid,
// it returns one fault with all problems.
//
// A field that the type does not declare, or a value that it cannot have, is a problem and not an
// empty list. Without a type every field name is allowed.
func newSelection(v view, in objectListIn) (selection, error) {
	q := selection{drawer: newDrawer(v.Index, rich)}
	if in.Type != "" { // without a type, an invalid schema does not matter
		if _, err := state.Schema(v.Index); err != nil {
			return q, err
		}
	}
	var err error
	problems := []*fault.Fault{}
	if q.times, err = in.window(v.Clock); err != nil {
		problems = append(problems, faultsIn(err)...)
	}
	s := v.Index.Schema()
	t, known := s.Type(in.Type)
	switch {
	case known:
		q.typ = t.Name
	case in.Type != "":
		problems = append(problems, s.NoType(in.Type))
	}
	for _, name := range slices.Sorted(maps.Keys(in.Field)) {
		values, err := wants(v, name, in.Field[name])
		if err == nil && known {
			err = askable(t, values)
		}
		if err != nil {
			problems = append(problems, fault.Of(err))
		}
		q.fields = append(q.fields, values...)
	}
	if f := fault.Join(Family.Several, problems); f != nil {
		return q, f
	}
	q.notes = q.narrowest()
	return q, nil
}

// faultsIn returns the problems in a fault, or the fault itself if it has none.
func faultsIn(err error) []*fault.Fault {
	f := fault.Of(err)
	if len(f.Errors) > 0 {
		return f.Errors
	}
	return []*fault.Fault{f}
}

// narrowest returns a walk over the smallest set of notes with all selected objects that is cheap
// to compute.
//
// In order of preference these are the notes that were modified in the window, those that have a
// wanted field, and those with an object of the type. Each set contains whole notes; holds then
// tests the objects in them.
func (q selection) narrowest() noteWalk {
	if few, ok := q.times.notes(q.drawer.idx); ok {
		return few
	}
	if walk, ok := q.withField(); ok && q.typ == "" {
		return walk
	}
	return func(from string) iter.Seq[*index.Note] { return q.drawer.idx.NotesWith(q.typ, from) }
}

// withField returns a walk over the notes whose objects can have one of the wanted values: they
// have the field, or a type with a default for it. It returns false if no filter allows this: the
// filters select objects without a field, or daily notes by date, which is in their path.
func (q selection) withField() (noteWalk, bool) {
	i := slices.IndexFunc(q.fields, func(w fieldFilter) bool { return w.text != "" && w.name != "date" })
	if i < 0 {
		return nil, false
	}
	idx, name, types := q.drawer.idx, q.fields[i].name, []string(nil)
	for _, t := range idx.Schema().TypeNames() {
		if t, ok := idx.Schema().Type(t); ok {
			if f, ok := t.Field(name); ok && f.HasDefault {
				types = append(types, t.Name)
			}
		}
	}
	return func(from string) iter.Seq[*index.Note] { return idx.NotesWithField(name, types, from) }, true
}

// listing returns the list of the selected objects.
//
// The total is known without a walk only if the type is the only filter. Otherwise state.Listing
// counts by walking through the list.
func (q selection) listing() state.Listing[index.Object] {
	l := state.Listing[index.Object]{Behind: q.behind, Spot: index.Object.Spot}
	if len(q.fields) == 0 && q.times.open() {
		l.Count = q.count
	}
	return l
}

// behind yields the selected objects after a location. It stops early if the call has ended.
func (q selection) behind(after index.Location) iter.Seq[index.Object] {
	return func(yield func(index.Object) bool) {
		for n := range q.notes(after.Path) {
			if !q.going() {
				return
			}
			if !q.times.mayHold(n) {
				continue
			}
			for o := range n.ObjectsBehind(q.typ, after) {
				if !q.going() || q.holds(o) && !yield(o) {
					return
				}
			}
		}
	}
}

// count returns the number of objects of the selected type. Sections without a declaration are
// counted only if their type is selected.
func (q selection) count() int {
	idx := q.drawer.idx
	if q.typ != "" {
		return idx.Count(q.typ)
	}
	t := idx.Totals()
	return t.Notes + t.Sections - idx.Count(vault.Section)
}

// holds reports whether an object has all wanted values and times.
func (q selection) holds(o index.Object) bool {
	created, modified := timesOf(o)
	if !q.times.holds(created, modified) {
		return false
	}
	if len(q.fields) == 0 {
		return true
	}
	t, _ := q.drawer.idx.Schema().Type(o.Type())
	for _, w := range q.fields {
		if !w.in(t, q.drawer.field(o, w.name)) {
			return false
		}
	}
	return true
}

// timesOf returns the times at which an object was first seen and last modified.
func timesOf(o index.Object) (created, modified time.Time) {
	if o.Section != nil {
		return o.Section.Created, o.Section.Modified
	}
	return o.Note.Created, o.Note.Modified
}
