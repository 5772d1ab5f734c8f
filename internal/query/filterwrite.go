package query

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// JSON is the filter of the query: its branches, in the form that FromJSON reads. Sort, Limit and Count
// are no part of a filter.
func (q Query) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(filterOf(q.Branches)); err != nil {
		panic("query: a filter that is no JSON: " + err.Error()) // maps of texts always are
	}
	return bytes.TrimSpace(b.Bytes())
}

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
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// testJSON is a test as a predicate of a filter. Parts of an `and` that one object would reorder or
// merge are a list.
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

// mergeInto adds the key of a test to a predicate.
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

// keyOf is the key of a predicate that a test is under.
func keyOf(t *Test) string {
	if t.Field != "" {
		return "fields"
	}
	return string(t.Op)
}

// inOrder reports whether one object can hold the tests, and is read in their order.
func inOrder(tests []*Test) bool {
	for i, t := range tests[1:] {
		before, at := slices.Index(testKeys, keyOf(tests[i])), slices.Index(testKeys, keyOf(t))
		if before > at || before == at && tests[i].Field >= t.Field {
			return false
		}
	}
	return true
}

// fieldJSON is what a test says of its field.
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

func textJSON(t *Test) map[string]any {
	o := map[string]any{string(t.Op): t.Text}
	if t.Case {
		o["case"] = true
	}
	return o
}

// elementJSON is a test of the element of a list.
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

// numberForm is a number as JSON spells it.
var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// valueJSON is a value: a number or a truth where JSON spells it the same way, else a text.
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
