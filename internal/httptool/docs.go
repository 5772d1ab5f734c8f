package httptool

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

//go:embed docs.html
var docsPage string

//go:embed docs.css
var docsStyle string

// A chapter is what /docs says of one tool.
type chapter struct {
	*tool.Tool
	Method, Path, Kind string
	Prose              template.HTML
}

// kinds are the words for what a tool does.
var kinds = map[tool.Kind]string{
	tool.Read: "reads", tool.View: "changes the view",
	tool.Write: "writes", tool.Destroy: "may destroy",
}

// docs answers the page that describes all tools, which is made when it is first asked for. It needs nothing
// from elsewhere, and its headers let it run nothing.
func (s *server) docs() http.HandlerFunc {
	page := newPage(func() ([]byte, error) { return s.docsOfTools(), nil })
	digest := sha256.Sum256([]byte(docsStyle))
	policy := fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(digest[:]))
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := page()
		if err != nil {
			s.refuse(w, r, fault.Of(err))
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		text.write(w, "text/html; charset=utf-8")
	}
}

// docsOfTools is that page. It panics if a tool's prose cannot be rendered.
func (s *server) docsOfTools() []byte {
	page := template.Must(template.New("docs").Parse(docsPage))
	var out bytes.Buffer
	if err := page.Execute(&out, map[string]any{
		"Style": template.CSS(docsStyle), "Version": s.opt.Version, "Tools": chapters(s.cat.Tools()),
	}); err != nil {
		panic(fmt.Sprintf("httptool: the page of documentation: %v", err))
	}
	return out.Bytes()
}

// chapters are the tools as /docs shows them. Goldmark leaves raw HTML out, and escapes the rest.
func chapters(tools []*tool.Tool) []chapter {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	var all []chapter
	for _, t := range tools {
		var prose bytes.Buffer
		if err := markdown.Convert([]byte(t.Prose().Text), &prose); err != nil {
			panic(fmt.Sprintf("httptool: the prose of %s: %v", t.Name, err))
		}
		c := chapter{Tool: t, Method: http.MethodPost, Path: "/v1/tools/" + t.Name, Kind: kinds[t.Kind],
			Prose: template.HTML(prose.String())} //nolint:gosec // it is made from our own text
		if t.Path() != "" {
			c.Method, c.Path = t.Route.Method, t.Path()
		}
		all = append(all, c)
	}
	return all
}
