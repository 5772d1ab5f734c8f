package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Member returns a member of an object argument, or of the items of an argument that is a list of
// objects, as an argument of its own. path is its name, or names separated by dots: intent.goal.
// Member returns false if there is none.
func (t *Tool) Member(path string) (Arg, bool) {
	name, rest, nested := strings.Cut(path, ".")
	a, ok := t.Arg(name)
	if !ok || !nested {
		return a, ok && !nested
	}
	s := a.Schema()
	for _, member := range strings.Split(rest, ".") {
		if s.Items != nil {
			s = s.Items
		}
		if s = s.Properties[member]; s == nil {
			return Arg{}, false
		}
	}
	return Arg{Name: path, Doc: s.Description, form: formOf(s, path)}, true
}

// formOf returns a form for a schema that is part of another schema.
func formOf(s *jsonschema.Schema, name string) *form {
	f := &form{name: name}
	f.making.Do(func() {
		f.schema, f.stated = s, s
		var err error
		if f.resolved, err = s.CloneSchemas().Resolve(nil); err != nil {
			panic(fmt.Sprintf("tool: argument %s: %v", name, err))
		}
	})
	return f
}

// SetMember adds the values of a command-line flag for a member to the arguments of a call. In an
// object they set the member; in a list of objects each value adds an item, with the constant
// members that the flag declares. Several flags can set members of the same object.
func (t *Tool) SetMember(args map[string]json.RawMessage, flag NestedFlag, values []string) {
	name, rest, _ := strings.Cut(flag.Path, ".")
	a, _ := t.Arg(name)
	member, _ := t.Member(flag.Path)
	if a.List() {
		var items []json.RawMessage
		_ = json.Unmarshal(args[name], &items) // empty, or the items of another flag
		for _, value := range values {
			item := map[string]any{}
			for other, v := range flag.With {
				item[other] = v
			}
			item[rest] = member.FromText([]string{value})
			items = append(items, mustMarshal(item))
		}
		args[name] = mustMarshal(items)
		return
	}
	object := map[string]any{}
	_ = json.Unmarshal(args[name], &object) // empty, or the members of other flags
	inner := object
	path := strings.Split(rest, ".")
	for _, part := range path[:len(path)-1] {
		next, ok := inner[part].(map[string]any)
		if !ok {
			next = map[string]any{}
			inner[part] = next
		}
		inner = next
	}
	inner[path[len(path)-1]] = member.FromText(values)
	args[name] = mustMarshal(object)
}

// An OldForm maps the arguments of calls under an older name of a tool to its current arguments.
type OldForm struct {
	Set  map[string]string // values of arguments that the old name implies, as text
	Args map[string]string // current names of arguments, by old name
}

// translate rewrites args, the arguments of a call under an older name, to the tool's current form.
// Arguments under a current name win. Calls in the old form may give a list as a single text, and
// booleans as "true" and "false"; both are converted.
func (o OldForm) translate(t *Tool, args map[string]json.RawMessage) {
	renamed := map[string]json.RawMessage{}
	for old, name := range o.Args {
		for _, spelled := range []string{old, strings.ReplaceAll(old, "_", "-")} {
			if raw, given := args[spelled]; given {
				delete(args, spelled)
				renamed[name] = raw
			}
		}
	}
	for name, raw := range renamed {
		if _, given := args[name]; !given {
			args[name] = raw
		}
	}
	for name, value := range o.Set {
		if _, given := args[name]; !given {
			args[name] = mustMarshal(value)
		}
	}
	for name, raw := range args {
		a, ok := t.Arg(name)
		var word string
		if !ok || json.Unmarshal(raw, &word) != nil {
			continue
		}
		switch {
		case a.Bool() && (word == "true" || word == "false"):
			args[name] = json.RawMessage(word)
		case a.List() && !a.Takes(word):
			args[name] = mustMarshal([]string{word})
		}
	}
}

// Takes reports whether a value, decoded from JSON, is valid for the argument.
func (a Arg) Takes(value any) bool { return a.form.made().resolved.Validate(value) == nil }

// lift replaces each argument of Lifted by its members, which are arguments themselves. It returns
// a fault if an argument is given both ways. A lifted argument with an invalid value is left in
// place, so that the later check reports it.
func (t *Tool) lift(args map[string]json.RawMessage) error {
	for _, name := range t.Lifted {
		raw, given := args[name]
		a, _ := t.Arg(name)
		var members map[string]json.RawMessage
		if !given {
			continue
		}
		if _, wrong := t.checkArg(a, raw); len(wrong) > 0 || json.Unmarshal(raw, &members) != nil {
			continue
		}
		delete(args, name)
		for _, member := range slices.Sorted(maps.Keys(members)) {
			if _, twice := args[member]; twice {
				return fault.New(t.Family.Malformed, "argument %q is given twice, also in %q", member, name).
					With("argument", member)
			}
			args[member] = members[member]
		}
	}
	return nil
}

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
