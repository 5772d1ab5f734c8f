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

	"github.com/rookeryhq/rookery/internal/fault"
)

// An Arg is one argument of a tool, as its field in the tool's input describes it.
type Arg struct {
	Name     string
	Flag     string // its name on the command line, without dashes
	Doc      string
	Target   string // meaning of a missing argument, in words
	What     string // more specific word than Kind for its value, such as path; may be empty
	Examples []string
	Complete string // kind of its completion suggestions; empty: none. See Complete
	Of       string // the argument that the suggestions depend on; empty: the vault
	Text     bool   // it is prose of any length, not a name or a value
	Required bool
	Shared   bool     // accepted by every tool that has none of its own; tools never see it
	Rare     bool     // accepted everywhere, but omitted from short lists
	Means    Meaning  // empty: it has no meaning outside the tool
	Unless   Meaning  // required unless the argument with this meaning is true; empty: see Required
	Common   bool     // declared by a struct of this package and thus equal in many tools
	Aliases  []string // accepted everywhere, never listed

	Code       fault.Code // of an invalid value; empty: the family's Malformed
	NullKept   bool       // null is a value and differs from a missing argument
	IsTarget   bool       // its values name the object of the call; the audit log records them
	Undigested bool       // it does not change what a call does; see Digest

	form *form // nil: it has no schema
}

// pair is the pattern of a text in Fields: name=value.
const pair = `^\s*[^=\s][^=]*=`

// schemaTypes contains the schemas of types that are not derived from the Go type.
var schemaTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[Fields](): {Types: []string{"object", "array", "string"}, Pattern: pair,
		Items: &jsonschema.Schema{Type: "string", Pattern: pair}},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[Object]():          {Type: "object"},
	reflect.TypeFor[Structure]():       structureSchema,
	reflect.TypeFor[JSON]():            jsonSchema,
	reflect.TypeFor[Inputs]():          inputsSchema,
	reflect.TypeFor[Aside]():           {Type: "object"}, // never part of the data
	reflect.TypeFor[Instant]():         {Types: []string{"number", "string"}, MaxLength: new(maxInstant)},
	reflect.TypeFor[time.Time]():       {Type: "string", Format: dateTime},
}

// dateTime is the format of a time (RFC 3339).
const dateTime = "date-time"

// argsOfType returns the arguments declared by the fields of a struct and of the structs it embeds,
// in order. made contains the arguments of structs that are already known.
func argsOfType(t reflect.Type, made map[reflect.Type][]Arg) []Arg {
	if args, ok := made[t]; ok {
		return args
	}
	args := make([]Arg, 0, 2*t.NumField()) // embedded structs add several, and the shared ones follow
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
		args = append(args, argOf(t, field, name, !strings.Contains(options, "omit")))
	}
	return args
}

// common returns the arguments of the structs in this package that inputs embed, by type. They are
// built once and shared by all tools.
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

// embeds reports whether the fields of an embedded struct are promoted in JSON.
func embeds(field reflect.StructField) bool {
	return field.Anonymous && field.Type.Kind() == reflect.Struct && field.Tag.Get("json") == ""
}

// fieldsOf returns the fields of a struct and of the structs it embeds, in order, as encoding/json
// sees them. reflect.VisibleFields would omit a field that has the name of the struct it comes
// from.
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

// argOf returns the argument that a field of t declares with its comment and its tags. Its schema is
// built on first use. name is its name in JSON.
func argOf(t reflect.Type, field reflect.StructField, name string, required bool) Arg {
	doc := docOf(t, field)
	a := Arg{
		Name:     name,
		Flag:     Kebab(name),
		Doc:      doc,
		Required: required,
		form:     &form{of: field.Type, doc: doc, tag: field.Tag, name: name, required: required},
	}
	if alias := field.Tag.Get("alias"); alias != "" {
		a.Aliases = strings.Split(alias, ",")
	}
	a.Target, a.What = field.Tag.Get("absent"), field.Tag.Get("what")
	a.Complete, a.Rare = field.Tag.Get("complete"), field.Tag.Get("rare") != ""
	a.Of, a.Means = field.Tag.Get("of"), Meaning(field.Tag.Get("means"))
	if a.Unless = Meaning(field.Tag.Get("unless")); a.Unless != "" {
		a.Required = false // a JSON Schema for this would not be understood by every client
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

// Kebab returns a name in the form of a flag: `node_id` and `nodeId` become node-id.
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

// loosen makes the fields of structs that are embedded by pointer optional in a schema: JSON omits
// them when the pointer is nil. It also adds the titles and formats of fields.
func loosen(s *jsonschema.Schema, t reflect.Type) {
	if isRef(s) {
		return // its definition is loosened separately
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

// loosenFields is loosen for the fields of a struct. maybe says that an enclosing pointer may be
// nil. It panics if a field has no property of its own.
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
			annotate(property, docOf(t, field), field.Tag)
		}
	}
}

// annotate sets the parts of a member's schema that its Go type cannot express: its description, the
// title, which people see in place of its name, and the format of a text.
func annotate(s *jsonschema.Schema, doc string, tag reflect.StructTag) {
	s.Description = cmp.Or(doc, s.Description)
	s.Title = tag.Get("title")
	s.Format = cmp.Or(tag.Get("format"), s.Format)
}

// sharedArgs returns the arguments that every tool accepts. They are built once.
var sharedArgs = sync.OnceValue(func() []Arg {
	args := argsOfType(reflect.TypeFor[shared](), common())
	for i := range args {
		args[i].Shared, args[i].Rare = true, true
	}
	return args
})

// sharedBeside returns the shared arguments except those with the name of one of the tool's own,
// which take precedence (CONTRACT §3).
func sharedBeside(own []Arg) []Arg {
	return slices.DeleteFunc(slices.Clone(sharedArgs()), func(shared Arg) bool {
		return slices.ContainsFunc(own, func(a Arg) bool { return a.Name == shared.Name })
	})
}

// InputSchema returns a new JSON Schema of the arguments, for projections that publish one. It
// allows only the listed arguments; aliases are accepted by the tool but not listed.
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
