package raven

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A schemaOut is the output of raven_schema.
//
// It describes what a client needs to write valid notes in one answer. The built-in types and the
// defaults of the settings are included, whether the files have them or not.
type schemaOut struct {
	tool.Aside `json:"-"`
	Version    int         `json:"version"`
	Types      []typeFull  `json:"types"`
	Traits     []traitFull `json:"traits"`
	// the templates of schema.yaml
	Templates []template `json:"templates"`
	// the saved queries of raven.yaml
	Queries []queryInfo `json:"queries"`
	Config  config      `json:"config"`
}

// A template is a text from which new notes are created.
type template struct {
	ID string `json:"id"`
	// its path in the vault, as in schema.yaml
	File        string  `json:"file"`
	Description *string `json:"description"`
}

// A config is the configuration of the vault as raven_schema shows it.
//
// It contains the effective values, with the defaults filled in, not the text of raven.yaml.
type config struct {
	DailyDirectory string      `json:"daily_directory"`
	Directories    directories `json:"directories"`
	Capture        capture     `json:"capture"`
	Deletion       deletion    `json:"deletion"`
	// patterns of files that are not notes
	Exclude []string `json:"exclude"`
	// path prefixes that are read-only
	ProtectedPrefixes []string `json:"protected_prefixes"`
	Timezone          string   `json:"timezone"`
	WeekStart         string   `json:"week_start"`
	// language of the notes, for search
	Language string `json:"language"`
}

// A directories contains the folders in the settings, each with a slash at its end; null if not
// set.
type directories struct {
	// folder of daily notes; ./ is the root of the vault
	Daily string `json:"daily"`
	// folder above each default_path
	Type *string `json:"type"`
	// folder of notes without a type
	Page *string `json:"page"`
	// folder of templates
	Template *string `json:"template"`
}

// A capture contains the settings for raven_add without a destination.
type capture struct {
	Destination string `json:"destination"`
	Heading     string `json:"heading,omitempty"`
	Timestamp   bool   `json:"timestamp"`
}

// A deletion contains the settings for deleted notes, as raven.yaml has them. Rookery always uses
// its own trash.
type deletion struct {
	Behavior string `json:"behavior"`
	TrashDir string `json:"trash_dir"`
}

// A queryInfo is a saved query, in either of its forms.
type queryInfo struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Query       string            `json:"query,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Types       []string          `json:"types,omitempty"`
	Traits      []string          `json:"traits,omitempty"`
	Filters     map[string]string `json:"filters,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
}

// schema returns the tool raven_schema, which shows the schema with the saved queries and settings.
func (f tools) schema() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_schema", Family: Family, Title: "Show the schema",
		Role: auth.Reader, Kind: tool.Read,
		Route:     tool.Route{Method: "GET", Path: "/schema"},
		Commands:  []tool.Command{{Words: "schema"}},
		Resources: []tool.Resource{schemaResource},
		Former: map[string][]string{"subcommand": {
			"raven_schema_types", "raven_schema_traits", "raven_schema_commands", "raven_schema_type",
			"raven_schema_trait",
		}},
	}, fullSchema)
}

// schemaTool returns a tool that calls fn with the schema of a vault.
//
// An invalid schema.yaml is an error with its location; a vault without one has the built-in types.
func schemaTool[In state.Input, Out any, O state.Noted[Out]](
	f tools, spec tool.Spec, fn func(*vault.Schema, In) (Out, error),
) *tool.Tool {
	return viewTool[In, Out, O](f, spec, func(_ context.Context, v view, in In) (Out, error) {
		s, err := state.Schema(v.Index)
		if err != nil {
			var none Out
			return none, err
		}
		return fn(s, in)
	})
}

// fullSchema returns the schema and the configuration. It returns an error if one of them is
// invalid.
func fullSchema(_ context.Context, v view, _ stateIn) (schemaOut, error) {
	s, err := state.Schema(v.Index)
	if err != nil {
		return schemaOut{}, err
	}
	if err := v.Index.ConfigErr(); err != nil {
		return schemaOut{}, err
	}
	out := schemaOut{
		Version: s.Version, Types: []typeFull{}, Traits: []traitFull{}, Templates: []template{}, Queries: []queryInfo{},
		Config: configOf(v.Index.Config()),
	}
	for _, t := range s.Types {
		out.Types = append(out.Types, fullType(t))
	}
	for _, t := range s.Traits {
		out.Traits = append(out.Traits, traitOf(s, t))
	}
	for _, t := range s.Templates {
		out.Templates = append(out.Templates, template{t.ID, t.File, textOrNil(t.Description)})
	}
	for _, q := range v.Index.Config().Queries {
		out.Queries = append(out.Queries, queryInfoOf(q))
	}
	return out, nil
}

// A typeFull is a type with its complete definition.
//
// Members are null where the definition has none. Fields and Traits are empty maps for a type
// without them.
type typeFull struct {
	Name        string              `json:"name"`
	Builtin     bool                `json:"builtin"`
	DefaultPath *string             `json:"default_path"`
	NameField   *string             `json:"name_field"`
	Description *string             `json:"description"`
	Fields      map[string]field    `json:"fields"`
	Traits      map[string]traitUse `json:"traits"`
	// ids of the templates of the type
	Templates []string `json:"templates"`
	// the default template
	Default *string `json:"default_template"`
}

// A field is the definition of one field.
type field struct {
	Type        string   `json:"type"`
	Required    bool     `json:"required"`
	Default     any      `json:"default,omitempty"`
	Values      []string `json:"values,omitempty"`
	Target      string   `json:"target,omitempty"`
	Min         *float64 `json:"min,omitempty"`
	Max         *float64 `json:"max,omitempty"`
	Description string   `json:"description,omitempty"`
}

// A traitUse is the use of a trait by a type.
type traitUse struct {
	Required bool `json:"required"`
	Default  any  `json:"default"`
}

// A traitFull is the definition of one trait.
//
// Type is the value type as schema.yaml spells it. For a reference Target is the name of a type, or
// null for any; other traits have no Target.
type traitFull struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Values      []string `json:"values,omitempty"`
	Target      any      `json:"target,omitempty"` // the type of the target of a reference; null: any type
	Default     any      `json:"default"`
	UsedByTypes []string `json:"used_by_types"`
	Description *string  `json:"description"`
}

// fullType returns a type with its complete definition.
func fullType(t *vault.Type) typeFull {
	full := typeFull{
		Name: t.Name, Builtin: t.Builtin, DefaultPath: textOrNil(t.DefaultPath),
		NameField: textOrNil(t.NameField()), Description: textOrNil(t.Description),
		Fields: map[string]field{}, Traits: map[string]traitUse{},
		Templates: append([]string{}, t.Templates...), Default: textOrNil(t.DefaultTemplate),
	}
	for _, f := range t.Fields {
		full.Fields[f.Name] = fieldOf(f)
	}
	for _, u := range t.Traits {
		full.Traits[u.Name] = traitUse{Required: u.Required, Default: unresolvedValue(u.Default)}
	}
	return full
}

// fieldOf returns the definition of a field.
func fieldOf(f *vault.Field) field {
	return field{
		Type: f.Type, Required: f.Required, Default: unresolvedValue(f.Default), Values: f.Values,
		Target: f.Target, Min: f.Min, Max: f.Max, Description: f.Description,
	}
}

// traitOf returns the definition of a trait. A boolean trait without a default has the default
// false.
func traitOf(s *vault.Schema, t *vault.Trait) traitFull {
	one := traitFull{
		Name: t.Name, Type: t.Written, Values: t.Values,
		Default: unresolvedValue(t.Default), UsedByTypes: s.UsedBy(t.Name), Description: textOrNil(t.Description),
	}
	if t.IsRef() {
		one.Target = textOrNil(t.Target)
	}
	if t.Type == "bool" && !t.HasDefault {
		one.Default = false
	}
	return one
}

// textOrNil returns a pointer to s, or nil if s is empty.
func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// A schemaTypesOut is the output of raven_schema_types.
type schemaTypesOut struct {
	tool.Aside `json:"-"`
	Types      []typeRow `json:"types"`
}

// A typeRow is a type in a list, with only the names of its fields and traits.
//
// raven_schema_type returns the complete definition.
type typeRow struct {
	Name           string   `json:"name"`
	Builtin        bool     `json:"builtin"`
	DefaultPath    *string  `json:"default_path"`
	Fields         []string `json:"fields"`
	Traits         []string `json:"traits"`
	RequiredFields []string `json:"required_fields"`
}

// schemaTypes returns the tool raven_schema_types, which lists the types of the schema.
func (f tools) schemaTypes() *tool.Tool {
	return schemaTool(f, tool.Spec{
		Name: "raven_schema_types", Family: Family, Title: "List types",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/schema/types"},
		Commands: []tool.Command{{Words: "schema types"}},
		Columns: []string{
			"name", "builtin", "default_path", "required_fields", "traits", "fields",
		},
	}, func(s *vault.Schema, _ stateIn) (schemaTypesOut, error) {
		out := schemaTypesOut{Types: []typeRow{}}
		for _, t := range s.Types {
			out.Types = append(out.Types, typeRow{
				Name: t.Name, Builtin: t.Builtin, DefaultPath: textOrNil(t.DefaultPath),
				Fields: t.FieldNames(), Traits: t.TraitNames(), RequiredFields: t.RequiredFields(),
			})
		}
		out.Note("count", len(out.Types))
		return out, nil
	})
}

// A schemaTypeIn is the input of raven_schema_type.
type schemaTypeIn struct {
	tool.Vault
	// name of the type
	Name string `json:"name" complete:"type"`
	tool.AsOf
}

// A schemaTypeOut is the output of raven_schema_type.
type schemaTypeOut struct {
	tool.Aside `json:"-"`
	Type       typeFull `json:"type"`
}

// schemaType returns the tool raven_schema_type, which shows one type.
func (f tools) schemaType() *tool.Tool {
	return schemaTool(f, tool.Spec{
		Name: "raven_schema_type", Family: Family, Title: "Show a type",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/schema/types/{name}"},
		Commands: []tool.Command{{Words: "schema type", Args: []string{"name"}}},
	}, func(s *vault.Schema, in schemaTypeIn) (schemaTypeOut, error) {
		t, ok := s.Type(in.Name)
		if !ok {
			return schemaTypeOut{}, s.NoType(in.Name)
		}
		return schemaTypeOut{Type: fullType(t)}, nil
	})
}

// configOf returns the configuration as raven_schema shows it.
func configOf(c vault.Config) config {
	d := c.Directories
	return config{
		DailyDirectory: c.DailyDirectory,
		Directories: directories{
			c.DailyDirectory + "/", textOrNil(d.Type), textOrNil(d.Page), textOrNil(d.Template),
		},
		Capture:  capture{c.Capture.Destination, c.Capture.Heading, c.Capture.Timestamp},
		Deletion: deletion{c.Deletion.Behavior, c.Deletion.TrashDir},
		Exclude:  append([]string{}, c.Exclude...), Timezone: c.Timezone,
		ProtectedPrefixes: append([]string{}, c.Protected...),
		WeekStart:         strings.ToLower(c.WeekStart.String()), Language: c.Language,
	}
}

// queryInfoOf returns a saved query as an answer shows it.
func queryInfoOf(q vault.Query) queryInfo {
	return queryInfo{
		Name: q.Name, Description: q.Description, Query: q.Query, Args: q.Args,
		Types: q.Types, Traits: q.Traits, Filters: q.Filters, Tags: q.Tags,
	}
}
