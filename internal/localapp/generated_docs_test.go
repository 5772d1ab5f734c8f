package localapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A chapter is the part of /docs about one tool.
type chapter struct {
	*tool.Tool
	Method, Path, Kind string
	Prose              template.HTML // without the example
	Own                []argument    // without those that every tool has
	Example            template.HTML // with its heading
	Call               string        // the arguments of its first example, in JSON; empty: they are too long, or from files
	Answer             string        // to that call, in JSON, shortened
}

// An argument is a row of the table of arguments.
type argument struct {
	tool.Arg
	Type    string
	Values  string // the allowed values, if the description does not name them
	Default string // in JSON
}

// sharedOf returns the shared arguments of each tool.
func sharedOf(all []chapter) (shared [][]argument) {
	for _, c := range all {
		shared = append(shared, argumentsOf(c.Tool, true))
	}
	return shared
}

// argumentsOf returns the arguments of a tool, shared ones or all others.
func argumentsOf(made *tool.Tool, shared bool) []argument {
	var all []argument
	for _, a := range made.Args {
		if a.Shared != shared {
			continue
		}
		s := a.Schema()
		row := argument{Arg: a, Type: a.Kind()}
		if len(s.Types) > 1 {
			row.Type = strings.Join(s.Types, " or ")
		}
		if s.Type == "array" && s.Items != nil && s.Items.Type != "" {
			row.Type = "list of " + s.Items.Type + "s"
		}
		var values []string
		named := true
		for _, v := range s.Enum {
			if text, ok := v.(string); ok {
				values, named = append(values, text), named && strings.Contains(a.Doc, text)
			}
		}
		if !named {
			row.Values = strings.Join(values, ", ")
		}
		if !strings.Contains(a.Doc, "default") {
			row.Default = strings.Trim(string(s.Default), `"`)
		}
		all = append(all, row)
	}
	return all
}

// Quoted returns the call as a shell expects it between single quotes.
func (c chapter) Quoted() string { return strings.ReplaceAll(c.Call, "'", `'\''`) }

// A familyPart is the part of /docs about the tools of a family.
type familyPart struct {
	Title string
	Tools []chapter
}

// familyTitles are the titles of the families, in the order of the page.
var familyTitles = [][2]string{
	{"orient", "What a vault contains"}, {"notes", "Notes by path"}, {"raven", "Objects, fields, traits and references"},
	{"memory", "Memories of work"}, {"tree", "A vault as a tree of nodes"}, {"team", "Vaults, members and tokens"},
}

// docsPage returns the page of /docs. It is generated in the test, so that no program links a
// renderer and its templates.
func docsPage(t *testing.T) string {
	page, err := template.ParseFiles("testdata/docs.html.tmpl")
	require.NoError(t, err)
	style, err := os.ReadFile("testdata/docs.css")
	require.NoError(t, err)
	script, err := os.ReadFile("testdata/docs.js")
	require.NoError(t, err)
	var families []familyPart
	all := chapters(t)
	for _, f := range familyTitles {
		var own []chapter
		for _, c := range all {
			if c.Family.Name == f[0] {
				own = append(own, c)
			}
		}
		if own != nil {
			families = append(families, familyPart{f[1], own})
		}
	}
	var out bytes.Buffer
	require.NoError(t, page.Execute(&out, map[string]any{
		"Style": template.CSS(style), "Script": template.JS(script), "Version": template.HTML(httptool.VersionMark),
		"Families": families, "Shared": slices.MaxFunc(
			sharedOf(all), func(a, b []argument) int { return len(a) - len(b) }),
	}))
	return strings.Replace(out.String(), "<html", strings.TrimSpace(generated)+"\n<html", 1)
}

// chapters returns the tools as /docs shows them, by name. Goldmark omits raw HTML, and escapes the
// rest.
func chapters(t *testing.T) []chapter {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	kinds := map[tool.Kind]string{
		tool.Read: "reads", tool.View: "changes the view",
		tool.Write: "writes", tool.Destroy: "may destroy",
	}
	var all []chapter
	answers := recordedAnswers(t)
	for _, made := range allTools() {
		rendered := func(text string) template.HTML {
			var out bytes.Buffer
			require.NoError(t, markdown.Convert([]byte(text), &out), made.Name)
			return template.HTML(strings.NewReplacer("<h2>", "<h4>", "</h2>", "</h4>").Replace(out.String()))
		}
		prose, example := exampleApart(made.Prose().Text)
		c := chapter{Tool: made, Method: http.MethodPost, Path: "/v1/tools/" + made.Name, Kind: kinds[made.Kind],
			Prose: rendered(prose), Own: argumentsOf(made, false), Example: rendered(example),
			Call: exampleCall(t, made), Answer: shownAnswer(t, answers[made.Name])}
		if made.Path() != "" {
			c.Method, c.Path = made.Route.Method, made.Path()
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b chapter) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// exampleApart splits the document of a tool into its text and its example, whatever follows which.
func exampleApart(text string) (prose, example string) {
	const heading = "\n## Example"
	i := strings.Index(text, heading)
	if i < 0 {
		return text, ""
	}
	example = text[i+1:]
	rest := ""
	if j := strings.Index(example, "\n## "); j >= 0 {
		example, rest = example[:j], example[j:]
	}
	return text[:i] + rest, example
}

// maxExample is the maximum number of bytes of arguments that /docs shows.
const maxExample = 1000

// exampleCall returns the arguments of the first example in a tool's document.
func exampleCall(t *testing.T, made *tool.Tool) string {
	commands := made.Prose().Commands
	if len(commands) == 0 {
		return ""
	}
	var call string
	record := recording(func(name string, in json.RawMessage) {
		if name == made.Name && call == "" && len(in) <= maxExample {
			call = string(in)
		}
	})
	s := tooltest.Shell{Tools: allTools(), Connect: func(clitool.Target) tool.Invoker { return record }}
	t.Run(made.Name, func(t *testing.T) {
		t.Chdir(t.TempDir())
		s.Run(t, append(tooltest.Words(commands[0])[1:], "--yes")...)
		if call == "" {
			s.Run(t, tooltest.Words(commands[0])[1:]...)
		}
	})
	return call
}

// recording is an Invoker that is called with the calls, and makes none.
type recording func(name string, in json.RawMessage)

func (r recording) Invoke(_ context.Context, name string, in json.RawMessage) (json.RawMessage, error) {
	r(name, in)
	return nil, fault.New(fault.Unavailable, "nothing has the name here")
}

// TestDocsLoadNothing checks that the page of /docs describes every tool with an example, loads
// nothing from elsewhere, and has one script.
func TestDocsLoadNothing(t *testing.T) {
	page := docsPage(t)
	for _, made := range allTools() {
		require.Contains(t, page, `<section id="`+made.Name+`">`)
	}
	require.Contains(t, page, "GET /v1/vaults/{vault}/objects/{id}")
	for _, outside := range []string{" src=", "@import", "url(", " style=", "<link", "onclick", "fetch(", "eval("} {
		require.NotContains(t, page, outside)
	}
	require.Equal(t, 1, strings.Count(page, "<script>"))
	require.Greater(t, strings.Count(page, "curl -s"), len(allTools())*3/4)
	require.Greater(t, strings.Count(page, "<summary>Answer</summary>"), len(allTools())*9/10)
	require.Equal(t, len(allTools()), strings.Count(page, "<section id="), "each tool is of a family that has a title")
	require.Equal(t, 1, strings.Count(page, "<style>"))
}
