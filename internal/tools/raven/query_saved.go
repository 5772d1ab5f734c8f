package raven

import (
	"context"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/yamltext"
)

// A querySaveIn is the input of raven_query_save. It has either Query, or at least one of Types,
// Traits and Tags.
//
// The second form, lists of types, traits, filters and tags, is stored as it is given and converted
// when the query runs.
type querySaveIn struct {
	tool.Vault
	// letters, digits, _ and -
	Name string `json:"name" max:"64"`
	// the text of a query; {{args.name}} stands for an input
	Query string `json:"query,omitempty" size:"query"`
	// the arguments in order; default: in the order of the text
	Args []string `json:"args,omitempty"`
	// in place of query: objects of these types
	Types []string `json:"types,omitempty" complete:"type"`
	// and these traits
	Traits []string `json:"traits,omitempty" complete:"trait"`
	// trait=value,value: only these values of a trait
	Filters tool.Fields `json:"filters,omitempty"`
	// and the notes with all of these tags
	Tags []string `json:"tags,omitempty" complete:"tag"`
	// its purpose
	Description string `json:"description,omitempty" size:"query"`
	tool.Mutation
}

// A querySaveOut is the output of the tools that change saved queries.
type querySaveOut struct {
	tool.Aside `json:"-"`
	// created, updated, deleted or unchanged
	Action string `json:"action,omitempty"`
	// for a removed query
	Name string `json:"name,omitempty"`
	// as it is saved
	Query       *queryInfo            `json:"query,omitempty"`
	DryRun      bool                  `json:"dry_run,omitempty"`
	WouldModify []mutation.FileChange `json:"would_modify_files,omitempty"`
	SideEffects []string              `json:"side_effects,omitzero"`
}

// querySave returns the tool raven_query_save, which adds or replaces a saved query in raven.yaml.
func (f tools) querySave() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_query_save", Family: Family, Title: "Save a query",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/queries/save"},
		Commands: []tool.Command{{Words: "query save", Args: []string{"name", "query?"}}},
	}, func(ctx context.Context, c auth.Caller, in querySaveIn) (querySaveOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, configTarget}, in.run)
	})
}

// configTarget returns the path of raven.yaml, which the call changes; see targetFiles. A query
// that someone else saved in the meantime changes the same file, and is a conflict for a caller
// with if_version.
func configTarget(context.Context, *repo.Tx) ([]vault.Path, error) {
	return []vault.Path{vault.ConfigRaven}, nil
}

var (
	// savedName matches the names under which a query can be saved.
	savedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

	// reservedNames are words with another meaning in the place of a saved query's name.
	reservedNames = []string{"section", "link", "list", "save", "remove", "saved"}
)

// check returns a fault if the arguments are invalid. It does not read the vault.
func (in querySaveIn) check() error {
	listed := len(in.Types)+len(in.Traits)+len(in.Tags) > 0
	switch {
	case !savedName.MatchString(in.Name):
		return fault.New(fault.InvalidValue, "the name of a saved query is up to 64 letters, digits, _ and -").
			With("argument", "name")
	case slices.Contains(reservedNames, in.Name):
		return fault.New(fault.InvalidValue, "the name %q is reserved", in.Name).With("argument", "name").
			With("reserved", reservedNames)
	case in.Query != "" && (listed || len(in.Filters) > 0):
		return fault.New(fault.InvalidValue, "give query, or types, traits and tags, not both").
			With("argument", "query")
	case in.Query == "" && !listed:
		return fault.New(fault.MissingRequired, "give query, or one of types, traits and tags").
			With("argument", "query")
	case in.Query == "" && len(in.Args) > 0:
		return fault.New(fault.InvalidValue, "args can only be used with the text of a query").With("argument", "args")
	}
	return nil
}

// run drafts the change of raven.yaml.
//
// A query is saved only if it could run: types, traits and fields must exist, and the names of its
// arguments must agree with args. The definition is replaced as a whole; keys that the new one does
// not have are removed first. If the stored query is the same already, nothing is staged, so an
// equal call makes no commit.
func (in querySaveIn) run(ctx context.Context, tx *repo.Tx, out *querySaveOut) error {
	if err := in.check(); err != nil {
		return err
	}
	idx := tx.Index()
	if _, err := state.Schema(idx); err != nil {
		return err
	}
	if err := idx.ConfigErr(); err != nil {
		return err
	}
	q, err := in.definition()
	if err == nil {
		err = in.checkQuery(q, query.State{Index: idx, Clock: state.Clock(idx, tx.Now())}.Env())
	}
	if err != nil {
		return err
	}
	text, _, err := tx.Text(ctx, vault.ConfigRaven)
	if err != nil {
		return err
	}
	path := []string{"queries", in.Name}
	now, err := removeOtherKeys(text, path, q)
	if err == nil {
		now, err = yamltext.Set(now, path, mapOf(q))
	}
	if err != nil {
		return manualEditFault(err, vault.ConfigRaven)
	}
	was, there := savedQuery(view{View: state.View{Index: idx}}, in.Name)
	out.Action = "created"
	if there {
		out.Action = "updated"
	}
	if there && reflect.DeepEqual(queryInfoOf(was), queryInfoOf(q)) {
		out.Action, now = "unchanged", text
	}
	out.Query = new(queryInfoOf(q))
	return out.put(ctx, tx, text, now)
}

// definition returns the query of the call in the form in which raven.yaml stores it. A filter of a
// trait that traits does not list would have no effect, and is an error.
func (in querySaveIn) definition() (vault.Query, error) {
	q := vault.Query{
		Name: in.Name, Description: in.Description, Query: in.Query, Args: in.Args,
		Types: in.Types, Traits: in.Traits, Tags: in.Tags,
	}
	for _, name := range slices.Sorted(maps.Keys(in.Filters)) {
		value := in.Filters[name]
		switch value.(type) {
		case []any, map[string]any:
			return q, fault.New(fault.InvalidValue, "a filter is a string: values separated by commas").
				With("argument", "filters")
		}
		if !slices.Contains(in.Traits, name) {
			return q, fault.New(fault.InvalidValue, "the filter of %q has no effect: traits does not list it", name).
				With("argument", "filters").With("allowed", append([]string{}, in.Traits...))
		}
		if q.Filters == nil {
			q.Filters = map[string]string{}
		}
		q.Filters[name] = plain(value)
	}
	return q, nil
}

// checkQuery returns a fault if the query is invalid for all values of its inputs.
func (in querySaveIn) checkQuery(s vault.Query, w query.Env) error {
	if s.Query == "" {
		return query.Check(query.FromList(s.Types, s.Traits, s.Filters, s.Tags), w)
	}
	q, err := query.Parse(s.Query)
	if err != nil {
		return err
	}
	for _, name := range q.Args() {
		if len(s.Args) > 0 && !slices.Contains(s.Args, name) {
			return fault.New(fault.InvalidValue, "args does not list the argument %q of the query", name).
				With("argument", "args")
		}
	}
	for _, name := range s.Args {
		if !slices.Contains(q.Args(), name) {
			return fault.New(fault.InvalidValue, "the query has no argument {{args.%s}}", name).
				With("argument", "args").With("allowed", append([]string{}, q.Args()...))
		}
	}
	return query.Check(q, w)
}

// mapOf returns a saved query as a mapping for raven.yaml.
//
// Empty members are left out. The order of the keys is fixed, so equal queries give equal text.
func mapOf(q vault.Query) yamltext.Map {
	var m yamltext.Map
	add := func(key string, value any, is bool) {
		if is {
			m = append(m, yamltext.Entry{Key: key, Value: value})
		}
	}
	add("description", q.Description, q.Description != "")
	add("query", q.Query, q.Query != "")
	add("args", q.Args, len(q.Args) > 0)
	add("types", q.Types, len(q.Types) > 0)
	add("traits", q.Traits, len(q.Traits) > 0)
	var filters yamltext.Map
	for _, name := range slices.Sorted(maps.Keys(q.Filters)) {
		filters = append(filters, yamltext.Entry{Key: name, Value: q.Filters[name]})
	}
	add("filters", filters, len(filters) > 0)
	add("tags", q.Tags, len(q.Tags) > 0)
	return m
}

// removeOtherKeys removes the keys of a saved query that its new definition does not have.
func removeOtherKeys(text []byte, path []string, q vault.Query) ([]byte, error) {
	keep := map[string]bool{}
	for _, e := range mapOf(q) {
		keep[e.Key] = e.Key != "filters" // the filters are always rewritten completely
	}
	for _, key := range []string{"description", "query", "args", "types", "traits", "filters", "tags"} {
		if keep[key] {
			continue
		}
		now, err := yamltext.Remove(text, append(slices.Clone(path), key))
		if err != nil {
			return nil, err
		}
		text = now
	}
	return text, nil
}

// put stages raven.yaml and completes the output.
func (o *querySaveOut) put(ctx context.Context, tx *repo.Tx, was, now []byte) error {
	if o.Action != "unchanged" && string(was) != string(now) {
		if err := tx.Put(ctx, vault.ConfigRaven, now); err != nil {
			return err
		}
	}
	if !tx.DryRun() {
		return mutation.NoteFiles(ctx, tx, &o.Aside)
	}
	changes, err := mutation.FileChanges(ctx, tx)
	o.DryRun, o.WouldModify, o.SideEffects = true, changes, []string{}
	return err
}

// queryList returns the tool raven_query_list, which lists the saved queries in the order of
// raven.yaml.
func (f tools) queryList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_query_list", Family: Family, Title: "List saved queries",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/queries"},
		Commands: []tool.Command{{Words: "query list"}},
		Columns:  []string{"name", "description", "query", "args", "types", "traits", "filters", "tags"},
		Empty: []tool.Empty{{
			Of: "saved queries", Tool: "raven_query_save",
			Args: map[string]string{"name": "overdue", "query": "trait:due .value==past"},
		}},
	}, func(ctx context.Context, v view, _ pageIn, _ *itemsOut[queryInfo]) (listing[queryInfo], error) {
		if err := v.Index.ConfigErr(); err != nil {
			return nil, err
		}
		all, going := []queryInfo{}, state.KeepGoing(ctx)
		for _, q := range v.Index.Config().Queries {
			if !going() {
				return nil, ctx.Err()
			}
			all = append(all, queryInfoOf(q))
		}
		return whole(all, func(q queryInfo) string { return q.Name }), nil
	})
}

// A queryRemoveIn is the input of raven_query_remove.
type queryRemoveIn struct {
	tool.Vault
	// a saved query
	Name string `json:"name" complete:"query"`
	tool.Mutation
}

// queryRemove returns the tool raven_query_remove, which removes a saved query from raven.yaml.
func (f tools) queryRemove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_query_remove", Family: Family, Title: "Remove a saved query",
		Role: auth.Editor, Kind: tool.Destroy,
		Route:    tool.Route{Method: "POST", Path: "/queries/remove"},
		Commands: []tool.Command{{Words: "query remove", Args: []string{"name"}}},
	}, func(ctx context.Context, c auth.Caller, in queryRemoveIn) (querySaveOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, configTarget}, in.run)
	})
}

// run drafts the change of raven.yaml.
//
// It edits the text of raven.yaml in place, so that comments and the order of other keys stay as
// they are; see internal/yamltext. A file that cannot be edited that way is left alone, and the
// fault asks for an edit by hand.
func (in queryRemoveIn) run(ctx context.Context, tx *repo.Tx, out *querySaveOut) error {
	v := view{View: state.View{Index: tx.Index()}}
	if err := v.Index.ConfigErr(); err != nil {
		return err
	}
	if _, ok := savedQuery(v, in.Name); !ok {
		return noQuery(v, in.Name)
	}
	text, _, err := tx.Text(ctx, vault.ConfigRaven)
	if err != nil {
		return err
	}
	now, err := yamltext.Remove(text, []string{"queries", in.Name})
	if err != nil {
		return manualEditFault(err, vault.ConfigRaven)
	}
	out.Action, out.Name = "deleted", in.Name
	return out.put(ctx, tx, text, now)
}
