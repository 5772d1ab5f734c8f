package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// FromJSON parses a filter, which is the JSON form of the branches of a query. A syntax error is
// INVALID_QUERY with the JSON pointer (RFC 6901) of its position as "pointer".
//
// A filter is a branch, or a list of branches. A branch has a root and an optional predicate:
//
//	{"type": NAME, "where": predicate}    NAME can be "*"
//	{"trait": NAME, "where": predicate}
//	{"section": true, "where": predicate}
//	{"link": true, "where": predicate}
//
// A predicate is an object with one or more of these keys, all of which must pass:
//
//	"all", "any"                     a list of predicates
//	"not"                            a predicate
//	"fields"                         an object of conditions by field
//	"has", "contains", "at"          a filter
//	"in", "within", "refs", "refd"   a filter, an id or a name
//	"links"                          true, or a predicate of the link
//	"content"                        a text
//
// A condition is a value that the field must be equal to, or an object with one or more of these
// keys:
//
//	"==", "!=", "<", "<=", ">", ">="                  a value
//	"exists"                                          true or false
//	"oneof"                                           a list of values
//	"includes", "startswith", "endswith", "matches"   a text
//	"case"                                            true: the texts are case-sensitive
//	"any", "all", "none"                              a condition of the elements of a list
//
// A condition of elements is a value or an object too. Instead of "exists", "oneof", "any", "all"
// and "none" for lists, it has "all", "any" (lists of conditions) and "not" (a condition).
func FromJSON(data []byte) (Query, error) {
	if len(data) > MaxText {
		return Query{}, tooMuch("length", "a filter has at most %d bytes", MaxText)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	// Anything after the first value is an error too.
	if _, more := d.Token(); err != nil || more != io.EOF {
		return Query{}, fault.New(fault.InvalidQuery, "the filter is not JSON").
			With("reason", "syntax").With("pointer", "")
	}
	return FromValue(v)
}

// FromValue parses a filter that was decoded from JSON. Numbers must be json.Number or float64.
func FromValue(v any) (Query, error) {
	r := &filterReader{}
	q := Query{Branches: r.filter(v, "")}
	if r.failed != nil {
		return Query{}, r.failed
	}
	return q, nil
}

// A filterReader parses a filter. After the first error it stops. pointer is the position of a
// value in all of its functions.
//
// Its functions can return nil or incomplete values after an error.
type filterReader struct {
	depth, tests int
	failed       *fault.Fault
}

// fail records an error, unless there is one already.
func (r *filterReader) fail(pointer, format string, args ...any) {
	f := fault.New(fault.InvalidQuery, "%s: "+format, append([]any{nameOf(pointer)}, args...)...).
		With("reason", "syntax").With("pointer", pointer)
	if r.failed == nil {
		r.failed = f
	}
}

// nameOf returns the name of a position in a filter, for a message.
func nameOf(pointer string) string {
	if pointer == "" {
		return "filter"
	}
	// Messages stay short; the pointer is in the fault.
	if len(pointer) > 200 {
		return "filter, far inside"
	}
	return "filter" + pointer
}

// below returns the pointer to a member or element.
func below(pointer, key string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// enter begins a level of nesting, which leave ends. It returns false if there was an error, such
// as too many levels.
func (r *filterReader) enter(pointer string) bool {
	if r.depth++; r.depth > MaxDepth && r.failed == nil {
		r.failed = tooMuch("depth", "a filter nests at most %d levels", MaxDepth).With("pointer", pointer)
	}
	return r.failed == nil
}

// leave ends a level of nesting that enter began.
func (r *filterReader) leave() { r.depth-- }

// count counts a predicate against MaxTests.
func (r *filterReader) count(pointer string) {
	if r.tests++; r.tests > MaxTests && r.failed == nil {
		r.failed = tooMuch("size", "a filter has at most %d predicates", MaxTests).With("pointer", pointer)
	}
}

// filter parses one branch, or a list of branches.
func (r *filterReader) filter(v any, pointer string) []Branch {
	list, ok := v.([]any)
	if !ok {
		return []Branch{r.branch(v, pointer)}
	}
	if len(list) == 0 {
		r.fail(pointer, "a list of branches needs at least one")
	}
	var all []Branch
	for i, each := range list {
		if r.failed != nil {
			break
		}
		all = append(all, r.branch(each, below(pointer, strconv.Itoa(i))))
	}
	return all
}

// object returns v as an object; nil, after an error, if it is not one or has a key that is not
// allowed.
func (r *filterReader) object(v any, pointer string, allowed []string) map[string]any {
	o, ok := v.(map[string]any)
	if !ok {
		r.fail(pointer, "expected an object")
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(allowed, key) {
			r.fail(below(pointer, key), "there is no such key; the keys are %s", strings.Join(allowed, ", "))
			// r.failed is set: fail keeps the first error, and parsing stops after it.
			r.failed = r.failed.With("allowed", allowed).Suggest(key, allowed)
			return nil
		}
	}
	return o
}

// branchKeys are the keys of a branch.
var branchKeys = []string{"type", "trait", "section", "link", "where"}

// branch parses a branch. It must have exactly one root. After an error it returns an incomplete
// branch.
func (r *filterReader) branch(v any, pointer string) Branch {
	b := Branch{at: Place{Pointer: pointer}}
	o := r.object(v, pointer, branchKeys)
	if r.failed != nil {
		return b
	}
	roots := 0
	for _, kind := range []Kind{Objects, Traits, Sections, Links} {
		root, ok := o[string(kind)]
		if !ok {
			continue
		}
		roots++
		b.Kind = kind
		b.Name = r.root(kind, root, below(pointer, string(kind)))
	}
	if roots != 1 {
		r.fail(pointer, "a branch needs one of type, trait, section, link")
		return b
	}
	if where, ok := o["where"]; ok {
		b.Where = r.test(where, below(pointer, "where"))
	}
	return b
}

// root parses the value of a root: the name of a type or trait, or true for sections and links. It
// returns the name, or "" for sections and links. Any other value fails the reader at the pointer.
func (r *filterReader) root(kind Kind, v any, pointer string) string {
	if kind == Sections || kind == Links {
		if v != true {
			r.fail(pointer, "expected true")
		}
		return ""
	}
	name, ok := v.(string)
	switch {
	case !ok:
		r.fail(pointer, "expected the name of a %s", kind)
	case kind == Objects && name == vault.Section:
		r.fail(pointer, "sections have their own root")
		r.failed = r.failed.Fix(`write {"section": true}`)
	case kind == Objects && name == Any:
	case !isWord(name) && !isArgument(name):
		r.fail(pointer, "this cannot be the name of a %s", kind)
	case kind == Objects:
		return vault.TypeName(name)
	}
	return name
}

// testKeys are the keys of a predicate, in the order in which they are parsed.
var testKeys = []string{
	"all", "any", "not", "fields", "has", "contains", "at", "in", "within", "refs", "refd", "links", "content",
}

// test parses a predicate. All of its keys must pass.
func (r *filterReader) test(v any, pointer string) *Test {
	if !r.enter(pointer) {
		return nil
	}
	defer r.leave()
	o := r.object(v, pointer, testKeys)
	if r.failed == nil && len(o) == 0 {
		r.fail(pointer, "a predicate needs at least one key")
	}
	var parts []*Test
	for _, key := range testKeys {
		if member, ok := o[key]; ok && r.failed == nil {
			parts = append(parts, r.member(key, member, below(pointer, key))...)
		}
	}
	// A single key needs no And.
	return joined(And, parts, Place{Pointer: pointer})
}

// member parses one key of a predicate. It returns a list, because the key fields has a test for
// each of its members; the other keys have one. Functions count against MaxTests; And, Or and Not
// do not.
func (r *filterReader) member(key string, v any, pointer string) []*Test {
	at := Place{Pointer: pointer}
	switch op := Op(key); {
	case op == And || op == Or:
		return r.list(op, v, pointer, r.test)
	case op == Not:
		return []*Test{{Op: Not, Parts: []*Test{r.test(v, pointer)}, at: at}}
	case key == "fields":
		return r.fields(v, pointer)
	case op == LinksTo && v == true:
		r.count(pointer)
		return []*Test{{Op: op, at: at}}
	case op == LinksTo:
		r.count(pointer)
		return []*Test{{Op: op, Parts: []*Test{r.test(v, pointer)}, at: at}}
	case op == Content:
		r.count(pointer)
		return []*Test{{Op: op, Text: r.text(v, pointer), at: at}}
	default:
		r.count(pointer)
		return []*Test{r.nested(op, v, pointer)}
	}
}

// list parses a list of tests that op joins.
func (r *filterReader) list(op Op, v any, pointer string, read func(any, string) *Test) []*Test {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		r.fail(pointer, "expected a list of at least one predicate")
		return nil
	}
	var parts []*Test
	for i, each := range list {
		if r.failed != nil {
			return nil
		}
		parts = append(parts, read(each, below(pointer, strconv.Itoa(i))))
	}
	return []*Test{joined(op, parts, Place{Pointer: pointer})}
}

// nested parses a function that takes a filter or, if the function allows it, an id or name.
func (r *filterReader) nested(op Op, v any, pointer string) *Test {
	t := &Test{Op: op, at: Place{Pointer: pointer}}
	target, ok := v.(string)
	if !ok {
		// A nested filter is a level of its own.
		if r.enter(pointer) {
			t.Query = r.filter(v, pointer)
		}
		r.leave()
		return t
	}
	ref, valid := vault.ParseRef(target)
	switch {
	case !op.takesTarget():
		r.fail(pointer, "expected a filter")
	case isArgument(target):
		t.Target = target
	case !valid:
		r.fail(pointer, "expected an id, a name or a filter")
	default:
		t.Target = string(ref)
	}
	return t
}

// text parses a string.
func (r *filterReader) text(v any, pointer string) string {
	s, ok := v.(string)
	if !ok {
		r.fail(pointer, "expected a string")
	}
	return s
}

// scalar returns a value as text; false if it is a list, an object or null.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

// value parses a scalar value.
func (r *filterReader) value(v any, pointer string) Value {
	s, ok := scalar(v)
	if !ok {
		r.fail(pointer, "expected a string, a number, true or false")
	}
	return valueOf(s, Place{Pointer: pointer})
}
