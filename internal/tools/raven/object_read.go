package raven

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An objectListIn is the input of raven_object_list. All its filters must match.
type objectListIn struct {
	tool.Vault
	// only objects of this type; section lists headings
	Type string `json:"type,omitempty" complete:"type"`
	// only objects with these values: name=value, or an object; a list matches by element
	Field tool.Fields `json:"field,omitempty" complete:"type_field" of:"type"`
	timeFilters
	detail
	tool.AsOf
	tool.Page
}

// objectList returns the tool raven_object_list, which lists objects by type, fields and times.
func (f tools) objectList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_object_list", Family: Family, Title: "List objects",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/objects"},
		Commands: []tool.Command{{Words: "object list"}},
		Columns:  []string{"id", "type", "heading", "last_modified_at", "fields"},
		Empty: []tool.Empty{
			{Of: "objects of type {type}", Tool: "raven_new",
				Args: map[string]string{"type": "{type}", "title": "Title"}},
			{Of: "objects", Tool: "raven_new", Args: map[string]string{"type": "page", "title": "Title"}},
		},
	}, listObjects)
}

// listObjects runs raven_object_list.
//
// Objects are listed by path and, within a note, by line: the note first, then its sections.
func listObjects(
	_ context.Context, v view, in objectListIn, _ *itemsOut[object],
) (listing[object], error) {
	b, err := in.branch(v)
	if err != nil {
		return nil, err
	}
	d := v.renderer()
	return matching(v, b, func(i query.Item) object { return d.object(i.Object) }), nil
}

// branch returns the query of a call. If the type, a field, a value or a time is invalid, it
// returns one fault with all problems. Without a type it selects all objects except sections
// without a declaration.
func (in objectListIn) branch(v view) (query.Branch, error) {
	b := query.Branch{Kind: query.Objects, Name: query.Any}
	if in.Type != "" { // without a type, an invalid schema does not matter
		if _, err := state.Schema(v.Index); err != nil {
			return b, err
		}
	}
	problems := []*fault.Fault{}
	times, err := in.window(v.Clock)
	if err != nil {
		problems = append(problems, faultsIn(err)...)
	}
	s := v.Index.Schema()
	t, known := s.Type(in.Type)
	switch {
	case known && t.Name == vault.Section:
		b = query.Branch{Kind: query.Sections}
	case known:
		b.Name = t.Name
	case in.Type != "":
		problems = append(problems, s.NoType(in.Type))
	}
	var fields fieldFilters
	for _, name := range slices.Sorted(maps.Keys(in.Field)) {
		values, err := newFieldFilters(v, name, in.Field[name])
		if err == nil && known {
			err = checkFilters(t, values)
		}
		if err != nil {
			problems = append(problems, fault.Of(err))
		}
		fields = append(fields, values...)
	}
	if f := fault.Join(Family.Several, problems); f != nil {
		return b, f
	}
	var tests []query.Condition
	if !times.open() {
		tests = append(tests, times.condition(v.Index))
	}
	if len(fields) > 0 {
		tests = append(tests, fields.condition(v.Index, in.Type == ""))
	}
	b.Where = query.Where(tests...)
	return b, nil
}

// faultsIn returns the problems in a fault, or the fault itself if it has none.
func faultsIn(err error) []*fault.Fault {
	f := fault.Of(err)
	if len(f.Errors) > 0 {
		return f.Errors
	}
	return []*fault.Fault{f}
}

// fieldFilters are values that an object must have, all of them.
type fieldFilters []fieldFilter

// condition returns the filters as a test of objects, which may be of any type.
func (all fieldFilters) condition(idx *index.Index, anyType bool) query.Condition {
	d := newRenderer(idx, rich)
	c := query.Condition{Holds: func(i query.Item) bool {
		t, _ := idx.Schema().Type(i.Object.Type())
		return !slices.ContainsFunc(all, func(w fieldFilter) bool {
			return !w.matches(t, d.field(i.Object, w.name))
		})
	}}
	if anyType {
		// How many notes have a field is not known, but they are fewer than all.
		c.Notes, c.Most = all.notes(idx), idx.Totals().Notes-1
	}
	return c
}

// notes returns a walk over the notes whose objects can have one of the wanted values: they have
// the field, or a type with a default for it. It returns nil if no filter allows this: the filters
// select objects without a field, or daily notes by date, which is in their path.
func (all fieldFilters) notes(idx *index.Index) func(from string) iter.Seq[*index.Note] {
	i := slices.IndexFunc(all, func(w fieldFilter) bool { return w.text != "" && w.name != "date" })
	if i < 0 {
		return nil
	}
	name, types := all[i].name, []string(nil)
	for _, t := range idx.Schema().TypeNames() {
		if t, ok := idx.Schema().Type(t); ok {
			if f, ok := t.Field(name); ok && f.HasDefault {
				types = append(types, t.Name)
			}
		}
	}
	return func(from string) iter.Seq[*index.Note] { return idx.NotesWithField(name, types, from) }
}

// An objectGetIn is the input of raven_object_get.
type objectGetIn struct {
	tool.Vault
	// people/freya, or daily/2026-03-02#standup for a section
	ID string `json:"id" complete:"id" alias:"object_id,reference"`
	detail
	tool.AsOf
}

// An objectGetOut is the output of raven_object_get. At the default depth the object has its fields
// in full, up to maxWhole bytes.
type objectGetOut struct {
	tool.Aside `json:"-"`
	Object     object `json:"object"`
}

// objectGet returns the tool raven_object_get, which shows one object.
func (f tools) objectGet() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_object_get", Family: Family, Title: "Get an object",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/objects/{id}"},
		Commands: []tool.Command{{Words: "object get", Args: []string{"id"}}},
	}, func(_ context.Context, v view, in objectGetIn) (objectGetOut, error) {
		p, err := locate(v.Index, in.ID, v.Clock)
		if err != nil {
			return objectGetOut{}, err
		}
		return objectGetOut{Object: v.renderer().forSingle().object(p)}, nil
	})
}

// locate returns the object that an argument names: by its id or, as in a reference, by a name, an
// alias, the end of its path or a word for a day (raven.md §1.9). Several candidates are
// AMBIGUOUS_REF.
//
// Every argument that names an object is read here, so that all tools accept the same forms and
// return the same faults. An id takes precedence over a name.
func locate(idx *index.Index, id string, c vault.Clock) (index.Object, error) {
	to := resolution(idx, id, c)
	if to.Object.Note == nil {
		return index.Object{}, unresolved(idx, id, to)
	}
	return to.Object, nil
}

// resolution returns the object with an id or, if there is none, the result of index.ResolveArg.
func resolution(idx *index.Index, id string, c vault.Clock) index.Resolution {
	if o, ok := idx.Find(strings.TrimSpace(id)); ok {
		return index.Resolution{ID: o.ID(), Object: o}
	}
	return idx.ResolveArg(id, c)
}

// unresolved returns the fault of an argument that does not name exactly one object.
func unresolved(idx *index.Index, id string, to index.Resolution) error {
	switch {
	case len(to.Matches) > 0:
		return ambiguous(id, to.Matches)
	case strings.Contains(id, "#"):
		return noObject(idx, "no section %q", id)
	}
	return noObject(idx, "no object %q", id)
}

// noPath replaces a NOT_FOUND error by INVALID_PATH if path is written as a path that no note can
// have. Otherwise it returns err. argument is the argument's name in the new error.
//
// A text with a slash or an extension was meant as a path; the reason why it is none helps more
// than the news that nothing is there.
func noPath(err error, path, argument string) error {
	file, _, _ := strings.Cut(strings.TrimSpace(path), "#")
	written := strings.ContainsAny(file, "/\\\x00") || strings.HasSuffix(file, ".md")
	if !written || !fault.Is(err, fault.NotFound) {
		return err
	}
	if _, bad := vault.NotePath(strings.TrimSuffix(file, "/")); bad != nil {
		return fault.Of(bad).With("argument", argument)
	}
	return err
}

// locateTarget is locate for the target of references. It returns an id, because a day can be a
// target without a daily note.
func locateTarget(idx *index.Index, ref string, c vault.Clock) (string, error) {
	to := resolution(idx, ref, c)
	if to.ID == "" {
		return "", unresolved(idx, ref, to)
	}
	return to.ID, nil
}

// The maximum numbers of candidates of an ambiguous reference in an answer: if they are its result,
// and if they are a detail. A short name can be the name of a section in every note.
const (
	maxCandidates = 200
	maxMatches    = 20
)

// firstOf returns the first n elements of a list, or all if there are fewer. It does not copy them.
func firstOf[T any](all []T, n int) []T { return all[:min(n, len(all))] }

// ambiguous returns AMBIGUOUS_REF with the first candidates.
//
// matches is not modified and may be longer than the fault shows.
func ambiguous(ref string, matches []string) *fault.Fault {
	some := firstOf(matches, maxMatches)
	names := strings.Join(some, ", ")
	if len(some) < len(matches) {
		names += ", …"
	}
	return fault.New(fault.AmbiguousRef, "%q is ambiguous: it can be any of: %s", ref, names).
		With("matches", some).Fix("use one of these ids")
}

// notFound returns NOT_FOUND. The message does not contain the id if it is too long to be one. Such
// a text is usually the content of another argument, and can be large or confidential.
func notFound(format, id string) *fault.Fault {
	f := fault.New(fault.NotFound, format, id)
	if len(id) > 600 || strings.ContainsAny(id, "\n\x00") {
		f = fault.New(fault.NotFound, "no object with that id")
	}
	return f
}

// maxRetries is the maximum number of ids for which a fault has a call that reads them.
//
// A fault with more calls would be longer than most answers.
const maxRetries = 3

// excludedBy is the reason why a path that the settings exclude has no note.
const excludedBy = "its path is excluded by " + vault.ConfigRaven

// noObject returns NOT_FOUND with the most similar ids, and calls that read the first of them.
//
// If the settings exclude the path, the message says that: the file may well be in the folder.
func noObject(idx *index.Index, format, id string) *fault.Fault {
	file, _, _ := strings.Cut(strings.TrimSpace(id), "#")
	if idx.Hides(file) || idx.Hides(file+".md") {
		format += ": " + excludedBy
	}
	f, near := notFound(format, id), idx.Nearest(strings.TrimSpace(id))
	if len(near) == 0 {
		return f.Try("raven_object_list", nil)
	}
	f = f.With("nearest", near)
	for _, other := range firstOf(near, maxRetries) {
		f = f.Try("raven_read", fault.Args{"path": other})
	}
	return f
}
