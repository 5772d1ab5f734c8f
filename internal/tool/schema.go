package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"rookery/internal/fault"
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
	Shared   bool     // every tool takes it, but those with one of their own, and none of them sees it
	Rare     bool     // accepted everywhere; a list with little room leaves it out
	Means    Meaning  // empty: nothing that is known beyond the tool
	Unless   Meaning  // required, unless the argument of this meaning is true; empty: Required says it all
	Common   bool     // many tools take it, and it means the same in all: it is of a struct of this package
	Aliases  []string // accepted everywhere, never listed

	Code       fault.Code // of a value that is not allowed; empty: the family's Malformed
	NullKept   bool       // null is a value: it is not the same as to leave the argument out
	IsTarget   bool       // its values name what a call is about; the audit log has them
	Undigested bool       // it changes nothing about what a call does; see Digest

	form *form // nil: it has no schema
}

// pair is how a text of Fields looks: name=value.
const pair = `^\s*[^=\s][^=]*=`

// schemaTypes are the types whose schema is not read off their Go form.
var schemaTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[Fields](): {Types: []string{"object", "array", "string"}, Pattern: pair,
		Items: &jsonschema.Schema{Type: "string", Pattern: pair}},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[Object]():          {Type: "object"},
	reflect.TypeFor[Structure]():       structureSchema,
	reflect.TypeFor[JSON]():            jsonSchema,
	reflect.TypeFor[Inputs]():          inputsSchema,
	reflect.TypeFor[Aside]():           {Type: "object"}, // none of it is in the data
	reflect.TypeFor[Instant]():         {Types: []string{"number", "string"}, MaxLength: new(maxInstant)},
	reflect.TypeFor[time.Time]():       {Type: "string", Format: dateTime},
}

// dateTime is the format of a time (RFC 3339).
const dateTime = "date-time"

// argsOfType reads the arguments off the fields of a struct and of those that it embeds, in order. made are
// the arguments of structs that are known already.
func argsOfType(t reflect.Type, made map[reflect.Type][]Arg) []Arg {
	if args, ok := made[t]; ok {
		return args
	}
	args := make([]Arg, 0, 2*t.NumField()) // some fields are several, and there are the shared ones
	for i := range t.NumField() {
		field := t.Field(i)
		if embeds(field) {
			args = append(args, argsOfType(field.Type, made)...)
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue
		}
		args = append(args, argOf(field, name, !strings.Contains(options, "omit")))
	}
	return args
}

// common returns the arguments of the structs of this package that inputs embed, by their types. They are
// made once, and all tools have the same.
var common = sync.OnceValue(func() map[reflect.Type][]Arg {
	made := map[reflect.Type][]Arg{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[AsOf](), reflect.TypeFor[Page](), reflect.TypeFor[Mutation](), reflect.TypeFor[Brief](),
	} {
		args := argsOfType(t, nil)
		for i := range args {
			args[i].Common = true
		}
		made[t] = args
	}
	vault := reflect.TypeFor[Vault]()
	made[vault] = argsOfType(vault, nil)
	return made
})

// embeds reports whether the fields of a field are fields of the struct that has it, as they are in JSON.
func embeds(field reflect.StructField) bool {
	return field.Anonymous && field.Type.Kind() == reflect.Struct && field.Tag.Get("json") == ""
}

// fieldsOf are the fields of a struct and of those that it embeds, in order. They are the ones that
// JSON has; reflect.VisibleFields would leave out a field that is called as the type it comes from.
func fieldsOf(t reflect.Type) []reflect.StructField {
	var all []reflect.StructField
	for i := range t.NumField() {
		field := t.Field(i)
		if embeds(field) {
			all = append(all, fieldsOf(field.Type)...)
			continue
		}
		all = append(all, field)
	}
	return all
}

// argOf makes the argument of a field. Its schema is made when it is needed.
func argOf(field reflect.StructField, name string, required bool) Arg {
	a := Arg{
		Name:     name,
		Flag:     Kebab(name),
		Doc:      field.Tag.Get("jsonschema"),
		Required: required,
		form:     &form{of: field.Type, tag: field.Tag, name: name, required: required},
	}
	if alias := field.Tag.Get("alias"); alias != "" {
		a.Aliases = strings.Split(alias, ",")
	}
	a.Target, a.What = field.Tag.Get("absent"), field.Tag.Get("what")
	a.Complete, a.Rare = field.Tag.Get("complete"), field.Tag.Get("rare") != ""
	a.Of, a.Means = field.Tag.Get("of"), Meaning(field.Tag.Get("means"))
	if a.Unless = Meaning(field.Tag.Get("unless")); a.Unless != "" {
		a.Required = false // no schema can say it in a form that every client reads
	}
	a.Code, a.NullKept = fault.Code(field.Tag.Get("refused")), field.Tag.Get("null") == "kept"
	a.IsTarget = field.Tag.Get("names") == "target"
	a.Undigested = field.Tag.Get("digest") == "-"
	a.Text = field.Tag.Get("text") == "true"
	if examples := field.Tag.Get("examples"); examples != "" {
		a.Examples = strings.Split(examples, ",")
	}
	return a
}

// Kebab returns a name as a flag has it: `node_id` and `nodeId` are node-id.
func Kebab(name string) string {
	var b strings.Builder
	for i, c := range name {
		switch {
		case c == '_':
			c = '-'
		case unicode.IsUpper(c):
			if i > 0 {
				b.WriteByte('-')
			}
			c = unicode.ToLower(c)
		}
		b.WriteRune(c)
	}
	return b.String()
}

// loosen takes from what a schema requires the fields of structs that are embedded by pointer: JSON
// has none of them where the pointer is nil.
func loosen(s *jsonschema.Schema, t reflect.Type) {
	if isRef(s) {
		return // what it refers to is loosened where it is defined
	}
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

// sharedArgs returns the arguments that every tool takes. They are made once.
var sharedArgs = sync.OnceValue(func() []Arg {
	args := argsOfType(reflect.TypeFor[shared](), common())
	for i := range args {
		args[i].Shared, args[i].Rare = true, true
	}
	return args
})

// sharedBeside returns the arguments that every tool takes, without those that a tool has of its own: these
// shadow the shared ones (CONTRACT §3).
func sharedBeside(own []Arg) []Arg {
	return slices.DeleteFunc(slices.Clone(sharedArgs()), func(shared Arg) bool {
		return slices.ContainsFunc(own, func(a Arg) bool { return a.Name == shared.Name })
	})
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
		s.Properties[a.Name] = a.Schema()
		s.PropertyOrder = append(s.PropertyOrder, a.Name)
		if a.Required {
			s.Required = append(s.Required, a.Name)
		}
	}
	return s
}
