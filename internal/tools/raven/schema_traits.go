package raven

import (
	"context"
	_ "embed"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

//go:embed schema_traits.md
var schemaTraitsDoc string

//go:embed schema_trait.md
var schemaTraitDoc string

type schemaTraitsOut struct {
	tool.Aside `json:"-"`
	Traits     []traitRow `json:"traits"`
}

// A traitRow is a trait in a list.
type traitRow struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Values  []string `json:"values,omitempty"`
	Target  any      `json:"target,omitempty"`
	Default any      `json:"default"`
}

func (f tools) schemaTraits() *tool.Tool {
	return schemaTool(f, tool.Spec{
		Name: "raven_schema_traits", Family: Family, Title: "List traits", Doc: schemaTraitsDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/schema/traits"},
		Commands: []tool.Command{{Words: "schema traits"}},
	}, func(s *vault.Schema, _ schemaIn) (schemaTraitsOut, error) {
		out := schemaTraitsOut{Traits: []traitRow{}}
		for _, t := range s.Traits {
			full := traitOf(s, t)
			out.Traits = append(out.Traits, traitRow{
				full.Name, full.Type, full.Values, full.Target, full.Default,
			})
		}
		out.Note("count", len(out.Traits))
		return out, nil
	})
}

type schemaTraitIn struct {
	tool.Vault
	Name string `json:"name" complete:"trait" jsonschema:"name of the trait"`
	tool.AsOf
}

type schemaTraitOut struct {
	tool.Aside `json:"-"`
	Trait      traitFull `json:"trait"`
}

func (f tools) schemaTrait() *tool.Tool {
	return schemaTool(f, tool.Spec{
		Name: "raven_schema_trait", Family: Family, Title: "Show a trait", Doc: schemaTraitDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/schema/traits/{name}"},
		Commands: []tool.Command{{Words: "schema trait", Args: []string{"name"}}},
	}, func(s *vault.Schema, in schemaTraitIn) (schemaTraitOut, error) {
		t, ok := s.Trait(in.Name)
		if !ok {
			return schemaTraitOut{}, s.NoTrait(in.Name)
		}
		return schemaTraitOut{Trait: traitOf(s, t)}, nil
	})
}

//go:embed schema_validate.md
var schemaValidateDoc string

type schemaValidateOut struct {
	tool.Aside `json:"-"`
	Valid      bool    `json:"valid"`
	Issues     []issue `json:"issues"`
	Types      int     `json:"types"`
	Traits     int     `json:"traits"`
}

// An issue is one thing that is wrong with the schema or the configuration.
type issue struct {
	Code     fault.Code      `json:"code"`
	Message  string          `json:"message"`
	Details  map[string]any  `json:"details,omitempty"`
	Location *fault.Location `json:"location,omitempty"`
}

func (f tools) schemaValidate() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_schema_validate", Family: Family, Title: "Check the schema",
		Doc: schemaValidateDoc, Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/schema/validate"},
		Commands: []tool.Command{{Words: "schema validate"}},
	}, func(_ context.Context, v view, _ schemaIn) (schemaValidateOut, error) {
		s := v.Index.Schema()
		problems := append(problemsOf(v.Index.SchemaErr()), problemsOf(v.Index.ConfigErr())...)
		out := schemaValidateOut{Issues: []issue{}}
		for _, f := range slices.Concat(problems, dangling(s), unfit(s, v.Clock)) {
			out.Issues = append(out.Issues, issue{f.Code, f.Message, f.Details, f.Location})
		}
		out.Valid, out.Types, out.Traits = len(out.Issues) == 0, len(s.Types), len(s.Traits)
		return out, nil
	})
}

// problemsOf are the single problems in an error; none of nil.
func problemsOf(err error) []*fault.Fault {
	if err == nil {
		return nil
	}
	f := fault.Of(err)
	if len(f.Errors) > 0 {
		return f.Errors
	}
	return []*fault.Fault{f}
}

// dangling are the names in a schema that nothing has: targets of references, traits of types.
func dangling(s *vault.Schema) []*fault.Fault {
	var all []*fault.Fault
	missing := func(where, target string) {
		if _, ok := s.Type(target); target != "" && !ok {
			all = append(all, s.NoType(target).With("where", where).At(vault.SchemaFile, 0))
		}
	}
	for _, t := range s.Types {
		for _, f := range t.Fields {
			missing("types."+t.Name+".fields."+f.Name, f.Target)
		}
		for _, u := range t.Traits {
			if u.Trait == nil {
				all = append(all, s.NoTrait(u.Name).With("where", "types."+t.Name+".traits").
					At(vault.SchemaFile, 0))
			}
		}
	}
	for _, t := range s.Traits {
		missing("traits."+t.Name, t.Target)
	}
	return all
}

// unfit are the defaults in a schema that are no values of what they are the default of.
func unfit(s *vault.Schema, c vault.Clock) []*fault.Fault {
	var all []*fault.Fault
	check := func(where string, of vault.Field, byDefault any) {
		if _, err := of.Read(byDefault, c); err != nil {
			all = append(all, fault.Of(err).With("where", where).At(vault.SchemaFile, 0))
		}
	}
	for _, t := range s.Types {
		for _, f := range t.Fields {
			check("types."+t.Name+".fields."+f.Name, *f, f.Default)
		}
		for _, u := range t.Traits {
			if u.Trait != nil {
				check("types."+t.Name+".traits."+u.Name, u.Trait.Field, u.Default)
			}
		}
	}
	for _, t := range s.Traits {
		check("traits."+t.Name, t.Field, t.Default)
	}
	return all
}
