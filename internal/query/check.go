package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An Env contains what a query is checked against.
type Env struct {
	Schema *vault.Schema
	Clock  vault.Clock

	// Resolve resolves a reference of a query. It returns the id of the target; or, if the
	// reference is ambiguous, the ids of all matches; or, if it has no target, similar ids. Nil:
	// references are not checked.
	Resolve func(text string) (id string, matches, near []string)
}

// Check reports the invalid parts of a query: types, traits and fields that are not in the
// schema, values that a field cannot have, predicates that are not valid for their items, and
// references that do not resolve to one target. Several problems are joined to one
// VALIDATION_FAILED. Arguments are not checked.
//
// It evaluates nothing. The cost of a query is known only when it runs.
func Check(q Query, w Env) error {
	c := &checker{Env: w, fields: schemaFields{w.Schema}}
	for _, b := range q.Branches {
		c.branch(b)
	}
	c.keys(q)
	return fault.Join(fault.ValidationFailed, c.problems).Err()
}

// A checker collects the problems of a query.
//
// It continues after a problem, so that a caller can correct all of them at once.
type checker struct {
	Env
	fields   schemaFields
	problems []*fault.Fault
}

// report adds a problem with its place.
//
// A query as text has a column, a filter a pointer.
func (c *checker) report(f *fault.Fault, at Place) {
	if at.Column > 0 {
		f = f.With("column", at.Column)
	} else {
		f = f.With("pointer", at.Pointer)
	}
	c.problems = append(c.problems, f)
}

// illegal reports an INVALID_QUERY with reason "legality": a predicate that is valid as syntax but
// not in its place.
//
// fix is a sentence with the correct form; "": none.
func (c *checker) illegal(at Place, fix, format string, args ...any) {
	f := fault.New(fault.InvalidQuery, format, args...).With("reason", "legality")
	if fix != "" {
		f = f.Fix("%s", fix)
	}
	c.report(f, at)
}

// branch checks a branch.
func (c *checker) branch(b Branch) {
	switch {
	// Any type can be bound to an argument.
	case hasArgument(b.Name) || b.Name == Any:
	case b.Kind == Objects && b.Name == vault.Section:
		c.illegal(b.at, "write section instead of type:section", "sections have their own root")
		return
	case b.Kind == Objects:
		if _, ok := c.Schema.Type(b.Name); !ok {
			c.report(c.Schema.NoType(b.Name), b.at)
		}
	case b.Kind == Traits:
		if _, ok := c.fields.Trait(b.Name); !ok {
			c.report(c.Schema.NoTrait(b.Name), b.at)
		}
	}
	c.test(b, b.Where)
}

// keys checks the sort keys: each must be a field of at least one branch.
//
// Items without a value are sorted last.
func (c *checker) keys(q Query) {
	for _, k := range q.Sort {
		known, names := false, []string{}
		for _, b := range q.Branches {
			_, ok := c.fields.field(b, k.Field)
			// One branch with the field is sufficient.
			known = known || ok
			names = append(names, c.fields.names(b)...)
		}
		if !known {
			c.report(noField(k.Field, names, "sort: the results have no field %s", k.Field), k.at)
		}
	}
}

// test checks a test of items of a branch; t can be nil. It dispatches on the operation: parts are
// checked with the same branch, nested queries with their own.
func (c *checker) test(b Branch, t *Test) {
	switch {
	case t == nil:
	case t.Op == And || t.Op == Or || t.Op == Not:
		for _, part := range t.Parts {
			c.test(b, part)
		}
	// A test that is not valid for the kind of items is not checked further.
	case !legalOn(t.Op, b.Kind):
		c.misplaced(b, t)
	case t.Field != "":
		c.ofField(b, t)
	case t.Op == LinksTo:
		c.links(t)
	case t.Op == Content:
		c.content(b, t)
	case t.Target != "":
		c.reference(t.Target, t.at)
	default:
		c.nested(t)
	}
}

// legal lists the kinds of items that a function can test, if it cannot test all kinds.
var legal = map[Op][]Kind{
	Exists: {Objects, Sections, Traits}, AnyOf: {Objects, Sections, Traits}, AllOf: {Objects, Sections, Traits},
	NoneOf: {Objects, Sections, Traits},
	Has:    {Objects, Sections}, Contains: {Objects, Sections}, In: {Objects, Sections, Traits},
	Within: {Objects, Sections, Traits, Links}, At: {Traits}, Refs: {Objects, Sections, Traits},
	Refd: {Objects, Sections}, LinksTo: {Objects, Sections, Traits}, Content: {Objects, Sections, Traits},
}

// nestable lists the kinds of items that the nested query of a function can find.
var nestable = map[Op][]Kind{
	Has: {Objects, Sections, Traits}, Contains: {Objects, Sections, Traits}, At: {Traits},
	In: {Objects, Sections}, Within: {Objects, Sections}, Refs: {Objects, Sections},
	Refd: {Objects, Sections, Traits},
}

// legalOn reports whether a function can test items of a kind.
func legalOn(op Op, k Kind) bool { return allows(legal, op, k) }

// allows reports whether a table allows a kind for a function. A function that is not in the table
// allows all kinds.
func allows(table map[Op][]Kind, op Op, k Kind) bool {
	kinds, limited := table[op]
	if !limited {
		return true
	}
	return slices.Contains(kinds, k)
}

// rootsOf returns the roots of some kinds, for a message.
func rootsOf(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, rootName(k))
	}
	return strings.Join(names, ", ")
}

// rootName returns the root of a kind, for a message.
func rootName(k Kind) string {
	if k == Objects || k == Traits {
		return string(k) + ":"
	}
	return string(k)
}

// misuseFixes lists the fixes for a function that is used on items of a kind that it cannot test.
var misuseFixes = map[Op]map[Kind]string{
	Has:      {Traits: "write at(trait:…) for another trait of the line", Links: "write within(type:…)"},
	Contains: {Traits: "write at(trait:…) for another trait of the line", Links: "write within(type:…)"},
	At:       {Objects: "write has(trait:…)", Sections: "write has(trait:…)"},
	In:       {Links: "write within(type:…)"},
	Refd:     {Traits: "write refs(…)", Links: "write within(type:… refd(…))"},
	Exists:   {Links: "compare the field, as in .ext==pdf"},
	LinksTo:  {Links: "compare the fields of the link itself"},
	Content:  {Links: "write within(type:… content(…))"},
}

// misplaced reports a function that cannot test the items of the branch.
func (c *checker) misplaced(b Branch, t *Test) {
	name := strings.TrimSuffix(string(t.Op), "(")
	c.illegal(t.at, misuseFixes[t.Op][b.Kind], "%s() is valid for %s, not for %s",
		name, rootsOf(legal[t.Op]), rootName(b.Kind))
}

// nested checks the nested query of a function.
func (c *checker) nested(t *Test) {
	for _, b := range t.Query {
		if !allows(nestable, t.Op, b.Kind) {
			c.illegal(b.at, "", "%s() takes %s, not %s", t.Op, rootsOf(nestable[t.Op]), rootName(b.Kind))
			continue
		}
		c.branch(b)
	}
}

// links checks the tests of links(), which must be tests of fields.
func (c *checker) links(t *Test) {
	for _, part := range t.Parts {
		c.ofLink(part)
	}
}

// ofLink checks a test of a link.
func (c *checker) ofLink(t *Test) {
	switch {
	case t.Op == And || t.Op == Or || t.Op == Not:
		for _, part := range t.Parts {
			c.ofLink(part)
		}
	case t.Field == "" || !legalOn(t.Op, Links):
		c.illegal(t.at, "", "links() needs conditions on the fields of a link")
	default:
		c.ofField(Branch{Kind: Links}, t)
	}
}

// content checks the text of content(): it must contain a word, unless the items are traits.
func (c *checker) content(b Branch, t *Test) {
	if hasArgument(t.Text) || b.Kind == Traits && t.Text != "" {
		return
	}
	if len(search.ParseQuery(t.Text).Clauses) == 0 {
		c.report(fault.New(fault.InvalidValue, "content() needs a text with at least one word"), t.at)
	}
}

// reference checks that a reference resolves to one target.
//
// A reference to several targets is AMBIGUOUS_REF with their ids, and one without a target is
// INVALID_REF with similar ids.
func (c *checker) reference(text string, at Place) {
	if c.Resolve == nil || hasArgument(text) {
		return
	}
	id, matches, near := c.Resolve(text)
	switch {
	case id != "":
	case len(matches) > 0:
		some := matches[:min(len(matches), fault.MaxProblems)]
		c.report(fault.New(fault.AmbiguousRef,
			"a reference is ambiguous: it can be any of: %s", strings.Join(some, ", ")).
			With("matches", some).Fix("use one of these ids"), at)
	default:
		f := fault.New(fault.InvalidRef, "a reference does not resolve")
		if len(near) > 0 {
			f = f.With("nearest", near).Fix("did you mean %s?", near[0])
		}
		c.report(f, at)
	}
}

// noField returns an INVALID_FIELD fault that lists the valid names.
func noField(name string, names []string, format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidField, format, args...).With("field", name).
		With("allowed", vault.Offered(names)).Suggest(name, names)
}

// subjectOf returns the begin of a message about a field that the items of a branch do not have.
func subjectOf(b Branch) string {
	switch {
	case b.Kind == Objects && b.Name == Any:
		return "no type"
	case b.Kind == Objects:
		return "type " + strconv.Quote(b.Name) + " has no field"
	case b.Kind == Traits:
		return "a trait has no field"
	}
	return fmt.Sprintf("a %s has no field", b.Kind)
}
