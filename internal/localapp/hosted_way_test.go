package localapp_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A transport is a way in to the hosted server: the request of a call, if the way supports it.
type transport struct {
	name    string
	request func(t testing.TB, made *tool.Tool, c tooltest.Call) (r *http.Request, carried bool)
}

// transports are all ways in.
var transports = []transport{
	{"route", byRoute},
	{"by name", func(t testing.TB, made *tool.Tool, c tooltest.Call) (*http.Request, bool) {
		return posted("/v1/tools/"+made.Name, c.JSON(t)), true
	}},
	{"mcp", func(t testing.TB, made *tool.Tool, c tooltest.Call) (*http.Request, bool) {
		r := message(t, "tools/call", args{"name": made.Name, "arguments": c.Args})
		r.Header.Set("Mcp-Name", made.Name)
		if vault := textArg(c, "vault"); vault != "" {
			r.Header.Set("Mcp-Param-Vault", vault)
		}
		return r, true
	}},
	{"mcp 2025", func(t testing.TB, made *tool.Tool, c tooltest.Call) (*http.Request, bool) {
		r := posted(mcptool.Path+"/x/all", marshalled(t, args{
			"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": args{"name": made.Name, "arguments": c.Args},
		}))
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("MCP-Protocol-Version", "2025-06-18")
		return r, true
	}},
}

// message returns a request of the newest MCP.
func message(t testing.TB, method string, params args) *http.Request {
	t.Helper()
	params = maps.Clone(params)
	params["_meta"] = args{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": args{},
		"io.modelcontextprotocol/clientInfo":         args{"name": "t", "version": "1"},
	}
	r := posted(mcptool.Path+"/x/all", marshalled(t, args{
		"jsonrpc": "2.0", "id": 1, "method": method, "params": params,
	}))
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	return r
}

// textArg returns an argument of a call that is a text.
func textArg(c tooltest.Call, name string) string {
	var text string
	_ = json.Unmarshal(c.Args[name], &text) // a value that is not text is in no header and no path
	return text
}

// byRoute returns the request over the tool's own route.
func byRoute(t testing.TB, made *tool.Tool, c tooltest.Call) (*http.Request, bool) {
	t.Helper()
	rest, segments := maps.Clone(c.Args), strings.Split(made.Path(), "/")
	for i, s := range segments {
		if name := strings.Trim(s, "{}"); name != s {
			value := textArg(c, name)
			if strings.Trim(value, ".") == "" {
				return nil, false
			}
			segments[i] = url.PathEscape(value)
			delete(rest, name)
		}
	}
	path := strings.Join(segments, "/")
	switch made.Route.Method {
	case "":
		return nil, false
	case http.MethodGet, http.MethodDelete:
		query := url.Values{}
		for name, raw := range rest {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			query.Set(name, text)
		}
		return httptest.NewRequest(made.Route.Method, hostedURL+path+"?"+query.Encode(), nil), true
	}
	r := posted(path, tooltest.Call{Args: rest}.JSON(t))
	r.Method = made.Route.Method
	return r, true
}

// said returns the answer of a call without the layers of its way in, and its code. It requires
// that the status is that of the answer: over MCP a failed call has status 200, unless only a
// better token could help.
func (r reply) said(t testing.TB) (answer json.RawMessage, code fault.Code) {
	t.Helper()
	var rpc struct {
		Version string `json:"jsonrpc"`
		Result  struct{ Content []struct{ Text string } }
		Error   *struct{ Data json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(r.body), &rpc), r.body)
	want := http.StatusOK
	switch {
	case rpc.Version == "":
		answer = json.RawMessage(r.body)
		if code = tooltest.CodeOf(t, answer); code != "" {
			want = fault.New(code, "").HTTP()
		}
	case rpc.Error != nil:
		answer, want = rpc.Error.Data, r.status
		code = tooltest.CodeOf(t, answer)
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, r.status, r.body)
	default:
		require.Len(t, rpc.Result.Content, 1, r.body)
		answer = json.RawMessage(rpc.Result.Content[0].Text)
		code = tooltest.CodeOf(t, answer)
	}
	require.Equal(t, want, r.status, r.body)
	return answer, code
}

// comparable returns the reply without the parts that differ from request to request.
func (r reply) comparable() string {
	header := r.header.Clone()
	for _, name := range []string{"X-Request-Id", "Date", "Content-Length"} {
		header.Del(name)
	}
	var b strings.Builder
	_ = header.Write(&b) // a Builder takes everything
	body := strings.ReplaceAll(r.body, `\"`, `"`)
	return b.String() + tooltest.Comparable(json.RawMessage(body))
}

// inYears returns the expiry of tokens that must be valid however far a clock is moved.
func inYears() int64 { return time.Now().AddDate(10, 0, 0).Unix() }

// toolNamed returns a tool of the server.
func (h *hosted) toolNamed(t testing.TB, name string) *tool.Tool {
	t.Helper()
	made, ok := h.app.Catalogue.Find(name)
	require.True(t, ok, name)
	return made
}

// whoami returns the principal and the agent of a caller, according to the server.
func (h *hosted) whoami(t testing.TB, v guest) (is struct{ Principal, Agent string }) {
	t.Helper()
	var e struct{ Data json.RawMessage }
	require.NoError(t, json.Unmarshal(h.done(t, v, "team_whoami", args{}), &e))
	require.NoError(t, json.Unmarshal(e.Data, &is))
	return is
}

// over makes a call over a way in, and returns its code.
func (h *hosted) over(
	t testing.TB, in transport, v guest, name string, given args,
) (reply, fault.Code) {
	t.Helper()
	made := h.toolNamed(t, name)
	r, carried := in.request(t, made, tooltest.NewCall(t, name, string(marshalled(t, given))))
	require.True(t, carried)
	got := h.send(v, r)
	_, code := got.said(t)
	return got, code
}
