package openapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/tool"
)

// definition is the prefix of a reference to a definition in a schema.
const definition = "#/$defs/"

// outputOf returns the schema of the data in a tool's answers. Recursive types are not in it: they
// are components of the document, named after the tool and the type.
func outputOf(t *tool.Tool) *jsonschema.Schema {
	s := t.OutputSchema()
	if len(s.Defs) == 0 {
		return s
	}
	s = referring(s, t)
	s.Defs = nil
	return s
}

// definitions returns the recursive types of the answers of all tools, as components.
func definitions(tools []*tool.Tool) object {
	all := object{}
	for _, t := range tools {
		for name, s := range t.OutputSchema().Defs {
			all[componentOf(t, name)] = referring(s, t)
		}
	}
	return all
}

// componentOf returns the name of the component for a recursive type of a tool's answer.
func componentOf(t *tool.Tool, name string) string { return t.Name + "_" + name }

// referring returns a copy of a schema in which references to definitions are references to
// components.
func referring(s *jsonschema.Schema, t *tool.Tool) *jsonschema.Schema {
	s = s.CloneSchemas()
	retarget(s, t)
	return s
}

func retarget(s *jsonschema.Schema, t *tool.Tool) {
	if s == nil {
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, definition); ok {
		s.Ref = "#/components/schemas/" + componentOf(t, name)
	}
	inner := append([]*jsonschema.Schema{s.Items, s.AdditionalProperties}, s.AnyOf...)
	for _, one := range slices.AppendSeq(inner, maps.Values(s.Properties)) {
		retarget(one, t)
	}
}
