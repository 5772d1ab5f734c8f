package raven

import (
	"cmp"
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
	if at.Description == "" {
		at.Description = "Commands that begin with " + first
	}
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
