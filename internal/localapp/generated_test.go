package localapp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/openapi"
	"github.com/rookeryhq/rookery/internal/tool"
)

var update = flag.Bool("update", false, "write the generated files anew")

// TestGenerated checks that the files which are generated from the tools' Specs are up to date.
// With -update it writes them.
func TestGenerated(t *testing.T) {
	files := map[string]string{"openapi/openapi.json": openAPI(t), "openapi/docs.html": docsPage(t)}
	tools := slices.SortedFunc(slices.Values(allTools()), func(a, b *tool.Tool) int {
		return strings.Compare(a.Name, b.Name)
	})
	files["docs/tools/README.md"] = toolIndex(tools)
	for _, made := range tools {
		files["docs/tools/"+made.Name+".md"] = toolPage(made)
	}
	root := filepath.Join("..", "..")
	if *update {
		writeGenerated(t, root, files)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		has, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err, "make docs")
		require.Equal(t, files[name], string(has), "%s is out of date: make docs", name)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "tools", "*"))
	require.NoError(t, err)
	require.Len(t, pages, len(tools)+1, "docs/tools holds a page of a tool that is gone: make docs")
}

// writeGenerated replaces the generated files.
func writeGenerated(t *testing.T, root string, files map[string]string) {
	require.NoError(t, os.RemoveAll(filepath.Join(root, "docs", "tools")))
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func openAPI(t *testing.T) string {
	// The version is that of the interface and not of a build, so that the file does not depend on
	// the machine.
	data, err := openapi.Document(allTools(), openapi.Info{Version: "v1"})
	require.NoError(t, err)
	var indented bytes.Buffer // for who reads the file, and compares its versions
	require.NoError(t, json.Indent(&indented, data, "", "  "))
	return indented.String()
}

const generated = "<!-- Generated from the tools' Specs by `make docs`; do not edit. -->\n\n"

// toolIndex returns the list of the tools by family.
func toolIndex(tools []*tool.Tool) string {
	var b strings.Builder
	b.WriteString(generated + "# Tools\n\nEvery tool is reached over HTTP, over MCP and from the " +
		"command line, with the same arguments and the same answer.\n")
	family := ""
	for _, made := range tools {
		if made.Family.Name != family {
			family = made.Family.Name
			fmt.Fprintf(&b, "\n## %s\n\n| tool | what it does |\n| --- | --- |\n", family)
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", made.Name, made.Name, cell(made.Prose().Summary))
	}
	return b.String()
}

// toolPage returns the page of a tool: its document, and the parts that follow from its Spec.
func toolPage(made *tool.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s: %s\n\n%s\n", generated, made.Name, made.Title, made.Prose().Text)
	b.WriteString("\n## Arguments\n\n| argument | kind | what it means |\n| --- | --- | --- |\n")
	for _, a := range made.Args {
		fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", a.Name, mark(a), cell(kindOf(a)), cell(a.Doc))
	}
	b.WriteString("\n\\* required\n\n## How it is reached\n\n")
	fmt.Fprintf(&b, "- HTTP: `%s %s`, and `POST /v1/tools/%s`\n",
		made.Route.Method, made.Path(), made.Name)
	for _, way := range made.Commands {
		fmt.Fprintf(&b, "- Command line: `rookery %s`\n", commandOf(way))
	}
	fmt.Fprintf(&b, "- MCP: `%s`, on `/mcp/x/%s` as `%s`\n", made.Name, made.Family.Name,
		made.LocalName())
	for _, alias := range made.Aliases {
		fmt.Fprintf(&b, "- Also called `%s`\n", alias)
	}
	fmt.Fprintf(&b, "- Role: %s\n- It %s\n", made.Role, effectOf(made))
	return b.String()
}

func mark(a tool.Arg) string {
	if a.Required {
		return " \\*"
	}
	return ""
}

// kindOf describes the values of an argument.
func kindOf(a tool.Arg) string {
	kind := a.Kind()
	if len(a.Schema().Enum) > 0 {
		var options []string
		for _, o := range a.Schema().Enum {
			options = append(options, fmt.Sprint(o))
		}
		kind = "one of " + strings.Join(options, ", ")
	}
	if len(a.Schema().Default) > 0 {
		kind += fmt.Sprintf(", default %s", strings.Trim(string(a.Schema().Default), `"`))
	}
	return kind
}

// commandOf returns a command with the placeholders for its words.
func commandOf(way tool.Command) string {
	line := way.Words
	for _, entry := range way.Args {
		name, optional, rest := tool.Positional(entry)
		place := strings.ToUpper(strings.ReplaceAll(name, "_", "-"))
		switch {
		case rest:
			place += "..."
		case optional:
			place = "[" + place + "]"
		}
		line += " " + place
	}
	if way.Pairs != "" {
		line += " [NAME=VALUE]..."
	}
	return line
}

// effectOf describes the annotations of the MCP tool.
func effectOf(made *tool.Tool) string {
	effect := map[tool.Kind]string{
		tool.Read: "changes nothing", tool.View: "changes only what one session sees",
		tool.Write:   "changes what is remembered, and takes nothing away",
		tool.Destroy: "may take something away",
	}[made.Kind]
	if made.Idempotent {
		effect += "; to call it twice does no more than to call it once"
	}
	return effect + "."
}

// cell returns a text in the form for a cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "|", "\\|")
}
