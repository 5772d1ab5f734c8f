package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Arg is one argument of a tool.
type Arg struct {
	Name     string
	Flag     string // its name on the command line, without dashes
	Doc      string
	Required bool
	Shared   bool     // every tool takes it, and none of them sees it
	Aliases  []string // accepted everywhere, never listed
	Schema   *jsonschema.Schema

	resolved *jsonschema.Resolved
}

// schemaTypes are the types whose schema is not read off their Go form.
var schemaTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[Fields](): {Types: []string{"object", "array", "string"},
		Items: &jsonschema.Schema{Type: "string"}},
	reflect.TypeFor[json.RawMessage](): {},
}

// argsOf reads the arguments off the fields of an input.
func argsOf[In any]() []Arg {
	whole := schemaOf[In]()
	var args []Arg
	for _, field := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || !field.IsExported() || name == "" || name == "-" {
			continue
		}
		args = append(args, argOf(field, name, whole))
	}
	return args
}

func argOf(field reflect.StructField, name string, whole *jsonschema.Schema) Arg {
	a := Arg{
		Name:   name,
		Flag:   strings.ReplaceAll(name, "_", "-"),
		Doc:    field.Tag.Get("jsonschema"),
		Schema: whole.Properties[name],
	}
	for _, required := range whole.Required {
		a.Required = a.Required || required == name
	}
	if alias := field.Tag.Get("alias"); alias != "" {
		a.Aliases = strings.Split(alias, ",")
	}
	a.narrow(field.Tag)
	resolved, err := a.Schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		panic(fmt.Sprintf("tool: argument %s: %v", name, err))
	}
	a.resolved = resolved
	return a
}

// narrow adds to the schema what Go types cannot say: enum, default, min and max.
func (a *Arg) narrow(tag reflect.StructTag) {
	s := a.Schema
	if len(s.Types) == 2 && s.Types[0] == "null" { // a slice or pointer: null is never meant
		s.Type, s.Types = s.Types[1], nil
	}
	for _, option := range strings.Split(tag.Get("enum"), ",") {
		if option != "" {
			s.Enum = append(s.Enum, option)
		}
	}
	if d := tag.Get("default"); d != "" {
		s.Default = json.RawMessage(d)
		if s.Type == "string" {
			s.Default = json.RawMessage(strconv.Quote(d))
		}
	}
	lowest, highest := bound(tag, "min"), bound(tag, "max")
	if s.Type == "string" {
		if lowest == nil && a.Required && len(s.Enum) == 0 {
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

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: schemaTypes})
	if err != nil {
		panic(fmt.Sprintf("tool: %s has no schema: %v", reflect.TypeFor[T](), err))
	}
	return s
}

// sharedArgs are the shared arguments that a tool of this kind takes.
func sharedArgs(k Kind) []Arg {
	var args []Arg
	for _, a := range argsOf[shared]() {
		a.Shared = true
		if a.Name != "only" || !k.Mutates() {
			args = append(args, a)
		}
	}
	return args
}

// InputSchema is the JSON Schema of the arguments, for projections that show one. Nothing beside
// the listed arguments is allowed; aliases are accepted but not listed.
func (t *Tool) InputSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, a := range t.Args {
		s.Properties[a.Name] = a.Schema
		s.PropertyOrder = append(s.PropertyOrder, a.Name)
		if a.Required {
			s.Required = append(s.Required, a.Name)
		}
	}
	return s
}
