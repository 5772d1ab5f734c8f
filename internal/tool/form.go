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

// A form is what the values of an argument look like. It is made when it is first needed, for a process that
// starts for one call needs few of them; all copies of an Arg share it. A field that cannot be served is a
// malformed program: it panics then.
type form struct {
	of       reflect.Type // of the field that it is read off
	tag      reflect.StructTag
	name     string
	required bool

	making   sync.Once
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	stated   *jsonschema.Schema // without the bounds that its kind gives it; messages tell of it
	defaults bool               // members of its values have defaults
}

// Schema is the JSON Schema of the argument, which nobody may change; nil if it was not read off an input.
func (a Arg) Schema() *jsonschema.Schema {
	if a.form == nil {
		return nil
	}
	return a.form.made().schema
}

// made makes the form once.
func (f *form) made() *form {
	f.making.Do(f.make)
	return f
}

func (f *form) make() {
	s := schemaFor(f.of)
	if len(s.Defs) > 0 {
		panic(fmt.Sprintf("tool: argument %s: what is recursive is no argument", f.name))
	}
	s.Description = f.tag.Get("jsonschema")
	narrow(s, f.tag, f.required)
	narrowInside(s, f.of)
	f.stated, f.defaults = s.CloneSchemas(), hasDefaults(s)
	limit(s, f.of, f.tag)
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		panic(fmt.Sprintf("tool: argument %s: %v", f.name, err))
	}
	f.schema, f.resolved = s, resolved
}

// narrow adds to a schema what Go types cannot say, and the tags of its field do: enum, default, min and max. A
// slice or a pointer may be null only where the field says so. required is that of an argument.
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

func bound(tag reflect.StructTag, key string) *float64 {
	text, ok := tag.Lookup(key)
	if !ok {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("tool: %s:%q is no number", key, text))
	}
	return &f
}

func whole(f *float64) *int {
	if f == nil {
		return nil
	}
	n := int(*f)
	return &n
}
