package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
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
