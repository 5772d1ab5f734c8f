package raven

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

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
