package tool

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/rookeryhq/rookery/internal/auth"
)

// A Call is one call as interceptors see it. Its arguments are decoded but not yet checked against
// the tool's schema.
type Call struct {
	Tool   *Tool
	Caller auth.Caller
	Args   map[string]json.RawMessage

	// Malformed is the fault of arguments that could not be read as a whole; nil: they could. It is
	// returned only after the interceptors have authorized the call.
	Malformed error

	// Warnings are added to the answer by interceptors, also if the call fails.
	Warnings []Warning
}

// Text returns the string value of an argument, or "" if it is missing or not a string.
func (c *Call) Text(name string) string {
	var s string
	if json.Unmarshal(c.Args[name], &s) != nil {
		return ""
	}
	return s
}

// Needs returns the role that the call needs and the kind of change it makes. Tool.Reads can lower
// those of the tool, and Tool.Raises can raise them, depending on the arguments.
func (c *Call) Needs() Raise {
	needs := Raise{c.Tool.Role, c.Tool.Kind}
	if w := c.Tool.Reads; w != nil && slices.Contains(w.Values, c.Text(w.Arg)) {
		return Raise{auth.Reader, Read}
	}
	if len(c.Tool.Raises) == 0 {
		return needs
	}
	for name, raw := range c.Args {
		a, ok := c.Tool.Arg(name)
		if r, raises := c.Tool.Raises[a.Name]; ok && raises && !isNothing(raw) {
			needs = needs.above(r)
		}
	}
	return needs
}

// isNothing reports whether a value means the same as a missing argument: false or null.
func isNothing(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text == "false" || text == "null"
}

// A Handler executes a call and returns its reply. The reply may be valid in part if the error is
// not nil; see Reply.Partial.
type Handler func(ctx context.Context, c *Call) (Reply, error)

// An Interceptor wraps a handler to do work that every call needs, such as authorization or audit.
type Interceptor func(next Handler) Handler

// ArgFor returns the value of the call's argument with a meaning, by its name or an alias. It
// returns nil if the argument is not given.
func (c *Call) ArgFor(m Meaning) json.RawMessage {
	a, ok := c.Tool.ArgFor(m)
	if !ok {
		return nil
	}
	for _, name := range append([]string{a.Name}, a.Aliases...) {
		if raw, given := c.Args[name]; given {
			return raw
		}
	}
	return nil
}

// Dry reports whether the call only shows its plan.
func (c *Call) Dry() bool { return string(c.ArgFor(MeansDry)) == "true" }

// named returns the names in a list. An entry may contain several names separated by commas, as in
// a query string.
func named(list []string) []string {
	names := strings.Split(strings.Join(list, ","), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// only returns the JSON of an answer's data with only the given fields of each item of its list or,
// if it has no list, of the data itself.
func (t *Tool) only(data json.RawMessage, fields []string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	var items []map[string]json.RawMessage
	list := t.listIn(members, fields)
	if list == "" || json.Unmarshal(members[list], &items) != nil {
		keep(members, fields)
		return Marshal(members)
	}
	for _, item := range items {
		keep(item, fields)
	}
	var err error
	if members[list], err = Marshal(items); err != nil {
		return nil, err
	}
	return Marshal(members)
}

// listIn returns the key of the list in the data of an answer: the one that the Spec names, else
// `items`, else the only list of objects. It returns "" if there is no such list, or if one of the
// fields is a member of the data itself.
func (t *Tool) listIn(data map[string]json.RawMessage, fields []string) string {
	if t.List != "" {
		return t.List
	}
	if _, ok := data[itemsKey]; ok {
		return itemsKey
	}
	var lists []string
	for name, s := range t.OutputSchema().Properties {
		if slices.Contains(fields, name) {
			return ""
		}
		if _, ok := data[name]; ok && s.Items != nil && s.Items.Type == "object" {
			lists = append(lists, name)
		}
	}
	if len(lists) != 1 {
		return ""
	}
	return lists[0]
}

// itemsKey is the key of a list in the data of an answer, unless the Spec names another (CONTRACT
// §1).
const itemsKey = "items"

// keep deletes all members of m except the given fields.
func keep(m map[string]json.RawMessage, fields []string) {
	maps.DeleteFunc(m, func(k string, _ json.RawMessage) bool { return !slices.Contains(fields, k) })
}

// fill decodes arguments into the fields of a struct, to which in points, by their names in JSON.
// An argument without a field is ignored. The result is that of encoding/json for an object of the
// arguments, which need not be built and read again for it.
func fill(args map[string]json.RawMessage, in any) error {
	v := reflect.ValueOf(in).Elem()
	fields := fieldsByName(v.Type())
	for name, raw := range args {
		at, ok := fields[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, v.FieldByIndex(at).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// namedFields caches the results of fieldsByName: reflect.Type to map[string][]int.
var namedFields sync.Map

// fieldsByName returns the index of each field of a struct, and of the structs it embeds, by its
// name in JSON. A field of the struct itself hides those of embedded ones.
func fieldsByName(t reflect.Type) map[string][]int {
	if known, ok := namedFields.Load(t); ok {
		return known.(map[string][]int)
	}
	fields, own := map[string][]int{}, map[string][]int{}
	for i := range t.NumField() {
		field := t.Field(i)
		if embeds(field) {
			for name, at := range fieldsByName(field.Type) {
				fields[name] = append([]int{i}, at...)
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "" && name != "-" {
			own[name] = []int{i}
		}
	}
	for name, at := range own {
		fields[name] = at
	}
	namedFields.Store(t, fields)
	return fields
}
