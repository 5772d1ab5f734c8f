package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/fault"
)

// narrowInside applies the tags of fields to the members of objects in a schema, as narrow does for
// an argument. t is the type that the schema describes.
func narrowInside(s *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case schemaTypes[t] != nil:
	case t.Kind() == reflect.Slice && s.Items != nil:
		narrowInside(s.Items, t.Elem())
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil:
		narrowInside(s.AdditionalProperties, t.Elem())
	case t.Kind() == reflect.Struct:
		for _, field := range fieldsOf(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if inner := s.Properties[name]; inner != nil {
				narrow(inner, field.Type, field.Tag, false)
				narrowInside(inner, field.Type)
			}
		}
	}
}

// hasDefaults reports whether a schema contains a member with a default.
func hasDefaults(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	for _, inner := range s.Properties {
		if inner.Default != nil || hasDefaults(inner) {
			return true
		}
	}
	return hasDefaults(s.Items) || s.Not == nil && hasDefaults(s.AdditionalProperties)
}

// filled returns a valid value of an argument, as JSON and decoded, with the defaults of missing
// members added.
func (a Arg) filled(raw json.RawMessage, value any) (json.RawMessage, any) {
	if !a.form.made().defaults {
		return raw, value
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // numbers keep their digits
	var v any
	if dec.Decode(&v) != nil {
		return raw, value
	}
	addDefaults(a.Schema(), v)
	raw, value = mustMarshal(v), nil
	_ = json.Unmarshal(raw, &value) // it was just written
	return raw, value
}

// addDefaults adds the defaults of a schema to the objects within v, in place, at any depth. A
// missing object is not created for the defaults in it.
func addDefaults(s *jsonschema.Schema, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if s.Items != nil {
				addDefaults(s.Items, item)
			}
		}
	case map[string]any:
		for name, inner := range s.Properties {
			if _, given := v[name]; !given && inner.Default != nil {
				v[name] = inner.Default
			}
		}
		for name, item := range v {
			if inner := memberOf(s, name); inner != nil {
				addDefaults(inner, item)
			}
		}
	}
}

// memberOf returns the schema of a member of an object, or nil if the object cannot have it.
func memberOf(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if inner := s.Properties[name]; inner != nil {
		return inner
	}
	if s.AdditionalProperties == nil || s.AdditionalProperties.Not != nil {
		return nil
	}
	return s.AdditionalProperties
}

// A nesting collects the problems inside an argument that is an object or a list of objects.
type nesting struct {
	tool     *Tool
	arg      Arg
	problems []*fault.Fault
	resolved map[*jsonschema.Schema]*jsonschema.Resolved
}

// A spot is a part of an argument, such as intent.task_type or edits[2], with its schema.
type spot struct {
	path   string
	schema *jsonschema.Schema
	stated *jsonschema.Schema // without the default bounds of its kind; used in messages
}

// inside returns the problems inside the value of an argument. The search stops once there are more
// than fault.MaxProblems. It returns none if the argument is neither an object nor a list of
// objects, or if the value is of another type.
func (t *Tool) inside(a Arg, v any) []*fault.Fault {
	n := nesting{tool: t, arg: a, resolved: map[*jsonschema.Schema]*jsonschema.Resolved{}}
	_, isObject := v.(map[string]any)
	_, isList := v.([]any)
	if f := a.form.made(); len(a.Schema().Types) == 0 && (isObject && a.is("object") || isList && a.structured()) {
		n.check(spot{a.Name, f.schema, f.stated}, v)
	}
	return n.problems
}

// check adds the problems of a value at a spot, and of everything in it.
func (n *nesting) check(at spot, v any) {
	switch list, isList := v.([]any); {
	case len(n.problems) > fault.MaxProblems:
	case isList && at.schema.Type == "array" && at.schema.Items != nil:
		if f := n.tool.tooMany(n.arg, len(list), at.schema.MaxItems); f != nil {
			n.add(at.path, f)
			return
		}
		for i, item := range list {
			n.check(spot{fmt.Sprintf("%s[%d]", at.path, i), at.schema.Items, at.stated.Items}, item)
		}
	default:
		n.checkOther(at, v)
	}
}

// checkOther is check for a value that is not a list. It adds at most one problem for a value that
// is not an object; those of an object are about its members.
func (n *nesting) checkOther(at spot, v any) {
	object, isObject := v.(map[string]any)
	if isObject && at.schema.Type == "object" {
		n.object(at, object)
		return
	}
	if n.allows(at.schema, v) {
		return
	}
	named := n.arg
	named.Name = at.path
	text, _ := v.(string)
	if f := n.tool.longText(named, at.schema, text); f != nil {
		n.add(at.path, f)
		return
	}
	f := fault.New(n.tool.malformed(n.arg), "argument %q must be %s", at.path, describe(at.stated))
	if len(at.schema.Enum) > 0 {
		f = f.With("allowed", at.schema.Enum)
	}
	n.add(at.path, f)
}

// object checks the members of an object: unknown ones, invalid ones, and required ones that are
// missing.
func (n *nesting) object(at spot, members map[string]any) {
	if f := n.tool.tooMany(n.arg, len(members), at.schema.MaxProperties); f != nil {
		n.add(at.path, f)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch schema, stated := memberOf(at.schema, name), memberOf(at.stated, name); {
		case schema == nil:
			n.unknown(at, name)
		case at.schema.PropertyNames != nil && runes(name) > MaxName:
			n.add(at.path, fault.New(n.tool.malformed(n.arg),
				"a name in argument %q must be a text of at most %d characters", at.path, MaxName))
		default:
			n.check(spot{n.below(at, name), schema, stated}, members[name])
		}
	}
	for _, name := range at.schema.Required {
		if _, given := members[name]; !given {
			path := at.path + "." + name
			n.add(path, fault.New(n.tool.Family.Missing, "argument %q is missing%s", path,
				colon(at.schema.Properties[name].Description)))
		}
	}
}

// below returns the path of a member. A long key that the caller chose is replaced by an ellipsis.
func (n *nesting) below(at spot, name string) string {
	if at.schema.Properties[name] == nil && len(name) > fault.MaxNear {
		return at.path + ".…"
	}
	return at.path + "." + name
}

// unknown adds the problem of a member that the object cannot have. A very long name is not echoed.
func (n *nesting) unknown(at spot, name string) {
	known := at.schema.PropertyOrder
	if len(known) == 0 {
		known = slices.Sorted(maps.Keys(at.schema.Properties))
	}
	if len(name) > fault.MaxNear {
		n.add(at.path, fault.New(n.tool.malformed(n.arg), "a member of argument %q has an unreadable name",
			at.path).With("available", known))
		return
	}
	f := fault.New(n.tool.malformed(n.arg), "argument %q has no member %q", at.path, name).
		With("available", known)
	if near := fault.Nearest(name, known); near != "" {
		f.Message += fmt.Sprintf("; did you mean %q?", near)
		f = f.With("nearest", []string{near}).Fix("use %q", near)
	}
	n.add(at.path+"."+name, f)
}

// add adds a problem, with the argument and the path of the member.
func (n *nesting) add(path string, f *fault.Fault) {
	n.problems = append(n.problems, f.With("argument", n.arg.Name).With("path", path))
}

// allows reports whether a schema accepts a value.
func (n *nesting) allows(s *jsonschema.Schema, v any) bool {
	r, ok := n.resolved[s]
	if !ok {
		var err error
		if r, err = s.CloneSchemas().Resolve(nil); err != nil {
			return false // cannot happen: it is part of a schema that resolves
		}
		n.resolved[s] = r
	}
	return r.Validate(v) == nil
}

// colon returns ": " and the text, or "" for an empty text.
func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
