package mcptool_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An exchange is one request and the expected response. Headers are added to the usual two.
type exchange struct {
	name   string
	header []string
	body   string
	status int
	want   string // the whole answer as JSON; empty: no body
}

func run(t *testing.T, url string, all []exchange) {
	for _, x := range all {
		t.Run(x.name, func(t *testing.T) {
			r := post(t, url, x.body, x.header...)
			require.Equal(t, x.status, r.status, r.body)
			require.Empty(t, r.header.Get("Mcp-Session-Id"), "there are no sessions")
			if x.want == "" {
				require.Empty(t, r.body)
				return
			}
			require.Equal(t, "application/json", r.header.Get("Content-Type"))
			require.JSONEq(t, x.want, r.body)
		})
	}
}

const capabilities = `{"tools":{},"resources":{},"prompts":{},"completions":{}}`

const serverInfo = `{"name":"rookery","title":"Rookery","version":"1.2.3"}`

// TestModernEra checks exchanges of 2026-07-28, which has no initialize.
func TestModernEra(t *testing.T) {
	url := serve(t, mcptool.Options{Version: "1.2.3", Instructions: readFirst}) + "/mcp/x/desk"
	meta := func(params string) string { return `{` + params + modernMeta + `}` }
	served := `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `}`
	header := func(h ...string) []string {
		return append([]string{"MCP-Protocol-Version", modern}, h...)
	}
	run(t, url, []exchange{
		{"discover", header("Mcp-Method", "server/discover"),
			`{"jsonrpc":"2.0","id":"a","method":"server/discover","params":` + meta("") + `}`, 200,
			`{"jsonrpc":"2.0","id":"a","result":{` + served + `,"instructions":"Read first.",
			"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],
			"capabilities":` + capabilities + `,"ttlMs":300000,"cacheScope":"private"}}`},
		{"call", header("Mcp-Method", "tools/call", "Mcp-Name", "desk_whoami", "X-Request-Id", "r1"),
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` +
				meta(`"name":"desk_whoami","arguments":{"agent_id":"a1"},`) + `}`, 200,
			`{"jsonrpc":"2.0","id":2,"result":{` + served + `,"content":[{"type":"text","text":` +
				`"{\"ok\":true,\"data\":{\"principal\":\"local\",\"agent\":\"a1\",` +
				`\"session\":\"default\",\"read_only\":false,\"request_id\":\"r1\"},` +
				`\"warnings\":[],\"meta\":{\"query_time_ms\":0}}"}]}}`},
		{"call without arguments", header("Mcp-Method", "tools/call", "Mcp-Name", "desk_book_get"),
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":` +
				meta(`"name":"desk_book_get",`) + `}`, 200,
			`{"jsonrpc":"2.0","id":3,"result":{` + served + `,"content":[{"type":"text","text":` +
				`"{\"ok\":true,\"data\":{\"text\":\"\"},\"warnings\":[{\"code\":\"ODD\",` +
				`\"message\":\"a <b> & c\"}],\"meta\":{\"query_time_ms\":0}}"}]}}`},
		{"a notification", header("Mcp-Method", "notifications/cancelled"),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, 202, ""},
		{"the headers of a session and a stream are ignored",
			header("Mcp-Method", "server/nothing", "Mcp-Session-Id", "s1", "Last-Event-ID", "e1"),
			`{"jsonrpc":"2.0","id":4,"method":"server/nothing","params":` + meta("") + `}`, 404,
			`{"jsonrpc":"2.0","id":4,"error":{"code":-32601,
			"message":"JSON RPC not handled: \"server/nothing\" unsupported"}}`},
		{"initialize is gone", header("Mcp-Method", "initialize"),
			`{"jsonrpc":"2.0","id":5,"method":"initialize","params":` + meta("") + `}`, 404,
			`{"jsonrpc":"2.0","id":5,"error":{"code":-32601,
			"message":"method not found: \"initialize\""}}`},
	})
}

// TestLegacyEra checks exchanges of the protocols from 2024-11-05 to 2025-11-25.
func TestLegacyEra(t *testing.T) {
	url := serve(t, mcptool.Options{Version: "1.2.3", Instructions: readFirst}) + "/mcp/x/desk"
	called := func(id, data string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":` +
			`"{\"ok\":true,\"data\":{\"text\":\"` + data + `\"},\"warnings\":[{\"code\":\"ODD\",` +
			`\"message\":\"a <b> & c\"}],\"meta\":{\"query_time_ms\":0}}"}]}}`
	}
	calls := func(id, text string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` +
			`{"name":"get_book","arguments":{"text":"` + text + `"}}}`
	}
	var all []exchange
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		header := []string{"MCP-Protocol-Version", version}
		all = append(all,
			exchange{"initialize " + version, nil,
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version +
					`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, 200,
				`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + version + `",
				"capabilities":` + capabilities + `,"serverInfo":` + serverInfo + `,"instructions":"Read first."}}`},
			exchange{"initialized " + version, header,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
			exchange{"call " + version, header, calls("2", "x"), 200, called("2", "x")},
			exchange{"ping " + version, header,
				`{"jsonrpc":"2.0","id":3,"method":"ping"}`, 200, `{"jsonrpc":"2.0","id":3,"result":{}}`},
		)
	}
	all = append(all,
		exchange{"a version from the future is answered with ours", nil,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01",
			"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, 200,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
			"capabilities":` + capabilities + `,"serverInfo":` + serverInfo + `,"instructions":"Read first."}}`},
		exchange{"call without any version", nil, calls("9", "x"), 200, called("9", "x")},
		exchange{"batch of one", []string{"MCP-Protocol-Version", "2025-03-26"},
			`[` + calls("7", "a") + `]`, 200, `[` + called("7", "a") + `]`},
		exchange{"batch in a later version",
			[]string{"MCP-Protocol-Version", "2025-11-25", "X-Request-Id", "r1"},
			`[` + calls("7", "a") + `]`, 400,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":` +
				`"JSON-RPC batching is not supported in 2025-06-18 and later (request version: 2025-11-25)",` +
				`"data":{"code":"INVALID_PARAMETER","status":"invalid_argument","message":` +
				`"JSON-RPC batching is not supported in 2025-06-18 and later (request version: 2025-11-25)","request_id":"r1"}}}`},
	)
	run(t, url, all)
}

func TestBatch(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	one := func(id, name, args string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name +
			`","arguments":` + args + `}}`
	}
	r := post(t, url, `[`+one("1", "desk_book_get", `{"text":"a"}`)+`,`+
		`{"jsonrpc":"2.0","method":"notifications/initialized"},`+
		one("2", "nothing", `{}`)+`,`+one("3", "books_book_get", `{"vault":"main","id":"none"}`)+`]`,
		"MCP-Protocol-Version", "2025-03-26")
	require.Equal(t, http.StatusOK, r.status)
	var answers []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(r.body), &answers))
	require.Len(t, answers, 3)
	byID := map[string]string{}
	for _, raw := range answers {
		var head struct{ ID json.RawMessage }
		require.NoError(t, json.Unmarshal(raw, &head))
		byID[string(head.ID)] = string(raw)
	}
	require.Contains(t, byID["1"], `\"text\":\"a\"`)
	require.Contains(t, byID["2"], `-32602`)
	require.Contains(t, byID["3"], `"isError":true`)
}

// TestLargeBatch checks that a request runs at most as many calls as a batch may have, and that
// nothing of a larger one is run.
func TestLargeBatch(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	batch := func(calls int) string {
		one := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"desk_book_get","arguments":` +
			`{"text":"a"}}}`
		var all []string
		for i := range calls {
			all = append(all, fmt.Sprintf(one, i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	r := post(t, url, batch(100), "MCP-Protocol-Version", "2025-03-26")
	require.Equal(t, http.StatusOK, r.status)
	require.Equal(t, 100, strings.Count(r.body, `\"text\":\"a\"`))
	r = post(t, url, batch(101), "MCP-Protocol-Version", "2025-03-26")
	require.Equal(t, http.StatusBadRequest, r.status)
	require.Contains(t, r.body, `"code":"BATCH_TOO_LARGE"`)
	require.NotContains(t, r.body, `"result"`)
}

// TestBatchOfLargeAnswers checks that a batch runs no more calls once its answers exceed the size
// of one answer, and reports which.
func TestBatchOfLargeAnswers(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	text := strings.Repeat(`\"`, 450_000) // each is four bytes in the answer
	var all []string
	for i := range 4 {
		all = append(all, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"desk_book_get",`+
			`"arguments":{"text":"%s"}}}`, i, text))
	}
	r := post(t, url, "["+strings.Join(all, ",")+"]", "MCP-Protocol-Version", "2025-03-26")
	require.Equal(t, http.StatusOK, r.status)
	require.Equal(t, 1, strings.Count(r.body, "the call was not run"))
	require.Equal(t, 1, strings.Count(r.body, `\"code\":\"BATCH_TOO_LARGE\"`))
	require.Less(t, len(r.body), 2*tool.MaxBody)
}

// TestHeadersMustAgree checks that headers by which a proxy may have routed agree with the body.
func TestHeadersMustAgree(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	const read = `"name":"books_book_get","arguments":{"vault":"main","id":"people/freya"}`
	modernCases := map[string][]string{
		"method":        {"Mcp-Method", "tools/list", "Mcp-Name", "books_book_get", "Mcp-Param-Vault", "main"},
		"no method":     {"Mcp-Method", "", "Mcp-Name", "books_book_get", "Mcp-Param-Vault", "main"},
		"name":          {"Mcp-Name", "books_book_list", "Mcp-Param-Vault", "main"},
		"no name":       {"Mcp-Param-Vault", "main"},
		"vault":         {"Mcp-Name", "books_book_get", "Mcp-Param-Vault", "spare"},
		"no vault":      {"Mcp-Name", "books_book_get"},
		"coded vault":   {"Mcp-Name", "books_book_get", "Mcp-Param-Vault", "=?base64?c3BhcmU=?="},
		"no base64":     {"Mcp-Name", "books_book_get", "Mcp-Param-Vault", "=?base64?%?="},
		"other version": {"MCP-Protocol-Version", "2025-11-25", "Mcp-Name", "books_book_get"},
	}
	for name, header := range modernCases {
		r := resultOf(t, ask(t, url, "tools/call", read, header...))
		require.Equal(t, http.StatusBadRequest, r.status, name)
		rpc, _ := r.rpcError(t)
		require.EqualValues(t, -32020, rpc, name)
		require.EqualValues(t, 1, r.rpc["id"], name)
	}
	ok := resultOf(t, ask(t, url, "tools/call", read, "Mcp-Name", "books_book_get",
		"Mcp-Param-Vault", "=?base64?bWFpbg==?="))
	require.False(t, ok.fail, ok.body)
	require.NotEmpty(t, ok.text)

	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + read + `}}`
	for header, refused := range map[string]bool{
		"": false, "main": false, "=?base64?bWFpbg==?=": false, "spare": true, "=?base64?%?=": true,
	} {
		r := resultOf(t, post(t, url, body, "Mcp-Param-Vault", header))
		_, isError := r.rpc["error"]
		require.Equal(t, refused, isError, header)
		if refused {
			rpc, code := r.rpcError(t)
			require.EqualValues(t, -32020, rpc)
			require.Equal(t, "INVALID_PARAMETER", code)
		}
	}
}

// TestHeaderTrick sends bodies that two JSON parsers may read differently.
func TestHeaderTrick(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	for params, want := range map[string]int{
		`"name":"books_book_get","arguments":{"id":"people/freya","vault":"spare","vault":"main"}`:    -32020,
		`"name":"books_book_get","arguments":{"id":"a","vault":"main"},"Arguments":{"vault":"spare"}`: -32020,
		`"name":"books_book_get","Name":"desk_whoami","arguments":{"id":"a","vault":"main"}`:          -32602,
	} {
		r := resultOf(t, ask(t, url, "tools/call", params, "Mcp-Name", "books_book_get",
			"Mcp-Param-Vault", "spare"))
		rpc, _ := r.rpcError(t)
		require.EqualValues(t, want, rpc, r.body)
	}
}

func TestVersions(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp"
	body := strings.ReplaceAll(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+
		modernMeta+`}}`, modern, "2099-01-01")
	r := resultOf(t, post(t, url, body, "MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/list"))
	require.Equal(t, http.StatusBadRequest, r.status)
	rpc, _ := r.rpcError(t)
	require.EqualValues(t, -32022, rpc)
	require.Contains(t, r.body, `"supported":["2026-07-28"`)

	r = resultOf(t, post(t, url, `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`,
		"MCP-Protocol-Version", "2020-01-01"))
	require.Equal(t, http.StatusBadRequest, r.status)
	require.EqualValues(t, 8, r.rpc["id"])
	require.Contains(t, r.body, "Unsupported protocol version")
}

// TestListenIsAnsweredAtOnce reads the stream to its end; it hangs if the server keeps it open.
func TestListenIsAnsweredAtOnce(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp"
	r := ask(t, url, "subscriptions/listen", `"notifications":{"toolsListChanged":true,`+
		`"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["rookery://a"]}`)
	require.Equal(t, http.StatusOK, r.status, r.body)
	require.Equal(t, "text/event-stream", r.header.Get("Content-Type"))
	var events []string
	for lines := bufio.NewScanner(strings.NewReader(r.body)); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			events = append(events, data)
		}
	}
	require.Len(t, events, 2)
	require.Contains(t, events[0], `"notifications/subscriptions/acknowledged"`)
	require.NotContains(t, events[0], "true", "nothing is promised")
	require.Contains(t, events[1], `"id":1`)
}

func TestOnlyPOST(t *testing.T) {
	url := serve(t, mcptool.Options{})
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS"} {
		for _, path := range []string{"/mcp", "/mcp/x/all", "/mcp/readonly"} {
			r, err := http.NewRequestWithContext(t.Context(), method, url+path, nil)
			require.NoError(t, err)
			got := send(t, r)
			require.Equal(t, http.StatusMethodNotAllowed, got.status)
			require.Equal(t, "POST", got.header.Get("Allow"))
			require.JSONEq(t, `null`, string(idIn(t, got.body)))
		}
	}
}

func idIn(t *testing.T, body string) json.RawMessage {
	var head struct{ ID json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(body), &head), body)
	return head.ID
}

func TestBadBodies(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp"
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	large := `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"desk_whoami",` +
		`"arguments":{"text":"` + strings.Repeat("x", 10<<20) + `"}}}`
	cases := []struct {
		name, body string
		header     []string
		status     int
		id, code   string
	}{
		{"empty", "", nil, 400, "null", "INVALID_PARAMETER"},
		{"no JSON", "hello", nil, 400, "null", "INVALID_PARAMETER"},
		{"cut off", `{"jsonrpc":"2.0","id":"q","method":"tools/li`, nil, 400, `"q"`,
			"INVALID_PARAMETER"},
		{"two", `{"id":1}{"id":2}`, nil, 400, "1", "INVALID_PARAMETER"},
		{"no message", `{"id":5}`, nil, 400, "5", "INVALID_PARAMETER"},
		{"empty batch", `[]`, nil, 400, "null", "INVALID_PARAMETER"},
		{"deep", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"desk_whoami",` +
			`"arguments":` + deep + `}}`, nil, 400, "6", "INVALID_PARAMETER"},
		{"too large", large, nil, 413, "77", "BATCH_TOO_LARGE"},
		{"content type", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`,
			[]string{"Content-Type", "text/plain"}, 415, "9", "INVALID_PARAMETER"},
		{"accept", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`,
			[]string{"Accept", "application/json"}, 400, "9", "INVALID_PARAMETER"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := resultOf(t, post(t, url, c.body, c.header...))
			require.Equal(t, c.status, r.status, r.body)
			require.Equal(t, c.id, string(idIn(t, r.body)))
			rpc, code := r.rpcError(t)
			require.EqualValues(t, -32600, rpc)
			require.Equal(t, c.code, code)
		})
	}
}

// TestLargestBody sends a body of exactly the maximum size.
func TestLargestBody(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/desk"
	head := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_book",` +
		`"arguments":{"text":"`
	tail := `"}}}`
	body := head + strings.Repeat("x", 3<<20) + tail
	body += strings.Repeat(" ", 4<<20-len(body))
	r := resultOf(t, post(t, url, body))
	require.Equal(t, http.StatusOK, r.status)
	require.Equal(t, strings.Repeat("x", 3<<20), r.env["data"].(map[string]any)["text"])
	require.Equal(t, http.StatusRequestEntityTooLarge, post(t, url, body+" ").status)
}

func TestCutOffBody(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp"
	part := io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1`), broken{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, part)
	require.NoError(t, err)
	_, err = http.DefaultClient.Do(r)
	require.Error(t, err)
}

// A broken is a body whose sender stops in the middle.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestNotAuthenticated(t *testing.T) {
	const token = "rk_1.swordfish"
	for name, c := range map[string]struct {
		err       error
		status    int
		code      string
		challenge string
	}{
		"no token": {fault.New(fault.Unauthenticated, "send a token"), 401, "UNAUTHENTICATED",
			`Bearer realm="rookery", error="invalid_token", error_description="the token was not accepted"`},
		"limited": {fault.New(fault.RateLimited, "wait").After(2e9), 429, "RATE_LIMITED", ""},
		"ours":    {io.ErrClosedPipe, 500, "INTERNAL", ""},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, mcptool.Options{Authenticate: func(r *http.Request) (auth.Caller, error) {
				require.Equal(t, "Bearer "+token, r.Header.Get("Authorization"))
				return auth.Caller{}, c.err
			}})
			r := resultOf(t, ask(t, url+"/mcp", "tools/list", "", "Authorization", "Bearer "+token))
			require.Equal(t, c.status, r.status)
			_, code := r.rpcError(t)
			require.Equal(t, c.code, code)
			require.Equal(t, c.challenge, r.header.Get("WWW-Authenticate"))
			require.NotContains(t, r.body, "swordfish")
			require.NotContains(t, r.body, "closed pipe")
			if c.status == 429 {
				require.Equal(t, "2", r.header.Get("Retry-After"))
			}
		})
	}
}
