// Package query is the query language of vaults: its tree, its two spellings (a text and a filter in
// JSON), its check against a schema, and its answers over an index (reference/raven-rest.md §1, §2).
//
// The language is pure: Parse, FromJSON, Check and Bind know no index. Parse(q.String()) is q, and
// FromJSON(q.JSON()) is q, but for places.
package query

import (
	"reflect"

	"github.com/rookeryhq/rookery/internal/vault"
)

// The bounds of a query. What is beyond one is INVALID_QUERY with a reason.
const (
	MaxText    = 16 << 10 // bytes of a text
	MaxDepth   = 32       // levels of brackets
	MaxTests   = 256      // predicates
	MaxValues  = 1000     // values of a list
	MaxPattern = 1000     // bytes of a regular expression
)

// A Query says what is looked for, in which order, and how much of it.
type Query struct {
	Branches []Branch // the answer is their union
	Sort     []Key    // empty: by path, line and position
	Limit    int      // how many there are at most; 0: no limit
	Count    bool     // only how many there are
}

// A Key is a field by which the answer is sorted.
type Key struct {
	Field string
	Down  bool // the largest first

	at Place
}

// A Branch is what one root finds.
type Branch struct {
	Kind  Kind
	Name  string // of a type or a trait; Any: objects of every type
	Where *Test  // nil: all of them

	at Place
}

// A Kind is what a root finds.
type Kind string

// The kinds of roots.
const (
	Objects  Kind = "type"
	Traits   Kind = "trait"
	Sections Kind = "section"
	Links    Kind = "link"
)

// Any is the name of the type that stands for all types of objects.
const Any = "*"

// An Op is what a test does.
type Op string

// The operations of tests. Those from Equal to AtLeast compare a field with a value.
const (
	And Op = "all" // of Parts
	Or  Op = "any" // of Parts
	Not Op = "not" // the one of Parts

	Equal   Op = "=="
	Differs Op = "!="
	Less    Op = "<"
	AtMost  Op = "<="
	More    Op = ">"
	AtLeast Op = ">="

	Exists     Op = "exists"
	OneOf      Op = "oneof" // of Values
	Includes   Op = "includes"
	StartsWith Op = "startswith"
	EndsWith   Op = "endswith"
	Matches    Op = "matches"

	AnyOf  Op = "any(" // an element of the list passes Parts[0]
	AllOf  Op = "all("
	NoneOf Op = "none("

	Has      Op = "has"
	Contains Op = "contains"
	In       Op = "in"
	Within   Op = "within"
	At       Op = "at"
	Refs     Op = "refs"
	Refd     Op = "refd"
	LinksTo  Op = "links" // a link of it passes Parts[0], if there is one
	Content  Op = "content"
)

// A Test is a predicate: what must hold of a thing, or of an element of a list.
type Test struct {
	Op     Op
	Parts  []*Test
	Field  string   // that is tested; "": the element
	Values []Value  // that it is compared with: one, but for OneOf
	Text   string   // of Includes, StartsWith, EndsWith, Matches (a regular expression) and Content
	Case   bool     // the case of letters counts
	Query  []Branch // nested
	Target string   // an id or a name in place of a nested query; "": there is none

	at Place
}

// A Value is what a field is compared with. What it means is up to the field.
type Value struct {
	Text string
	Ref  bool // it is written as a reference; Text is without the brackets

	at Place
}

// A Place is where something is in the spelling of a query.
type Place struct {
	Column  int    // of the text, in characters from 1; 0: it is no text
	Pointer string // of the filter (RFC 6901)
}

// valueOf is a value as it is written: a text in the brackets of a reference is one.
func valueOf(text string, at Place) Value {
	if len(text) > 4 && text[:2] == "[[" {
		if ref, ok := vault.ParseRef(text); ok {
			return Value{string(ref), true, at}
		}
	}
	return Value{text, false, at}
}

// Equal reports whether two queries are the same, wherever their parts are written.
func (q Query) Equal(other Query) bool { return reflect.DeepEqual(q.plain(), other.plain()) }

// plain is the query without places.
func (q Query) plain() Query {
	q.Branches = plainBranches(q.Branches)
	keys := q.Sort
	q.Sort = nil
	for _, k := range keys {
		q.Sort = append(q.Sort, Key{k.Field, k.Down, Place{}})
	}
	return q
}

func plainBranches(all []Branch) []Branch {
	var plain []Branch
	for _, b := range all {
		plain = append(plain, Branch{b.Kind, b.Name, b.Where.plain(), Place{}})
	}
	return plain
}

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

// matchesText reports whether the operation looks into a text.
func (o Op) matchesText() bool {
	switch o {
	case Includes, StartsWith, EndsWith, Matches:
		return true
	}
	return false
}

// quantifies reports whether the operation is about the elements of a list.
func (o Op) quantifies() bool { return o == AnyOf || o == AllOf || o == NoneOf }

// takesTarget reports whether the operation takes an id or a name in place of a query.
func (o Op) takesTarget() bool { return o == In || o == Within || o == Refs || o == Refd }

// allOf is the test that all of some pass; nil for none.
func allOf(tests []*Test, at Place) *Test { return joined(And, tests, at) }

func joined(op Op, tests []*Test, at Place) *Test {
	switch len(tests) {
	case 0:
		return nil
	case 1:
		return tests[0]
	}
	return &Test{Op: op, Parts: tests, at: at}
}
