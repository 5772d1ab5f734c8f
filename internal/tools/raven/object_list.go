package raven

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

//go:embed object_list.md
var objectListDoc string

type objectListIn struct {
	tool.Vault
	Type  string      `json:"type,omitempty" complete:"type" jsonschema:"only objects of this type; section lists headings"`
	Field tool.Fields `json:"field,omitempty" jsonschema:"only objects with these values: name=value, or an object; a list matches by element"`
	timeFilters
	detail
	tool.Page
}

type objectListOut struct {
	tool.Aside `json:"-"`
	Items      []object `json:"items"`
}

func (f tools) objectList() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_object_list", Family: Family, Title: "List objects", Doc: objectListDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/objects"},
		Commands: []tool.Command{{Words: "object list"}},
	}, f.listObjects)
}

func (f tools) listObjects(
	ctx context.Context, c auth.Caller, in objectListIn,
) (objectListOut, error) {
	var out objectListOut
	depth, err := in.level()
	if err != nil {
		return out, err
	}
	v, err := f.view(ctx, c, in.Vault.Vault)
	if err != nil {
		return out, err
	}
	q, err := newSelection(v, in)
	if err != nil {
		return out, err
	}
	out.Items, err = page(&out.Aside, in.Page, q.listing(), newDrawer(v.idx, depth).object)
	out.Note("version", v.version())
	zoned(&out.Aside, v.idx)
	return out, err
}

// A selection says which objects a list is of.
type selection struct {
	drawer drawer // of the state that the list is of
	typ    string // empty: all but plain sections
	fields []wanted
	times  window
}

// A wanted is a value that a field must have.
type wanted struct {
	name  string
	value any
	isRef bool // it is compared by what it leads to
}

// newSelection checks what is asked for: a type and fields that exist, values that they may have, and
// times that can be read. All problems come together.
func newSelection(v view, in objectListIn) (selection, error) {
	q := selection{drawer: newDrawer(v.idx, rich)}
	s, err := schemaOf(v.idx)
	if err != nil {
		return q, err
	}
	var problems []*fault.Fault
	if q.times, err = in.window(v.clock); err != nil {
		problems = append(problems, fault.Of(err))
	}
	t, known := s.Type(in.Type)
	switch {
	case known:
		q.typ = t.Name
	case in.Type != "":
		problems = append(problems, s.NoType(in.Type))
	}
	for _, name := range slices.Sorted(maps.Keys(in.Field)) {
		w := wanted{name: name, value: in.Field[name]}
		if known {
			if f := askable(t, name, w.value); f != nil {
				problems = append(problems, f)
			}
			f, ok := t.Field(name)
			w.isRef = ok && f.IsRef()
		}
		q.fields = append(q.fields, w)
	}
	if f := fault.Join(Family.Several, problems); f != nil {
		return q, f
	}
	return q, nil
}

// askable is a fault if no object of the type can have this value.
func askable(t *vault.Type, name string, v any) *fault.Fault {
	f, ok := t.Field(name)
	switch {
	case !ok && t.Name != vault.Page:
		return fault.New(fault.InvalidField, "type %s has no field %q", t.Name, name).
			With("field", name).With("allowed", t.FieldNames())
	case ok && len(f.Values) > 0:
		for _, allowed := range f.Values {
			if equal(allowed, v) {
				return nil
			}
		}
		return fault.New(fault.InvalidValue, "field %q is one of %s", name,
			strings.Join(f.Values, ", ")).With("field", name).With("allowed", f.Values)
	}
	return nil
}

// listing is the list of what is selected.
func (q selection) listing() listing[index.Object] {
	l := listing[index.Object]{behind: q.behind, spot: index.Object.Spot}
	if len(q.fields) == 0 && q.times.open() {
		l.count = q.count
	}
	return l
}

// behind yields what is selected behind a spot.
func (q selection) behind(after index.Spot) iter.Seq[index.Object] {
	if len(q.fields) == 0 && q.times.open() {
		return q.drawer.idx.Objects(q.typ, after)
	}
	all := q.drawer.idx.Objects(q.typ, after)
	if q.times.narrows() {
		all = q.changed(after)
	}
	return only(all, q.holds)
}

// changed yields the objects behind a spot in the notes that the time filters leave.
func (q selection) changed(after index.Spot) iter.Seq[index.Object] {
	return func(yield func(index.Object) bool) {
		for n := range q.times.notes(q.drawer.idx, after.Path) {
			for i := -1; i < len(n.Sections); i++ {
				o := n.Object(i)
				if o.Spot().Behind(after) && q.isType(o) && !yield(o) {
					return
				}
			}
		}
	}
}

// isType reports whether the list is of objects such as this one.
func (q selection) isType(o index.Object) bool {
	if q.typ == "" {
		return o.Type() != vault.Section
	}
	return o.Type() == q.typ
}

// count is how many objects there are of the type.
func (q selection) count() int {
	idx := q.drawer.idx
	if q.typ != "" {
		return idx.Count(q.typ)
	}
	t := idx.Totals()
	return t.Notes + t.Sections - idx.Count(vault.Section)
}

// holds reports whether an object has all the values and times asked for.
func (q selection) holds(o index.Object) bool {
	created, modified := timesOf(o)
	if !q.times.holds(created, modified) {
		return false
	}
	if len(q.fields) == 0 {
		return true
	}
	has, _ := q.drawer.fields(o)
	for _, w := range q.fields {
		if !q.matches(has[w.name], w) {
			return false
		}
	}
	return true
}

// timesOf are when an object was first seen and last modified.
func timesOf(o index.Object) (created, modified time.Time) {
	if o.Section != nil {
		return o.Section.Created, o.Section.Modified
	}
	return o.Note.Created, o.Note.Modified
}

// matches reports whether a value is, or a list has, what is wanted.
func (q selection) matches(has any, w wanted) bool {
	want := w.value
	if text := plain(want); w.isRef && text != "" {
		want = q.drawer.idOf(text)
	}
	list, ok := has.([]any)
	if !ok {
		return equal(has, want)
	}
	for _, element := range list {
		if equal(element, want) {
			return true
		}
	}
	return false
}

// equal compares as people mean it: case does not count, and neither do the brackets of a
// reference.
func equal(has, want any) bool {
	return strings.EqualFold(plain(has), plain(want))
}

func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return bare(v)
	case tool.Text:
		return bare(string(v))
	}
	return fmt.Sprint(v)
}

// bare is the target of a text that is a reference, else the text.
func bare(s string) string {
	if ref, ok := vault.ParseRef(s); ok && strings.HasPrefix(s, "[[") {
		return string(ref)
	}
	return s
}
