package openapi

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/tool"
)

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
