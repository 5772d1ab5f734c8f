package raven

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A schemaTraitsOut is the output of raven_schema_traits.
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

// schemaTraits returns the tool raven_schema_traits, which lists the traits of the schema.
func (f tools) schemaTraits() *tool.Tool {
	return schemaTool(f, tool.Spec{
		Name: "raven_schema_traits", Family: Family, Title: "List traits",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/schema/traits"},
		Commands: []tool.Command{{Words: "schema traits"}},
	}, func(s *vault.Schema, _ stateIn) (schemaTraitsOut, error) {
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

// A schemaTraitIn is the input of raven_schema_trait.
type schemaTraitIn struct {
	tool.Vault
	// name of the trait
	Name string `json:"name" complete:"trait"`
	tool.AsOf
}

// A schemaTraitOut is the output of raven_schema_trait.
type schemaTraitOut struct {
	tool.Aside `json:"-"`
	Trait      traitFull `json:"trait"`
}

// schemaTrait returns the tool raven_schema_trait, which shows one trait.
func (f tools) schemaTrait() *tool.Tool {
	return schemaTool(f, tool.Spec{
		Name: "raven_schema_trait", Family: Family, Title: "Show a trait",
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

// A schemaValidateOut is the output of raven_schema_validate.
//
// Issues are not faults: the call succeeds, and Valid says whether there are any.
type schemaValidateOut struct {
	tool.Aside `json:"-"`
	Valid      bool    `json:"valid"`
	Issues     []issue `json:"issues"`
	Types      int     `json:"types"`
	Traits     int     `json:"traits"`
}

// An issue is one problem of the schema or the configuration.
type issue struct {
	Code     fault.Code      `json:"code"`
	Message  string          `json:"message"`
	Details  map[string]any  `json:"details,omitempty"`
	Location *fault.Location `json:"location,omitempty"`
}

// schemaValidate returns the tool raven_schema_validate, which lists the problems of the schema and
// the configuration. Unlike other tools it also works if schema.yaml cannot be loaded.
func (f tools) schemaValidate() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_schema_validate", Family: Family, Title: "Check the schema",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/schema/validate"},
		Commands: []tool.Command{{Words: "schema validate"}},
	}, func(_ context.Context, v view, _ stateIn) (schemaValidateOut, error) {
		s := v.Index.Schema()
		problems := append(problemsOf(v.Index.SchemaErr()), problemsOf(v.Index.ConfigErr())...)
		out := schemaValidateOut{Issues: []issue{}}
		for _, f := range slices.Concat(problems, undefinedNames(s), invalidDefaults(s, v.Clock)) {
			out.Issues = append(out.Issues, issue{f.Code, f.Message, f.Details, f.Location})
		}
		out.Valid, out.Types, out.Traits = len(out.Issues) == 0, len(s.Types), len(s.Traits)
		return out, nil
	})
}

// problemsOf returns the single problems in an error; none for nil.
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

// undefinedNames returns a fault for each undefined name in a schema: targets of references, and
// traits of types. The detail where of each fault is the key of the definition that contains the
// name.
func undefinedNames(s *vault.Schema) []*fault.Fault {
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

// invalidDefaults returns a fault for each default value in a schema that its field or trait does
// not accept. The detail where is as in dangling.
func invalidDefaults(s *vault.Schema, c vault.Clock) []*fault.Fault {
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

// A schemaCommandsIn is the input of raven_schema_commands.
type schemaCommandsIn struct{ tool.Vault }

// A schemaCommandsOut is the output of raven_schema_commands, with the commands by their first
// word.
type schemaCommandsOut struct {
	tool.Aside `json:"-"`
	Commands   map[string]command `json:"commands"`
}

// A command is the first word of a command line: a command itself, a group of commands, or both.
type command struct {
	subcommand
	Subcommands []string              `json:"subcommands,omitempty"`
	Commands    map[string]subcommand `json:"commands,omitempty"`
}

// A subcommand is one command that calls a tool.
type subcommand struct {
	Description   string          `json:"description"`
	Args          []string        `json:"args,omitempty"`
	Flags         map[string]flag `json:"flags,omitempty"`
	DefaultTarget string          `json:"default_target,omitempty"`
	UseCases      []string        `json:"use_cases,omitempty"`
	Examples      []string        `json:"examples,omitempty"`
}

// A flag is an argument of a command that is given by name.
type flag struct {
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Values      []any    `json:"values,omitempty"`
	Examples    []string `json:"examples,omitempty"`
}

// schemaCommands returns the tool raven_schema_commands, which lists the commands of all tools.
//
// The list is derived from the Specs of all tools of the product, so it cannot differ from the
// command line. It reads no vault.
func (f tools) schemaCommands() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_schema_commands", Family: Family, Title: "List commands",
		Role: auth.Reader, Kind: tool.Read, Anywhere: true,
		Route:    tool.Route{Method: "GET", Path: "/schema/commands"},
		Commands: []tool.Command{{Words: "schema commands"}},
	}, func(context.Context, auth.Caller, schemaCommandsIn) (schemaCommandsOut, error) {
		out := schemaCommandsOut{Commands: map[string]command{}}
		for _, t := range f.all() {
			for _, way := range t.Commands {
				addCommand(out.Commands, way.Words, describe(t, way))
			}
		}
		out.Note("count", len(out.Commands))
		return out, nil
	})
}

// addCommand adds a command under its first word.
//
// A first word can be a command and a group at once, such as query and query save.
func addCommand(all map[string]command, words string, c subcommand) {
	first, rest, deeper := strings.Cut(words, " ")
	at := all[first]
	switch {
	case !deeper:
		at.subcommand = c
	case at.Commands == nil:
		at.Commands = map[string]subcommand{}
		fallthrough
	default:
		at.Commands[rest] = c
		at.Subcommands = append(at.Subcommands, rest)
	}
	at.Description = cmp.Or(at.Description, "Commands that begin with "+first)
	all[first] = at
}

// describe returns the description of a command from the Spec of its tool.
//
// Arguments that every tool has, such as vault, and those that the command sets itself are left
// out.
func describe(t *tool.Tool, way tool.Command) subcommand {
	prose := t.Prose()
	c := subcommand{
		Description: prose.Summary, Flags: map[string]flag{}, Examples: prose.Commands,
		UseCases: prose.List("When"),
	}
	positional := map[string]bool{}
	for _, entry := range way.Args {
		name, _, _ := tool.Positional(entry)
		c.Args = append(c.Args, name)
		positional[name] = true
	}
	for _, a := range t.Args {
		if a.Shared || positional[a.Name] || way.Set[a.Name] != "" || t.Input != nil && a.Name == t.Input.Arg {
			continue
		}
		c.Flags["--"+a.Flag] = flag{
			Type: cmp.Or(a.What, a.Kind()), Description: a.Doc, Values: a.Schema().Enum,
			Examples: a.Examples,
		}
		if a.Target != "" {
			c.DefaultTarget = a.Target
		}
	}
	return c
}
