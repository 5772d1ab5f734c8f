package mcptool_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// sample returns the shared sample behind access control, with a tool whose short name also exists
// in another set.
func sample(t testing.TB) *tool.Catalogue {
	t.Helper()
	tools := tooltest.SampleTools()
	i := slices.IndexFunc(tools, func(t *tool.Tool) bool { return t.Name == "desk_whoami" })
	type in struct {
		Text string `json:"text,omitempty" max:"4194304" jsonschema:"anything"`
	}
	tools = append(tools, tool.New(tool.Spec{
		Name: "desk_book_get", Short: "get_book", Family: tools[i].Family, Title: "Get a desk book",
		Doc: "Answers what it was given.", Role: auth.Reader,
	}, func(_ context.Context, _ auth.Caller, in in) (struct {
		tool.Aside `json:"-"`
		Text       string `json:"text"`
	}, error) {
		out := struct {
			tool.Aside `json:"-"`
			Text       string `json:"text"`
		}{Text: in.Text}
		out.Warn("ODD", "a <b> & c", nil)
		return out, nil
	}))
	clock := func() time.Time { return time.Unix(0, 0) } // query_time_ms is 0
	cat, err := tool.NewCatalogue(tools,
		tool.Options{Now: clock, Interceptors: []tool.Interceptor{access.Check(vaults{"main", "spare"})}})
	require.NoError(t, err)
	return cat
}

// A vaults is the vaults of a tenant whose agents every principal may use.
type vaults []string

func (v vaults) Vaults(context.Context, auth.Caller, bool) ([]string, error) {
	return slices.Clone(v), nil
}

func (vaults) ClaimAgent(context.Context, auth.Caller, bool) error { return nil }

var first = []string{"desk_whoami", "absent_tool", "books_book_new", "books_book_get"}

func serve(t testing.TB, o mcptool.Options) string {
	t.Helper()
	return serveCatalogue(t, sample(t), o)
}

func serveCatalogue(t testing.TB, cat *tool.Catalogue, o mcptool.Options) string {
	t.Helper()
	if o.First == nil {
		o.First = first
	}
	server := httptest.NewServer(mcptool.New(cat, o))
	t.Cleanup(server.Close)
	return server.URL
}

// as accepts every request, with one role.
func as(role auth.Role) func(*http.Request) (auth.Caller, error) {
	return func(*http.Request) (auth.Caller, error) {
		c := auth.LocalCaller()
		c.Roles = map[string]auth.Role{auth.AllVaults: role}
		return c, nil
	}
}

// A reply is an HTTP response.
type reply struct {
	status int
	header http.Header
	body   string
}

// post sends a body with the headers of every MCP client, and others, which take precedence.
func post(t testing.TB, url, body string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	return send(t, r)
}

func send(t testing.TB, r *http.Request) reply {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return reply{res.StatusCode, res.Header, string(body)}
}

const modern = "2026-07-28"

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

// ask sends one request of the newest protocol; params are the members other than _meta.
func ask(t testing.TB, url, method, params string, header ...string) reply {
	t.Helper()
	if params != "" {
		params += ","
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + modernMeta + `}}`
	return post(t, url, body,
		append([]string{"MCP-Protocol-Version", modern, "Mcp-Method", method}, header...)...)
}

// call calls a tool in the newest protocol. A vault in the arguments is repeated in the header.
func call(t testing.TB, url, name, args string, header ...string) result {
	t.Helper()
	var given struct{ Vault string }
	_ = json.Unmarshal([]byte(args), &given)
	if given.Vault != "" {
		header = append([]string{"Mcp-Param-Vault", given.Vault}, header...)
	}
	r := ask(t, url, "tools/call", `"name":"`+name+`","arguments":`+args,
		append([]string{"Mcp-Name", name}, header...)...)
	return resultOf(t, r)
}

// A result is a decoded JSON-RPC response.
type result struct {
	reply
	rpc  map[string]any
	text string // of the only content
	env  map[string]any
	fail bool
}

func resultOf(t testing.TB, r reply) result {
	t.Helper()
	res := result{reply: r}
	require.NoError(t, json.Unmarshal([]byte(r.body), &res.rpc), r.body)
	body, ok := res.rpc["result"].(map[string]any)
	if !ok {
		return res
	}
	content, ok := body["content"].([]any)
	if !ok {
		return res
	}
	require.Len(t, content, 1)
	require.NotContains(t, body, "structuredContent")
	only := content[0].(map[string]any)
	require.Equal(t, "text", only["type"])
	res.text = only["text"].(string)
	res.fail, _ = body["isError"].(bool)
	require.NoError(t, json.Unmarshal([]byte(res.text), &res.env), res.text)
	return res
}

// code returns the code of the fault in a result.
func (r result) code() any {
	if e, ok := r.env["error"].(map[string]any); ok {
		return e["code"]
	}
	return nil
}

// rpcError returns the code of the JSON-RPC error of a result, and the code of the fault in it.
func (r result) rpcError(t testing.TB) (float64, any) {
	t.Helper()
	e, ok := r.rpc["error"].(map[string]any)
	require.True(t, ok, r.body)
	data, _ := e["data"].(map[string]any)
	return e["code"].(float64), data["code"]
}

// names returns the tools in a list, in its order.
func names(t testing.TB, r reply) []string {
	t.Helper()
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal([]byte(r.body), &list), r.body)
	all := []string{}
	for _, one := range list.Result.Tools {
		all = append(all, one.Name)
	}
	return all
}

// readFirst returns the instructions of the endpoints in these tests.
func readFirst(mcptool.Offer) string { return "Read first." }
