package raven

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A queryIn is the input of raven_query. Exactly one of Name, Query, Filter and List is given.
//
// IDs and CountOnly shorten the answer. Sort cannot be combined with a sort: in the query.
type queryIn struct {
	tool.Vault
	queryRequest
	// list the saved queries instead
	List bool `json:"list,omitempty" rare:"true"`
	// fields, the largest first with -: -.due
	Sort []string `json:"sort,omitempty"`
	// return only ids
	IDs bool `json:"ids,omitempty"`
	// return only the number
	CountOnly bool `json:"count_only,omitempty"`
	detail
	tool.AsOf
	tool.Page
}

// A queryRequest is a requested query: the name of a saved query, the text of a query, or a filter.
//
// Name also accepts the text of a query, and Query the name of a saved one, because callers confuse
// the two; see read.
type queryRequest struct {
	// a saved query, or the text of a query
	Name string `json:"name,omitempty" complete:"query" size:"query" alias:"query_name,query_string"`
	// type:project .status==active contains(trait:due .value<=today)
	Query string `json:"query,omitempty" size:"query"`
	// the query as JSON: {"type":"project","where":{"fields":{"status":"active"}}}
	Filter tool.Structure `json:"filter,omitempty"`
	// values for the arguments of a saved query
	Inputs tool.Inputs `json:"inputs,omitempty" rare:"true"`
}

// A queryOut contains the results of a query, only their ids, only their number, or the saved
// queries.
//
// Exactly one of the four embedded parts is set.
type queryOut struct {
	tool.Aside `json:"-"`
	// the saved query
	QueryName string `json:"query_name,omitempty"`
	// type, trait, section, link or mixed
	QueryKind string `json:"query_kind,omitempty"`
	// the type of the objects, if it is the same for all
	Type string `json:"type,omitempty"`
	// the type of the traits, if it is the same for all
	Trait string `json:"trait,omitempty"`
	*QueryItems
	*QueryIDs
	*QueryTotal
	*QueryList
}

// QueryItems is the part of the answer with the results of a query.
type QueryItems struct {
	// objects, traits, sections, links; in mixed each has its kind
	Items []tool.Object `json:"items"`
}

// QueryIDs is the part of the answer with only the ids of the results.
type QueryIDs struct {
	// for a link, the id of the object that contains it
	IDs []string `json:"ids"`
}

// QueryTotal is the part of the answer with only the number of results.
type QueryTotal struct {
	Total int `json:"total"`
}

// QueryList is the part of the answer with the saved queries.
type QueryList struct {
	Queries []queryInfo `json:"queries"`
}

// query returns the tool raven_query, which runs a query or lists the saved ones.
func (f tools) query() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_query", Family: Family, Title: "Query",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "POST", Path: "/queries/query"},
		Commands: []tool.Command{{Words: "query", Args: []string{"name?", "inputs..."}}},
		Columns: []string{
			"kind", "id", "type", "trait_type", "value", "heading", "title", "raw_target", "source_id", "file_path",
			"line_number", "line_start", "content_text", "fields",
		},
		Empty: []tool.Empty{{Of: "results that match"}},
	}, f.runQuery)
}

// runQuery runs raven_query. The version in the meta is that of the state on which the query ran.
func (f tools) runQuery(ctx context.Context, c auth.Caller, in queryIn) (queryOut, error) {
	depth, err := in.level()
	if err != nil {
		return queryOut{}, err
	}
	v, err := f.viewAt(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return queryOut{}, err
	}
	if err := in.checkForm(in.List); err != nil {
		return queryOut{}, err
	}
	var out queryOut
	out.Note("version", v.Version())
	if in.List {
		out.QueryList = &QueryList{[]queryInfo{}}
		for _, q := range v.Index.Config().Queries {
			out.Queries = append(out.Queries, queryInfoOf(q))
		}
		out.Note("count", len(out.Queries))
		return out, v.Index.ConfigErr()
	}
	r, err := f.newQueryRun(ctx, c, v, in)
	if err != nil {
		return queryOut{}, err
	}
	out.Note("version", r.view.Version())
	return out, r.answer(ctx, &out, depth)
}

// A queryRun is a parsed query with the state on which it runs.
type queryRun struct {
	view  view
	state query.State
	// found is the parsed query; in is the input of the call.
	parsed parsedQuery
	in     queryIn
}

// newQueryRun returns the parsed query of a call with the state on which it runs. A query with
// content() runs on the newest state that can be searched.
//
// The search index can be some commits behind the log. The whole query then runs on its state, and
// the meta of the answer has its version.
func (f tools) newQueryRun(ctx context.Context, c auth.Caller, v view, in queryIn) (queryRun, error) {
	r := queryRun{view: v, in: in}
	var err error
	if r.parsed, err = in.parse(v); err != nil {
		return r, err
	}
	if r.view, r.state, err = f.stateFor(ctx, c, v, in.Vault.Vault, in.AsOf, r.parsed.query); err != nil {
		return r, err
	}
	return r, r.sort()
}

// stateFor returns the state on which a query runs.
//
// Only a query with content() needs the search index, so other queries never wait for it.
func (f tools) stateFor(
	ctx context.Context, c auth.Caller, v view, name string, at tool.AsOf, q query.Query,
) (view, query.State, error) {
	if _, err := state.Schema(v.Index); err != nil {
		return v, query.State{}, err
	}
	s := query.State{Index: v.Index, Clock: v.Clock, Canceled: ctx.Err}
	if !q.Searches() {
		return v, s, nil
	}
	_, found, err := f.Searchable(ctx, c, name, at)
	if err != nil {
		return v, s, err
	}
	v.Index = found.Index
	s.Index = found.Index
	s.Search = searcher(ctx, v, found.Search)
	return v, s, nil
}

// sort sets the sort keys from the argument sort. It returns an error if the query has keys too.
func (r *queryRun) sort() error {
	if len(r.in.Sort) == 0 {
		return nil
	}
	if len(r.parsed.query.Sort) > 0 {
		return fault.New(fault.InvalidValue, "the query has a sort: too; omit one of the two").
			With("argument", "sort")
	}
	keys, err := query.ParseKeys(r.in.Sort)
	r.parsed.query.Sort = keys
	return err
}

// answer runs the query and fills the output.
//
// A count needs no page and no items. Otherwise the page token marks the last item that the answer
// has room for, which can be earlier than the requested limit.
func (r queryRun) answer(ctx context.Context, out *queryOut, depth int) error {
	q := r.parsed.query
	if q.Count || r.in.CountOnly {
		a, err := query.Find(q, r.state, query.Page{})
		out.QueryTotal = &QueryTotal{a.Total}
		out.Note("total", a.Total)
		return err
	}
	after, err := r.in.After(Family)
	if err != nil {
		return err
	}
	a, err := query.Find(q, r.state, query.Page{Limit: r.in.Limit, After: after})
	if err != nil {
		return err
	}
	out.QueryName, out.QueryKind = r.parsed.name, string(q.KindOf())
	if len(q.Branches) == 1 {
		b := q.Branches[0]
		out.setName(b)
	}
	if err := r.show(out, a, depth); err != nil {
		return err
	}
	noteTimeZone(&out.Aside, r.view.Index)
	return ctx.Err()
}

// setName sets the type of the results, if all have the same.
func (o *queryOut) setName(b query.Branch) {
	switch b.Kind {
	case query.Objects:
		if b.Name != query.Any {
			o.Type = vault.TypeName(b.Name)
		}
	case query.Traits:
		o.Trait = b.Name
	}
}

// show adds the results of a page as far as they fit into the answer, with the meta of the page.
func (r queryRun) show(out *queryOut, a query.Answer, depth int) (err error) {
	if r.in.IDs {
		out.QueryIDs = &QueryIDs{fitting(&out.Aside, a, query.Item.ID)}
		return nil
	}
	d := newRenderer(r.view.Index, depth)
	out.QueryItems = &QueryItems{fitting(&out.Aside, a, func(i query.Item) tool.Object {
		item, failed := d.queryItem(i, out.QueryKind == "mixed")
		err = cmp.Or(err, failed)
		return item
	})}
	return err
}

// A section is a section without a declaration, as a query returns it (reference/raven.md §2.4).
//
// LineEnd and DirectLineEnd have the same value, under the two names that Raven has for it;
// SubtreeLineEnd includes the subsections. All three are null at the end of the note.
type section struct {
	ID              string    `json:"id"`
	FileObjectID    string    `json:"file_object_id"`
	FilePath        string    `json:"file_path"`
	Slug            string    `json:"slug"`
	Title           string    `json:"title"`
	Level           int       `json:"level"`
	LineStart       int       `json:"line_start"`
	LineEnd         *int      `json:"line_end"`
	DirectLineEnd   *int      `json:"direct_line_end"`
	SubtreeLineEnd  *int      `json:"subtree_line_end"`
	ParentSectionID *string   `json:"parent_section_id"`
	FirstSeen       time.Time `json:"first_seen_at"`
	LastModified    time.Time `json:"last_modified_at"`
}

// A link is a Markdown link, as a query returns it.
//
// Positions are offsets in bytes. NormalizedKey is equal for links to the same target.
type link struct {
	SourceID      string `json:"source_id"`
	SourceType    string `json:"source_type"`
	FilePath      string `json:"file_path"`
	Line          int    `json:"line"`
	PositionStart int    `json:"position_start"`
	PositionEnd   int    `json:"position_end"`
	RawTarget     string `json:"raw_target"`
	Display       string `json:"display"`
	IsImage       bool   `json:"is_image"`
	Scheme        string `json:"scheme"`
	Ext           string `json:"ext"`
	NormalizedKey string `json:"normalized_key"`
}

// queryItem returns one result of a query as the answer shows it. If kind is true, it contains its
// kind.
//
// Only a query with several kinds of results needs the kind, which is then the first member of the
// JSON object.
func (d renderer) queryItem(i query.Item, kind bool) (tool.Object, error) {
	var shown any
	switch i.Kind {
	case query.Traits:
		shown = d.trait(i.Trait)
	case query.Links:
		shown = linkOf(i)
	case query.Sections:
		shown = sectionOf(i.Object)
	default:
		shown = d.object(i.Object)
	}
	data, err := tool.Marshal(shown)
	if err != nil || !kind {
		return tool.Object(data), err
	}
	name, err := tool.Marshal(kindNames[i.Kind])
	return tool.Object(`{"kind":` + string(name) + "," + string(data[1:])), err
}

// kindNames are the names of the kinds of results in answers.
var kindNames = map[query.Kind]string{
	query.Objects: "object", query.Traits: "trait", query.Sections: "section", query.Links: "link",
}

// sectionOf returns a section as a query returns it. The object must be a section.
func sectionOf(o index.Object) section {
	s := o.Section
	shown := section{
		ID: o.ID(), FileObjectID: o.Note.ID, FilePath: o.Note.Path, Slug: s.Slug, Title: *headingOf(s),
		Level: s.Level(), LineStart: s.Line(), LineEnd: orNil(s.LineEnd()), DirectLineEnd: orNil(s.LineEnd()),
		SubtreeLineEnd: orNil(s.SubtreeEnd()), FirstSeen: s.Created, LastModified: s.Modified,
	}
	if above, ok := o.Parent(); ok && above.Section != nil {
		shown.ParentSectionID = new(above.ID())
	}
	return shown
}

// linkOf returns a Markdown link as a query returns it, with long texts shortened.
func linkOf(i query.Item) link {
	l := i.Link
	return link{
		SourceID: i.Object.ID(), SourceType: i.Object.Type(), FilePath: i.Object.Note.Path, Line: l.Line,
		PositionStart: l.Span.Start, PositionEnd: l.Span.End, RawTarget: tool.Beginning(l.Target, maxListed),
		Display: tool.Beginning(l.Display, maxListed), IsImage: l.Image, Scheme: l.Scheme, Ext: l.Ext,
		NormalizedKey: tool.Beginning(l.Key(i.Object.Note), maxListed),
	}
}

// queryName matches texts that can be the name of a saved query.
var queryName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkForm returns a fault unless the call has exactly one form of a query, or the argument list.
func (a queryRequest) checkForm(list bool) error {
	given := 0
	for _, is := range []bool{a.Name != "", a.Query != "", len(a.Filter) > 0, list} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return fault.New(fault.MissingRequired, "give a name, a query or a filter").With("argument", "query").
			Try("raven_query", fault.Args{"query": "type:*"}).Try("raven_query_list", nil)
	case given > 1:
		return fault.New(fault.InvalidValue, "give one of name, query, filter and list").With("argument", "query")
	}
	return nil
}

// A parsedQuery is the parsed query of a call.
type parsedQuery struct {
	query query.Query
	name  string // of the saved query; "": not a saved query
}

// parse returns the parsed query of a call. If name cannot be the name of a saved query, it is read
// as the text of a query.
//
// The order is: a filter as JSON; a saved query, named by either argument; the argument name with a
// text that has the form of a name, which is NOT_FOUND; and the text of a query. Words that are
// complete queries, such as section, are never names.
func (a queryRequest) parse(v view) (parsedQuery, error) {
	if len(a.Filter) > 0 {
		q, err := query.FromJSON(a.Filter)
		return parsedQuery{query: q}, checkNoInputs(err, a)
	}
	text, name := a.Query, a.Name
	// The argument query can also name a saved query.
	if name == "" && queryName.MatchString(text) && !isRoot(text) {
		if _, ok := savedQuery(v, text); ok {
			name, text = text, ""
		}
	}
	if s, ok := savedQuery(v, name); ok && name != "" {
		q, err := a.bindInputs(s)
		return parsedQuery{q, s.Name}, err
	}
	if name != "" && queryName.MatchString(name) && !isRoot(name) {
		return parsedQuery{}, noQuery(v, name)
	}
	text = cmp.Or(text, name)
	q, err := query.Parse(text)
	if err != nil {
		return parsedQuery{}, err
	}
	return a.withInputs(q, q.Args())
}

// withInputs returns a query with the inputs of the call inserted for the named arguments.
func (a queryRequest) withInputs(q query.Query, names []string) (parsedQuery, error) {
	inputs, err := inputsFor(a.Inputs, names)
	if err != nil {
		return parsedQuery{}, err
	}
	q, err = q.Bind(inputs)
	return parsedQuery{query: q}, err
}

// checkNoInputs returns err or, if it is nil, a fault if the call has inputs, which a filter cannot
// use.
func checkNoInputs(err error, a queryRequest) error {
	if err == nil && !a.Inputs.IsEmpty() {
		return fault.New(fault.InvalidValue, "inputs are for saved queries; a filter has none").
			With("argument", "inputs")
	}
	return err
}

// isRoot reports whether a word is a complete query.
func isRoot(word string) bool {
	return strings.EqualFold(word, "section") || strings.EqualFold(word, "link")
}

// savedQuery returns the saved query with a name, or false.
func savedQuery(v view, name string) (vault.Query, bool) {
	all := v.Index.Config().Queries
	i := slices.IndexFunc(all, func(q vault.Query) bool { return q.Name == name })
	if i < 0 {
		return vault.Query{}, false
	}
	return all[i], true
}

// bindInputs returns the parsed text of a saved query, with the inputs of the call inserted.
//
// The order of the inputs is that of args in the definition or, without it, of the first use in the
// text.
func (a queryRequest) bindInputs(s vault.Query) (query.Query, error) {
	if s.Query == "" {
		if !a.Inputs.IsEmpty() {
			return query.Query{}, fault.New(fault.InvalidValue, "the saved query has no arguments").
				With("argument", "inputs")
		}
		q := query.FromList(s.Types, s.Traits, s.Filters, s.Tags)
		if len(q.Branches) == 0 {
			return q, fault.New(fault.InvalidQuery, "the saved query is empty").With("query", s.Name)
		}
		return q, nil
	}
	q, err := query.Parse(s.Query)
	if err != nil {
		return q, fault.Of(err).With("query", s.Name)
	}
	names := s.Args
	if len(names) == 0 {
		names = q.Args()
	}
	w, err := a.withInputs(q, names)
	return w.query, err
}

// inputsFor returns the values of the inputs by the names of their arguments. Texts without a name
// are assigned, in order, to the arguments without a value. Too many inputs are an error.
//
// A text NAME=VALUE is named only if the query has an argument NAME, so that a value can contain an
// equals sign. Missing inputs are reported by Bind, not here.
func inputsFor(in tool.Inputs, names []string) (map[string]string, error) {
	values := map[string]string{}
	for name, value := range in.Named {
		values[name] = value
	}
	var inOrder []string
	for _, text := range in.Texts {
		name, value, named := strings.Cut(text, "=")
		if !named || !slices.Contains(names, name) {
			inOrder = append(inOrder, text)
			continue
		}
		if _, twice := values[name]; twice {
			return nil, fault.New(fault.InvalidValue, "the input %q is given twice", name).With("argument", "inputs")
		}
		values[name] = value
	}
	for _, name := range names {
		if _, ok := values[name]; !ok && len(inOrder) > 0 {
			values[name], inOrder = inOrder[0], inOrder[1:]
		}
	}
	if len(inOrder) > 0 {
		return nil, fault.New(fault.InvalidValue, "the query has %d arguments, but more inputs are given", len(names)).
			With("argument", "inputs").With("allowed", append([]string{}, names...))
	}
	return values, nil
}

// noQuery returns NOT_FOUND for a saved query. If there is a trait or type with the name, the fault
// has a call that lists it.
func noQuery(v view, name string) error {
	var names []string
	for _, q := range v.Index.Config().Queries {
		names = append(names, q.Name)
	}
	f := fault.New(fault.NotFound, "no saved query %q", name).With("query", name).
		Suggest(name, names).Try("raven_query_list", nil)
	s := v.Index.Schema()
	if _, ok := s.Trait(name); ok {
		f = f.Try("raven_trait_list", fault.Args{"trait_type": name})
	}
	if _, ok := s.Type(name); ok {
		f = f.Try("raven_type", fault.Args{"name": name})
	}
	return f
}

// searcher returns a function that gives a query the search index and a reader of the notes' texts.
//
// The query calls it only when it evaluates content(). The texts are those of the state that v has,
// which must be the one that x was built from.
func searcher(
	ctx context.Context, v view, x *search.Index,
) func() (*search.Index, func(path string) ([]byte, error), error) {
	return func() (*search.Index, func(path string) ([]byte, error), error) {
		return x, func(path string) ([]byte, error) {
			f, ok := v.Index.File(path)
			if !ok {
				return nil, fmt.Errorf("a note that was found is not in the index")
			}
			return v.Vault.Text(ctx, f.Body)
		}, nil
	}
}
