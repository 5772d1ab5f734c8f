package httptool_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// public is the Resource of a server on the internet.
var public = access.Resource{
	PublicURL: "https://notes.example.test", Issuers: []string{"https://login.example.test"},
}

const (
	at      = `resource_metadata="https://notes.example.test/.well-known/oauth-protected-resource"`
	bad     = `error="invalid_token", error_description="the token was not accepted"`
	missing = `Bearer realm="rookery", scope="reader", ` + at
	invalid = `Bearer realm="rookery", ` + bad + `, scope="reader", ` + at
)

// A vaults is the vaults of a tenant whose agents every principal may use.
type vaults []string

func (v vaults) Vaults(context.Context, auth.Caller, bool) ([]string, error) { return v, nil }

func (vaults) ClaimAgent(context.Context, auth.Caller, bool) error { return nil }

// callers maps tokens to callers, or to the reasons why they are refused.
var callers = map[string]struct {
	roles map[string]auth.Role
	scope auth.Role
	err   error
}{
	"Bearer admin":   {roles: map[string]auth.Role{"*": auth.Admin}},
	"Bearer reader":  {roles: map[string]auth.Role{"*": auth.Reader}},
	"Bearer scoped":  {roles: map[string]auth.Role{"*": auth.Admin}, scope: auth.Reader},
	"Bearer partly":  {roles: map[string]auth.Role{"main": auth.Editor}, scope: auth.Reader},
	"Bearer expired": {err: auth.Expired()},
	"Bearer broken":  {err: errors.New(tooltest.Secret)},
}

// who returns the caller of a request.
func who(r *http.Request) (auth.Caller, error) {
	token := r.Header.Get("Authorization")
	if token == "" {
		return auth.Caller{}, fault.New(fault.Unauthenticated, "the request has no token")
	}
	c, ok := callers[token]
	if !ok {
		return auth.Caller{}, auth.Refused()
	}
	return auth.Caller{Tenant: "t", Principal: "user:x", Roles: c.roles, Scope: c.scope}, c.err
}

// limited is an interceptor with a rate limit that each call reduces.
func limited(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
		*c.Caller.Allowance = auth.Allowance{Limit: 120, Remaining: 7, Reset: 1200 * time.Millisecond}
		return next(ctx, c)
	}
}

// hosted runs a server with authentication.
func hosted(t *testing.T, o httptool.Options, more ...tool.Interceptor) *httptest.Server {
	t.Helper()
	cat, err := tool.NewCatalogue(tooltest.SampleTools(), tool.Options{
		Interceptors: append(more, access.Check(vaults{"main", "spare"})),
	})
	require.NoError(t, err)
	if o.Authenticate == nil {
		o.Authenticate = who
	}
	if o.Docs == nil {
		o.Docs = []byte(docsPage)
	}
	s := httptest.NewServer(httptool.New(cat, o))
	t.Cleanup(s.Close)
	return s
}

// TestChallenges checks that every 401 has its challenge, and every 403 for lack of scopes, and
// that no other answer has one.
func TestChallenges(t *testing.T) {
	const scoped = `Bearer realm="rookery", error="insufficient_scope", ` +
		`error_description="the token has too few scopes", scope=`
	s := hosted(t, httptool.Options{Resource: public})
	for name, c := range map[string]struct {
		line, token, body string
		status            int
		want              string
	}{
		"no token":         {"GET /v1/vaults/main/books", "", "", 401, missing},
		"a bad one":        {"GET /v1/vaults/main/books", "Bearer x", "", 401, invalid},
		"by name":          {"POST /v1/tools/books_book_get", "Bearer x", "{}", 401, invalid},
		"no such tool":     {"POST /v1/tools/nothing", "Bearer x", "{}", 401, invalid},
		"another scheme":   {"GET /v1/whoami", "Basic eDp5", "", 401, missing},
		"an old one":       {"GET /v1/whoami", "Bearer expired", "", 401, strings.Replace(invalid, "was not accepted", "has expired", 1)},
		"too few scopes":   {"POST /v1/vaults/main/books", "Bearer scoped", `{"title":"x"}`, 403, scoped + `"reader editor", ` + at},
		"for the tenant":   {"POST /v1/vaults", "Bearer scoped", `{"name":"x"}`, 403, scoped + `"reader editor admin", ` + at},
		"scopes, a role":   {"POST /v1/vaults/main/books", "Bearer partly", `{"title":"x"}`, 403, scoped + `"reader editor", ` + at},
		"no role at all":   {"POST /v1/vaults", "Bearer partly", `{"name":"x"}`, 403, ""},
		"no vault to see":  {"POST /v1/vaults/spare/books", "Bearer partly", `{"title":"x"}`, 404, ""},
		"no scopes":        {"POST /v1/vaults/main/books", "Bearer reader", `{"title":"x"}`, 403, ""},
		"scopes that do":   {"GET /v1/vaults/main/books", "Bearer scoped", "", 200, ""},
		"who may":          {"GET /v1/vaults/main/books", "Bearer admin", "", 200, ""},
		"nobody can tell":  {"GET /v1/whoami", "Bearer broken", "", 500, ""},
		"no route":         {"GET /nowhere", "", "", 404, ""},
		"public":           {"GET /docs", "", "", 200, ""},
		"in the query":     {"GET /v1/whoami?access_token=admin", "", "", 401, missing},
		"in the form":      {"POST /v1/tools/desk_whoami", "", "access_token=admin", 401, missing},
		"in query, beside": {"GET /v1/whoami?access_token=swordfish", "Bearer admin", "", 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := send(t, s, ask{line: c.line, body: c.body, header: map[string]string{"Authorization": c.token}})
			require.Equal(t, c.status, g.status, g.body)
			require.Equal(t, c.want, g.header.Get("WWW-Authenticate"))
			require.NotContains(t, g.body, "swordfish")
			require.NotContains(t, g.body, tooltest.Secret)
		})
	}
}

// TestTwoTokens checks that a request with two tokens is refused, even if each of them is valid.
func TestTwoTokens(t *testing.T) {
	s := hosted(t, httptool.Options{Resource: public})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/whoami", nil)
	require.NoError(t, err)
	r.Header["Authorization"] = []string{"Bearer admin", "Bearer admin"}
	resp, err := s.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	require.Equal(t, invalid, resp.Header.Get("WWW-Authenticate"))
}

// A mounted is a handler with metadata of its own, for /mcp and /mcp/x/books.
type mounted struct{ http.Handler }

func (mounted) Serves(path string) bool { return path == "/mcp" || path == "/mcp/x/books" }

// TestMetadata checks which metadata exists: that of the server and of each existing path, for
// everyone.
func TestMetadata(t *testing.T) {
	nothing := http.NotFoundHandler()
	mount := map[string]http.Handler{"/mcp": mounted{nothing}, "/plain": nothing}
	const root = "/.well-known/oauth-protected-resource"
	for _, c := range []struct {
		line     string
		resource access.Resource
		origin   string
		status   int
		of       string
	}{
		{"GET " + root, public, "", 200, ""},
		{"HEAD " + root, public, "", 200, ""},
		{"GET " + root + "/mcp", public, "", 200, "/mcp"},
		{"GET " + root + "/mcp/x/books", public, "https://elsewhere.test", 200, "/mcp/x/books"},
		{"GET " + root + "/mcp?x=y", public, "null", 200, "/mcp"},
		{"POST " + root, public, "", 405, ""},
		{"OPTIONS " + root, public, "", 405, ""},
		{"GET " + root + "/", public, "", 400, ""},
		{"GET " + root + "/mcp/", public, "", 400, ""},
		{"GET " + root + "/mcp/x/nothing", public, "", 404, ""},
		{"GET " + root + "/mcpx", public, "", 404, ""},
		{"GET " + root + "/plain", public, "", 404, ""},
		{"GET " + root + "/v1/whoami", public, "", 404, ""},
		{"GET " + root, access.Resource{}, "", 404, ""},
		{"GET " + root, access.Resource{PublicURL: public.PublicURL}, "", 404, ""},
		{"GET " + root, access.Resource{Issuers: public.Issuers}, "", 404, ""},
		{"GET " + root, access.Resource{}, "https://elsewhere.test", 403, ""},
	} {
		t.Run(c.line, func(t *testing.T) {
			s := hosted(t, httptool.Options{Resource: c.resource, Mount: mount})
			header := map[string]string{"Origin": c.origin}
			if c.origin == "" {
				header = nil
			}
			g := send(t, s, ask{line: c.line, header: header})
			require.Equal(t, c.status, g.status, g.body)
			if c.status != 200 {
				require.NotEqual(t, "public, max-age=300", g.header.Get("Cache-Control"))
				return
			}
			require.Equal(t, "*", g.header.Get("Access-Control-Allow-Origin"))
			require.Equal(t, "public, max-age=300", g.header.Get("Cache-Control"))
			require.Equal(t, "application/json", g.header.Get("Content-Type"))
			if !strings.HasPrefix(c.line, "HEAD") {
				require.Equal(t, string(public.Metadata(c.of)), g.body)
			}
		})
	}
}

// TestMetadataNamesNoOtherServer checks that the server's name is not taken from the connection.
func TestMetadataNamesNoOtherServer(t *testing.T) {
	s := hosted(t, httptool.Options{Resource: public, Hosts: []string{"notes.example.test", "inner.test:80"}})
	for _, header := range []map[string]string{
		{"Host": "inner.test:80"}, {"Host": "notes.example.test", "X-Forwarded-Host": "evil.test"},
		{"Host": "notes.example.test", "Forwarded": "host=evil.test"},
	} {
		g := send(t, s, ask{line: "GET " + access.WellKnown, header: header})
		require.Equal(t, string(public.Metadata("")), g.body)
		require.Equal(t, missing, send(t, s, ask{line: "GET /v1/whoami", header: header}).header.Get("WWW-Authenticate"))
	}
	g := send(t, s, ask{line: "GET " + access.WellKnown, header: map[string]string{"Host": "evil.test"}})
	require.Equal(t, 403, g.status)
}

// TestRateHeaders checks that each answer of a call, and no other, reports the remaining rate.
func TestRateHeaders(t *testing.T) {
	s := hosted(t, httptool.Options{}, limited)
	for line, want := range map[string][]string{
		"GET /v1/vaults/main/books":            {"120", "7", "2"},
		"GET /v1/vaults/main/books/none":       {"120", "7", "2"},
		"GET /v1/vaults/main/books?limit=none": {"120", "7", "2"},
		"GET /docs":                            {"", "", ""},
	} {
		h := send(t, s, ask{line: line, header: map[string]string{"Authorization": "Bearer admin"}}).header
		require.Equal(t, want, []string{h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"), h.Get("RateLimit-Reset")}, line)
	}
	free := send(t, hosted(t, httptool.Options{}), ask{line: "GET /v1/whoami", header: map[string]string{"Authorization": "Bearer admin"}})
	require.Equal(t, 200, free.status)
	require.Empty(t, free.header.Get("RateLimit-Limit"), "without a rate there is nothing left of it")
}
