package tooltest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/openapi"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func further(t *testing.T) *tool.Catalogue {
	t.Helper()
	cat, err := tool.NewCatalogue(tooltest.FurtherTools(), tool.Options{})
	require.NoError(t, err)
	return cat
}

// invoke calls a tool and returns the answer with the digests of requests as they are.
func invoke(t *testing.T, cat *tool.Catalogue, name, args string) (string, error) {
	t.Helper()
	answer, err := cat.Invoke(t.Context(), name, json.RawMessage(args))
	return tooltest.Comparable(answer), err
}

func TestFurtherFailures(t *testing.T) {
	for name, c := range map[string]struct{ tool, args, code, bare string }{
		"missing": {"stack_get", `{"vault":"v"}`, "INVALID_PARAMETER",
			`{"error":"argument \"nodeId\" is missing: the node's id","code":"INVALID_PARAMETER"}`},
		"a code of its own": {"stack_list", `{"vault":"v","pageSize":10}`, "INVALID_LIMIT",
			`{"error":"argument \"pageSize\" must be a whole number from 1 to 9","code":"INVALID_LIMIT"}`},
		"the code of the others": {"stack_list", `{"vault":"v","directOnly":1}`, "INVALID_PARAMETER",
			`{"error":"argument \"directOnly\" must be true or false","code":"INVALID_PARAMETER"}`},
		"not found": {"stack_get", `{"vault":"v","nodeId":"x"}`, "NOT_FOUND",
			`{"error":"there is no such node","code":"NOT_FOUND"}`},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := invoke(t, further(t), c.tool, c.args)
			require.True(t, fault.Is(err, fault.Code(c.code)))
			require.Contains(t, answer, `{"ok":false,"error":{"code":"`+c.code+`","status":`)
			bare := strings.Replace(c.args, "{", `{"envelope":false,`, 1)
			answer, err = invoke(t, further(t), c.tool, bare)
			require.Error(t, err)
			require.Equal(t, c.bare, answer)
		})
	}
	answer, err := invoke(t, further(t), "stack_get", `{"vault":"v","nodeId":"busy"}`)
	require.Error(t, err)
	require.Contains(t, answer, `"retry_after":2,"request_id":"","retryAfter":1}`)
}

func TestFurtherArguments(t *testing.T) {
	for name, c := range map[string]struct{ args, want string }{
		"null is a value":    {`"newValue":null`, `"newValue":null`},
		"absent is none":     {`"content":"x"`, `{"content":"x","key":"","nodeId":"n"}`},
		"null of the others": {`"content":null`, `{"content":"","key":"","nodeId":"n"}`},
		"null in a field":    {`"frontmatter":{"k":null}`, `"frontmatter":{"k":null}`},
		"any value":          {`"newValue":{"a":[1,null]}`, `"newValue":{"a":[1,null]}`},
		"the key":            {`"idempotencyKey":"k"`, `"key":"k"`},
		"the plan":           {`"dryRun":true`, `"dryRun":true`},
		"the version":        {`"versionToken":"v1"`, `"versionToken":"v1"`},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := invoke(t, further(t), "stack_set", `{"vault":"v","nodeId":"n",`+c.args+`}`)
			require.NoError(t, err)
			require.Contains(t, answer, c.want)
		})
	}
}

// TestFurtherDigest holds that the digest of a request has what the call does, and nothing else.
func TestFurtherDigest(t *testing.T) {
	digest := func(args string) string {
		answer, err := invoke(t, further(t), "stack_set", `{"vault":"v","nodeId":"n"`+args+`}`)
		require.NoError(t, err)
		_, rest, _ := strings.Cut(answer, `"request":"`)
		return rest[:8]
	}
	plain := digest("")
	require.Equal(t, plain, digest(`,"versionToken":"v1"`))
	require.Equal(t, plain, digest(`,"idempotencyKey":"k"`))
	require.NotEqual(t, plain, digest(`,"content":"x"`))
	require.NotEqual(t, plain, digest(`,"newValue":null`))
	require.NotEqual(t, plain, digest(`,"dryRun":true`))
}

func TestFurtherPages(t *testing.T) {
	cat := further(t)
	page := func(args string) (data struct {
		Nodes []struct{ NodeID string }
		Next  string `json:"nextPageToken"`
	}, meta map[string]any, err error) {
		answer, err := cat.Invoke(t.Context(), "stack_list", json.RawMessage(`{"vault":"v"`+args+`}`))
		var e struct {
			Data any
			Meta map[string]any
		}
		e.Data = &data
		require.NoError(t, json.Unmarshal(answer, &e))
		return data, e.Meta, err
	}
	first, meta, err := page("")
	require.NoError(t, err)
	require.Len(t, first.Nodes, 2)
	require.Equal(t, meta["next_page_token"], first.Next)
	second, _, err := page(`,"pageSize":9,"pageToken":"` + first.Next + `"`)
	require.NoError(t, err)
	require.Len(t, second.Nodes, 1)
	require.Equal(t, "root/a/b", second.Nodes[0].NodeID)
	require.Empty(t, second.Next)
	_, _, err = page(`,"directOnly":true,"pageToken":"` + first.Next + `"`)
	require.True(t, fault.Is(err, fault.InvalidParameter))
	require.Equal(t, "pageToken", fault.Of(err).Details["argument"])
	answer, err := invoke(t, cat, "stack_list", `{"vault":"v","only":["nodeId"]}`)
	require.NoError(t, err)
	require.Contains(t, answer, `"nodes":[{"nodeId":"root"},{"nodeId":"root/a"}]`)
}

func TestFurtherOverHTTP(t *testing.T) {
	s := httptest.NewServer(httptool.New(further(t), httptool.Options{}))
	defer s.Close()
	ask := func(method, path, body string, header ...string) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, tooltest.Comparable(answer), resp.Header
	}
	code, answer, _ := ask("GET", "/v1/vaults/v/nodes/x?envelope=false", "")
	require.Equal(t, 404, code)
	require.Equal(t, `{"error":"there is no such node","code":"NOT_FOUND"}`, answer)
	code, answer, header := ask("GET", "/v1/vaults/v/nodes/busy", "")
	require.Equal(t, 503, code)
	require.Contains(t, answer, `"retry_after":2,"request_id":"","retryAfter":1`)
	require.Equal(t, "2", header.Get("Retry-After"))
	code, answer, _ = ask("GET", "/v1/vaults/v/nodes?pageSize=1&direct_only=true", "")
	require.Equal(t, 200, code, answer)
	_, answer, _ = ask("POST", "/v1/vaults/v/nodes", `{"nodeId":"n","newValue":null}`,
		"If-Match", `"v1"`, "Idempotency-Key", "k", "Content-Type", "application/json")
	require.Contains(t, answer, `"key":"k","newValue":null,"nodeId":"n"`)
	code, answer, _ = ask("POST", "/v1/vaults/v/nodes", `{"nodeId":"n"}`, "If-Match", `"v0"`,
		"Content-Type", "application/json")
	require.Equal(t, 409, code, answer)
	code, _, _ = ask("GET", "/v1/vaults/v/nodes", "", "If-Match", `"v0"`)
	require.Equal(t, 400, code, "a read builds on no version")
}

func TestFurtherOverMCP(t *testing.T) {
	s := httptest.NewServer(mcptool.New(further(t), mcptool.Options{}))
	defer s.Close()
	client := tooltest.NewMCPClient(s.URL+"/mcp/x/stack", nil)
	defer client.Close()
	answer, err := client.Invoke(t.Context(), "get_node",
		json.RawMessage(`{"vault":"v","nodeId":"x","envelope":false}`))
	require.Error(t, err)
	require.JSONEq(t, `{"error":"there is no such node","code":"NOT_FOUND"}`, string(answer))
	answer, err = client.Invoke(t.Context(), "get_node", json.RawMessage(`{"vault":"v","nodeId":"root"}`))
	require.NoError(t, err)
	require.Contains(t, string(answer), `"children":[{"nodeId":"root/a"`)
}

// run is a command line of the tools, without a terminal.
func run(t *testing.T, stdin string, argv ...string) tooltest.Printed {
	t.Helper()
	cat := further(t)
	shell := tooltest.Shell{
		Tools: cat.Tools(), Connect: tooltest.InProcess(cat, auth.LocalCaller()), Stdin: stdin,
	}
	p := shell.Run(t, append([]string{"--vault", "v"}, argv...)...)
	p.Out, p.Err = tooltest.Comparable([]byte(p.Out)), tooltest.Comparable([]byte(p.Err))
	return p
}

func TestFurtherCommands(t *testing.T) {
	const notFound = `{"error":"there is no such node","code":"NOT_FOUND"}` + "\n"
	for name, c := range map[string]struct {
		line  []string
		stdin string
		want  tooltest.Printed
	}{
		"bare": {line: []string{"node", "get", "root/a/b", "--json"}, want: tooltest.Printed{
			Out: `{"node":{"nodeId":"root/a/b","title":"B","above":null,"children":[]},"versionToken":"v1"}` + "\n"}},
		"a failure":          {line: []string{"node", "get", "x", "--json"}, want: tooltest.Printed{Exit: 2, Err: notFound}},
		"a bare failure":     {line: []string{"node", "get", "x", "--bare"}, want: tooltest.Printed{Exit: 2, Err: notFound}},
		"an unknown flag":    {line: []string{"node", "get", "--bogus", "--json"}, want: tooltest.Printed{Exit: 1, Err: `{"error":"there is no flag --bogus on \"rookery node get\"","code":"INVALID_PARAMETER"}` + "\n"}},
		"too many words":     {line: []string{"node", "get", "a", "b", "--json"}, want: tooltest.Printed{Exit: 1, Err: "{\"error\":\"unexpected argument \\\"b\\\" for \\\"rookery node get\\\"\",\"code\":\"INVALID_PARAMETER\"}\n"}},
		"an invalid value":   {line: []string{"node", "list", "--page-size", "10", "--json"}, want: tooltest.Printed{Exit: 1, Err: `{"error":"argument \"pageSize\" must be a whole number from 1 to 9","code":"INVALID_LIMIT"}` + "\n"}},
		"the name as a flag": {line: []string{"node", "get", "--nodeId", "x", "--json"}, want: tooltest.Printed{Exit: 2, Err: notFound}},
		"in kebab case":      {line: []string{"node", "get", "--node-id", "x", "--json"}, want: tooltest.Printed{Exit: 2, Err: notFound}},
		"people":             {line: []string{"node", "get", "x"}, want: tooltest.Printed{Exit: 2, Err: "error: there is no such node (NOT_FOUND)\n"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, run(t, c.stdin, c.line...)) })
	}
	p := run(t, "", "node", "get", "x", "--envelope")
	require.Equal(t, 2, p.Exit)
	require.Contains(t, p.Out, `{"ok":false,"error":{"code":"NOT_FOUND"`)
	require.Empty(t, p.Err)
}

func TestFurtherInputs(t *testing.T) {
	for name, c := range map[string]struct {
		line  []string
		stdin string
		want  string
	}{
		"text on standard input": {[]string{"--stdin"}, "# A\n\nb\n", `"content":"# A\n\nb\n"`},
		"several pairs": {[]string{"--frontmatter", "a=1", "b=2", "c=x y"}, "",
			`"content":"","frontmatter":{"a":"1","b":"2","c":"x y"}`},
		"pairs behind an equals sign": {[]string{"--frontmatter=a=1", "b=2"}, "", `"frontmatter":{"a":"1","b":"2"}`},
		"a value that is no pair":     {[]string{"--frontmatter", "a=1", "text", "b=2"}, "", ""},
		"another flag ends them":      {[]string{"--frontmatter", "a=1", "--dry-run", "b=2"}, "", `"content":"b=2"`},
		"behind two dashes":           {[]string{"--frontmatter", "a=1", "--", "b=2"}, "", `"content":"b=2"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, c.stdin, append([]string{"--json", "node", "set", "n"}, c.line...)...)
			if c.want == "" {
				require.Equal(t, 1, p.Exit, p.Err)
				return
			}
			require.Zero(t, p.Exit, p.Err)
			require.Contains(t, p.Out, c.want)
		})
	}
}

func TestFurtherHelp(t *testing.T) {
	p := run(t, "", "node", "set", "--help")
	for _, want := range []string{"NODE-ID", "--dry-run", "--idempotency-key", "--version-token", "--new-value",
		"read the content from standard input"} {
		require.Contains(t, p.Out, want)
	}
	require.NotContains(t, p.Out, "--dryRun")
}

// TestFurtherForPeople holds that names of recursive data are shown as people see them.
func TestFurtherForPeople(t *testing.T) {
	var out strings.Builder
	cat := further(t)
	app := &clitool.App{
		Tools: cat.Tools(), In: strings.NewReader(""), Out: &out, Err: io.Discard, Terminal: true,
		Connect: func(context.Context, clitool.Target) (tool.Invoker, io.Closer, error) {
			return tooltest.As(cat, auth.LocalCaller()), nil, nil
		},
	}
	require.Zero(t, app.Run(t.Context(), []string{"node", "get", "root", "--vault", "v"}))
	require.Contains(t, out.String(), "name Root")
}

func TestFurtherSchemas(t *testing.T) {
	tools := tooltest.FurtherTools()
	for _, made := range tools {
		data, err := json.Marshal(made.OutputSchema())
		require.NoError(t, err)
		if made.Name == "stack_get" || made.Name == "stack_list" || made.Name == "stack_toggle" {
			require.Contains(t, string(data), `"$ref":"#/$defs/Node"`)
		}
		resolved, err := made.OutputSchema().CloneSchemas().Resolve(nil)
		require.NoError(t, err)
		if made.Name == "stack_get" {
			deep := `{"node":{"nodeId":"a","title":"A","above":null,"children":[
				{"nodeId":"b","title":"B","above":null,"children":[%s]}]}}`
			var v any
			require.NoError(t, json.Unmarshal([]byte(strings.Replace(deep, "%s", "", 1)), &v))
			require.NoError(t, resolved.Validate(v))
			require.NoError(t, json.Unmarshal([]byte(strings.Replace(deep, "%s", `{"nodeId":1}`, 1)), &v))
			require.Error(t, resolved.Validate(v))
		}
	}
	doc, err := openapi.Document(tools, openapi.Info{})
	require.NoError(t, err)
	require.Contains(t, string(doc), `"$ref":"#/components/schemas/stack_get_Node"`)
	require.NotContains(t, string(doc), "$defs")
	require.Contains(t, string(doc), `"$ref":"#/components/parameters/IfMatch"`)
	require.Contains(t, string(doc), `"stack_get_Node":{`)
}

func TestFurtherReadOnly(t *testing.T) {
	reader := auth.LocalCaller()
	reader.ReadOnly = true
	for _, made := range tooltest.FurtherTools() {
		require.Equal(t, made.Kind == tool.Read, made.Usable(reader), made.Name)
	}
}
