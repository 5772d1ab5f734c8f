package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FromText reads an argument that came as text: a query parameter, or a flag. Several values are a
// list. What the text cannot be, by the argument's schema, stays text, so that the check of the
// call says what would be right.
func (a Arg) FromText(values []string) json.RawMessage {
	if len(values) != 1 {
		return mustMarshal(values)
	}
	text := values[0]
	if a.Free() {
		return freeText(text)
	}
	if a.structured() && json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "{[") {
		return json.RawMessage(text)
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

// Free reports whether the argument takes a value of any form: a text, a number, true or false, or JSON.
func (a Arg) Free() bool { return a.is("string") && a.is("number") && a.is("boolean") }

// freeText is a text as a value of any form: what it says as JSON, if that is no text, else itself.
func freeText(text string) json.RawMessage {
	if json.Valid([]byte(text)) && !strings.HasPrefix(text, `"`) && text != "null" {
		return json.RawMessage(text)
	}
	return mustMarshal(text)
}

// structured reports whether a value may be an object, or a list of them, which as text is JSON.
func (a Arg) structured() bool {
	items := a.Schema().Items
	return a.is("object") || items != nil && items.Type == "object"
}

func (a Arg) is(kind string) bool {
	return a.Schema().Type == kind || slices.Contains(a.Schema().Types, kind)
}

// mustMarshal is for strings and lists of them, which always marshal.
func mustMarshal(v any) json.RawMessage {
	data, err := Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// Kind is what a value of the argument is, in one word: string, integer, boolean, array, object.
func (a Arg) Kind() string {
	if a.Schema().Type != "" {
		return a.Schema().Type
	}
	if len(a.Schema().Types) > 0 {
		return a.Schema().Types[0]
	}
	return "any"
}

// Options are those of the few values that the argument may have which begin with a prefix; none if
// it may have others.
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
