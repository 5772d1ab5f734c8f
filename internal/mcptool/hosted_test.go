package mcptool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/metric"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

var (
	_ mcptool.Meter     = (*metric.Metrics)(nil)
	_ httptool.Resource = mcptool.New(new(tool.Catalogue), mcptool.Options{}).(httptool.Resource)
)

// public is the Resource of a server on the internet.
var public = access.Resource{
	PublicURL: "https://notes.example.test", Issuers: []string{"https://login.example.test"},
}

// bearer accepts a few tokens.
func bearer(r *http.Request) (auth.Caller, error) {
	all := auth.AllVaults
	c := auth.Caller{Tenant: "t", Principal: "user:x", Agent: "user:x", Session: auth.DefaultSession}
	switch r.Header.Get("Authorization") {
	case "":
		return auth.Caller{}, fault.New(fault.Unauthenticated, "the request has no token")
	case "Bearer admin":
		c.Roles = map[string]auth.Role{all: auth.Admin}
	case "Bearer reader":
		c.Roles = map[string]auth.Role{all: auth.Reader}
	case "Bearer scoped":
		c.Roles, c.Scope = map[string]auth.Role{all: auth.Admin}, auth.Reader
	case "Bearer partly":
		c.Roles, c.Scope = map[string]auth.Role{"main": auth.Editor, "spare": auth.Reader}, auth.Reader
	case "Bearer expired":
		return auth.Caller{}, auth.Expired()
	case "Bearer revoked": // during its call
		c.Roles = map[string]auth.Role{all: auth.Reader}
		c.Refresh = func(context.Context) (auth.Caller, error) { return auth.Caller{}, auth.Refused() }
	default:
		return auth.Caller{}, auth.Refused()
	}
	return c, nil
}

// hosted runs the endpoint mounted in the HTTP server with all its middleware.
func hosted(t testing.TB, cat *tool.Catalogue, o httptool.Options) string {
	t.Helper()
	if o.Authenticate == nil {
		o.Authenticate = bearer
	}
	o.Resource = public
	o.Mount = map[string]http.Handler{mcptool.Path: mcptool.New(cat, mcptool.Options{
		First: first, Authenticate: o.Authenticate, Resource: o.Resource,
	})}
	server := httptest.NewServer(httptool.New(cat, o))
	t.Cleanup(server.Close)
	return server.URL
}

// spoken sends one message in each way: in the newest protocol and in those before it.
func spoken(t testing.TB, url, method, params string, header ...string) map[string]result {
	t.Helper()
	var named struct {
		Name      string
		Arguments struct{ Vault string }
	}
	require.NoError(t, json.Unmarshal([]byte("{"+params+"}"), &named), params)
	own := []string{"Mcp-Name", named.Name, "Mcp-Param-Vault", named.Arguments.Vault}
	all := map[string]result{modern: resultOf(t, ask(t, url, method, params, append(own, header...)...))}
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		all[version] = resultOf(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"`+method+
			`","params":{`+params+`}}`, append([]string{"MCP-Protocol-Version", version}, header...)...))
	}
	return all
}

const addBook = `"name":"books_book_new","arguments":{"vault":"main","title":"Edda"}`

// TestRefusals checks how requests are refused in all versions of the protocol: the status, the
// code, the id of the message, and the challenge, which names the called path.
func TestRefusals(t *testing.T) {
	const bad = `error="invalid_token", error_description="the token was not accepted", `
	const end = `", resource_metadata="https://notes.example.test/.well-known/oauth-protected-resource`
	const missing = `Bearer realm="rookery", scope="reader` + end
	const few = `Bearer realm="rookery", error="insufficient_scope", ` +
		`error_description="the token has too few scopes", scope="reader editor`
	url := hosted(t, sample(t), httptool.Options{})
	for name, c := range map[string]struct {
		path, method, params string
		token                string
		header               []string
		status               int
		code                 any
		challenge            string
	}{
		"no token":       {"/mcp", "tools/list", "", "", nil, 401, "UNAUTHENTICATED", missing + `/mcp"`},
		"no token, call": {"/mcp", "tools/call", addBook, "", nil, 401, "UNAUTHENTICATED", missing + `/mcp"`},
		"no token, sets": {"/mcp/x/books,desk", "tools/list", "", "", nil, 401, "UNAUTHENTICATED", missing + `/mcp/x/books,desk"`},
		"readonly":       {"/mcp/readonly/x/books", "ping", "", "", nil, 401, "UNAUTHENTICATED", missing + `/mcp/readonly/x/books"`},
		"a bad token":    {"/mcp", "tools/list", "", "Bearer x", nil, 401, "UNAUTHENTICATED", strings.Replace(missing, `scope=`, bad+`scope=`, 1) + `/mcp"`},
		"an old token": {"/mcp", "tools/list", "", "Bearer expired", nil, 401, "TOKEN_EXPIRED",
			strings.Replace(missing, `scope=`, `error="invalid_token", error_description="the token has expired", scope=`, 1) + `/mcp"`},
		"another scheme": {"/mcp", "tools/list", "", "Basic eDp5", nil, 401, "UNAUTHENTICATED", missing + `/mcp"`},
		"in the query":   {"/mcp?access_token=admin", "tools/list", "", "", nil, 401, "UNAUTHENTICATED", missing + `/mcp"`},
		"revoked now":    {"/mcp", "tools/call", addBook, "Bearer revoked", nil, 401, "UNAUTHENTICATED", strings.Replace(missing, `scope=`, bad+`scope=`, 1) + `/mcp"`},
		"too few scopes": {"/mcp", "tools/call", addBook, "Bearer scoped", nil, 403, "PERMISSION_DENIED", few + end + `/mcp"`},
		"for the vault":  {"/mcp/x/books", "tools/call", addBook, "Bearer partly", nil, 403, "PERMISSION_DENIED", few + end + `/mcp/x/books"`},
		"for all of it": {"/mcp/x/all", "tools/call", `"name":"desk_shelf_create","arguments":{"name":"n"}`,
			"Bearer scoped", nil, 403, "PERMISSION_DENIED", strings.Replace(few, "editor", "editor admin", 1) + end + `/mcp/x/all"`},
		"Host":   {"/mcp", "tools/list", "", "Bearer admin", []string{"Host", "evil.test"}, 403, nil, ""},
		"Origin": {"/mcp", "tools/list", "", "Bearer admin", []string{"Origin", "https://evil.test"}, 403, nil, ""},
		"null":   {"/mcp", "tools/list", "", "Bearer admin", []string{"Origin", "null"}, 403, nil, ""},
		"path":   {"/mcp/x/nothing", "tools/list", "", "", nil, 404, "NOT_FOUND", ""},
		"sets":   {"/mcp/x/all,nothing", "tools/list", "", "", nil, 404, "NOT_FOUND", ""},
	} {
		t.Run(name, func(t *testing.T) {
			header := append([]string{"Authorization", c.token}, c.header...)
			for version, r := range spoken(t, url+c.path, c.method, c.params, header...) {
				require.Equal(t, c.status, r.status, version+r.body)
				require.Equal(t, c.challenge, r.header.Get("WWW-Authenticate"), version)
				if c.code == nil {
					continue // the HTTP server has refused it
				}
				_, code := r.rpcError(t)
				require.Equal(t, c.code, code, version)
				require.EqualValues(t, 1, r.rpc["id"], version)
				require.Equal(t, "application/json", r.header.Get("Content-Type"))
			}
		})
	}
}

// TestDeniedCalls checks that a refusal that no scope would avoid is the answer of the call.
func TestDeniedCalls(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	for name, c := range map[string]struct {
		path, token, params, code string
		header                    []string
	}{
		"a role":       {"/mcp", "Bearer reader", addBook, "PERMISSION_DENIED", nil},
		"another role": {"/mcp/x/all", "Bearer partly", `"name":"desk_shelf_create","arguments":{"name":"n"}`, "PERMISSION_DENIED", nil},
		"that vault":   {"/mcp", "Bearer partly", strings.Replace(addBook, "main", "spare", 1), "PERMISSION_DENIED", nil},
		"a vault":      {"/mcp", "Bearer partly", strings.Replace(addBook, "main", "none", 1), "NOT_FOUND", nil},
		"path":         {"/mcp/readonly", "Bearer admin", addBook, "READ_ONLY", nil},
		"header":       {"/mcp", "Bearer admin", addBook, "READ_ONLY", []string{"X-MCP-Readonly", "true"}},
		"its header":   {"/mcp", "Bearer admin", addBook, "READ_ONLY", []string{"X-Readonly", "1"}},
	} {
		for version, r := range spoken(t, url+c.path, "tools/call", c.params, append(c.header, "Authorization", c.token)...) {
			require.Equal(t, 200, r.status, name+version+r.body)
			require.True(t, r.fail, name)
			require.Equal(t, c.code, r.code(), name)
			require.Empty(t, r.header.Get("WWW-Authenticate"))
		}
	}
	for version, r := range spoken(t, url+"/mcp", "tools/call", `"name":"books_book_get","arguments":`+freya, "Authorization", "Bearer scoped") {
		require.False(t, r.fail, version+r.body)
	}
}

// TestDeniedInABatch checks that each call of a batch has its own answer, because the results of
// the others must be returned, and that a refused call has no effect.
func TestDeniedInABatch(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	r := post(t, url+"/mcp/x/all", `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+addBook+`}},`+
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"books_book_get","arguments":`+freya+`}}]`,
		"MCP-Protocol-Version", "2025-03-26", "Authorization", "Bearer scoped")
	require.Equal(t, 200, r.status)
	require.Empty(t, r.header.Get("WWW-Authenticate"))
	require.Contains(t, r.body, `\"code\":\"PERMISSION_DENIED\"`)
	require.Contains(t, r.body, `\"insufficient_scope\":true`)
	require.Contains(t, r.body, `Book people/freya`)
	list := resultOf(t, ask(t, url+"/mcp/x/all", "tools/call", `"name":"books_book_list","arguments":{"vault":"main"}`,
		"Mcp-Name", "books_book_list", "Mcp-Param-Vault", "main", "Authorization", "Bearer admin"))
	require.NotContains(t, list.text, "Edda")
}

// TestOneChallenge checks that /mcp and /v1 send the same challenge, except for the path of the
// metadata.
func TestOneChallenge(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	for token, body := range map[string]string{
		"": `{}`, "Bearer x": `{}`, "Bearer expired": `{}`, "Basic x": `{}`, "Bearer scoped": `{"vault":"main","title":"x"}`,
	} {
		rest := post(t, url+"/v1/tools/books_book_new", body, "Authorization", token)
		rpc := call(t, url+"/mcp", "books_book_new", body, "Authorization", token)
		require.Equal(t, rest.status, rpc.status, token)
		require.NotEmpty(t, rest.header.Get("WWW-Authenticate"))
		require.Equal(t, rest.header.Get("WWW-Authenticate"),
			strings.Replace(rpc.header.Get("WWW-Authenticate"), `resource/mcp"`, `resource"`, 1))
	}
}

// TestMetadataOfEveryPath checks that each path that can be called names existing metadata, whose
// resource is the called URL, and that no other path has metadata.
func TestMetadataOfEveryPath(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	for path, exists := range map[string]bool{
		"/mcp": true, "/mcp/": true, "/mcp/x/all": true, "/mcp/x/books": true, "/mcp/x/books,desk": true,
		"/mcp/readonly": true, "/mcp/readonly/x/desk": true, "/mcp/x/desk%2Cbooks": true,
		"/mcp/x/nothing": false, "/mcp/x/all,nothing": false, "/mcp/x": false, "/mcpx": false, "/mcp/readonlyx": false,
		"/mcp/x/all,%22": false, "/mcp/x/all%0d%0aX:y": false,
	} {
		at := "/.well-known/oauth-protected-resource" + path
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+at, nil)
		require.NoError(t, err)
		got := send(t, r)
		challenge := ask(t, url+path, "tools/list", "").header.Get("WWW-Authenticate")
		if !exists {
			require.Equal(t, 404, got.status, path)
			require.NotContains(t, challenge, path)
			continue
		}
		plain := strings.ReplaceAll(path, "%2C", ",")
		require.Equal(t, 200, got.status, path)
		require.Contains(t, got.body, `"resource":"https://notes.example.test`+plain+`"`)
		require.Contains(t, challenge, `resource_metadata="https://notes.example.test/.well-known/oauth-protected-resource`+plain+`"`)
	}
}

// TestOnlyPOSTReachesATool checks that the endpoint answers only POST, and that other methods are
// not authenticated.
func TestOnlyPOSTReachesATool(t *testing.T) {
	asked := 0
	url := hosted(t, sample(t), httptool.Options{Authenticate: func(r *http.Request) (auth.Caller, error) {
		asked++
		return bearer(r)
	}, Origins: []string{"https://app.example.test"}})
	for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"} {
		r, err := http.NewRequestWithContext(t.Context(), method, url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer admin")
		got := send(t, r)
		require.Equal(t, 405, got.status, method)
		require.Equal(t, "POST", got.header.Get("Allow"))
	}
	r, err := http.NewRequestWithContext(t.Context(), "OPTIONS", url+"/mcp", nil)
	require.NoError(t, err)
	r.Header.Set("Origin", "https://app.example.test")
	r.Header.Set("Access-Control-Request-Method", "POST")
	require.Equal(t, 204, send(t, r).status)
	require.Zero(t, asked)
}

// TestRateHeaders checks that answers of calls report the rest of the caller's rate (for a batch,
// the lowest value of its calls), and that requests without calls report nothing.
func TestRateHeaders(t *testing.T) {
	var mu sync.Mutex
	left := 9
	limited := func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			mu.Lock()
			left--
			*c.Caller.Allowance = auth.Allowance{Limit: 120, Remaining: left, Reset: 1500 * time.Millisecond}
			mu.Unlock()
			return next(ctx, c)
		}
	}
	cat, err := tool.NewCatalogue(tooltest.AidedTools(), tool.Options{
		Interceptors: []tool.Interceptor{limited, access.Check(vaults{"main", "spare"})}})
	require.NoError(t, err)
	url := hosted(t, cat, httptool.Options{})
	rates := func(h http.Header) []string {
		return []string{h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"), h.Get("RateLimit-Reset")}
	}
	admin := []string{"Authorization", "Bearer admin"}
	require.Equal(t, []string{"120", "8", "2"}, rates(call(t, url+"/mcp", "desk_whoami", `{}`, admin...).header))
	refused := call(t, url+"/mcp", "books_book_new", `{"vault":"main","title":"x"}`, "Authorization", "Bearer scoped")
	require.Equal(t, 403, refused.status)
	require.Equal(t, []string{"120", "7", "2"}, rates(refused.header))
	read := ask(t, url+"/mcp", "resources/read", `"uri":"rookery://main/books/people/freya"`, append(admin, "Mcp-Name", "rookery://main/books/people/freya")...)
	require.Equal(t, []string{"120", "6", "2"}, rates(read.header))
	one := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"desk_whoami"}}`
	batch := post(t, url+"/mcp", `[`+one+`,`+strings.Replace(one, `"id":1`, `"id":2`, 1)+`]`, append(admin, "MCP-Protocol-Version", "2025-03-26")...)
	require.Equal(t, []string{"120", "4", "2"}, rates(batch.header))
	require.Equal(t, []string{"", "", ""}, rates(ask(t, url+"/mcp", "tools/list", "", admin...).header))
}

// TestRefusedAreCounted checks that refused requests are counted with the reason.
func TestRefusedAreCounted(t *testing.T) {
	var m reasons
	url := serve(t, mcptool.Options{Authenticate: bearer, Meter: &m})
	for _, token := range []string{"", "Bearer x", "Bearer expired", "Bearer admin"} {
		ask(t, url+"/mcp", "tools/list", "", "Authorization", token)
	}
	require.Equal(t, reasons{access.NoToken, access.Invalid, access.Expired}, m)
}

type reasons []access.Reason

func (r *reasons) Refused(why access.Reason) { *r = append(*r, why) }

// An endless is a body without end that counts the bytes read.
type endless struct {
	head string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := range p[n:] {
		p[n+i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

// TestLittleIsReadFirst checks that only the beginning of a refused request's body is read, and
// that the id is found there.
func TestLittleIsReadFirst(t *testing.T) {
	const most = 64 << 10
	h := mcptool.New(sample(t), mcptool.Options{Authenticate: bearer})
	for target, c := range map[string]struct {
		method string
		status int
		id     string
		most   int
	}{
		"/mcp": {"POST", 401, "7", most}, "/mcp/x/nothing": {"POST", 404, "7", most},
		"/mcp/x/all": {"PUT", 405, "null", 0},
	} {
		body := &endless{head: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{`}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, target, body))
		require.Equal(t, c.status, w.Code, target)
		require.LessOrEqual(t, body.read, c.most)
		require.Equal(t, c.id, string(idIn(t, w.Body.String())), target)
		require.Equal(t, "close", w.Header().Get("Connection"), "the rest of it is not waited for")
	}
}

// TestSlowBodies checks that a client that is not allowed to call is answered while it is still
// sending its body, with the id if that has arrived.
func TestSlowBodies(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	host := strings.TrimPrefix(url, "http://")
	for head, id := range map[string]string{`{"jsonrpc":"2.0","id":7,`: "7", "": "null"} {
		conn, err := net.Dial("tcp", host)
		require.NoError(t, err)
		_, err = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: "+host+
			"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"+head)
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, 401, resp.StatusCode)
		data, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, id, string(idIn(t, string(data))))
		require.NoError(t, resp.Body.Close())
		require.NoError(t, conn.Close())
	}
}

// TestRefusedConnectionGoesOn checks that a connection whose request was refused serves the next
// one, however much later.
func TestRefusedConnectionGoesOn(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	for range 3 {
		r := ask(t, url+"/mcp", "tools/list", "")
		require.Equal(t, 401, r.status)
		require.Empty(t, r.header.Get("Connection"))
	}
}

// TestLargeBodyBehindTheServer checks that a body above the limit is refused as such, even if the
// HTTP server counts it too.
func TestLargeBodyBehindTheServer(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	r := resultOf(t, post(t, url+"/mcp", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"`+
		strings.Repeat("x", tool.MaxBody)+`"}}`, "Authorization", "Bearer admin"))
	require.Equal(t, http.StatusRequestEntityTooLarge, r.status)
	_, code := r.rpcError(t)
	require.Equal(t, "BATCH_TOO_LARGE", code)
	require.EqualValues(t, 7, r.rpc["id"])
}

// TestHeadersOfOneValue checks that a header that restricts a call, or identifies its caller, is
// refused if it has several values or cannot be parsed.
func TestHeadersOfOneValue(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp"
	for name, values := range map[string][]string{
		"X-Readonly": {"0", "1"}, "X-MCP-Readonly": {"", "true"}, "X-Agent-Id": {"a", "b"},
		"X-Session-Id": {"a\xff"}, "Authorization": {"Bearer a", "Bearer a"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		require.NoError(t, err)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		require.Equal(t, 200, send(t, r).status)
		r.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header[http.CanonicalHeaderKey(name)] = values
		got := resultOf(t, send(t, r))
		require.Contains(t, []int{400, 401}, got.status, name)
		require.EqualValues(t, 1, got.rpc["id"])
	}
}
