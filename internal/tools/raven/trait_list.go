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

// A traitListIn is the input of raven_trait_list. All its filters must match.
//
// On the command line Done is false by default, and the flag --all selects both.
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

// A traitListOut is the output of raven_trait_list.
type traitListOut struct {
	tool.Aside `json:"-"`
	Items      []trait `json:"items"`
}

// traitList returns the tool raven_trait_list, which lists traits by type, value, place and times.
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

// listTraits runs raven_trait_list.
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

// A traitSelection selects the traits of a list.
//
// Traits are listed by path and by their position in the note. The zero value is not usable.
type traitSelection struct {
	idx    *index.Index
	values traitLookup // the traits of the type, with the value if one is given
	parent string      // the type of the parent; empty: any
	area   area
	// times are the time filters.
	times window
	done  *bool // select done, or not done, lines; nil: both

	going func() bool // reports whether to continue; see state.Going
}

// newTraitSelection returns the selection of a call. If the trait, a type, the value, a time or the
// path is invalid, it returns one fault with all problems.
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

// listing returns the list of the selected traits.
func (q traitSelection) listing() state.Listing[*index.Trait] {
	notes := q.notes()
	l := state.Listing[*index.Trait]{Spot: (*index.Trait).Spot}
	l.Behind = func(after index.Location) iter.Seq[*index.Trait] { return q.behind(notes, after) }
	if q.parent == "" && q.area.whole() && q.times.open() && q.done == nil {
		l.Count = q.values.count
	}
	return l
}

// notes returns a walk over the smallest set of notes with all selected traits that is cheap to
// compute.
//
// The candidates are the notes modified in the window, the notes with objects of the parent type,
// and those with the value.
func (q traitSelection) notes() noteWalk {
	if few, ok := q.times.notes(q.idx); ok {
		return few
	}
	if q.parent != "" && q.parent != vault.Section && q.idx.Count(q.parent) < q.values.most() {
		return func(from string) iter.Seq[*index.Note] { return q.idx.NotesWith(q.parent, from) }
	}
	return q.values.notes
}

// behind yields the selected traits in these notes after a location. It stops early if the call has
// ended.
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

// in yields the selected traits in a note after a location. It returns false if the walk must stop.
func (q traitSelection) in(n *index.Note, after index.Location, yield func(*index.Trait) bool) bool {
	for t := range n.TraitsBehind(q.values.typ, after, q.values.has) {
		if !q.going() || q.holds(t) && !yield(t) {
			return false
		}
	}
	return true
}

// holds reports whether a trait is selected, given that its type, value and path are.
func (q traitSelection) holds(t *index.Trait) bool {
	return (q.times.open() || q.times.holds(t.Created, t.Modified)) &&
		(q.parent == "" || standsIn(t, q.parent)) && (q.done == nil || q.idx.Done(t) == *q.done)
}

// standsIn reports whether the parent of a trait has a type or, if the parent is a section without
// a declaration, the nearest typed object that contains it (raven.md §6.3).
//
// So a trait below a plain heading of a meeting is in the meeting.
func standsIn(t *index.Trait, typ string) bool {
	o := t.Parent()
	return o.Type() == typ || o.Typed().Type() == typ
}

// An area is a part of a vault: everything, one note, or a folder.
//
// Paths in an area are consecutive in the order of paths, so a walk begins at from and ends with
// the first path that is not in the area.
type area struct {
	from string // the smallest path in the area; empty: everything
	note bool   // the area is the note at that path; otherwise it is a folder or everything
}

// areaOf returns the area of a path: of a note, with or without `.md`, or of a folder. If both
// exist, the path means the note, and the folder has a slash at its end.
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

// whole reports whether the area is the whole vault.
func (a area) whole() bool { return a.from == "" }

// has reports whether a path is in the area.
func (a area) has(path string) bool {
	if a.note {
		return path == a.from
	}
	return strings.HasPrefix(path, a.from)
}
