package mcptool_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

const freya = `{"vault":"main","id":"people/freya"}`

func TestCallByEveryName(t *testing.T) {
	url := serve(t, mcptool.Options{})
	for _, c := range []struct{ path, name string }{
		{"/mcp", "books_book_get"}, {"/mcp", "books_book"}, {"/mcp", "get_book"},
		{"/mcp/x/books", "get_book"}, {"/mcp/x/books", "books_book_get"}, {"/mcp/x/books", "books_book"},
		{"/mcp/x/all", "books_book_get"}, {"/mcp/x/all", "books_book"},
		{"/mcp/x/books,desk", "books_book_get"}, {"/mcp/readonly/x/books", "get_book"},
	} {
		r := call(t, url+c.path, c.name, freya)
		require.Equal(t, http.StatusOK, r.status, r.body)
		require.False(t, r.fail, r.body)
		require.Equal(t, "people/freya", r.env["data"].(map[string]any)["object"].(map[string]any)["id"])
	}
	// A client that uses an unlisted name cannot know about the header.
	r := resultOf(t, ask(t, url+"/mcp/x/all", "tools/call",
		`"name":"books_book","arguments":`+freya, "Mcp-Name", "books_book"))
	require.Equal(t, true, r.env["ok"], r.body)
}

func TestCallOfWhatIsNotServed(t *testing.T) {
	url := serve(t, mcptool.Options{})
	for _, c := range []struct {
		path, name, code, message, fix string
		header                         []string
	}{
		{"/mcp/x/all", "get_book", "INVALID_PARAMETER", "books_book_get or desk_book_get", "", nil},
		{"/mcp/x/all", "books_book_gett", "NOT_FOUND", "no such tool", "use books_book_get", nil},
		{"/mcp/x/books", "get_bok", "NOT_FOUND", "no such tool", "use get_book", nil},
		{"/mcp", "", "NOT_FOUND", "no such tool", "", nil},
		{"/mcp", "books_book_list", "NOT_FOUND", "not served at this path", "use /mcp/x/books", nil},
		{"/mcp/x/books", "desk_whoami", "NOT_FOUND", "not served at this path", "use /mcp/x/desk", nil},
		{"/mcp/x/all", "desk_fail", "NOT_FOUND", "not served at this path", "use /mcp/x/desk",
			[]string{"X-MCP-Tools", "desk_whoami"}},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, c.name)
		r := resultOf(t, post(t, url+c.path, body, c.header...))
		rpc, code := r.rpcError(t)
		require.EqualValues(t, -32602, rpc)
		require.Equal(t, c.code, code)
		data := r.rpc["error"].(map[string]any)["data"].(map[string]any)
		require.Contains(t, data["message"], c.message)
		require.NotEmpty(t, data["request_id"])
		if c.fix != "" {
			require.Equal(t, []any{c.fix}, data["fixes"])
		}
	}
}

func TestCallFaults(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	for _, c := range []struct{ name, args, code string }{
		{"desk_fail", `{"how":"fault"}`, "INVALID_FIELD"},
		{"desk_fail", `{"how":"several"}`, "VALIDATION_FAILED"},
		{"desk_fail", `{"how":"busy"}`, "UNAVAILABLE"},
		{"desk_fail", `{"how":"limited"}`, "RATE_LIMITED"},
		{"desk_fail", `{"how":"error"}`, "INTERNAL"},
		{"desk_fail", `{"how":"panic"}`, "INTERNAL"},
		{"desk_fail", `{"how":"nothing"}`, "INVALID_PARAMETER"},
		{"desk_fail", `{}`, "INVALID_PARAMETER"},
		{"desk_fail", `{"how":"fault","more":1}`, "INVALID_PARAMETER"},
		{"desk_fail", `[]`, "INVALID_PARAMETER"},
		{"desk_fail", `"text"`, "INVALID_PARAMETER"},
		{"desk_fail", `null`, "INVALID_PARAMETER"},
		{"books_book_get", `{"vault":"main"}`, "MISSING_REQUIRED"},
		{"books_book_get", `{"vault":"main","id":3}`, "INVALID_VALUE"},
		{"books_book_get", `{"vault":"main","id":"a","depth":9}`, "INVALID_VALUE"},
		{"books_book_get", `{"vault":"main","idd":"a","depht":1}`, "VALIDATION_FAILED"},
		{"books_book_get", `{"vault":"main","id":"none"}`, "NOT_FOUND"},
		{"books_book_get", `{"id":"a"}`, "INVALID_PARAMETER"},
		{"desk_book_get", `{"text":"\ud800"}`, "INVALID_PARAMETER"},
		{"desk_book_get", "{\"text\":\"\xff\"}", "INVALID_PARAMETER"},
	} {
		r := call(t, url, c.name, c.args)
		require.Equal(t, http.StatusOK, r.status, r.body)
		require.True(t, r.fail, r.body)
		require.Equal(t, false, r.env["ok"])
		require.Equal(t, c.code, r.code(), c.args)
		require.NotContains(t, r.body, tooltest.Secret)
		require.NotEmpty(t, r.env["error"].(map[string]any)["request_id"])
	}
}

func TestCallWithoutEnvelope(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	r := call(t, url, "desk_book_get", `{"text":"x","envelope":false}`)
	require.Equal(t, `{"text":"x"}`, r.text)
	r = call(t, url, "desk_fail", `{"how":"busy","envelope":false}`)
	require.True(t, r.fail)
	require.Equal(t, "UNAVAILABLE", r.env["code"])
}

// TestCallOfWhatIsHidden calls tools that a role or a read-only switch removes from the list.
func TestCallOfWhatIsHidden(t *testing.T) {
	const add = `{"vault":"spare","title":"Edda"}`
	open := mcptool.Options{}
	reader, editor := mcptool.Options{Authenticate: as(auth.Reader)}, mcptool.Options{Authenticate: as(auth.Editor)}
	for _, c := range []struct {
		name   string
		opt    mcptool.Options
		path   string
		header []string
		tool   string
		args   string
		code   any
	}{
		{"allowed", open, "/mcp", nil, "books_book_new", add, nil},
		{"reader", reader, "/mcp", nil, "books_book_new", add, "PERMISSION_DENIED"},
		{"reader reads", reader, "/mcp", nil, "books_book_get", freya, nil},
		{"editor", editor, "/mcp/x/all", nil, "desk_shelf_create", `{"name":"n"}`, "PERMISSION_DENIED"},
		{"path", open, "/mcp/readonly", nil, "books_book_new", add, "READ_ONLY"},
		{"path and set", open, "/mcp/readonly/x/books", nil, "add_book", add, "READ_ONLY"},
		{"path reads", open, "/mcp/readonly", nil, "books_book_get", freya, nil},
		{"path and view state", open, "/mcp/readonly/x/all", nil, "desk_fail", `{"how":"busy"}`,
			"READ_ONLY"},
		{"header", open, "/mcp", []string{"X-MCP-Readonly", "true"}, "books_book_new", add, "READ_ONLY"},
		{"caller", open, "/mcp", []string{"X-Readonly", "1"}, "books_book_new", add, "READ_ONLY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := call(t, serve(t, c.opt)+c.path, c.tool, c.args, c.header...)
			require.Equal(t, http.StatusOK, r.status, r.body)
			require.Equal(t, c.code != nil, r.fail)
			require.Equal(t, c.code, r.code())
		})
	}
}

func TestCallSaysWhoCalls(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp"
	who := func(args string, header ...string) map[string]any {
		r := call(t, url, "desk_whoami", args, header...)
		data := r.env["data"].(map[string]any)
		require.Equal(t, data["request_id"], r.header.Get("X-Request-Id"))
		return data
	}
	got := who(`{}`)
	require.Equal(t, "local", got["agent"])
	require.Equal(t, "default", got["session"])
	require.NotEqual(t, got["request_id"], who(`{}`)["request_id"])

	header := []string{"X-Agent-Id", "a1", "X-Session-Id", "s1", "X-Request-Id", "r-1", "X-Readonly", "1"}
	got = who(`{}`, header...)
	require.Equal(t, map[string]any{"principal": "local", "agent": "a1", "session": "s1",
		"read_only": true, "request_id": "r-1"}, got)
	long := strings.Repeat("é", 128)
	require.Equal(t, long, who(`{}`, "X-Agent-Id", long)["agent"], "characters count, not bytes")
	require.Equal(t, long, who(`{"agent_id":"` + long + `"}`)["agent"])
	got = who(`{"agent_id":"a2","session":"s2"}`, header...)
	require.Equal(t, "a2", got["agent"], "an argument is nearer than a header")
	require.Equal(t, "s2", got["session"])
	for _, id := range []string{strings.Repeat("x", 129), "two words", "ünï"} {
		require.NotEqual(t, id, who(`{}`, "X-Request-Id", id)["request_id"])
	}
}

// TestCallIsNamedByTheServerAround mounts the handler in one that assigns request ids.
func TestCallIsNamedByTheServerAround(t *testing.T) {
	h := mcptool.New(sample(t), mcptool.Options{First: first})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "outer")
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := call(t, server.URL+"/mcp", "desk_whoami", `{}`, "X-Request-Id", "inner")
	require.Equal(t, "outer", r.env["data"].(map[string]any)["request_id"])
	require.Equal(t, "outer", r.header.Get("X-Request-Id"))
}

// TestConcurrentCalls makes different concurrent calls, so that an answer to the wrong caller is
// detected.
func TestConcurrentCalls(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 8 {
				text := fmt.Sprintf("%d-%d", i, j)
				r := call(t, url, "desk_book_get", `{"text":"`+text+`"}`)
				if got := r.env["data"].(map[string]any)["text"]; got != text {
					t.Errorf("asked for %s, got %s", text, got)
				}
			}
		})
	}
	wg.Wait()
}

// TestListFitsAModel lists twelve tools of the usual size. CONTRACT §6 allows 16,000 bytes.
func TestListFitsAModel(t *testing.T) {
	var many []*tool.Tool
	var first []string
	for _, one := range tooltest.SampleTools() {
		if one.Name == "books_book_new" || one.Name == "books_book_list" {
			many = append(many, one)
		}
	}
	for i := range 6 {
		for _, one := range many[:2] {
			copied := *one
			copied.Name += fmt.Sprint(i)
			copied.Route, copied.Commands, copied.Aliases = tool.Route{}, nil, nil
			copied.Resources = nil
			many, first = append(many, &copied), append(first, copied.Name)
		}
	}
	cat, err := tool.NewCatalogue(many, tool.Options{})
	require.NoError(t, err)
	url := serveCatalogue(t, cat, mcptool.Options{First: first})
	r := ask(t, url+"/mcp", "tools/list", "")
	require.Len(t, names(t, r), 12)
	require.LessOrEqual(t, len(r.body), 16000)
}

// BenchmarkCall measures a tools/call in the newest protocol over an open connection.
func BenchmarkCall(b *testing.B) {
	url := serve(b, mcptool.Options{}) + "/mcp/x/all"
	for b.Loop() {
		call(b, url, "books_book_get", freya)
	}
}

// BenchmarkHandler measures the handler's part of a tools/call, without the network.
func BenchmarkHandler(b *testing.B) {
	h := mcptool.New(sample(b), mcptool.Options{})
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"books_book_get",` +
		`"arguments":` + freya + `,` + modernMeta + `}}`
	require.True(b, json.Valid([]byte(body)))
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/mcp/x/all",
			strings.NewReader(body))
		require.NoError(b, err)
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "books_book_get",
			"Mcp-Param-Vault": "main",
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(b, http.StatusOK, w.Code)
	}
}
