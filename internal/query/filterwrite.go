package query

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// JSON returns the filter of the query: its branches, in the form that FromJSON parses. It omits
// Sort, Limit and Count.
//
// FromJSON(q.JSON()) is equal to q, apart from these, for each q that Parse or FromJSON returned.
func (q Query) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(filterOf(q.Branches)); err != nil {
		panic("query: a filter is not valid JSON: " + err.Error()) // impossible: maps and texts
	}
	return bytes.TrimSpace(b.Bytes())
}

// filterOf returns the filter of some branches.
func filterOf(all []Branch) any {
	var list []any
	for _, b := range all {
		o := map[string]any{string(b.Kind): b.Name}
		if b.Kind == Sections || b.Kind == Links {
			o[string(b.Kind)] = true
		}
		if b.Where != nil {
			o["where"] = testJSON(b.Where)
		}
		list = append(list, o)
	}
	// A single branch needs no list.
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// testJSON returns a test as a predicate of a filter. An And becomes one object only if that
// keeps the order and number of its parts; otherwise it becomes a list.
//
// Parsing the result returns an equal test.
func testJSON(t *Test) map[string]any {
	if t.Op == And && inOrder(t.Parts) {
		merged := map[string]any{}
		for _, part := range t.Parts {
			mergeInto(merged, part)
		}
		return merged
	}
	one := map[string]any{}
	mergeInto(one, t)
	return one
}

// mergeInto adds a test to a predicate, under the key that parses back to it. The caller ensures
// that the key is free; see inOrder. Tests of fields share the key fields.
func mergeInto(o map[string]any, t *Test) {
	key := keyOf(t)
	switch {
	case key == "fields":
		fields, ok := o[key].(map[string]any)
		if !ok {
			fields = map[string]any{}
			o[key] = fields
		}
		fields[t.Field] = fieldJSON(t)
	case t.Op == And || t.Op == Or:
		list := []any{}
		for _, part := range t.Parts {
			list = append(list, testJSON(part))
		}
		o[key] = list
	case t.Op == Not || t.Op == LinksTo && len(t.Parts) > 0:
		o[key] = testJSON(t.Parts[0])
	case t.Op == LinksTo:
		o[key] = true
	case t.Op == Content:
		o[key] = t.Text
	case t.Target != "":
		o[key] = t.Target
	default:
		o[key] = filterOf(t.Query)
	}
}

// keyOf returns the key of a test in a predicate.
func keyOf(t *Test) string {
	if t.Field != "" {
		return "fields"
	}
	return string(t.Op)
}

// inOrder reports whether one object can contain the tests, so that parsing it returns them in
// the same order.
func inOrder(tests []*Test) bool {
	for i, t := range tests[1:] {
		// Keys are parsed in the order of testKeys, and fields in the order of their names. Two
		// tests with the same key cannot be in one object, except tests of different fields.
		before, at := slices.Index(testKeys, keyOf(tests[i])), slices.Index(testKeys, keyOf(t))
		if before > at || before == at && tests[i].Field >= t.Field {
			return false
		}
	}
	return true
}

// fieldJSON returns the value of a test in the object of its field: the short form for a test of
// equality, and otherwise an object with one key. Parsing two tests of a field in one object would
// lose their order, so each test has an object of its own.
func fieldJSON(t *Test) any {
	switch {
	case t.Op == Equal:
		return valueJSON(t.Values[0])
	case t.Op.compares():
		return map[string]any{string(t.Op): valueJSON(t.Values[0])}
	case t.Op == Exists:
		return map[string]any{"exists": true}
	case t.Op == OneOf:
		var list []any
		for _, v := range t.Values {
			list = append(list, valueJSON(v))
		}
		return map[string]any{"oneof": list}
	case t.Op.quantifies():
		return map[string]any{strings.TrimSuffix(string(t.Op), "("): elementJSON(t.Parts[0])}
	}
	return textJSON(t)
}

// textJSON returns the JSON of a function that searches a text.
func textJSON(t *Test) map[string]any {
	o := map[string]any{string(t.Op): t.Text}
	if t.Case {
		o["case"] = true
	}
	return o
}

// elementJSON returns a test of an element as JSON.
func elementJSON(t *Test) any {
	switch {
	case t.Op == And || t.Op == Or:
		var list []any
		for _, part := range t.Parts {
			list = append(list, elementJSON(part))
		}
		return map[string]any{string(t.Op): list}
	case t.Op == Not:
		return map[string]any{"not": elementJSON(t.Parts[0])}
	case t.Op == Equal:
		return valueJSON(t.Values[0])
	case t.Op.compares():
		return map[string]any{string(t.Op): valueJSON(t.Values[0])}
	}
	return textJSON(t)
}

// numberForm matches a number in the only form that JSON preserves.
var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// valueJSON returns a value as JSON: as a number or Boolean if parsing returns the same text,
// else as a string.
func valueJSON(v Value) any {
	switch {
	case v.Ref:
		return "[[" + v.Text + "]]"
	case v.Text == "true" || v.Text == "false":
		return v.Text == "true"
	}
	if numberForm.MatchString(v.Text) {
		return json.Number(v.Text)
	}
	return v.Text
}
