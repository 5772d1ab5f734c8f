// Package query implements the query language of vaults: its syntax tree, its two notations (text
// and JSON filter), its check against a schema, and the evaluation on an index
// (reference/raven-rest.md §1, §2).
//
// Parse, FromJSON, Check and Bind are pure and do not need an index. Parse(q.String()) and
// FromJSON(q.JSON()) return a query that is equal to q except for the places of its parts; a filter
// contains only the branches.
//
// # The tree
//
// A Query is a union of branches. A Branch is a root, which selects all items of one kind, and a
// Test that they must pass. A Test is a predicate of an item: a comparison of a field, a function,
// or And, Or and Not of other tests. The same tree has two notations:
//
//   - The text is split into tokens (lex.go) and parsed by recursive descent (parse.go,
//     parsetest.go). oldform.go recognizes the syntax of older versions and common mistakes, for
//     better errors. print.go writes the text.
//   - The filter is a JSON value (filter.go, filtertest.go); filterwrite.go writes it.
//
// list.go builds queries from the old form of saved queries. bind.go replaces arguments by values
// in the tree, after parsing, so that a value can never change the structure of a query.
//
// # Evaluation
//
// Find and Select first check the query against the schema (check.go, checkvalue.go). The evaluator
// then compiles each Test into a term (eval.go), which can do two things: test a single item, and
// name the notes that can contain items that pass. plan.go chooses for each branch between the
// notes of its root and those of its term, whichever are fewer, visits the items in these notes and
// tests them. answer.go collects the items, sorts them (sort.go) and cuts out the page.
//
// The terms of fields are in fieldterm.go and literal.go, with the definitions of the fields in
// field.go and builtin.go; those of functions with a nested query in nested.go, set.go and refs.go;
// that of content() in content.go.
//
// A query can be expensive, so each tested item is a visit, and visits are limited; see
// State.Visits. Every loop over items calls evaluator.visit and ends when it returns false.
package query

import (
	"reflect"

	"github.com/rookeryhq/rookery/internal/vault"
)

// Limits of a query. Exceeding one is INVALID_QUERY with a reason.
const (
	MaxText    = 16 << 10 // bytes of a query or filter
	MaxDepth   = 32       // levels of nesting
	MaxTests   = 256      // predicates
	MaxValues  = 1000     // values of a list
	MaxPattern = 1000     // bytes of a regular expression
)

// A Query selects items of a vault, and determines their order and number.
// A Query is not changed by this package after it is returned, so several goroutines can use it.
type Query struct {
	Branches []Branch // the answer is their union
	Sort     []Key    // empty: by path, line and position
	Limit    int      // maximum number of items; 0: no limit
	Count    bool     // return only the number of items
}

// A Key is a field by which an answer is sorted.
type Key struct {
	Field      string
	Descending bool // descending order

	at Place
}

// A Branch selects items of one kind. It consists of a root and a test.
type Branch struct {
	Kind  Kind
	Name  string // of the type or trait; Any: objects of all types; "" for sections and links
	Where *Test  // nil: no test

	at Place
}

// A Kind is the kind of the items that a root finds.
type Kind string

// The kinds of items, by the root of their branch.
const (
	Objects  Kind = "type"
	Traits   Kind = "trait"
	Sections Kind = "section"
	Links    Kind = "link"
)

// Any is the name that stands for all types of objects.
const Any = "*"

// An Op is the operation of a test.
type Op string

// The operations of tests. Equal to AtLeast compare a field with a value. reference/raven-rest.md
// §1 defines the functions.
const (
	And Op = "all" // all of Parts pass
	Or  Op = "any" // at least one of Parts passes
	Not Op = "not" // Parts[0] does not pass

	Equal   Op = "=="
	Differs Op = "!="
	Less    Op = "<"
	AtMost  Op = "<="
	More    Op = ">"
	AtLeast Op = ">="

	// Tests of a field. All but Exists fail if the field has no value.
	Exists     Op = "exists"     // the field has a value
	OneOf      Op = "oneof"      // the field is equal to one of Values
	Includes   Op = "includes"   // the text of the field contains Text
	StartsWith Op = "startswith" // the text of the field begins with Text
	EndsWith   Op = "endswith"   // the text of the field ends with Text
	Matches    Op = "matches"    // the text of the field contains a match of Text

	// Tests of the elements of a list field.
	AnyOf  Op = "any("  // at least one element passes Parts[0]
	AllOf  Op = "all("  // all elements pass Parts[0]
	NoneOf Op = "none(" // no element passes Parts[0]

	// Tests of the relation of an item to the items that Query finds, or to Target. The holder of
	// an item is the section that directly contains it, or else the note.
	Has      Op = "has"      // the item is the holder of one of them
	Contains Op = "contains" // one of them is in the item, at any depth
	In       Op = "in"       // the holder of the item is one of them
	Within   Op = "within"   // the item is in one of them, at any depth
	At       Op = "at"       // one of them is another trait on the same line
	Refs     Op = "refs"     // a reference of the item leads to one of them, or into it
	Refd     Op = "refd"     // a reference of one of them leads to the item, or into it

	LinksTo Op = "links"   // the item has a link that passes Parts[0], if there is one
	Content Op = "content" // the text of the item has all words of Text

	// condition is a Condition, which has no spelling as text or filter.
	condition Op = "condition"
)

// A Test is a predicate of an item, or of an element of a list.
type Test struct {
	Op     Op
	Parts  []*Test
	Field  string   // the tested field; "": the element, or a function without a field
	Values []Value  // to compare with: one value, except for OneOf
	Text   string   // of Includes, StartsWith, EndsWith, Matches (a regular expression) and Content
	Case   bool     // comparison of Text is case-sensitive
	Query  []Branch // the nested query
	Target string   // an id or a name instead of a nested query; "": none
	given  *Condition

	at Place
}

// A Value is a value with which a field is compared. The class of the field determines its
// meaning.
// A value that is an argument has the form {{args.name}} as its Text until Bind replaces it.
type Value struct {
	Text string
	Ref  bool // written as a reference; Text is without the brackets

	at Place
}

// A Place is the position of a part in the text or filter of a query.
type Place struct {
	Column  int    // in the text, in characters, from 1; 0: not a text
	Pointer string // in the filter (RFC 6901)
}

// valueOf returns a value. A text in the brackets of a reference is a reference.
//
// So the JSON string "[[name]]" of a filter is a reference too.
func valueOf(text string, at Place) Value {
	if len(text) > 4 && text[:2] == "[[" {
		if ref, ok := vault.ParseRef(text); ok {
			return Value{string(ref), true, at}
		}
	}
	return Value{text, false, at}
}

// Equal reports whether two queries are equal, ignoring the places of their parts.
func (q Query) Equal(other Query) bool { return reflect.DeepEqual(q.plain(), other.plain()) }

// plain returns a deep copy of the query without places, so that two queries can be compared with
// reflect.DeepEqual.
func (q Query) plain() Query {
	q.Branches = plainBranches(q.Branches)
	keys := q.Sort
	q.Sort = nil
	for _, k := range keys {
		q.Sort = append(q.Sort, Key{k.Field, k.Descending, Place{}})
	}
	return q
}

// plainBranches returns branches without places.
func plainBranches(all []Branch) []Branch {
	var plain []Branch
	for _, b := range all {
		plain = append(plain, Branch{b.Kind, b.Name, b.Where.plain(), Place{}})
	}
	return plain
}

// plain returns the test, which can be nil, without places.
func (t *Test) plain() *Test {
	if t == nil {
		return nil
	}
	p := &Test{
		Op: t.Op, Field: t.Field, Text: t.Text, Case: t.Case, Target: t.Target, Query: plainBranches(t.Query),
	}
	for _, part := range t.Parts {
		p.Parts = append(p.Parts, part.plain())
	}
	for _, v := range t.Values {
		p.Values = append(p.Values, Value{v.Text, v.Ref, Place{}})
	}
	return p
}

// compares reports whether the operation compares a field with one value.
func (o Op) compares() bool {
	switch o {
	case Equal, Differs, Less, AtMost, More, AtLeast:
		return true
	}
	return false
}

// matchesText reports whether the operation searches a text.
func (o Op) matchesText() bool {
	switch o {
	case Includes, StartsWith, EndsWith, Matches:
		return true
	}
	return false
}

// quantifies reports whether the operation tests the elements of a list.
func (o Op) quantifies() bool { return o == AnyOf || o == AllOf || o == NoneOf }

// takesTarget reports whether the operation takes an id or a name instead of a query.
func (o Op) takesTarget() bool { return o == In || o == Within || o == Refs || o == Refd }

// allOf returns the conjunction of some tests; nil if there are none.
func allOf(tests []*Test, at Place) *Test { return joined(And, tests, at) }

// joined returns the test that joins some tests with op; the test itself if there is only one, and
// nil if there are none. So no And or Or has fewer than two parts.
func joined(op Op, tests []*Test, at Place) *Test {
	switch len(tests) {
	case 0:
		return nil
	case 1:
		return tests[0]
	}
	return &Test{Op: op, Parts: tests, at: at}
}
