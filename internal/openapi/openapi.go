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

	"github.com/google/jsonschema-go/jsonschema"

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

// kinds contains the name of each kind of tool.
var kinds = map[tool.Kind]string{
	tool.Read: "read", tool.View: "view", tool.Write: "write", tool.Destroy: "destroy",
}

// argumentHeaders contains the headers that replace an argument, by the meaning of the argument.
var argumentHeaders = []struct {
	means  tool.Meaning
	header string
}{
	{tool.MeansVersion, "IfMatch"},
	{tool.MeansKey, "IdempotencyKey"},
}

// An operation is the description of one method of a path.
type operation struct {
	OperationID string   `json:"operationId"`
	Tags        []string `json:"tags"`
	Summary     string   `json:"summary"`
	Description string   `json:"description"`
	Role        string   `json:"x-role,omitempty"`
	Kind        string   `json:"x-kind,omitempty"`
	Security    []object `json:"security,omitempty"`
	Parameters  []object `json:"parameters,omitempty"`
	RequestBody object   `json:"requestBody,omitempty"`
	Responses   object   `json:"responses"`
}

// operationOf returns the description of the route of a tool.
func operationOf(t *tool.Tool, method, path string) *operation {
	op := &operation{
		OperationID: t.Name, Tags: []string{t.Family.Name},
		Summary: t.Title, Description: t.Prose().Text, Role: string(t.Role), Kind: kinds[t.Kind],
	}
	rest := op.takePath(t, path)
	rest = op.takeHeaders(t, rest)
	statuses := []string{"400", "401", "403", "404", "409", "429", "431", "500", "503"}
	if method == "get" || method == "delete" {
		op.takeQuery(rest)
	} else {
		item := slices.IndexFunc(rest, func(a tool.Arg) bool { return a.Name == t.PathArg() })
		if item >= 0 {
			op.takeQuery(rest[item : item+1])
			rest = slices.Delete(rest, item, item+1)
		}
		op.RequestBody = bodyOf(rest)
		statuses = append(statuses, "413")
	}
	op.Responses = responses(answerOf(outputOf(t)), statuses)
	return op
}

// byQuery returns the description of the route of a tool at its collection, with the item in the
// query.
func byQuery(t *tool.Tool, method, path string) *operation {
	op := operationOf(t, method, path)
	op.OperationID += "_by_query"
	op.Summary += " (" + t.PathArg() + " in the query)"
	return op
}

// takePath describes the arguments in the path, and returns the others, without the shared ones.
func (op *operation) takePath(t *tool.Tool, path string) (rest []tool.Arg) {
	for _, a := range t.Args {
		switch {
		case a.Shared:
		case strings.Contains(path, "{"+a.Name+"}"):
			op.Parameters = append(op.Parameters, object{
				"name": a.Name, "in": "path", "required": true, "description": a.Doc,
				"schema": a.Schema(),
			})
		default:
			rest = append(rest, a)
		}
	}
	return rest
}

// takeHeaders describes the headers of a call, and returns the arguments that have no header.
func (op *operation) takeHeaders(t *tool.Tool, args []tool.Arg) (rest []tool.Arg) {
	byHeader := map[string]bool{}
	for _, h := range argumentHeaders {
		if a, ok := t.ArgFor(h.means); ok {
			byHeader[a.Name] = true
			op.Parameters = append(op.Parameters, ref("parameters", h.header))
		}
	}
	op.addHeaders()
	for _, a := range args {
		if !byHeader[a.Name] {
			rest = append(rest, a)
		}
	}
	return rest
}

// addHeaders describes the headers that every call may have.
func (op *operation) addHeaders() {
	for _, name := range []string{"AgentId", "SessionId", "Readonly", "RequestId"} {
		op.Parameters = append(op.Parameters, ref("parameters", name))
	}
}

// takeQuery describes arguments in the query. Objects, and lists of objects, are written as JSON.
func (op *operation) takeQuery(args []tool.Arg) {
	for _, a := range args {
		p := object{"name": a.Name, "in": "query", "description": a.Doc}
		if a.Required {
			p["required"] = true
		}
		items := a.Schema().Items
		if a.Schema().Type == "object" || items != nil && items.Type == "object" {
			p["content"] = object{"application/json": object{"schema": a.Schema()}}
		} else {
			p["schema"] = a.Schema()
		}
		op.Parameters = append(op.Parameters, p)
	}
}

// bodyOf returns the description of a body that contains arguments.
func bodyOf(args []tool.Arg) object {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, a := range args {
		s.Properties[a.Name] = a.Schema()
		s.PropertyOrder = append(s.PropertyOrder, a.Name)
		if a.Required {
			s.Required = append(s.Required, a.Name)
		}
	}
	return object{"required": len(s.Required) > 0, "content": inJSON(s)}
}

// callByName returns the description of the path where every tool can be called by its name.
func callByName(tools []*tool.Tool) *operation {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	op := &operation{
		OperationID: "call_tool", Tags: []string{serverTag}, Summary: "Call a tool by its name",
		Description: "Every tool, with all its arguments in the body. They are described where the " +
			"tool has its own route, and so is the answer.",
		Parameters: []object{{
			"name": "name", "in": "path", "required": true, "description": "the tool's name",
			"schema": object{"type": "string", "enum": names},
		}},
		RequestBody: object{"content": inJSON(object{"type": "object"})},
		Responses: responses(answerOf(object{"type": "object"}),
			[]string{"400", "401", "403", "404", "409", "413", "429", "431", "500", "503"}),
	}
	op.addHeaders()
	return op
}

// probe returns the description of a health check. It needs no token.
func probe(id, summary string) *operation {
	state := object{"type": "object", "properties": object{"status": object{"type": "string"}},
		"required": []string{"status"}}
	return &operation{
		OperationID: id, Tags: []string{serverTag}, Summary: summary,
		Description: "Needs no token, and says nothing about tenants.", Security: []object{{}},
		Parameters: []object{ref("parameters", "RequestId")},
		Responses:  responses(answerOf(state), []string{"403", "500", "503"}),
	}
}
