package raven

import (
	"context"
	_ "embed"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

//go:embed type.md
var typeDoc string

//go:embed untyped.md
var untypedDoc string

type typeIn struct {
	tool.Vault
	Name string `json:"name,omitempty" jsonschema:"name of the type" alias:"type_name"`
	List bool   `json:"list,omitempty" jsonschema:"list the types, and how many objects each has"`
	tool.Page
}

type typeOut struct {
	tool.Aside `json:"-"`
	Type       string      `json:"type,omitempty"`
	Items      []object    `json:"items,omitzero"`
	Types      []typeCount `json:"types,omitzero"`
}

// A typeCount is a type and the number of its objects.
type typeCount struct {
	Name    string `json:"name"`
	Count   int    `json:"count"`
	Builtin bool   `json:"builtin"`
}

func (f tools) typed() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_type", Family: Family, Title: "Objects of a type", Doc: typeDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/types"},
		Commands: []tool.Command{{Words: "type", Args: []string{"name?"}}},
	}, func(ctx context.Context, c auth.Caller, in typeIn) (typeOut, error) {
		switch {
		case in.List == (in.Name != ""):
			return typeOut{}, fault.New(fault.MissingRequired,
				"name a type, or say list").With("argument", "name").
				Fix("rookery type --list")
		case in.List:
			return f.listTypes(ctx, c, in)
		}
		items, err := f.listObjects(ctx, c, objectListIn{
			Vault: in.Vault, Type: in.Name, Page: in.Page,
		})
		return typeOut{Aside: items.Aside, Type: in.Name, Items: items.Items}, err
	})
}

// listTypes counts the objects of each type.
func (f tools) listTypes(ctx context.Context, c auth.Caller, in typeIn) (typeOut, error) {
	out := typeOut{Types: []typeCount{}}
	v, err := f.view(ctx, c, in.Vault.Vault)
	if err != nil {
		return out, err
	}
	s, err := schemaOf(v.idx)
	if err != nil {
		return out, err
	}
	for _, t := range s.Types {
		out.Types = append(out.Types, typeCount{t.Name, v.idx.Count(t.Name), t.Builtin})
	}
	out.Note("count", len(out.Types))
	out.Note("version", v.version())
	return out, nil
}
