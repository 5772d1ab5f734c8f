package query

import (
	"maps"
	"slices"
	"strconv"
)

// fields parses an object with tests by the name of their field.
func (r *filterReader) fields(v any, pointer string) []*Test {
	o, ok := v.(map[string]any)
	if !ok || len(o) == 0 {
		r.fail(pointer, "expected an object of conditions by field name")
		return nil
	}
	var all []*Test
	for _, name := range slices.Sorted(maps.Keys(o)) {
		at := below(pointer, name)
		if !isWord(name) {
			r.fail(at, "this cannot be the name of a field")
			return nil
		}
		all = append(all, r.ofField(name, o[name], at)...)
	}
	return all
}

// The keys of the tests of a field and of an element, in the order in which they are parsed.
var (
	textKeys  = []string{"includes", "startswith", "endswith", "matches"}
	fieldKeys = slices.Concat([]string{"==", "!=", "<", "<=", ">", ">=", "exists", "oneof"}, textKeys,
		[]string{"case", "any", "all", "none"})
	elementKeys = slices.Concat([]string{"==", "!=", "<", "<=", ">", ">="}, textKeys,
		[]string{"case", "all", "any", "not"})
)

// ofField parses the tests of one field: a value that it must be equal to, or an object of tests.
func (r *filterReader) ofField(name string, v any, pointer string) []*Test {
	at := Place{Pointer: pointer}
	// The short form: {"status": "open"}.
	if _, ok := scalar(v); ok {
		r.count(pointer)
		return []*Test{{Op: Equal, Field: name, Values: []Value{r.value(v, pointer)}, at: at}}
	}
	o := r.keyed(v, pointer, fieldKeys)
	var all []*Test
	for _, key := range fieldKeys {
		member, ok := o[key]
		// case is not a test; it modifies the tests of text beside it.
		if !ok || key == "case" || r.failed != nil {
			continue
		}
		r.count(pointer)
		all = append(all, r.fieldTest(name, key, member, o["case"] == true, below(pointer, key)))
	}
	return all
}

// keyed parses an object of tests. The key case is allowed only together with a test of text.
//
// It fails for an object without tests.
func (r *filterReader) keyed(v any, pointer string, keys []string) map[string]any {
	o := r.object(v, pointer, keys)
	if r.failed != nil {
		return nil
	}
	c, cased := o["case"]
	_, isBool := c.(bool)
	hasText := slices.ContainsFunc(textKeys, func(key string) bool { _, ok := o[key]; return ok })
	switch {
	case len(o) == 0:
		r.fail(pointer, "expected at least one condition")
	case cased && !isBool:
		r.fail(below(pointer, "case"), "expected true or false")
	case cased && !hasText:
		r.fail(below(pointer, "case"), "case can only be used with includes, startswith, endswith or matches")
	}
	return o
}

// fieldTest parses one test of a field.
func (r *filterReader) fieldTest(name, key string, v any, cased bool, pointer string) *Test {
	t := &Test{Op: Op(key), Field: name, at: Place{Pointer: pointer}}
	switch {
	case t.Op.matchesText():
		r.textTest(t, v, cased, pointer)
	case key == "exists":
		// {"exists": false} has no operation of its own.
		if v == false {
			return &Test{Op: Not, Parts: []*Test{t}, at: t.at}
		}
		if v != true {
			r.fail(pointer, "expected true or false")
		}
	case key == "oneof":
		t.Values = r.values(v, pointer)
	case key == "any" || key == "all" || key == "none":
		// The operations on elements have names of their own, because all and any are And and Or.
		t.Op = Op(key + "(")
		t.Parts = []*Test{r.element(v, pointer)}
	default:
		t.Values = []Value{r.value(v, pointer)}
	}
	return t
}

// textTest parses the text of a function that searches a text.
func (r *filterReader) textTest(t *Test, v any, cased bool, pointer string) {
	t.Text, t.Case = r.text(v, pointer), cased
	if t.Op == Matches && len(t.Text) > MaxPattern && r.failed == nil {
		r.failed = tooMuch("size", "a regular expression has at most %d bytes", MaxPattern).
			With("pointer", pointer)
	}
}

// values parses a list of values.
func (r *filterReader) values(v any, pointer string) []Value {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		r.fail(pointer, "expected a list of at least one value")
	}
	if len(list) > MaxValues && r.failed == nil {
		r.failed = tooMuch("size", "a list has at most %d values", MaxValues).With("pointer", pointer)
	}
	var all []Value
	for i, each := range list {
		if r.failed != nil {
			return nil
		}
		all = append(all, r.value(each, below(pointer, strconv.Itoa(i))))
	}
	return all
}

// element parses a test of an element of a list. All of its keys must pass.
func (r *filterReader) element(v any, pointer string) *Test {
	at := Place{Pointer: pointer}
	if !r.enter(pointer) {
		return nil
	}
	defer r.leave()
	if _, ok := scalar(v); ok {
		r.count(pointer)
		return &Test{Op: Equal, Values: []Value{r.value(v, pointer)}, at: at}
	}
	o := r.keyed(v, pointer, elementKeys)
	var all []*Test
	for _, key := range elementKeys {
		member, ok := o[key]
		if !ok || key == "case" || r.failed != nil {
			continue
		}
		all = append(all, r.elementTest(key, member, o["case"] == true, below(pointer, key))...)
	}
	return joined(And, all, at)
}

// elementTest parses one key of a test of an element.
func (r *filterReader) elementTest(key string, v any, cased bool, pointer string) []*Test {
	t := &Test{Op: Op(key), at: Place{Pointer: pointer}}
	switch {
	case t.Op == And || t.Op == Or:
		return r.list(t.Op, v, pointer, r.element)
	case t.Op == Not:
		t.Parts = []*Test{r.element(v, pointer)}
	case t.Op.matchesText():
		r.count(pointer)
		r.textTest(t, v, cased, pointer)
	default:
		r.count(pointer)
		t.Values = []Value{r.value(v, pointer)}
	}
	return []*Test{t}
}
