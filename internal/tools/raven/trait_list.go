package raven

import (
	"context"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
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

// A traitListOut is the output of raven_trait_list.
type traitListOut struct {
	tool.Aside `json:"-"`
	Items      []trait `json:"items"`
}

// page implements listOut.
func (o *traitListOut) page() (*tool.Aside, *[]trait) { return &o.Aside, &o.Items }

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
	_ context.Context, v view, in traitListIn, _ *traitListOut,
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
	if f := fault.Join(Family.Several, problems); f != nil {
		return b, f
	}
	return b, nil
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
