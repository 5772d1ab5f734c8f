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

// FromJSON reads a filter: the branches of a query as JSON. What cannot be read is INVALID_QUERY with
// `pointer`, which says where it is in the filter (RFC 6901).
func FromJSON(data []byte) (Query, error) {
	if len(data) > MaxText {
		return Query{}, tooMuch("length", "a filter has at most %d bytes", MaxText)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if _, more := d.Token(); err != nil || more != io.EOF {
		return Query{}, fault.New(fault.InvalidQuery, "the filter is not JSON").
			With("reason", "syntax").With("pointer", "")
	}
	return FromValue(v)
}

// FromValue reads a filter that is read as JSON already. Numbers are json.Number or float64.
func FromValue(v any) (Query, error) {
	r := &filterReader{}
	q := Query{Branches: r.filter(v, "")}
	if r.failed != nil {
		return Query{}, r.failed
	}
	return q, nil
}

// A filterReader reads a filter. After a failure it reads nothing more.
type filterReader struct {
	depth, tests int
	failed       *fault.Fault
}

// fail keeps the first failure.
func (r *filterReader) fail(pointer, format string, args ...any) {
	f := fault.New(fault.InvalidQuery, "%s: "+format, append([]any{nameOf(pointer)}, args...)...).
		With("reason", "syntax").With("pointer", pointer)
	if r.failed == nil {
		r.failed = f
	}
}

// nameOf is how a message names a place of a filter.
func nameOf(pointer string) string {
	if pointer == "" {
		return "filter"
	}
	if len(pointer) > 200 {
		return "filter, far inside"
	}
	return "filter" + pointer
}

// below is the pointer to a member.
func below(pointer, key string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// enter is one more level; leave ends it.
func (r *filterReader) enter(pointer string) bool {
	if r.depth++; r.depth > MaxDepth && r.failed == nil {
		r.failed = tooMuch("depth", "a filter nests at most %d levels", MaxDepth).With("pointer", pointer)
	}
	return r.failed == nil
}

func (r *filterReader) leave() { r.depth-- }

// count counts a predicate.
func (r *filterReader) count(pointer string) {
	if r.tests++; r.tests > MaxTests && r.failed == nil {
		r.failed = tooMuch("size", "a filter has at most %d predicates", MaxTests).With("pointer", pointer)
	}
}

// filter reads one branch, or a list of them.
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

// object reads an object with only some keys.
func (r *filterReader) object(v any, pointer string, allowed []string) map[string]any {
	o, ok := v.(map[string]any)
	if !ok {
		r.fail(pointer, "expected an object")
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(allowed, key) {
			r.fail(below(pointer, key), "there is no such key; the keys are %s", strings.Join(allowed, ", "))
			r.failed = r.failed.With("allowed", allowed).Suggest(key, allowed)
			return nil
		}
	}
	return o
}

var branchKeys = []string{"type", "trait", "section", "link", "where"}

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

// root reads the name of a root, or true.
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

// testKeys are the keys of a predicate, in the order in which they are tested.
var testKeys = []string{
	"all", "any", "not", "fields", "has", "contains", "at", "in", "within", "refs", "refd", "links", "content",
}

// test reads a predicate. Several keys are all wanted.
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
	return joined(And, parts, Place{Pointer: pointer})
}

// member reads one key of a predicate.
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

// list reads a list of tests, all or any of which are wanted.
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

// nested reads a function that takes a filter, or an id or a name in its place.
func (r *filterReader) nested(op Op, v any, pointer string) *Test {
	t := &Test{Op: op, at: Place{Pointer: pointer}}
	target, ok := v.(string)
	if !ok {
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

// text reads a text that is not empty.
func (r *filterReader) text(v any, pointer string) string {
	s, ok := v.(string)
	if !ok {
		r.fail(pointer, "expected a string")
	}
	return s
}

// scalar is the text of a value that is no list and no object.
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

func (r *filterReader) value(v any, pointer string) Value {
	s, ok := scalar(v)
	if !ok {
		r.fail(pointer, "expected a string, a number, true or false")
	}
	return valueOf(s, Place{Pointer: pointer})
}
