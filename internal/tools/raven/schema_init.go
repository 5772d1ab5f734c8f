package raven

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A schemaInitIn is the input of raven_schema_init.
//
// The call fails with DUPLICATE_ID if schema.yaml exists: it never replaces the work of a person.
type schemaInitIn struct {
	tool.Vault
	tool.Mutation
}

// A schemaInitOut is the output of raven_schema_init: the schema that was written or, in a dry run,
// would be.
//
// Types and Traits describe the same schema as Text, with the number of notes that each is based
// on.
type schemaInitOut struct {
	tool.Aside `json:"-"`
	// created
	Action string             `json:"action,omitempty"`
	Path   string             `json:"path"`
	Types  []vault.TypeDraft  `json:"types"`
	Traits []vault.FieldDraft `json:"traits"`
	// tags that recur; a schema does not define them
	Tags []recurringTag `json:"tags"`
	// the schema.yaml
	Text   string                `json:"text"`
	DryRun bool                  `json:"dry_run,omitempty"`
	Files  []mutation.FileChange `json:"would_modify_files,omitempty"`
}

// A recurringTag is a tag with the number of notes that have it.
type recurringTag struct {
	Tag   string `json:"tag"`
	Notes int    `json:"notes"`
}

// schemaInit returns the tool raven_schema_init, which derives a schema from the notes of a vault
// that has none.
func (f tools) schemaInit() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_schema_init", Family: Family, Title: "Derive a schema",
		Role: auth.Editor, Kind: tool.Write, List: "types",
		Route:    tool.Route{Method: "POST", Path: "/schema/init"},
		Commands: []tool.Command{{Words: "schema init"}},
	}, func(ctx context.Context, c auth.Caller, in schemaInitIn) (schemaInitOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, schemaTarget}, in.run)
	})
}

// schemaTarget returns the path of schema.yaml, which the call changes; see targetFiles.
func schemaTarget(context.Context, *repo.Tx) ([]vault.Path, error) {
	return []vault.Path{vault.SchemaFile}, nil
}

// run drafts the schema. It walks over all notes of the vault once.
func (in schemaInitIn) run(ctx context.Context, tx *repo.Tx, out *schemaInitOut) error {
	if _, exists := tx.Index().File(vault.SchemaFile); exists {
		return fault.New(fault.DuplicateID, "the vault has a schema already").
			With("id", vault.SchemaFile).Fix("edit %s", vault.SchemaFile).Try("raven_schema", nil)
	}
	s := newSurvey(tx.Index())
	d := s.draft()
	*out = schemaInitOut{
		Aside: out.Aside, Path: vault.SchemaFile, Types: d.Types, Traits: d.Traits, Tags: s.tags(),
		Text: string(d.Text()),
	}
	if err := tx.Put(ctx, vault.SchemaFile, d.Text()); err != nil {
		return err
	}
	if !tx.DryRun() {
		out.Action = "created"
		return mutation.NoteFiles(ctx, tx, &out.Aside)
	}
	out.DryRun = true
	var err error
	out.Files, err = mutation.FileChanges(ctx, tx)
	return err
}

const (
	recurs = 3 // minimum number of occurrences in the vault

	maxSurveyTypes  = 50 // types of the derived schema
	maxSurveyFields = 30 // fields of each type
	maxSurveyTraits = 50
	maxSurveyTags   = 50
	maxSurveyName   = 64 // bytes of a name
	maxEnum         = 6  // values of an enum
)

// A survey counts the types, fields, traits and values in the notes of a vault. The derived schema
// describes what the vault contains and does not judge it: rare names and values are taken for
// mistakes and left out.
type survey struct {
	idx    *index.Index
	types  map[string]*group // notes that declare a type, by type
	places map[string]*group // notes that do not, by folder
	traits map[string]*values
}

// A group is a set of notes that may become objects of one type.
//
// Notes with a declared type form the group of that type, in whatever folder they are. Other notes
// form the group of their folder, whose name then becomes the name of the type.
type group struct {
	notes int
	// folders counts the notes by folder.
	folders map[string]int
	fields  map[string]*values
}

// A values counts the values of a field or trait.
//
// texts stops at maxEnum+1 different strings, because only the question whether there are more than
// maxEnum matters; the counts of strings after that are incomplete.
type values struct {
	// count is the number of occurrences.
	count int
	kinds map[string]int // by value type; "": a value that no value type covers
	texts map[string]int // the different strings, by text; at most maxEnum+1
}

// newSurvey returns the survey of a vault. It ignores daily notes and excluded notes.
//
// Notes without a type in the root folder belong to no group. Checkboxes do not count as traits.
func newSurvey(idx *index.Index) *survey {
	s := &survey{idx, map[string]*group{}, map[string]*group{}, map[string]*values{}}
	for n := range idx.Notes("") {
		if n.Excluded || n.Type == vault.Daily {
			continue
		}
		folder := n.Path[:strings.LastIndexByte(n.Path, '/')+1]
		switch {
		case n.DeclaredType != "":
			groupAt(s.types, n.DeclaredType).add(n, folder)
		case folder != "":
			groupAt(s.places, folder).add(n, folder)
		}
		for _, t := range n.EachAnnotation {
			if !t.Field && !t.Task {
				valuesAt(s.traits, t.Type).add(t.Value(), true)
			}
		}
	}
	return s
}

// groupAt returns the group with a name, after it has added an empty one if needed.
func groupAt(all map[string]*group, name string) *group {
	if all[name] == nil {
		all[name] = &group{folders: map[string]int{}, fields: map[string]*values{}}
	}
	return all[name]
}

// valuesAt returns the values with a name, after it has added empty ones if needed.
func valuesAt(all map[string]*values, name string) *values {
	if all[name] == nil {
		all[name] = &values{kinds: map[string]int{}, texts: map[string]int{}}
	}
	return all[name]
}

// add counts a note.
func (g *group) add(n *index.Note, folder string) {
	g.notes++
	g.folders[folder]++
	for _, f := range n.Fields {
		valuesAt(g.fields, f.Name).add(f.Value, false)
	}
}

// add counts a value. nil means true for an annotation, and no value for a field.
func (v *values) add(value any, annotation bool) {
	v.count++
	switch {
	case value == nil && annotation:
		v.kinds["bool"]++
	case value != nil:
		v.kinds[valueType(value)]++
	}
	if text, ok := value.(string); ok && len(v.texts) <= maxEnum {
		v.texts[text]++
	}
}

// valueType returns the value type of a value in a schema, or "" if there is none.
func valueType(v any) string {
	switch v := v.(type) {
	case string:
		if _, ok := vault.ParseDate(v); ok {
			return "date"
		}
		if strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://") {
			return "url"
		}
		return "string"
	case float64:
		return "number"
	case bool:
		return "bool"
	case markdown.Ref:
		return "ref"
	case []any:
		return listType(v)
	}
	return ""
}

// listType returns the value type of a list whose elements have the same type, or "". An empty list
// is string[].
func listType(list []any) string {
	typ := ""
	for _, e := range list {
		of := valueType(e)
		if of == "" || strings.HasSuffix(of, "[]") || typ != "" && of != typ {
			return ""
		}
		typ = of
	}
	if typ == "" {
		return "string[]"
	}
	return typ + "[]"
}

// typ returns the common type of all values, or "" if there is none. Texts of different types are
// strings.
//
// Date, url and string are all written as text, so a mixture of them is string, or string[] for
// lists.
func (v *values) typ() string {
	all := slices.Sorted(maps.Keys(v.kinds))
	if len(all) == 1 {
		return all[0]
	}
	for _, suffix := range []string{"", "[]"} {
		texts := []string{"date" + suffix, "string" + suffix, "url" + suffix}
		if len(all) > 0 && !slices.ContainsFunc(all, func(t string) bool { return !slices.Contains(texts, t) }) {
			return "string" + suffix
		}
	}
	return ""
}

// enum returns the values for an enum, sorted, with done last. It returns nil if there are too many
// different texts, or if one of them does not recur.
//
// The order puts done last because it is the last state of a task.
func (v *values) enum() []string {
	if len(v.texts) < 2 || len(v.texts) > maxEnum {
		return nil
	}
	for text, n := range v.texts {
		if n < recurs || !isName(text) {
			return nil
		}
	}
	all := slices.Sorted(maps.Keys(v.texts))
	slices.SortStableFunc(all, func(a, b string) int {
		return cmp.Compare(doneLast(a), doneLast(b))
	})
	return all
}

// doneLast returns the sort key that puts the value done last.
func doneLast(value string) int {
	if value == index.TaskDone {
		return 1
	}
	return 0
}

// draft returns the derived schema: a type for each declared type and for each folder whose notes
// have common fields, and the traits in the texts.
//
// The result depends only on the notes, not on the order of maps: all lists are sorted before they
// are shortened.
func (s *survey) draft() vault.SchemaDraft {
	d := vault.SchemaDraft{Types: s.draftTypes(), Traits: []vault.FieldDraft{}}
	for name, v := range s.traits {
		if f, ok := v.field(name, recurs); ok {
			if values := v.enum(); f.Type == "string" && values != nil {
				f.Type, f.Values = "enum", values
			}
			d.Traits = append(d.Traits, f)
		}
	}
	d.Traits = firstOf(byCount(d.Traits), maxSurveyTraits)
	return d
}

// draftTypes returns the types, those with the most notes first. A folder becomes a type only if
// its notes have a common field and the name is not in use.
func (s *survey) draftTypes() []vault.TypeDraft {
	all := []vault.TypeDraft{}
	for name, g := range s.types {
		if _, known := s.idx.Schema().Type(name); g.notes >= recurs && !known && isName(name) {
			all = append(all, g.draft(name))
		}
	}
	taken := map[string]bool{}
	for _, t := range all {
		taken[t.Name] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(s.places)) {
		g := s.places[folder]
		name := vault.Slug(lastFolder(folder))
		_, known := s.idx.Schema().Type(name)
		if t := g.draft(name); g.notes >= recurs && len(t.Fields) > 0 && !known && !taken[name] && isName(name) {
			taken[name] = true
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b vault.TypeDraft) int {
		return cmp.Or(b.Notes-a.Notes, strings.Compare(a.Name, b.Name))
	})
	return firstOf(all, maxSurveyTypes)
}

// lastFolder returns the last element of a path of a folder.
func lastFolder(folder string) string {
	folder = strings.TrimSuffix(folder, "/")
	return folder[strings.LastIndexByte(folder, '/')+1:]
}

// draft returns the type for a group: with its folder, if more than half of the notes are in it,
// and the fields that at least half of the notes have.
func (g *group) draft(name string) vault.TypeDraft {
	t := vault.TypeDraft{Name: name, Notes: g.notes, Fields: []vault.FieldDraft{}}
	for _, folder := range slices.Sorted(maps.Keys(g.folders)) {
		if g.folders[folder]*2 > g.notes {
			t.DefaultPath = folder
		}
	}
	for field, v := range g.fields {
		if f, ok := v.field(field, max(recurs, (g.notes+1)/2)); ok {
			t.Fields = append(t.Fields, f)
		}
	}
	t.Fields = firstOf(byCount(t.Fields), maxSurveyFields)
	return t
}

// field returns the definition of a field. It returns false if the field occurs less than `least`
// times, or its values do not have a common type.
func (v *values) field(name string, least int) (vault.FieldDraft, bool) {
	f := vault.FieldDraft{Name: name, Type: v.typ(), Count: v.count}
	return f, v.count >= least && f.Type != "" && isName(name)
}

// isName reports whether a text can be a name in a schema that people read.
func isName(s string) bool { return s != "" && len(s) <= maxSurveyName && !control.Has(s) }

// byCount sorts definitions in place, the most frequent first, and returns them.
func byCount(all []vault.FieldDraft) []vault.FieldDraft {
	slices.SortFunc(all, func(a, b vault.FieldDraft) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name))
	})
	return all
}

// tags returns the recurring tags, the most frequent first.
func (s *survey) tags() []recurringTag {
	all := []recurringTag{}
	for tag, n := range s.idx.Tags() {
		if n >= recurs {
			all = append(all, recurringTag{tag, n})
		}
	}
	slices.SortFunc(all, func(a, b recurringTag) int {
		return cmp.Or(b.Notes-a.Notes, strings.Compare(a.Tag, b.Tag))
	})
	return firstOf(all, maxSurveyTags)
}
