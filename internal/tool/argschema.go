package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// A form is the schema of an argument's values, built from the type and the tags of a field. It is
// built on first use, because a process that serves one call needs few of them, and is shared by
// all copies of an Arg. Building it panics if the field cannot be represented: that is an error in
// the program.
type form struct {
	of       reflect.Type // of the field that it describes
	doc      string       // its description
	tag      reflect.StructTag
	name     string
	required bool

	making   sync.Once
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	stated   *jsonschema.Schema // without the default bounds of its kind; used in messages
	defaults bool               // members of its values have defaults
	fallback any                // its decoded default; nil: it has none
}

// Schema returns the JSON Schema of the argument, which the caller must not change. It returns nil
// for an Arg that was not built from an input's field.
func (a Arg) Schema() *jsonschema.Schema {
	if a.form == nil {
		return nil
	}
	return a.form.made().schema
}

// made returns the form after building it once.
func (f *form) made() *form {
	f.making.Do(f.make)
	return f
}

// make builds the schemas. It panics if the type has no schema or is recursive.
func (f *form) make() {
	s := schemaFor(f.of)
	if len(s.Defs) > 0 {
		panic(fmt.Sprintf("tool: argument %s has a recursive type", f.name))
	}
	s.Description = f.doc
	narrow(s, f.tag, f.required)
	narrowInside(s, f.of)
	f.stated, f.defaults = s.CloneSchemas(), hasDefaults(s)
	limit(s, f.of, f.tag)
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		panic(fmt.Sprintf("tool: argument %s: %v", f.name, err))
	}
	f.schema, f.resolved = s, resolved
	_ = json.Unmarshal(s.Default, &f.fallback) // without a default it stays nil
}

// narrow adds to a schema the constraints that the tags of its field express and Go types cannot:
// enum, default, min and max. A slice or a pointer accepts null only with the tag `null:"kept"`.
// required says whether the field is a required argument; such a text must not be empty.
func narrow(s *jsonschema.Schema, tag reflect.StructTag, required bool) {
	kind, nullable := s.Type, len(s.Types) == 2 && s.Types[0] == "null"
	if nullable {
		kind = s.Types[1]
	}
	if nullable && tag.Get("null") != "kept" {
		s.Type, s.Types, nullable = kind, nil, false
	}
	for _, option := range strings.Split(tag.Get("enum"), ",") {
		if option != "" {
			s.Enum = append(s.Enum, option)
		}
	}
	if nullable && len(s.Enum) > 0 {
		s.Enum = append(s.Enum, nil)
	}
	if d := tag.Get("default"); d != "" {
		s.Default = json.RawMessage(d)
		if kind == "string" {
			s.Default = json.RawMessage(strconv.Quote(d))
		}
	}
	lowest, highest := bound(tag, "min"), bound(tag, "max")
	if kind == "string" {
		if lowest == nil && required && len(s.Enum) == 0 {
			one := 1.0
			lowest = &one
		}
		s.MinLength, s.MaxLength = whole(lowest), whole(highest)
		return
	}
	s.Minimum, s.Maximum = lowest, highest
}

// bound returns the number in a tag, or nil if the tag is missing. It panics if it is not a number.
func bound(tag reflect.StructTag, key string) *float64 {
	text, ok := tag.Lookup(key)
	if !ok {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("tool: %s:%q is not a number", key, text))
	}
	return &f
}

// whole converts a bound to an integer; nil stays nil.
func whole(f *float64) *int {
	if f == nil {
		return nil
	}
	n := int(*f)
	return &n
}
