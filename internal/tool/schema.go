package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Arg is one argument of a tool.
type Arg struct {
	Name     string
	Flag     string // its name on the command line, without dashes
	Doc      string
	Target   string // in words, what is meant where it is left out
	What     string // a finer word than Kind for what it is, such as path; may be empty
	Examples []string
	Complete string // the kind of values that complete it; empty: nothing does. See Complete
	Of       string // the argument that says of which thing these values are; empty: of the vault
	Text     bool   // it is text that people write, of any length, and no name or value
	Required bool
	Shared   bool     // every tool takes it, and none of them sees it
	Rare     bool     // accepted everywhere; a list with little room leaves it out
	Common   bool     // many tools take it, and it means the same in all: it is of a struct of this package
	Aliases  []string // accepted everywhere, never listed
	Schema   *jsonschema.Schema

	stated   *jsonschema.Schema // without the bounds that its kind gives it; messages tell of it
	resolved *jsonschema.Resolved
}

// pair is how a text of Fields looks: name=value.
const pair = `^\s*[^=\s][^=]*=`

// schemaTypes are the types whose schema is not read off their Go form.
var schemaTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[Fields](): {Types: []string{"object", "array", "string"}, Pattern: pair,
		Items: &jsonschema.Schema{Type: "string", Pattern: pair}},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[Aside]():           {Type: "object"}, // none of it is in the data
	reflect.TypeFor[time.Time]():       {Type: "string", Format: dateTime},
}

// dateTime is the format of a time (RFC 3339).
const dateTime = "date-time"

// argsOf reads the arguments off the fields of an input.
func argsOf[In any]() []Arg {
	var args []Arg
	for _, field := range fieldsOf(reflect.TypeFor[In]()) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue
		}
		a := argOf(field, name, !strings.Contains(options, "omit"))
		a.Common = isCommon(field)
		args = append(args, a)
	}
	return args
}

// isCommon reports whether a field is one of the structs of this package that inputs embed.
func isCommon(field reflect.StructField) bool {
	for _, of := range []reflect.Type{
		reflect.TypeFor[AsOf](), reflect.TypeFor[Page](), reflect.TypeFor[Mutation](), reflect.TypeFor[Brief](),
	} {
		if same, ok := of.FieldByName(field.Name); ok && same.Tag == field.Tag {
			return true
		}
	}
	return false
}

// fieldsOf are the fields of a struct and of those that it embeds, in order. They are the ones that
// JSON has; reflect.VisibleFields would leave out a field that is called as the type it comes from.
func fieldsOf(t reflect.Type) []reflect.StructField {
	var all []reflect.StructField
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous && field.Type.Kind() == reflect.Struct && field.Tag.Get("json") == "" {
			all = append(all, fieldsOf(field.Type)...)
			continue
		}
		all = append(all, field)
	}
	return all
}

func argOf(field reflect.StructField, name string, required bool) Arg {
	a := Arg{
		Name:     name,
		Flag:     strings.ReplaceAll(name, "_", "-"),
		Doc:      field.Tag.Get("jsonschema"),
		Required: required,
		Schema:   schemaFor(field.Type),
	}
	a.Schema.Description = a.Doc
	if alias := field.Tag.Get("alias"); alias != "" {
		a.Aliases = strings.Split(alias, ",")
	}
	a.Target, a.What = field.Tag.Get("absent"), field.Tag.Get("what")
	a.Complete, a.Rare = field.Tag.Get("complete"), field.Tag.Get("rare") != ""
	a.Of = field.Tag.Get("of")
	a.Text = field.Tag.Get("text") == "true"
	if examples := field.Tag.Get("examples"); examples != "" {
		a.Examples = strings.Split(examples, ",")
	}
	a.narrow(field.Tag)
	a.stated = a.Schema.CloneSchemas()
	limit(a.Schema, field.Type, field.Tag)
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

func schemaOf[T any]() *jsonschema.Schema { return schemaFor(reflect.TypeFor[T]()) }

func schemaFor(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: schemaTypes})
	if err != nil {
		panic(fmt.Sprintf("tool: %s has no schema: %v", t, err))
	}
	loosen(s, t)
	return s
}

// loosen takes from what a schema requires the fields of structs that are embedded by pointer: JSON
// has none of them where the pointer is nil.
func loosen(s *jsonschema.Schema, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer:
		loosen(s, t.Elem())
	case reflect.Slice:
		if s.Items != nil {
			loosen(s.Items, t.Elem())
		}
	case reflect.Struct:
		loosenFields(s, t, false)
	}
}

func loosenFields(s *jsonschema.Schema, t reflect.Type, maybe bool) {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous && field.Tag.Get("json") == "" {
			if inner := field.Type; inner.Kind() == reflect.Pointer {
				loosenFields(s, inner.Elem(), true)
			} else if inner.Kind() == reflect.Struct {
				loosenFields(s, inner, maybe)
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if maybe {
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		}
		property := s.Properties[name]
		if property == nil && name != "" && name != "-" {
			panic(fmt.Sprintf("tool: %s.%s has no schema: two fields or a type are called so",
				t, field.Name))
		}
		if property != nil {
			loosen(property, field.Type)
			annotate(property, field.Tag)
		}
	}
}

// annotate adds to the schema of a member what its Go type cannot say: its title, which people see in
// place of its name, and the format of a text.
func annotate(s *jsonschema.Schema, tag reflect.StructTag) {
	s.Title = tag.Get("title")
	s.Format = cmp.Or(tag.Get("format"), s.Format)
}

// sharedArgs are the arguments that every tool takes.
func sharedArgs() []Arg {
	var args []Arg
	for _, a := range argsOf[shared]() {
		a.Shared, a.Rare = true, true
		args = append(args, a)
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
