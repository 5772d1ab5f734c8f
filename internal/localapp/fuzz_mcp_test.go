package localapp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestFuzzMCP sends invalid messages of MCP to a hosted server, with valid calls between them, in
// both generations of the protocol. Every request is answered in time, with a status of the
// protocol or of our contract and, if it has a body, with JSON-RPC or an envelope; none causes a
// 5xx or an internal error. Valid calls work as before. A failure names its seed, for -rapid.seed;
// with ROOKERY_SOAK the test takes ten minutes.
func TestFuzzMCP(t *testing.T) {
	b := startFuzzedServer(t)
	done(t, b.client(), "team_vault_create", map[string]any{"name": "aftermath"})
	until := time.Now()
	if os.Getenv("ROOKERY_SOAK") != "" {
		until = until.Add(10 * time.Minute)
	}
	seen := map[int]int{} // how often each status was answered
	for first := true; first || time.Now().Before(until); first = false {
		rapid.Check(t, func(t *rapid.T) {
			for range 25 {
				seen[b.receive(t, drawRequest(t, b.token))]++
			}
		})
	}
	t.Logf("answers by status: %v", seen)
	for _, status := range []int{200, 202, 400, 401, 403, 404, 405} {
		require.NotZero(t, seen[status], "some requests are sound, and some not: %d", status)
	}
	mcp := tooltest.NewMCPClient(b.base+mcptool.Path+"/x/all",
		&http.Client{Transport: bearer{b.token, http.DefaultTransport}})
	defer func() { require.NoError(t, mcp.Close()) }()
	done(t, mcp, "raven_new", map[string]any{
		"vault": "aftermath", "type": "page", "title": "Still here", "path": "still/here"})
	done(t, mcp, "raven_read", map[string]any{"vault": "aftermath", "path": "still/here"})
	b.requireUnharmed(t)
}

// client returns a client that calls the server as its admin.
func (b *fuzzedServer) client() *httptool.Client {
	return &httptool.Client{Base: b.base, Token: b.token}
}

// A bearer sends a token with every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// A mcpRequest is a request to the endpoint.
type mcpRequest struct {
	method, path string
	header       http.Header
	body         string
}

// statuses are the permitted statuses of an answer: those of our contract that are not errors of
// the server, and those of the protocol's transport.
var statuses = []int{200, 202, 400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 431}

// receive sends a request, and requires a valid answer. It returns its status; 0 if no client can
// send the request.
func (b *fuzzedServer) receive(t *rapid.T, q mcpRequest) int {
	r, err := http.NewRequest(q.method, b.base+q.path, strings.NewReader(q.body))
	if err != nil {
		return 0
	}
	r.Header = q.header
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(r)
	if err != nil {
		require.Contains(t, err.Error(), "invalid header", "%s %s", q.method, q.path)
		return 0
	}
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	what := fmt.Sprintf("%s %s\n%v\n%.2000s\n→ %s: %.2000s",
		q.method, q.path, q.header, q.body, answer.Status, body)
	require.Contains(t, statuses, answer.StatusCode, what)
	if answer.StatusCode == http.StatusAccepted {
		require.Empty(t, body, what)
	} else {
		requireMessages(t, answer.Header.Get("Content-Type"), body, what)
	}
	return answer.StatusCode
}

// requireMessages requires that a body is one or several messages of JSON-RPC, or an envelope, and
// contains no internal error.
func requireMessages(t *rapid.T, media string, body []byte, what string) {
	if media == "text/event-stream" {
		for _, line := range strings.Split(string(body), "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				requireMessages(t, "application/json", []byte(data), what)
			}
		}
		return
	}
	require.Equal(t, "application/json", media, what)
	one := bytes.HasPrefix(body, []byte("{"))
	if one {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	var messages []struct {
		Version string `json:"jsonrpc"`
		OK      *bool
		Result  json.RawMessage
		Error   *struct {
			Code   json.RawMessage
			Status string
		}
	}
	require.NoError(t, json.Unmarshal(body, &messages), what)
	for _, m := range messages {
		if m.OK == nil {
			require.Equal(t, "2.0", m.Version, what)
			require.NotEqual(t, m.Result == nil, m.Error == nil, what)
		}
		if m.Error != nil {
			require.NotEqual(t, "-32603", string(m.Error.Code), what)
			require.NotEqual(t, "internal", m.Error.Status, what)
		}
		require.NotContains(t, string(m.Result), `\"status\":\"internal\"`, what)
	}
}

var (
	mcpPaths = []string{
		"", "", "", "/x/all", "/x/all", "/x/all", "/x/raven", "/x/team", "/x/raven,team", "/readonly",
		"/readonly/x/all", "/x/", "/x/nothing", "/x/raven,", "/readonly/readonly", "/x/all/x/all", "/%2e%2e",
		"/x/%00", "//", "?access_token=x",
	}
	mcpVersions = []string{
		"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2099-01-01", "x", "",
	}
	mcpMethods = []string{
		"tools/call", "tools/call", "tools/call", "tools/call", "initialize", "ping", "tools/list",
		"resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "prompts/list",
		"prompts/get", "completion/complete", "server/discover", "subscriptions/listen", "logging/setLevel",
		"notifications/initialized", "notifications/cancelled", "roots/list", "sampling/createMessage",
		"tasks/get", "tools/call ", "", "Tools/Call",
	}
	mcpIDs = []string{
		"1", "1", "1", "0", "-7", `"a"`, `""`, "null", "1.5", "1e400", "{}", "[]", "true",
		"123456789012345678901234567890", `"\u0000"`, `"😀"`,
	}
	// mcpHeaders are headers, with values that they may have.
	mcpHeaders = map[string][]string{
		"Mcp-Method":       {"tools/call", "tools/list", "", "x"},
		"Mcp-Name":         {"raven_read", "team_whoami", "=?base64?eA==?=", "\xff", ""},
		"Mcp-Param-Vault":  {"main", "nothing", "", "=?base64?bWFpbg==?="},
		"Mcp-Session-Id":   {"s1", ""},
		"Last-Event-ID":    {"e1"},
		"X-MCP-Toolsets":   {"raven", "team,raven", "all", "nothing", ",", "\xff"},
		"X-MCP-Tools":      {"raven_read", "read,stats", "nothing", ","},
		"X-MCP-Readonly":   {"true", "false", "1", "x", ""},
		"X-Readonly":       {"1", "0", "maybe"},
		"X-Agent-Id":       {"planner", "local", "user:x@y", "\xff\xfe", strings.Repeat("a", 129), "ünï"},
		"X-Session-Id":     {"s", strings.Repeat("s", 200)},
		"X-Request-Id":     {"r1", "r 1", "\xff", strings.Repeat("r", 300)},
		"Origin":           {"https://memory.example.test", "https://evil.example.test", "null", "x"},
		"Accept":           {"application/json", "text/event-stream", "*/*", "text/html", ""},
		"Content-Type":     {"application/json; charset=utf-8", "text/plain", "application/json; charset=utf-16", ""},
		"Authorization":    {"", "Bearer", "Bearer x", "Basic eDp5", "Bearer rk_local_x.y", "Bearer a.b.c"},
		"Content-Encoding": {"gzip", "identity"},
	}
)

// drawRequest returns a random request that is mostly valid, with some defect.
func drawRequest(t *rapid.T, token string) mcpRequest {
	version := rapid.SampledFrom(mcpVersions).Draw(t, "version")
	body := drawBody(t, version)
	q := mcpRequest{
		method: rapid.SampledFrom([]string{"POST", "POST", "POST", "POST", "POST", "POST", "GET", "DELETE",
			"PUT", "OPTIONS"}).Draw(t, "method"),
		path: mcptool.Path + rapid.SampledFrom(mcpPaths).Draw(t, "path"),
		header: http.Header{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token},
			"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {version},
		},
		body: body,
	}
	if version == "2026-07-28" && rapid.IntRange(0, 4).Draw(t, "bare") > 0 {
		q.addOwn(body)
	}
	for range rapid.IntRange(0, 2).Draw(t, "headers") {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(mcpHeaders))).Draw(t, "header")
		value := rapid.SampledFrom(mcpHeaders[name]).Draw(t, "value")
		if rapid.Bool().Draw(t, "twice") {
			q.header.Add(name, value)
		} else {
			q.header.Set(name, value)
		}
	}
	return q
}

// addOwn adds the headers that the newest protocol requires, according to the body.
func (q *mcpRequest) addOwn(body string) {
	var m struct {
		Method string
		Params struct {
			Name      string
			Arguments struct{ Vault string }
		}
	}
	if json.Unmarshal([]byte(body), &m) != nil {
		return
	}
	for name, value := range map[string]string{
		"Mcp-Method": m.Method, "Mcp-Name": m.Params.Name, "Mcp-Param-Vault": m.Params.Arguments.Vault,
	} {
		if value != "" {
			q.header.Set(name, value)
		}
	}
}
