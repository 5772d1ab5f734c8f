package mcptool

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rookery/internal/tool"
)

// vaultArg is the argument that clients repeat in the header Mcp-Param-Vault, so that whoever is in
// front of us can route and limit by vault without reading bodies (CONTRACT §6).
const (
	vaultArg    = "vault"
	vaultMark   = "Vault"
	vaultHeader = "Mcp-Param-" + vaultMark
)

// page returns the description of a tool in a list of tools. It is made once.
func page(t *tool.Tool) *mcp.Tool { return pageWithout(t, nil, false) }

// shortPage returns the description of a tool for the list of Path, whose size is bounded (CONTRACT
// §6). It leaves out the arguments that few calls need, which are accepted all the same, so other
// arguments are not excluded.
func shortPage(t *tool.Tool) *mcp.Tool { return pageWithout(t, nil, true) }

// readingPage returns the description of a tool for a caller that may only make those calls of it that read: the
// argument that tells them has only the values that do.
func readingPage(t *tool.Tool, short bool) *mcp.Tool {
	p := pageWithout(t, nil, short)
	s := &jsonschema.Schema{}
	if json.Unmarshal(p.InputSchema.(json.RawMessage), s) == nil && s.Properties[t.Reads.Arg] != nil {
		arg := s.Properties[t.Reads.Arg].CloneSchemas()
		arg.Enum = nil
		for _, value := range t.Reads.Values {
			arg.Enum = append(arg.Enum, value)
		}
		s.Properties[t.Reads.Arg] = arg
		p.InputSchema = marshaled(t, s)
	}
	p.Annotations.ReadOnlyHint, p.Annotations.IdempotentHint = true, true
	return p
}

// pageWithout returns the description of a tool without some of its arguments, for a short list or another one.
func pageWithout(t *tool.Tool, hidden []string, short bool) *mcp.Tool {
	destructive, openWorld := t.Kind == tool.Destroy, false
	return &mcp.Tool{
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Prose().Summary,
		InputSchema: inputSchema(t, hidden, short),
		Annotations: &mcp.ToolAnnotations{
			Title:           t.Title,
			ReadOnlyHint:    !t.Kind.Changes(),
			DestructiveHint: &destructive,
			IdempotentHint:  t.Idempotent || !t.Kind.Changes(),
			OpenWorldHint:   &openWorld,
		},
	}
}

// inputSchema returns the schema of the arguments as a model sees it. It does not list `envelope`,
// which is accepted: a model needs only one form of the answer.
func inputSchema(t *tool.Tool, hidden []string, short bool) json.RawMessage {
	s := without(t.InputSchema(), func(a tool.Arg) bool {
		return short && a.Rare || a.Name == "envelope" || slices.Contains(hidden, a.Name)
	}, t)
	if short {
		s.AdditionalProperties = nil
		abridge(s)
		if vault, ok := s.Properties[vaultArg]; ok {
			vault = vault.CloneSchemas()
			vault.Description = "" // the instructions of the endpoint say it once
			s.Properties[vaultArg] = vault
		}
	}
	return marshaled(t, s)
}

// abridge outlines the members of a schema that need not be given, and abridges the others.
func abridge(s *jsonschema.Schema) {
	for name, member := range s.Properties {
		if !slices.Contains(s.Required, name) {
			s.Properties[name] = outline(member)
		} else if member.Properties != nil {
			member = member.CloneSchemas()
			member.AdditionalProperties = nil
			abridge(member)
			s.Properties[name] = member
		}
	}
}

// outline is the schema of an argument without the members of objects, for a list with little room: the sentence of the
// argument says what it is, and the tool's own page has the members (CONTRACT §6).
func outline(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items != nil && s.Items.Properties != nil {
		s = s.CloneSchemas()
		s.Items = outline(s.Items)
		return s
	}
	if s.Properties == nil {
		return s
	}
	return &jsonschema.Schema{Type: s.Type, Types: s.Types, Description: s.Description}
}

// without removes from a tool's schema the arguments for which hide holds.
func without(s *jsonschema.Schema, hide func(tool.Arg) bool, t *tool.Tool) *jsonschema.Schema {
	for _, a := range t.Args {
		if hide(a) {
			delete(s.Properties, a.Name)
		}
	}
	s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, func(name string) bool {
		return s.Properties[name] == nil
	})
	return s
}

// marshaled returns the JSON of a tool's schema in the form in which it is listed.
func marshaled(t *tool.Tool, s *jsonschema.Schema) json.RawMessage {
	for name, arg := range s.Properties {
		s.Properties[name] = plain(arg)
	}
	if vault, ok := s.Properties[vaultArg]; ok {
		vault.Extra = map[string]any{"x-mcp-header": vaultMark}
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("mcptool: the schema of %s does not marshal: %v", t.Name, err))
	}
	return data
}

// plain is a copy of a schema in which everything has one type, the first that is not null. The
// others are accepted, as aliases are, but a model needs one way to say a thing; and there are
// clients, the SDK's among them, that cannot read a list of types, and then send no headers. How
// much a value may have is left out, too: the list has few bytes, and a refusal says it.
func plain(s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	for _, t := range s.Types {
		if t != "null" {
			s.Type, s.Types = t, nil
			break
		}
	}
	if s.Type != "array" {
		s.Items = nil
	}
	if s.Type != "string" {
		s.Pattern = ""
	}
	s.MinLength, s.MaxLength, s.MaxItems = nil, nil, nil
	s.MaxProperties, s.PropertyNames = nil, nil
	if s.Items != nil {
		s.Items = plain(s.Items)
	}
	for name, inner := range s.Properties {
		s.Properties[name] = plain(inner)
	}
	return s
}
