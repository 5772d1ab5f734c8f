package localapp_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/tool"
)

// drawBody returns a random body of a request: one or several messages, correct or damaged.
func drawBody(t *rapid.T, version string) string {
	body := drawMessage(t, version)
	switch rapid.IntRange(0, 11).Draw(t, "shape") {
	case 0:
		return "[" + body + "," + drawMessage(t, version) + "," + drawMessage(t, version) + "]"
	case 1:
		return rapid.SampledFrom([]string{"", "[]", "[[]]", "null", "1", "{}", "[1]", "\ufeff{}",
			strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 20_000), body + body, "\xff"}).Draw(t, "junk")
	case 2:
		return body[:rapid.IntRange(0, len(body)).Draw(t, "cut")]
	case 3:
		at := rapid.IntRange(0, len(body)).Draw(t, "at")
		return body[:at] + rapid.SampledFrom([]string{`"`, "\\", "\x00", "\xff", "}", ",", "{", "1e999",
			`\ud800`}).Draw(t, "put") + body[at:]
	case 4:
		return strings.Replace(body, "{", `{"method":"ping","id":2,`, 1) // keys twice
	}
	return body
}

// drawMessage returns one random message.
func drawMessage(t *rapid.T, version string) string {
	method := rapid.SampledFrom(mcpMethods).Draw(t, "rpc")
	message := fmt.Sprintf(`"jsonrpc":"2.0","method":%s`, inJSON(method))
	if !strings.HasPrefix(method, "notifications/") || rapid.Bool().Draw(t, "id of a notification") {
		message += `,"id":` + rapid.SampledFrom(mcpIDs).Draw(t, "id")
	}
	params := drawParams(t, method, version)
	if rapid.IntRange(0, 9).Draw(t, "other params") == 0 {
		params = string(drawJSON(t, 3))
	}
	return "{" + message + `,"params":` + params + "}"
}

// drawParams returns random params of a method, in its form.
func drawParams(t *rapid.T, method, version string) string {
	params := map[string]any{}
	switch method {
	case "tools/call", "tools/call ":
		made := rapid.SampledFrom(allTools()).Draw(t, "tool")
		params["name"], params["arguments"] = made.Name, drawArguments(t, made)
	case "initialize":
		params["protocolVersion"], params["capabilities"] = version, map[string]any{}
		params["clientInfo"] = map[string]any{"name": "besieger", "version": "1"}
	case "resources/read", "resources/subscribe":
		params["uri"] = rapid.SampledFrom([]string{"rookery://main/notes/people/alice.md",
			"rookery://main/schema", "rookery://guide/agents", "rookery://nothing/notes/x", "rookery://",
			"file:///etc/passwd", "rookery://main/notes/../../x", "%", ""}).Draw(t, "uri")
	case "prompts/get":
		params["name"] = rapid.SampledFrom([]string{"start-work", "weekly-summary", "x"}).Draw(t, "prompt")
		params["arguments"] = map[string]any{"vault": "main", "path": "people/alice"}
	case "completion/complete":
		params["ref"] = map[string]any{"type": "ref/prompt", "name": "start-work"}
		params["argument"] = map[string]any{"name": "vault", "value": drawText(t)}
	}
	if version == "2026-07-28" {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    version,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "b", "version": "1"},
		}
	}
	data, _ := json.Marshal(params) // it can be marshaled
	return string(data)
}

// drawArguments returns random arguments of a tool, most of which its schema permits.
func drawArguments(t *rapid.T, made *tool.Tool) map[string]any {
	args := map[string]any{}
	for _, a := range made.Args {
		if !a.Required && rapid.IntRange(0, 3).Draw(t, "given") > 0 {
			continue
		}
		if rapid.IntRange(0, 9).Draw(t, "wrong") == 0 {
			args[a.Name] = json.RawMessage(drawJSON(t, 3))
		} else {
			args[a.Name] = drawValue(t, a.Schema())
		}
	}
	if _, ok := made.Arg("vault"); ok && rapid.IntRange(0, 9).Draw(t, "vault") > 0 {
		args["vault"] = "main"
	}
	if rapid.IntRange(0, 19).Draw(t, "unknown") == 0 {
		args[drawText(t)] = drawText(t)
	}
	return args
}

// drawValue returns a random value that a schema permits, or almost.
func drawValue(t *rapid.T, s *jsonschema.Schema) any {
	switch {
	case s == nil:
		return drawText(t)
	case len(s.Enum) > 0:
		return rapid.SampledFrom(s.Enum).Draw(t, "enum")
	case s.Type == "array":
		return []any{drawValue(t, s.Items), drawValue(t, s.Items)}
	case s.Type == "object" || len(s.Types) > 0 && len(s.Properties) == 0:
		object := map[string]any{drawText(t): drawText(t)}
		for name, property := range s.Properties {
			object[name] = drawValue(t, property)
		}
		return object
	case s.Type == "integer", s.Type == "number":
		return rapid.SampledFrom([]any{0, 1, -1, 200, 1 << 31, 1e300, 0.5}).Draw(t, "number")
	case s.Type == "boolean":
		return rapid.Bool().Draw(t, "flag")
	}
	return drawText(t)
}

// drawText returns a random text: one with a meaning in the fixture, or an unusual one.
func drawText(t *rapid.T) string {
	if rapid.IntRange(0, 4).Draw(t, "text") == 0 {
		return rapid.String().Draw(t, "any text")
	}
	return rapid.SampledFrom([]string{
		"people/alice", "people/alice.md", "daily/2025-01-31", "person", "due", "main", "x", "name", "today",
		"name=Bo", "*", "", " ", "../x", "\u0000", "\u202e", "😀", "[[x]]", "---\n", "#", "%2e%2e", "v1", "v99999",
		"@due(2026-01-01)", "\"", "`", "${x}", "1-5", "90 days", "https://login.example.test", "a,b",
		strings.Repeat("x", 300), strings.Repeat("ü", 70_000), strings.Repeat("[", 5_000),
	}).Draw(t, "known text")
}

// drawJSON returns random JSON of at most a depth.
func drawJSON(t *rapid.T, depth int) []byte {
	kind := rapid.IntRange(0, 6).Draw(t, "json")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return []byte("null")
	case 1:
		return []byte(rapid.SampledFrom([]string{"0", "-1", "1e308", "1.5", "9007199254740993"}).Draw(t, "n"))
	case 2:
		return []byte("true")
	case 3:
		return []byte(inJSON(drawText(t)))
	case 4:
		return fmt.Appendf(nil, "[%s,%s]", drawJSON(t, depth-1), drawJSON(t, depth-1))
	case 5:
		key := inJSON(drawText(t))
		return fmt.Appendf(nil, "{%s:%s,%s:1}", key, drawJSON(t, depth-1), key) // the key twice
	}
	return fmt.Appendf(nil, "{%s:%s}", inJSON(drawText(t)), drawJSON(t, depth-1))
}

// inJSON returns a text as JSON.
func inJSON(text string) string {
	data, _ := json.Marshal(text) // every text can be written
	return string(data)
}
