package raven

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
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
	switch inNote := strings.Contains(in.Prefix, "#"); {
	case in.Kind != kindID && in.Kind != kindPath:
		var names []string
		names, err = namesOf(v.Index, in.Kind)
		pickWords(&out, names, in, after)
	case inNote:
		pickWords(&out, slugsIn(v.Index, in, after), in, after)
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

// slugsIn returns ids of the sections of a note that begin with the prefix: the first ones after the
// last value of the previous page, one more than a page has, because a note can have thousands. A note
// that does not exist, or an id that is itself a section, has none.
func slugsIn(idx *index.Index, in completeIn, after string) []string {
	note, slug, _ := strings.Cut(in.Prefix, "#")
	o, ok := idx.Find(note)
	if !ok || o.Section != nil {
		return nil
	}
	var slugs []string
	for i := range o.Note.Sections {
		if s := &o.Note.Sections[i]; strings.HasPrefix(s.Slug, slug) {
			slugs = append(slugs, s.Slug)
		}
	}
	slices.Sort(slugs)
	var ids []string
	for _, slug := range slices.Compact(slugs) {
		if len(ids) > in.Limit {
			break
		}
		if id := note + "#" + slug; id > after && len(id) <= tool.MaxID {
			ids = append(ids, id)
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

// pairs returns suggestions for a text of the form name=value: names with an equals sign or, after
// an equals sign, names with values. It returns none if the object, type or trait does not exist.
//
// The name part must match a declared name exactly once there is an equals sign; before that
// pickWords selects the names by their prefix.
func (v view) pairs(in completeIn) ([]string, error) {
	s, err := state.Schema(v.Index)
	if err != nil {
		return nil, err
	}
	var fields map[string]*vault.Field
	switch in.Kind {
	case kindTypeField:
		fields = fieldsOfType(s, in.Of)
	case kindTraitValue:
		fields = v.valuesOf(s, in.Of)
	default:
		fields = v.fieldsOf(s, in.Of)
	}
	name, _, valued := strings.Cut(in.Prefix, "=")
	if !valued {
		var names []string
		for name := range fields {
			names = append(names, name+"=")
		}
		return names, nil
	}
	var pairs []string
	for _, value := range v.valuesFor(fields[name], in.Prefix[len(name)+1:]) {
		pairs = append(pairs, name+"="+value)
	}
	return pairs, nil
}

// fieldsOf returns the fields that the object with an id has or can have, by name. The id can also
// be that of a trait.
//
// Fields that the object has and its type does not declare are included without a type, so only
// their names are suggested.
func (v view) fieldsOf(s *vault.Schema, id string) map[string]*vault.Field {
	o, err := locate(v.Index, id, v.Clock)
	if err != nil {
		return v.valuesOf(s, id)
	}
	fields := fieldsOfType(s, o.Type())
	for _, own := range o.Fields() {
		if _, declared := fields[own.Name]; !declared {
			fields[own.Name] = &vault.Field{Name: own.Name}
		}
	}
	return fields
}

// fieldsOfType returns the fields of a type by name; none if the type does not exist.
func fieldsOfType(s *vault.Schema, name string) map[string]*vault.Field {
	fields := map[string]*vault.Field{}
	if t, ok := s.Type(name); ok {
		for _, f := range t.Fields {
			fields[f.Name] = f
		}
	}
	return fields
}

// valuesOf returns all traits of the schema as fields of the line of a trait, by name. The name
// value is an alias of the trait with the given id.
func (v view) valuesOf(s *vault.Schema, id string) map[string]*vault.Field {
	fields := map[string]*vault.Field{}
	t, _, err := findTrait(v.Index, id)
	if err != nil {
		return fields
	}
	for _, other := range s.Traits {
		fields[other.Name] = &other.Field
		if other.Name == t.Type {
			fields["value"] = &other.Field
		}
	}
	return fields
}

// valuesFor returns the possible values of a field that begin with a prefix, or all of a small set.
// It returns nil if the type of the field does not determine them.
func (v view) valuesFor(f *vault.Field, prefix string) []string {
	if f == nil {
		return nil
	}
	switch strings.TrimSuffix(f.Type, "[]") {
	case "enum":
		return slices.Clone(f.Values)
	case "bool":
		return []string{"true", "false"}
	case "date":
		return vault.DayWords()
	case "ref":
		return idsOf(v.Index, f.Target, prefix)
	}
	return nil
}

// maxIDs is the maximum number of ids that idsOf returns.
//
// The suggestions are sorted and paged afterwards, so this also limits the memory of a call.
const maxIDs = 1000

// idsOf returns the ids of the notes of a type that begin with a prefix, in order. An empty type
// selects all notes.
func idsOf(idx *index.Index, typ, prefix string) []string {
	notes := idx.Notes(prefix)
	if typ != "" {
		notes = idx.OfType(typ, prefix)
	}
	var ids []string
	for n := range notes {
		if len(ids) == maxIDs || !strings.HasPrefix(n.ID, prefix) {
			break
		}
		ids = append(ids, n.ID)
	}
	return ids
}

// maxUndoable is the maximum number of versions for which an undo is tried.
//
// Each attempt reads a commit and drafts its inverse, which costs about as much as the undo itself.
const maxUndoable = 20

// undoable fills a page with the newest versions that can be undone, newest first. It tries each of
// the last maxUndoable versions with a dry run of the undo.
//
// Versions that do not begin with the prefix count as tried, so that the cost is bounded for every
// prefix. out.About gets a description of each suggested version.
func (f tools) undoable(
	ctx context.Context, c auth.Caller, v view, in completeIn, out *tool.Values,
) error {
	tried := 0
	for commit, err := range v.Vault.Back(ctx, v.Index.Version(), math.MaxInt) {
		if err != nil {
			return err
		}
		if tried == maxUndoable || len(out.Items) == in.Limit {
			return nil
		}
		version := eventlog.Version(commit.Seq)
		if tried++; !strings.HasPrefix(version, in.Prefix) {
			continue
		}
		undo := undoIn{Vault: in.Vault, Version: version, Mutation: tool.Mutation{DryRun: true}}
		_, err := f.undoCommit(ctx, c, undo)
		// A fault means that this version cannot be undone; other errors end the call.
		if refused := (*fault.Fault)(nil); errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return err
		}
		out.Items = append(out.Items, version)
		if out.About == nil {
			out.About = map[string]string{}
		}
		out.About[version] = describeCommit(commit)
	}
	return nil
}

// describeCommit returns a short description of a commit: tool, notes, principal and time.
func describeCommit(c *eventlog.Commit) string {
	var paths []string
	for _, n := range c.Notes {
		if !strings.HasPrefix(n.Path, ".") {
			paths = append(paths, n.Path)
		}
	}
	what := c.Tool
	switch {
	case len(paths) > 1:
		what += fmt.Sprintf(" %s and %d more", paths[0], len(paths)-1)
	case len(paths) == 1:
		what += " " + paths[0]
	}
	return fmt.Sprintf("%s, by %s, %s", what, c.Who.Principal,
		c.Time.UTC().Format("2006-01-02 15:04 UTC"))
}
