package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FromText converts an argument given as text, in a query parameter or a flag, to JSON by the
// argument's schema. Several values become a list. A text that is invalid for the schema becomes a
// JSON string, so that the later check reports the expected form.
func (a Arg) FromText(values []string) json.RawMessage {
	if len(values) != 1 {
		return mustMarshal(values)
	}
	text := values[0]
	if a.Free() {
		return freeText(text)
	}
	if a.structured() && json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "{[") {
		return compact([]byte(text))
	}
	if a.is("array") {
		return mustMarshal(values)
	}
	switch {
	case a.is("integer"), a.is("number"):
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case a.is("boolean"):
		if text == "true" || text == "false" {
			return json.RawMessage(text)
		}
	}
	return mustMarshal(text)
}

// List reports whether the argument takes several values.
func (a Arg) List() bool { return a.is("array") }

// Bool reports whether the argument is true or false.
func (a Arg) Bool() bool { return a.is("boolean") && !a.Free() }

// Free reports whether the argument takes a value of any type: a text, a number, a boolean, or
// JSON.
func (a Arg) Free() bool { return a.is("string") && a.is("number") && a.is("boolean") }

// freeText returns a text as the value of a Free argument: the JSON it contains if that is neither
// a string nor null, else the text as a JSON string.
func freeText(text string) json.RawMessage {
	if json.Valid([]byte(text)) && !strings.HasPrefix(text, `"`) && text != "null" {
		return compact([]byte(text))
	}
	return mustMarshal(text)
}

// structured reports whether a value may be an object or a list of objects, which are given as JSON
// text.
func (a Arg) structured() bool {
	items := a.Schema().Items
	return a.is("object") || items != nil && items.Type == "object"
}

// is reports whether the schema allows a JSON type.
func (a Arg) is(kind string) bool {
	return a.Schema().Type == kind || slices.Contains(a.Schema().Types, kind)
}

// mustMarshal is Marshal for values that always marshal, such as strings and lists of them. It
// panics on an error.
func mustMarshal(v any) json.RawMessage {
	data, err := Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// compact returns valid JSON without the whitespace between its tokens.
func compact(data []byte) json.RawMessage {
	var b bytes.Buffer
	_ = json.Compact(&b, data) // it is valid
	return b.Bytes()
}

// Kind returns the JSON type of the argument: string, integer, boolean, array or object. If there
// are several it is the first, and "any" if there is none.
func (a Arg) Kind() string {
	if a.Schema().Type != "" {
		return a.Schema().Type
	}
	if len(a.Schema().Types) > 0 {
		return a.Schema().Types[0]
	}
	return "any"
}

// Options returns the allowed values of the argument that begin with a prefix. It returns an empty
// list if the argument is not an enumeration.
func (a Arg) Options(prefix string) []string {
	all := []string{}
	if a.Schema() == nil {
		return all
	}
	for _, option := range a.Schema().Enum {
		if text := fmt.Sprint(option); strings.HasPrefix(text, prefix) {
			all = append(all, text)
		}
	}
	return all
}
