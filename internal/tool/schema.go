package tool

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Maximum lengths of the texts of a call, in characters, by kind of argument. The tag `size` of a
// field selects the kind, and the tag `max` sets a length of its own; see New.
const (
	MaxActor = 128       // names of agents and sessions: at most 512 bytes
	MaxName  = 512       // names of types, fields, vaults and the like; the default
	MaxID    = 4 << 10   // ids, paths and references, such as a note's path with a section's name
	MaxQuery = 16 << 10  // search queries, and values of traits and fields as text
	MaxToken = 64 << 10  // page tokens; they contain the sort key of the last item of a page
	MaxPart  = 64 << 10  // texts in a memory
	MaxSaid  = 256 << 10 // output of a program, in a memory
	MaxPaste = 2 << 20   // what an agent passes on as it is, such as a log, to be searched for
	MaxTag   = 128       // a tag of a memory
	MaxText  = 1 << 20   // text of notes; equal to the size limit of a note
)

// Maximum numbers of entries in the arguments of a call.
const (
	MaxEntries = 1000    // of a list, or of an object whose keys the caller chooses
	maxArgs    = 100     // arguments of a call
	maxNested  = 32      // depth of nested lists and objects
	maxValues  = 100_000 // values in total, lists and objects included
)

// lengths maps each kind that the tag `size` may name to its maximum length in characters.
var lengths = map[string]int{
	"name": MaxName, "id": MaxID, "query": MaxQuery, "token": MaxToken, "text": MaxText,
	"passage": MaxPart, "output": MaxSaid, "tag": MaxTag, "paste": MaxPaste,
}

// completedIDs are the values of the tag `complete` that mark an argument as an id rather than a
// name.
var completedIDs = map[string]bool{"id": true, "path": true}

// lengthOf returns the maximum length, in characters, of a text argument from the tags of its
// field: `max`, else `size`, else MaxText for `text:"true"`, MaxID for ids and paths, and MaxName
// for all others. It panics if `size` is unknown.
func lengthOf(tag reflect.StructTag) int {
	if n := bound(tag, "max"); n != nil {
		return int(*n)
	}
	if kind := tag.Get("size"); kind != "" {
		n, ok := lengths[kind]
		if !ok {
			panic(fmt.Sprintf("tool: there is no size %q", kind))
		}
		return n
	}
	switch {
	case tag.Get("text") == "true":
		return MaxText
	case completedIDs[tag.Get("complete")], tag.Get("what") == "path":
		return MaxID
	}
	return MaxName
}

// limit adds the default bounds to the schema of an argument and to all schemas in it, where none
// is set. t is the type that the schema describes, and tag the tag of the field; the items of a
// list have the tag of the list. Thus no argument is unbounded.
func limit(s *jsonschema.Schema, t reflect.Type, tag reflect.StructTag) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[Fields]() {
		limitFields(s)
		return
	}
	switch t.Kind() {
	case reflect.String:
		if len(s.Enum) == 0 && s.MaxLength == nil {
			s.MaxLength = new(lengthOf(tag))
		}
	case reflect.Slice:
		if s.MaxItems == nil {
			s.MaxItems = new(MaxEntries)
		}
		if s.Items != nil {
			limit(s.Items, t.Elem(), tag)
		}
	case reflect.Map:
		limitNames(s)
		if s.AdditionalProperties != nil {
			limit(s.AdditionalProperties, t.Elem(), tag)
		}
	case reflect.Struct:
		for _, field := range fieldsOf(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if inner := s.Properties[name]; inner != nil {
				limit(inner, field.Type, field.Tag)
			}
		}
	}
}

// limitFields adds the default bounds to the schema of a Fields, for each of its forms.
func limitFields(s *jsonschema.Schema) {
	limitNames(s)
	s.MaxItems, s.MaxLength = new(MaxEntries), new(MaxText)
	s.Items.MaxLength = new(MaxText)
}

// limitNames bounds the number and the length of the keys of an object whose keys the caller
// chooses.
func limitNames(s *jsonschema.Schema) {
	s.MaxProperties = new(MaxEntries)
	s.PropertyNames = &jsonschema.Schema{MaxLength: new(MaxName)}
}

// A sizing counts arguments, values and nesting levels in JSON before it is decoded, so that
// decoding uses bounded memory. For invalid JSON the counts are arbitrary.
type sizing struct {
	values, args, nested int
	depth                int
}

// read scans data and adds to the counts. It does not decode values or check the syntax; it only
// skips texts. An object or a list counts as a value, and each comma as one more.
func (s *sizing) read(data []byte) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			s.depth++
			s.values++
			s.nested = max(s.nested, s.depth)
		case '}', ']':
			s.depth--
		case ',':
			s.values++
		case ':':
			if s.depth == 1 {
				s.args++
			}
		}
	}
}

// check returns a fault if the arguments of a call are nested too deeply, or too many.
func (s *sizing) check(f *Family) error {
	switch {
	case s.nested > maxNested:
		return fault.New(f.Malformed, "the arguments are nested deeper than %d lists and objects", maxNested)
	case s.args > maxArgs:
		return fault.New(f.Malformed, "a call has at most %d arguments", maxArgs)
	case s.values > maxValues:
		return fault.New(fault.BatchTooLarge, "the arguments of a call have at most %d values", maxValues).
			Fix("split them over several calls")
	}
	return nil
}

// tooLong returns the fault of a value that exceeds the size limit of its argument, or nil. The
// value must be of the argument's type.
func (t *Tool) tooLong(a Arg, v any) *fault.Fault {
	var f *fault.Fault
	switch v := v.(type) {
	case string:
		f = t.longText(a, a.Schema(), v)
	case []any:
		f = t.tooMany(a, len(v), a.Schema().MaxItems)
		for i := 0; i < len(v) && f == nil && a.Schema().Items != nil; i++ {
			if text, ok := v[i].(string); ok {
				f = t.longText(a, a.Schema().Items, text)
			}
		}
	case map[string]any:
		f = t.tooMany(a, len(v), a.Schema().MaxProperties)
		for name := range v {
			if f == nil && runes(name) > MaxName {
				f = fault.New(t.Family.Malformed, "a name in argument %q must be a text of at most %d characters",
					a.Name, MaxName)
			}
		}
	}
	if f != nil {
		f = f.With("argument", a.Name)
	}
	return f
}

// longText returns the fault of a text that is longer than its schema allows, or nil. A text that
// may be as long as a note has the code NOTE_TOO_LARGE.
func (t *Tool) longText(a Arg, s *jsonschema.Schema, text string) *fault.Fault {
	if s.MaxLength == nil || runes(text) <= *s.MaxLength {
		return nil
	}
	if *s.MaxLength == MaxText {
		return fault.New(fault.NoteTooLarge, "argument %q has a text of %d bytes; a note has at most %d",
			a.Name, len(text), MaxText).With("limit", MaxText)
	}
	return fault.New(t.malformed(a), "argument %q must be %s", a.Name,
		nouns["string"]+length(s.MinLength, s.MaxLength)).With("limit", *s.MaxLength)
}

// tooMany returns the fault of an argument with n entries where at most *most are allowed, or nil.
// A nil most means no limit.
func (t *Tool) tooMany(a Arg, n int, most *int) *fault.Fault {
	if most == nil || n <= *most {
		return nil
	}
	return fault.New(cmp.Or(t.Family.Crowded, fault.BatchTooLarge),
		"argument %q has %d entries; a call has at most %d of them", a.Name, n, *most).
		With("limit", *most).Fix("split them over several calls")
}

// runes returns the number of characters of a text, as JSON Schema counts them.
func runes(text string) int { return utf8.RuneCountInString(text) }

// defs is the prefix of a reference to a definition in a schema.
const defs = "#/$defs/"

// schemaFor returns the JSON Schema of a type. A struct that contains itself is defined in `$defs`
// under its Go name, and referenced elsewhere. It panics if the type has no schema.
func schemaFor(t reflect.Type) *jsonschema.Schema {
	types := recursive(t)
	if len(types) == 0 {
		return plainSchema(t, nil, schemaTypes)
	}
	known := maps.Clone(schemaTypes)
	for name, inner := range types {
		known[inner] = &jsonschema.Schema{Ref: defs + name}
	}
	s := plainSchema(t, types, known)
	s.Defs = map[string]*jsonschema.Schema{}
	for name, inner := range types {
		s.Defs[name] = plainSchema(inner, types, known)
	}
	return s
}

// plainSchema returns the schema of a type, using the schemas in known for those types. recursive
// contains the types of which known has references.
func plainSchema(
	t reflect.Type, recursive map[string]reflect.Type, known map[reflect.Type]*jsonschema.Schema,
) *jsonschema.Schema {
	s, err := jsonschema.ForType(unnamed(t, recursive), &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		panic(fmt.Sprintf("tool: %s has no schema: %v", t, err))
	}
	orNull(s)
	loosen(s, t)
	return s
}

// recursive returns, by name, the structs within a type that contain themselves. Their schemas are
// defined once and referred to by name. It panics if two of them have the same name.
func recursive(t reflect.Type) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	var above []reflect.Type
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			if schemaTypes[t] != nil {
				return
			}
			if slices.Contains(above, t) {
				if other := found[t.Name()]; other != nil && other != t {
					panic(fmt.Sprintf("tool: two types are called %s", t.Name()))
				}
				found[t.Name()] = t
				return
			}
			above = append(above, t)
			for i := range t.NumField() {
				if field := t.Field(i); field.IsExported() && field.Tag.Get("json") != "-" {
					walk(field.Type)
				}
			}
			above = above[:len(above)-1]
		}
	}
	walk(t)
	return found
}

// unnamed returns an anonymous struct with the fields of a recursive struct, so that its schema is
// not a reference to itself. Any other type is returned unchanged.
func unnamed(t reflect.Type, types map[string]reflect.Type) reflect.Type {
	if types[t.Name()] != t {
		return t
	}
	var fields []reflect.StructField
	for _, field := range fieldsOf(t) {
		if field.IsExported() {
			fields = append(fields, reflect.StructField{Name: field.Name, Type: field.Type, Tag: field.Tag})
		}
	}
	return reflect.StructOf(fields)
}

// orNull rewrites nullable references in a schema to anyOf [null, $ref]: a type beside `$ref` would
// apply in addition to it.
func orNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Ref != "" && len(s.Types) > 0 {
		s.AnyOf = []*jsonschema.Schema{{Type: "null"}, {Ref: s.Ref}}
		s.Ref, s.Types = "", nil
	}
	orNull(s.Items)
	orNull(s.AdditionalProperties)
	for _, inner := range s.Properties {
		orNull(inner)
	}
}

// isRef reports whether a schema is a reference, or a choice between null and one.
func isRef(s *jsonschema.Schema) bool { return refOf(s) != "" }

// refOf returns the reference of a schema, also in a choice between null and one, or "".
func refOf(s *jsonschema.Schema) string {
	if s.Ref == "" && len(s.AnyOf) == 2 && s.AnyOf[0].Type == "null" {
		return s.AnyOf[1].Ref
	}
	return s.Ref
}

// Deref returns the schema that part refers to, or part itself if it is not a reference. root is
// the schema that contains the definitions.
func Deref(root, part *jsonschema.Schema) *jsonschema.Schema {
	if root == nil || part == nil || !isRef(part) {
		return part
	}
	return root.Defs[strings.TrimPrefix(refOf(part), defs)]
}
