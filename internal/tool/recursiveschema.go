package tool

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

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
