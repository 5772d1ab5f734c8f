package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
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

// A Meaning identifies the purpose of an argument where projections and interceptors depend on it.
// Families may give such an argument different names (`if_version`, `versionToken`), so code must
// look it up by meaning, not by name.
type Meaning string

// The meanings, as the tag `means` of a field spells them. The argument `vault` has none: it has
// the same name in every family.
const (
	MeansVersion Meaning = "version" // the version that a mutation builds on
	MeansKey     Meaning = "key"     // the idempotency key
	MeansDry     Meaning = "dry"     // true: show the plan, change nothing
	MeansLimit   Meaning = "limit"   // the maximum number of items of a page
	MeansToken   Meaning = "token"   // the page token
)

// meanings lists all of them.
var meanings = []Meaning{MeansVersion, MeansKey, MeansDry, MeansLimit, MeansToken}

// ArgFor returns the tool's argument with a meaning, or false. A tool has at most one.
func (t *Tool) ArgFor(m Meaning) (Arg, bool) {
	i := slices.IndexFunc(t.Args, func(a Arg) bool { return a.Means == m })
	if i < 0 {
		return Arg{}, false
	}
	return t.Args[i], true
}

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
	narrow(s, f.of, f.tag, f.required)
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

// An enumerated type is a text with few values. Each argument of the type is an enumeration of them,
// in this order.
type enumerated interface{ Values() []string }

// optionsOf returns the values of an enumeration: those of the tag, or of the type of the field. It
// returns none for any other field.
func optionsOf(of reflect.Type, tag reflect.StructTag) []string {
	if listed := tag.Get("enum"); listed != "" {
		return strings.Split(listed, ",")
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if e, ok := reflect.Zero(of).Interface().(enumerated); ok {
		return e.Values()
	}
	return nil
}

// narrow adds to a schema the constraints that the tags of its field express and Go types cannot:
// enum, default, min and max. A slice or a pointer accepts null only with the tag `null:"kept"`.
// required says whether the field is a required argument; such a text must not be empty.
func narrow(s *jsonschema.Schema, of reflect.Type, tag reflect.StructTag, required bool) {
	kind, nullable := s.Type, len(s.Types) == 2 && s.Types[0] == "null"
	if nullable {
		kind = s.Types[1]
	}
	if nullable && tag.Get("null") != "kept" {
		s.Type, s.Types, nullable = kind, nil, false
	}
	for _, option := range optionsOf(of, tag) {
		s.Enum = append(s.Enum, option)
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
			lowest = new(1.0)
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
	return new(int(*f))
}
