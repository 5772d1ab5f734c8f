package localapp_test

import (
	"bytes"
	"html/template"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"rookery/internal/httptool"
	"rookery/internal/tool"
)

// A chapter is the part of /docs about one tool.
type chapter struct {
	*tool.Tool
	Method, Path, Kind string
	Prose              template.HTML
}

// docsPage is the page of /docs. It is generated, so that no program links a renderer and its templates.
func docsPage(t *testing.T) string {
	page, err := template.ParseFiles("testdata/docs.html.tmpl")
	require.NoError(t, err)
	style, err := os.ReadFile("testdata/docs.css")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, page.Execute(&out, map[string]any{
		"Style": template.CSS(style), "Version": template.HTML(httptool.VersionMark), "Tools": chapters(t),
	}))
	return strings.Replace(out.String(), "<html", strings.TrimSpace(generated)+"\n<html", 1)
}

// chapters are the tools as /docs shows them, by name. Goldmark leaves raw HTML out, and escapes the rest.
func chapters(t *testing.T) []chapter {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	kinds := map[tool.Kind]string{
		tool.Read: "reads", tool.View: "changes the view",
		tool.Write: "writes", tool.Destroy: "may destroy",
	}
	var all []chapter
	for _, made := range allTools() {
		var prose bytes.Buffer
		require.NoError(t, markdown.Convert([]byte(made.Prose().Text), &prose), made.Name)
		c := chapter{Tool: made, Method: http.MethodPost, Path: "/v1/tools/" + made.Name, Kind: kinds[made.Kind],
			Prose: template.HTML(prose.String())}
		if made.Path() != "" {
			c.Method, c.Path = made.Route.Method, made.Path()
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b chapter) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// TestDocsLoadNothing covers that the page of /docs describes every tool, and has nothing that a browser loads
// or runs.
func TestDocsLoadNothing(t *testing.T) {
	page := docsPage(t)
	for _, made := range allTools() {
		require.Contains(t, page, `<section id="`+made.Name+`">`)
	}
	require.Contains(t, page, "GET /v1/vaults/{vault}/objects/{id}")
	for _, outside := range []string{"<script", " src=", "@import", "url(", " style=", "<link", "onclick"} {
		require.NotContains(t, page, outside)
	}
	require.Equal(t, 1, strings.Count(page, "<style>"))
}
