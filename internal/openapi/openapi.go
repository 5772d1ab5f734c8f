// Package openapi describes the routes of tools as an OpenAPI 3.1 document (CONTRACT §5). All of
// it is derived from the tools' Specs.
//
// The document does not contain the arguments that every tool takes: the agent and the session are
// headers, and `envelope` and `only` change the form of the answer, which is described in full.
package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/tool"
)

// Info contains the parts of a document that do not come from the tools.
type Info struct {
	Title   string // empty: Rookery
	Version string // of the program; empty: dev
	Server  string // the base URL of the paths; empty: the server of the document itself
}

// An object is a JSON object of the document. Its keys are written in sorted order.
type object = map[string]any

// Document returns the description of the tools as compact JSON. The order of the tools does not
// change the result. The id of each operation is the name of its tool. A tool whose path ends in an
// item can also be called at the collection, with the item in the query. If no other tool has that
// route, it is an operation of its own, with the id NAME_by_query. It is an error if two tools have
// the same route.
func Document(tools []*tool.Tool, info Info) ([]byte, error) {
	tools = slices.SortedFunc(slices.Values(tools), func(a, b *tool.Tool) int {
		return strings.Compare(a.Name, b.Name)
	})
	paths, err := pathsOf(tools)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		OpenAPI    string   `json:"openapi"`
		Info       object   `json:"info"`
		Servers    []object `json:"servers"`
		Security   []object `json:"security"`
		Tags       []object `json:"tags"`
		Paths      object   `json:"paths"`
		Components object   `json:"components"`
	}{
		OpenAPI:  "3.1.0",
		Info:     about(info),
		Servers:  []object{{"url": cmp.Or(info.Server, "/")}},
		Security: []object{{"bearer": []string{}}, {}},
		Tags:     tagsOf(tools), Paths: paths, Components: components(tools),
	}); err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return out.Bytes(), nil
}

func about(info Info) object {
	return object{
		"title":   cmp.Or(info.Title, "Rookery"),
		"version": cmp.Or(info.Version, "dev"),
		"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		"description": "Hosted team memory: vaults of Markdown notes. Every answer is an envelope: " +
			"`ok`, `data` or `error`, `warnings`, `meta`.\n\nTwo arguments, which every operation takes " +
			"in its query or body, change the form of the answer and are not listed: `envelope=false` " +
			"answers `data` or `error` alone, with the warnings in the header `X-Warnings`; `only` " +
			"(repeatable, reads alone) keeps these fields of each item.",
	}
}

// tagsOf returns the tags of the document: the families of the tools, and serverTag.
func tagsOf(tools []*tool.Tool) []object {
	var tags []object
	var seen []string
	for _, t := range tools {
		if !slices.Contains(seen, t.Family.Name) {
			seen = append(seen, t.Family.Name)
		}
	}
	slices.Sort(seen)
	for _, name := range seen {
		tags = append(tags, object{"name": name, "description": "The tools of the family " + name + "."})
	}
	return append(tags, object{
		"name": serverTag, "description": "All tools by name, and the state of the server.",
	})
}

// serverTag is the tag of operations that belong to no family.
const serverTag = "server"

// pathsOf returns the paths of all tools, and those of the server itself.
func pathsOf(tools []*tool.Tool) (object, error) {
	paths := object{
		"/v1/tools/{name}": object{"post": callByName(tools)},
		"/healthz":         object{"get": probe("healthz", "Whether the process runs")},
		"/readyz":          object{"get": probe("readyz", "Whether calls can be served")},
	}
	for _, t := range tools {
		path, method := t.Path(), strings.ToLower(t.Route.Method)
		if path == "" {
			path, method = "/v1/tools/"+t.Name, strings.ToLower(http.MethodPost)
		}
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		if item[method] != nil {
			return nil, fmt.Errorf("two tools share the route %s %s", method, path)
		}
		item[method] = operationOf(t, method, path)
	}
	for _, t := range tools {
		addByQuery(paths, t)
	}
	return paths, nil
}

// addByQuery adds the route where a tool takes its item from the query, unless another tool has
// that route.
func addByQuery(paths object, t *tool.Tool) {
	if t.Path() == "" || t.PathArg() == "" {
		return
	}
	path, method := strings.TrimSuffix(t.Path(), "/{"+t.PathArg()+"}"), strings.ToLower(t.Route.Method)
	collection, ok := paths[path].(object)
	if !ok {
		collection = object{}
		paths[path] = collection
	}
	if collection[method] == nil {
		collection[method] = byQuery(t, method, path)
	}
}
