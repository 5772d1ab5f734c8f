package raven

import (
	"context"
	_ "embed"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

//go:embed trait_list.md
var traitListDoc string

type traitListIn struct {
	tool.Vault
	TraitType  string `json:"trait_type" complete:"trait" jsonschema:"due, priority or another of the schema; task: checkboxes"`
	Value      string `json:"value,omitempty" size:"query" jsonschema:"only this value; for dates also today, tomorrow, this-week, past"`
	ParentType string `json:"parent_type,omitempty" rare:"true" complete:"type" jsonschema:"only in objects of this type: meeting, daily, project"`
	Path       string `json:"path,omitempty" complete:"path" jsonschema:"only in this note or folder"`
	Done       *bool  `json:"done,omitempty" absent:"both" jsonschema:"only done tasks, or only open ones"`
	timeFilters
	detail
	tool.AsOf
	tool.Page
}

type traitListOut struct {
	tool.Aside `json:"-"`
	Items      []trait `json:"items"`
}

func (f tools) traitList() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_trait_list", Family: Family, Title: "List traits", Doc: traitListDoc,
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
	}, f.listTraits)
}

func (f tools) listTraits(
	ctx context.Context, c auth.Caller, in traitListIn,
) (traitListOut, error) {
	var out traitListOut
	depth, err := in.level()
	if err != nil {
		return out, err
	}
	v, err := f.viewAt(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	q, err := newTraitSelection(v, in)
	if err != nil {
		return out, err
	}
	q.going = state.Going(ctx)
	out.Items, err = state.Page(ctx, pager(&out.Aside, in.Page), q.listing(), newDrawer(v.Index, depth).trait)
	out.Note("version", v.Version())
	zoned(&out.Aside, v.Index)
	return out, err
}

// A traitSelection says which traits a list is of.
type traitSelection struct {
	idx    *index.Index
	values traitLookup // of the type, and of the value if one is asked for
	parent string      // the type of what they stand in; empty: any
	area   area
	times  window
	done   *bool // whether what is selected is done; nil: either

	going func() bool // reports whether to go on; see going
}

// newTraitSelection checks what is asked for: a trait and a type that exist, a value that the trait
// can have, and times and a path that can be read. All problems come together.
func newTraitSelection(v view, in traitListIn) (traitSelection, error) {
	q := traitSelection{idx: v.Index, done: in.Done}
	s, err := state.Schema(v.Index)
	if err != nil {
		return q, err
	}
	var problems []*fault.Fault
	note := func(err error) {
		if err != nil {
			problems = append(problems, fault.Of(err))
		}
	}
	if def, ok := s.Trait(in.TraitType); ok {
		q.values, err = lookupOf(v, def, in.Value)
		note(err)
	} else if in.TraitType == index.TaskType {
		q.values, err = lookupTasks(v.Index, in.Value)
		note(err)
	} else {
		note(s.NoTrait(in.TraitType))
	}
	if t, ok := s.Type(in.ParentType); ok {
		q.parent = t.Name
	} else if in.ParentType != "" {
		note(s.NoType(in.ParentType))
	}
	q.area, err = areaOf(v.Index, in.Path)
	note(err)
	q.times, err = in.window(v.Clock)
	note(err)
	if f := fault.Join(Family.Several, problems); f != nil {
		return q, f
	}
	return q, nil
}

// listing is the list of what is selected.
func (q traitSelection) listing() state.Listing[*index.Trait] {
	notes := q.notes()
	l := state.Listing[*index.Trait]{Spot: (*index.Trait).Spot}
	l.Behind = func(after index.Location) iter.Seq[*index.Trait] { return q.behind(notes, after) }
	if q.parent == "" && q.area.whole() && q.times.open() && q.done == nil {
		l.Count = q.values.count
	}
	return l
}

// notes are notes in which all that is selected stands: the fewest that can be told quickly.
func (q traitSelection) notes() noteWalk {
	if few, ok := q.times.notes(q.idx); ok {
		return few
	}
	if q.parent != "" && q.parent != vault.Section && q.idx.Count(q.parent) < q.values.most() {
		return func(from string) iter.Seq[*index.Note] { return q.idx.NotesWith(q.parent, from) }
	}
	return q.values.notes
}

// behind yields what is selected behind a spot, and stands in the notes.
func (q traitSelection) behind(notes noteWalk, after index.Location) iter.Seq[*index.Trait] {
	if begin := (index.Location{Path: q.area.from}); begin.After(after) {
		after = begin
	}
	return func(yield func(*index.Trait) bool) {
		for n := range notes(after.Path) {
			if !q.area.has(n.Path) || !q.going() {
				return
			}
			if q.times.mayHold(n) && !q.in(n, after, yield) {
				return
			}
		}
	}
}

// in yields what is selected in a note behind a spot, and reports whether more is wanted.
func (q traitSelection) in(n *index.Note, after index.Location, yield func(*index.Trait) bool) bool {
	for t := range n.TraitsBehind(q.values.typ, after, q.values.has) {
		if !q.going() || q.holds(t) && !yield(t) {
			return false
		}
	}
	return true
}

// holds reports whether a trait is selected, if it stands in the area and has a value.
func (q traitSelection) holds(t *index.Trait) bool {
	return (q.times.open() || q.times.holds(t.Created, t.Modified)) &&
		(q.parent == "" || standsIn(t, q.parent)) && (q.done == nil || q.idx.Done(t) == *q.done)
}

// standsIn reports whether the parent of a trait is of a type or, if that is a plain section, the
// nearest object around it that is none (raven.md §6.3).
func standsIn(t *index.Trait, typ string) bool {
	o := t.Parent()
	return o.Type() == typ || o.Typed().Type() == typ
}

// An area is a part of a vault: everything, one note, or a folder.
type area struct {
	from string // nothing in it has a smaller path
	note bool   // it is one note, at that path; else a folder, or with an empty path everything
}

// areaOf reads the path of a note, with or without `.md`, or of a folder. Where both are of that name
// it is the note; a slash at the end says that the folder is meant.
func areaOf(idx *index.Index, path string) (area, error) {
	if path == "" {
		return area{}, nil
	}
	folder := strings.TrimSuffix(path, "/")
	file, err := vault.NotePath(folder)
	if err != nil {
		return area{}, fault.Of(err).With("argument", "path")
	}
	_, there := idx.Note(string(file))
	if folder == path && (there || strings.HasSuffix(path, ".md")) {
		return area{string(file), true}, nil
	}
	return area{folder + "/", false}, nil
}

// whole reports whether everything is in the area.
func (a area) whole() bool { return a.from == "" }

// has reports whether a path is in the area.
func (a area) has(path string) bool {
	if a.note {
		return path == a.from
	}
	return strings.HasPrefix(path, a.from)
}
