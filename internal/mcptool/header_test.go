package mcptool_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
)

// repeat sends a message with a repeated header.
func repeat(t *testing.T, url, body, name string, values ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		http.CanonicalHeaderKey(name): values,
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}

// TestOneHeaderEach checks that a repeated header that restricts a call, or by which a proxy
// routes, is refused, so that the second one cannot extend the first.
func TestOneHeaderEach(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"desk_whoami"}}`
	for name, value := range map[string]string{
		"X-MCP-Tools": "desk_whoami", "X-MCP-Toolsets": "desk", "Mcp-Name": "desk_whoami",
		"Mcp-Method": "tools/call", "Mcp-Param-Vault": "main", "MCP-Protocol-Version": "2025-06-18",
	} {
		body := call
		if strings.HasPrefix(name, "X-") {
			body = list
		}
		require.Equal(t, 200, repeat(t, url, body, name, value).StatusCode, name)
		require.Equal(t, 400, repeat(t, url, body, name, value, value).StatusCode, name)
	}
	require.Equal(t, 400, repeat(t, url, list, "X-MCP-Tools", "desk_whoami", "books_book_new").StatusCode)
}

// TestNameOfEveryProtocol checks that Mcp-Name and Mcp-Method are compared with the body also in
// protocols without these headers, for every way in which a body can be parsed.
func TestNameOfEveryProtocol(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"desk_whoami"}}`
	const read = `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"rookery://guide/x"}}`
	for _, c := range []struct {
		body, header, value string
		agrees              bool
	}{
		{call, "Mcp-Name", "desk_whoami", true},
		{call, "Mcp-Name", "=?base64?ZGVza193aG9hbWk=?=", true},
		{call, "Mcp-Name", "=?base64?ZGVza193aG9hbWk=", false},
		{call, "Mcp-Name", "=?base64?%?=", false},
		{call, "Mcp-Name", "books_book_new", false},
		{call, "Mcp-Method", "tools/call", true},
		{call, "Mcp-Method", "tools/list", false},
		{read, "Mcp-Name", "rookery://guide/x", true},
		{read, "Mcp-Name", "rookery://guide/y", false},
		{strings.Replace(call, `"name"`, `"name":"books_book_new","name"`, 1), "Mcp-Name", "desk_whoami", false},
		{strings.Replace(call, `"name"`, `"Name":"books_book_new","name"`, 1), "Mcp-Name", "desk_whoami", true},
		{strings.Replace(call, `"name"`, `"NAME"`, 1), "Mcp-Name", "desk_whoami", false},
		{"[" + call + "," + strings.Replace(call, "whoami", "fail", 1) + "]", "Mcp-Name", "desk_whoami", false},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}`, "Mcp-Name", "ignored", true},
	} {
		r := resultOf(t, post(t, url, c.body, "MCP-Protocol-Version", "2025-03-26", c.header, c.value))
		require.Equal(t, c.agrees, r.status == http.StatusOK, "%s: %s %s: %s", c.header, c.value, c.body, r.body)
		if !c.agrees {
			rpc, code := r.rpcError(t)
			require.EqualValues(t, -32020, rpc)
			require.Equal(t, "INVALID_PARAMETER", code)
		}
	}
	modern := resultOf(t, ask(t, url, "tools/call", `"name":"desk_whoami"`, "Mcp-Name", "=?base64?ZGVza193aG9hbWk=?="))
	require.Equal(t, http.StatusOK, modern.status, modern.body)
}

// TestHalfABase64 checks that a value that only begins like Base64 is taken literally.
func TestHalfABase64(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"books_book_get",` +
		`"arguments":{"vault":"main","id":"people/freya"}}}`
	rpc, _ := resultOf(t, post(t, url, body, "Mcp-Param-Vault", "=?base64?bWFpbg==")).rpcError(t)
	require.EqualValues(t, -32020, rpc)
	_, refused := resultOf(t, post(t, url, body, "Mcp-Param-Vault", "=?base64?bWFpbg==?=")).rpc["error"]
	require.False(t, refused)
}

// TestURIOfWhatIsNotFound checks that the error of a missing resource contains its URI, in each
// protocol.
func TestURIOfWhatIsNotFound(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp"
	for _, uri := range []string{"rookery://nothing/here", "rookery://main/books/none"} {
		for version, r := range map[string]result{
			"modern": resultOf(t, ask(t, url, "resources/read", `"uri":"`+uri+`"`, "Mcp-Name", uri)),
			"legacy": resultOf(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"`+uri+`"}}`)),
		} {
			e, is := r.rpc["error"].(map[string]any)
			require.True(t, is, version+r.body)
			data := e["data"].(map[string]any)
			require.Equal(t, uri, data["uri"], version)
			require.NotEmpty(t, data["code"])
		}
	}
}

// TestEveryMessageCounts checks that each message that calls no tool is counted once and refused
// above the rate, and that a call of a tool is counted by the call.
func TestEveryMessageCounts(t *testing.T) {
	var counted atomic.Int64 // the messages of a batch are counted concurrently
	over := false
	count := func(context.Context, auth.Caller) error {
		counted.Add(1)
		if over {
			return fault.New(fault.RateLimited, "too many")
		}
		return nil
	}
	url := serve(t, mcptool.Options{Count: count}) + "/mcp/x/all"
	for body, want := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                                     1,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:                                               1,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`:                                             1,
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`:                                                  1,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}`:                   1,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y"}}`:                    1,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"none"}}`:                     1,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"desk_whoami"}}`:               0,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"desk_whoami","arguments":5}}`: -1,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`:          2,
		`nonsense`: 1,
		`[]`:       -1,
	} {
		counted.Store(0)
		r := post(t, url, body, "MCP-Protocol-Version", "2025-03-26")
		if want >= 0 {
			require.EqualValues(t, want, counted.Load(), body)
		}
		require.NotZero(t, r.status)
	}
	over = true
	r := resultOf(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "MCP-Protocol-Version", "2025-03-26"))
	_, code := r.rpcError(t)
	require.Equal(t, "RATE_LIMITED", code)
	require.Equal(t, http.StatusTooManyRequests, post(t, url, "nonsense").status)
}

// TestEveryRequestCounts checks the same for requests below /v1.
func TestEveryRequestCounts(t *testing.T) {
	counted := 0
	url := hosted(t, sample(t), httptool.Options{Count: func(context.Context, auth.Caller) error {
		counted++
		if counted > 3 {
			return fault.New(fault.RateLimited, "too many")
		}
		return nil
	}})
	send := func(method, path, body, token string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		r.Host = strings.TrimPrefix(url, "http://")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, 404, send("POST", "/v1/tools/none", "{}", "admin"))
	require.Equal(t, 404, send("GET", "/v1/none", "", "admin"))
	require.Equal(t, 400, send("GET", "/v1/whoami?%zz=", "", "admin"))
	require.Equal(t, 3, counted)
	require.Equal(t, 200, send("GET", "/v1/whoami", "", "admin"))
	require.Equal(t, 404, send("GET", "/v1/none", "", ""))
	require.Equal(t, 3, counted)
	require.Equal(t, 429, send("POST", "/v1/tools/none", "{}", "admin"))
	require.Equal(t, 429, send("GET", "/v1/none", "", "admin"))
	require.Equal(t, 429, send("GET", "/v1/whoami?%zz=", "", "admin"))
}
