package raven

import (
	"context"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A traitListIn is the input of raven_trait_list. All its filters must match.
//
// On the command line Done is false by default, and the flag --all selects both.
type traitListIn struct {
	tool.Vault
	// due, priority or another of the schema; task: checkboxes
	TraitType string `json:"trait_type" complete:"trait"`
	// only this value; for dates also today, tomorrow, this-week, past
	Value string `json:"value,omitempty" size:"query"`
	// only in objects of this type: meeting, daily, project
	ParentType string `json:"parent_type,omitempty" rare:"true" complete:"type"`
	// only in this note or folder
	Path string `json:"path,omitempty" complete:"path"`
	// only done tasks, or only open ones
	Done *bool `json:"done,omitempty" absent:"both"`
	timeFilters
	detail
	tool.AsOf
	tool.Page
}

// traitList returns the tool raven_trait_list, which lists traits by type, value, place and times.
func (f tools) traitList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_trait_list", Family: Family, Title: "List traits",
		Role: auth.Reader, Kind: tool.Read, Aliases: []string{"raven_trait"},
		Route:   tool.Route{Method: "GET", Path: "/traits"},
		Flags:   map[string]string{"trait_type": "type"},
		Presets: []tool.Preset{{Arg: "done", Value: "false", Flag: "all", Doc: "include done tasks"}},
		Commands: []tool.Command{
			{Words: "trait", Args: []string{"trait_type"}},
			{Words: "trait list", Args: []string{"trait_type"}},
		},
		Columns: []string{
			"id", "value", "file_path", "line_number", "sibling_traits", "content_text",
		},
		Empty: []tool.Empty{
			{
				Of: "@{trait_type} traits", Tool: "raven_trait_create", Args: map[string]string{
					"trait_type": "{trait_type}", "parent_id": "today", "content": "Text",
				},
			},
		},
	}, listTraits)
}

// listTraits runs raven_trait_list.
func listTraits(
	_ context.Context, v view, in traitListIn, _ *itemsOut[trait],
) (listing[trait], error) {
	b, err := in.branch(v)
	if err != nil {
		return nil, err
	}
	d := v.renderer()
	return matching(v, b, func(i query.Item) trait { return d.trait(i.Trait) }), nil
}

// branch returns the query of a call. If the trait, a type, the value, a time or the path is
// invalid, it returns one fault with all problems.
func (in traitListIn) branch(v view) (query.Branch, error) {
	b := query.Branch{Kind: query.Traits, Name: in.TraitType}
	s, err := state.Schema(v.Index)
	if err != nil {
		return b, err
	}
	var problems []*fault.Fault
	var tests []query.Condition
	add := func(wanted bool, c func() (query.Condition, error)) {
		if !wanted {
			return
		}
		test, err := c()
		if err != nil {
			problems = append(problems, fault.Of(err))
		}
		tests = append(tests, test)
	}
	if def, ok := s.Trait(in.TraitType); ok {
		b.Name = def.Name
		add(in.Value != "", func() (query.Condition, error) { return valueCondition(v, def, in.Value) })
	} else if in.TraitType == index.TaskType {
		add(in.Value != "", func() (query.Condition, error) { return taskCondition(v.Index, in.Value) })
	} else {
		problems = append(problems, s.NoTrait(in.TraitType))
	}
	add(in.ParentType != "", func() (query.Condition, error) { return parentCondition(v.Index, in.ParentType) })
	add(in.Path != "", func() (query.Condition, error) {
		area, err := areaOf(v.Index, in.Path)
		return query.Condition{In: area}, err
	})
	add(in.timeFilters != timeFilters{}, func() (query.Condition, error) {
		w, err := in.window(v.Clock)
		return w.condition(v.Index), err
	})
	add(in.Done != nil, func() (query.Condition, error) {
		return query.Condition{Holds: func(i query.Item) bool { return v.Index.Done(i.Trait) == *in.Done }}, nil
	})
	b.Where = query.Where(tests...)
	return b, fault.Join(Family.Several, problems).Err()
}

// parentCondition returns the test that a trait is in an object of a type; see parentHasType.
func parentCondition(idx *index.Index, typ string) (query.Condition, error) {
	t, ok := idx.Schema().Type(typ)
	if !ok {
		return query.Condition{}, idx.Schema().NoType(typ)
	}
	c := query.Condition{Holds: func(i query.Item) bool { return parentHasType(i.Trait, t.Name) }}
	if t.Name != vault.Section {
		c.Most = idx.Count(t.Name)
		c.Notes = func(from string) iter.Seq[*index.Note] { return idx.NotesWith(t.Name, from) }
	}
	return c, nil
}

// parentHasType reports whether the parent of a trait has a type or, if the parent is a section
// without a declaration, the nearest typed object that contains it (raven.md §6.3).
//
// So a trait below a plain heading of a meeting is in the meeting.
func parentHasType(t *index.Trait, typ string) bool {
	o := t.Parent()
	return o.Type() == typ || o.Typed().Type() == typ
}

// areaOf returns the area of a path: of a note, with or without `.md`, or of a folder. If both
// exist, the path means the note, and the folder has a slash at its end.
func areaOf(idx *index.Index, path string) (query.Area, error) {
	folder := strings.TrimSuffix(path, "/")
	file, err := vault.NotePath(folder)
	if err != nil {
		return query.Area{}, fault.Of(err).With("argument", "path")
	}
	_, there := idx.Note(string(file))
	if folder == path && (there || strings.HasSuffix(path, ".md")) {
		return query.Area{Path: string(file), Note: true}, nil
	}
	return query.Area{Path: folder + "/"}, nil
}

// A traitGetIn is the input of raven_trait_get.
type traitGetIn struct {
	tool.Vault
	// due-e2bae6c0; or its current position: daily/2026-03-02.md:11
	ID string `json:"id" size:"id" alias:"trait_id"`
	detail
	tool.AsOf
}

// A traitGetOut is the output of raven_trait_get.
type traitGetOut struct {
	tool.Aside `json:"-"`
	Trait      trait `json:"trait"`
}

// traitGet returns the tool raven_trait_get, which shows one trait.
func (f tools) traitGet() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_trait_get", Family: Family, Title: "Get a trait",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/traits/{id}"},
		Commands: []tool.Command{{Words: "trait get", Args: []string{"id"}}},
	}, showTrait)
}

// showTrait runs raven_trait_get. It needs a valid schema, because the schema determines the type of
// the value.
func showTrait(_ context.Context, v view, in traitGetIn) (traitGetOut, error) {
	var out traitGetOut
	if _, err := state.Schema(v.Index); err != nil {
		return out, err
	}
	t, _, err := findTrait(v.Index, in.ID)
	if err != nil {
		return out, err
	}
	out.Trait = v.renderer().trait(t)
	return out, nil
}

var (
	traitNumber = regexp.MustCompile(`^(.+):trait:(\d{1,9})$`)
	traitLine   = regexp.MustCompile(`^(.+):(\d{1,9})$`)
)

// findTrait returns the trait with an id, or at a current position (raven.md §6.4): `path:line` is
// the first trait of a line, and `path:trait:n` the trait with n traits of the schema before it in
// its note. stable reports whether it was found by its id.
//
// Positions change with every edit of the note, so they are accepted for reading only; see
// ownTrait.
func findTrait(idx *index.Index, id string) (t *index.Trait, stable bool, err error) {
	id = strings.TrimSpace(id)
	if t, ok := idx.Trait(id); ok {
		return t, true, nil
	}
	var holds func(t *index.Trait, before int) bool
	m := traitNumber.FindStringSubmatch(id)
	if m != nil {
		holds = func(_ *index.Trait, before int) bool { return before == numberOf(m[2]) }
	} else if m = traitLine.FindStringSubmatch(id); m != nil {
		holds = func(t *index.Trait, _ int) bool { return t.Line() == numberOf(m[2]) }
	} else {
		return nil, false, noTrait(idx, id)
	}
	n, ok := idx.Note(strings.TrimSuffix(m[1], ".md") + ".md")
	if !ok {
		return nil, false, noTrait(idx, id)
	}
	// Checkboxes are not traits of the schema, so `path:trait:n` does not count them.
	before, byLine := 0, !traitNumber.MatchString(id)
	for t := range n.Traits() {
		if (byLine || !t.Task) && holds(t, before) {
			return t, false, nil
		}
		if !t.Task {
			before++
		}
	}
	return nil, false, noTrait(idx, id)
}

// numberOf returns the value of a few digits, or -1.
func numberOf(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// ownTrait returns the trait with an id, for a change. A position is an error, because another
// trait may be there when the change is made.
func ownTrait(idx *index.Index, id string) (*index.Trait, error) {
	t, stable, err := findTrait(idx, id)
	if err != nil || stable {
		return t, err
	}
	return nil, fault.New(fault.InvalidValue,
		"a trait is changed by its id, not by its position; the one there has the id %s", t.ID).
		With("argument", "id").With("id", t.ID).Fix("use the id %s", t.ID)
}

// noTrait returns NOT_FOUND for a trait, with the most similar ids. The message does not contain
// the id if it is too long to be one.
func noTrait(idx *index.Index, id string) *fault.Fault {
	f := fault.New(fault.NotFound, "no trait %q", id)
	if len(id) > 600 || strings.ContainsAny(id, "\n\x00") {
		f = fault.New(fault.NotFound, "no trait with that id")
	}
	near := nearTraits(idx, id)
	if len(near) > 0 {
		f = f.With("nearest", near)
	}
	for _, other := range firstOf(near, maxRetries) {
		f = f.Try("raven_trait_get", fault.Args{"id": other})
	}
	if len(near) == 0 {
		f = f.Try("raven_schema_traits", nil)
	}
	return f
}

// nearTraits returns the ids of traits that an invalid id may mean: the most similar ones or, if
// the id is a position in an existing note, the first traits of that note.
func nearTraits(idx *index.Index, id string) []string {
	note, _, placed := strings.Cut(id, ":")
	n, ok := idx.Note(strings.TrimSuffix(note, ".md") + ".md")
	if !placed || !ok {
		return idx.NearestTraits(id)
	}
	var ids []string
	for t := range n.Traits() {
		if ids = append(ids, t.ID); len(ids) == index.MaxNearest {
			break
		}
	}
	return ids
}

// annotationOf returns the annotation of a trait in the text of its note.
//
// It compares the position and the name, and returns NOT_FOUND if the text has changed since it was
// indexed.
func annotationOf(text []byte, t *index.Trait) (markdown.Trait, error) {
	for _, a := range markdown.Parse(text).Traits {
		if a.Span.Start == t.Position() && a.Name == t.Type {
			return a, nil
		}
	}
	return markdown.Trait{}, notFound("no trait %q", t.ID)
}
