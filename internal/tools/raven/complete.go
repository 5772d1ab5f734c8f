package raven

import (
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A completeIn is the input of raven_complete. The meaning of Of depends on Kind.
//
// The prefix, the limit and the page token are in tool.CompletionIn. The catalogue calls this tool
// for every argument whose tag complete names one of the kinds.
type completeIn struct {
	tool.Vault
	// the kind of suggestions
	Kind string `json:"kind" enum:"id,path,type,trait,tag,query,version,field,type_field,trait_value"`
	// for a field: the object; for a type_field: the type; for a trait_value: the trait
	Of string `json:"of,omitempty" max:"512"`
	tool.CompletionIn
}

// The kinds of completion suggestions, as the tag `complete` of an argument names them.
const (
	kindID    = "id"
	kindPath  = "path"
	kindType  = "type"
	kindTrait = "trait"
	kindTag   = "tag"
	kindQuery = "query" // the name of a saved query

	kindVersion    = "version"     // a version that can be undone
	kindField      = "field"       // name=value, for the fields of an object
	kindTypeField  = "type_field"  // name=value, for the fields of a type
	kindTraitValue = "trait_value" // name=value, for a trait and the other traits on its line
)

// afterSlash is the byte after the slash in byte order. A folder's name followed by it sorts after
// all paths in the folder and before all later ones.
const afterSlash = "0"

// complete returns the tool raven_complete, which returns completion suggestions for all arguments
// of the family.
func (f tools) complete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_complete", Family: Family, Title: "Complete a value",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/complete"},
		Commands: []tool.Command{{Words: "complete", Args: []string{"kind", "prefix?"}}},
		Completes: []string{
			kindID, kindPath, kindType, kindTrait, kindTag, kindQuery,
			kindVersion, kindField, kindTypeField, kindTraitValue,
		},
	}, f.completeValue)
}

// completeValue returns one page of suggestions from the newest state of the vault.
//
// A prefix with # completes sections of the note before it. Notes and folders are completed one
// level at a time, like files in a shell; all other kinds are lists of names.
func (f tools) completeValue(
	ctx context.Context, c auth.Caller, in completeIn,
) (tool.Values, error) {
	out := tool.Values{Items: []string{}}
	after, err := in.After(Family)
	if err != nil {
		return out, err
	}
	v, err := f.view(ctx, c, in.Vault.Vault)
	if err != nil {
		return out, err
	}
	out.Note("version", v.Version())
	switch in.Kind {
	case kindVersion:
		return out, f.undoable(ctx, c, v, in, &out)
	case kindField, kindTypeField, kindTraitValue:
		pairs, err := v.pairs(in)
		pickWords(&out, pairs, in, after)
		return out, err
	}
	switch head, slug, inNote := strings.Cut(in.Prefix, "#"); {
	case in.Kind != kindID && in.Kind != kindPath:
		var names []string
		names, err = namesOf(v.Index, in.Kind)
		pickWords(&out, names, in, after)
	case inNote:
		pickWords(&out, slugsIn(v.Index, head, slug), in, after)
	default:
		pickPaths(&out, v.Index, in, after)
	}
	return out, err
}

// namesOf returns the names of one kind in a vault: tags, saved queries, traits or types.
//
// The names of saved queries are sorted here, the others by pickWords. Types and traits need a
// valid schema; tags and queries do not.
func namesOf(idx *index.Index, kind string) ([]string, error) {
	var names []string
	if kind == kindTag {
		for name := range idx.Tags() {
			names = append(names, name)
		}
		return names, nil
	}
	if kind == kindQuery {
		for _, q := range idx.Config().Queries {
			names = append(names, q.Name)
		}
		slices.Sort(names)
		return names, nil
	}
	s, err := state.Schema(idx)
	if err != nil {
		return nil, err
	}
	if kind == kindTrait {
		for _, t := range s.Traits {
			names = append(names, t.Name)
		}
		return append(names, index.TaskType), nil
	}
	for _, t := range s.Types {
		names = append(names, t.Name)
	}
	return names, nil
}

// slugsIn returns the ids of the sections of a note whose slugs begin with slug. A note that does
// not exist, or an id that is itself a section, has none.
func slugsIn(idx *index.Index, note, slug string) []string {
	o, ok := idx.Find(note)
	if !ok || o.Section != nil {
		return nil
	}
	var ids []string
	for i := range o.Note.Sections {
		if s := &o.Note.Sections[i]; strings.HasPrefix(s.Slug, slug) {
			ids = append(ids, note+"#"+s.Slug)
		}
	}
	return ids
}

// pickWords fills a page with the values that begin with the prefix, in byte order, without
// duplicates. It sorts values in place.
//
// after is the last value of the previous page, so a page is stable when values are added before
// it. Values that are too long for an argument are left out.
func pickWords(out *tool.Values, values []string, in completeIn, after string) {
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		if value <= after || !strings.HasPrefix(value, in.Prefix) || len(value) > tool.MaxID {
			continue
		}
		if len(out.Items) == in.Limit {
			out.More(out.Items[in.Limit-1])
			return
		}
		out.Items = append(out.Items, value)
	}
}

// pickPaths fills a page with the notes and folders that begin with the prefix, by path. It skips
// the content of a folder, so that the cost does not depend on the size of the folder.
//
// It moves a position through the sorted paths: after each suggestion it continues behind the note
// or behind the folder, so a page needs as many steps as it has suggestions. The page token is the
// position.
func pickPaths(out *tool.Values, idx *index.Index, in completeIn, after string) {
	if _, ok := idx.Note(in.Prefix); ok && after == "" && in.Kind == kindPath {
		out.Items = append(out.Items, in.Prefix)
	}
	at := max(after, in.Prefix)
	for {
		path, ok := noteAfter(idx, at)
		if !ok || !strings.HasPrefix(path, in.Prefix) {
			return
		}
		if len(out.Items) == in.Limit {
			out.More(at)
			return
		}
		var value string
		if value, at = suggestionFor(path, in); strings.HasPrefix(value, in.Prefix) {
			out.Items = append(out.Items, value)
		}
	}
}

// noteAfter returns the path of the first note after a position, or false if there is none.
func noteAfter(idx *index.Index, at string) (string, bool) {
	for n := range idx.Notes(at) {
		return n.Path, true
	}
	return "", false
}

// suggestionFor returns the suggestion for a path: the folder below the prefix that contains it, or
// the path or id itself. behind is the position after the suggestion.
func suggestionFor(path string, in completeIn) (value, behind string) {
	if i := strings.IndexByte(path[len(in.Prefix):], '/'); i >= 0 {
		folder := path[:len(in.Prefix)+i]
		return folder + "/", folder + afterSlash
	}
	if in.Kind == kindID {
		return strings.TrimSuffix(path, ".md"), path
	}
	return path, path
}
