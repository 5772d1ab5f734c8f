package raven

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"strings"

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
	Type  string      `json:"type,omitempty" jsonschema:"only objects of this type; section lists headings"`
	Field tool.Fields `json:"field,omitempty" jsonschema:"only objects with these values: name=value, or an object; a list matches by element"`
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
	out := objectListOut{Items: []object{}}
	after, err := in.After(Family)
	if err != nil {
		return out, err
	}
	v, err := f.view(ctx, c, in.Vault.Vault)
	if err != nil {
		return out, err
	}
	q, err := newSelection(v.idx, in)
	if err != nil {
		return out, err
	}
	total, more, last := 0, false, ""
	for p := range q.places() {
		if !q.holds(p) {
			continue
		}
		total++
		switch {
		case sortKey(p) <= after:
		case len(out.Items) == in.Limit:
			more = true
		default:
			out.Items = append(out.Items, objectAt(v.idx, p))
			last = sortKey(p)
		}
		if more && len(q.fields) == 0 {
			total = q.count()
			break
		}
	}
	out.Paged(len(out.Items), total, more, last)
	out.Note("version", v.version())
	if total == 0 {
		out.Warn("NO_RESULTS", "no object matches", nil)
	}
	return out, nil
}

// sortKey orders objects by path, then line.
func sortKey(p index.Object) string {
	if p.Section == nil {
		return p.Note.Path
	}
	return fmt.Sprintf("%s\x00%09d", p.Note.Path, p.Section.Line)
}

// A selection says which objects a list is of.
type selection struct {
	idx    *index.Index
	typ    string // empty: every note
	fields map[string]any
}

// newSelection checks what is asked for: a type and fields that exist, and values that they may
// have.
func newSelection(idx *index.Index, in objectListIn) (selection, error) {
	q := selection{idx: idx, fields: in.Field}
	if in.Type == "" {
		return q, nil
	}
	s, err := schemaOf(idx)
	if err != nil {
		return q, err
	}
	t, ok := s.Type(in.Type)
	if !ok {
		return q, s.NoType(in.Type)
	}
	q.typ = t.Name
	for name, v := range in.Field {
		if err := askable(t, name, v); err != nil {
			return q, err
		}
	}
	return q, nil
}

// askable is a fault if no object of the type can have this value.
func askable(t *vault.Type, name string, v any) error {
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

// places are the objects of the type, by path and line; without a type all but plain sections.
func (q selection) places() iter.Seq[index.Object] {
	return q.idx.Objects(q.typ, index.Spot{})
}

// count is how many there are.
func (q selection) count() int {
	if q.typ != "" {
		return q.idx.Count(q.typ)
	}
	t := q.idx.Totals()
	return t.Notes + t.Sections - q.idx.Count(vault.Section)
}

// holds reports whether an object has all the values asked for.
func (q selection) holds(p index.Object) bool {
	if len(q.fields) == 0 {
		return true
	}
	has := objectAt(q.idx, p).Fields
	for name, want := range q.fields {
		if !matches(has[name], want) {
			return false
		}
	}
	return true
}

// matches reports whether a value is, or a list has, what is wanted.
func matches(has, want any) bool {
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
