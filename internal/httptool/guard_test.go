package httptool_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestHostAndOrigin(t *testing.T) {
	local := serve(t, httptool.Options{})
	named := serve(t, httptool.Options{Hosts: []string{"memory.example.test", "memory.example.test:443"},
		Resource: access.Resource{PublicURL: "https://memory.example.test"}})
	_, port, _ := strings.Cut(local.Listener.Addr().String(), ":")
	for name, c := range map[string]struct {
		named  bool
		header map[string]string
		status int
	}{
		"address":           {false, nil, 200},
		"localhost":         {false, map[string]string{"Host": "localhost:" + port}, 200},
		"IPv6":              {false, map[string]string{"Host": "[::1]:" + port}, 200},
		"case":              {false, map[string]string{"Host": "LocalHost:" + port}, 200},
		"other port":        {false, map[string]string{"Host": "localhost:1"}, 403},
		"no port":           {false, map[string]string{"Host": "localhost"}, 403},
		"rebound name":      {false, map[string]string{"Host": "evil.test:" + port}, 403},
		"name within":       {false, map[string]string{"Host": "localhost.evil.test:" + port}, 403},
		"own origin":        {false, map[string]string{"Origin": "http://localhost:" + port}, 200},
		"other origin":      {false, map[string]string{"Origin": "http://evil.test"}, 403},
		"origin, port":      {false, map[string]string{"Origin": "http://localhost:1"}, 403},
		"null origin":       {false, map[string]string{"Origin": "null"}, 403},
		"scheme of origin":  {false, map[string]string{"Origin": "file://localhost:" + port}, 403},
		"port, as digits":   {false, map[string]string{"Origin": "http://localhost:0" + port}, 403},
		"own, over TLS":     {false, map[string]string{"Origin": "https://localhost:" + port}, 403},
		"user":              {false, map[string]string{"Origin": "http://x@localhost:" + port}, 403},
		"path":              {false, map[string]string{"Origin": "http://localhost:" + port + "/x"}, 403},
		"slash":             {false, map[string]string{"Origin": "http://localhost:" + port + "/"}, 403},
		"query":             {false, map[string]string{"Origin": "http://localhost:" + port + "?"}, 403},
		"fragment":          {false, map[string]string{"Origin": "http://localhost:" + port + "#x"}, 403},
		"two, in one":       {false, map[string]string{"Origin": "http://localhost:" + port + " http://evil.test"}, 403},
		"its name":          {true, map[string]string{"Host": "memory.example.test"}, 200},
		"its name, not IP":  {true, nil, 403},
		"its origin":        {true, map[string]string{"Host": "memory.example.test", "Origin": "https://memory.example.test"}, 200},
		"its usual port":    {true, map[string]string{"Host": "memory.example.test", "Origin": "https://memory.example.test:443"}, 200},
		"another port":      {true, map[string]string{"Host": "memory.example.test", "Origin": "https://memory.example.test:80"}, 403},
		"an empty port":     {true, map[string]string{"Host": "memory.example.test", "Origin": "https://memory.example.test:"}, 403},
		"its plain self":    {true, map[string]string{"Host": "memory.example.test", "Origin": "http://memory.example.test"}, 403},
		"plain, with port":  {true, map[string]string{"Host": "memory.example.test", "Origin": "http://memory.example.test:443"}, 403},
		"its path":          {true, map[string]string{"Host": "memory.example.test", "Origin": "https://memory.example.test/x"}, 403},
		"not its own":       {true, map[string]string{"Host": "memory.example.test", "Origin": "https://example.test"}, 403},
		"preflight refused": {true, map[string]string{"Host": "memory.example.test", "Origin": "https://evil.test", "Access-Control-Request-Method": "POST"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			s := local
			if c.named {
				s = named
			}
			for _, line := range []string{"GET /v1/whoami", "GET /docs"} {
				g := send(t, s, ask{line: line, header: c.header})
				require.Equal(t, c.status, g.status, g.body)
				if c.status == 403 {
					require.Equal(t, fault.PermissionDenied, g.envelope(t).Error.Code)
				}
				require.Empty(t, g.header.Get("Access-Control-Allow-Origin"))
			}
		})
	}
	require.Equal(t, 200, send(t, named, ask{line: "GET /healthz"}).status, "a probe knows no name")
}

// TestOriginOverTLS checks that a page of a listener with TLS must have come over TLS, also on
// loopback, and also if another name uses plain HTTP.
func TestOriginOverTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	s.Config.Handler = httptool.New(tooltest.Sample(), httptool.Options{
		Hosts:    []string{"localhost:" + port, "127.0.0.1:" + port, "localhost:9"},
		Resource: access.Resource{PublicURL: "http://localhost:9"},
	})
	s.StartTLS()
	t.Cleanup(s.Close)
	for origin, status := range map[string]int{
		"https://localhost:" + port: 200, "https://127.0.0.1:" + port: 200, "http://localhost:" + port: 403,
		"http://localhost:9": 200, "https://localhost:9": 403, "https://localhost": 403,
	} {
		g := send(t, s, ask{line: "GET /v1/whoami", header: map[string]string{"Origin": origin}})
		require.Equal(t, status, g.status, origin)
	}
}

// document returns a document with this text.
func document(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

func TestProbes(t *testing.T) {
	for line, status := range map[string]int{"GET /healthz": 200, "GET /readyz": 503} {
		s := serve(t, httptool.Options{Ready: func(context.Context) error { return errors.New(tooltest.Secret) }})
		g := send(t, s, ask{line: line})
		require.Equal(t, status, g.status)
		require.Equal(t, status == 200, g.envelope(t).OK)
		require.Equal(t, status == 503, g.header.Get("Retry-After") == "1")
		require.NotContains(t, g.body, tooltest.Secret)
	}
	g := send(t, serve(t, httptool.Options{}), ask{line: "GET /readyz"})
	require.Equal(t, `{"ok":true,"data":{"status":"ready"},"warnings":[]}`, g.body)
}

func TestDocument(t *testing.T) {
	s := serve(t, httptool.Options{Document: document(`{"openapi":"3.1.0"}`)})
	require.Equal(t, `{"openapi":"3.1.0"}`, send(t, s, ask{line: "GET /openapi.json"}).body)
	require.Equal(t, 404, send(t, serve(t, httptool.Options{}), ask{line: "GET /openapi.json"}).status)
}

// docsPage is a short page in the form of the one that describes all tools.
const docsPage = "<!doctype html>\n<style>a { color: #123; }</style>\n<p>" + httptool.VersionMark + "Tools</p>\n"

func TestDocs(t *testing.T) {
	s := serve(t, httptool.Options{Docs: []byte(docsPage), Version: "1.2.3<"})
	g := send(t, s, ask{line: "GET /docs"})
	require.Equal(t, 200, g.status)
	require.Equal(t, "text/html; charset=utf-8", g.header.Get("Content-Type"))
	require.Equal(t, strings.Replace(docsPage, httptool.VersionMark, "Version 1.2.3&lt;. ", 1), g.body)

	digest := sha256.Sum256([]byte("a { color: #123; }"))
	policy := g.header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.Contains(t, policy, "'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'")

	w := httptest.NewRecorder()
	httptool.New(tooltest.Sample(), httptool.Options{Hosts: []string{"x"}}).
		ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://x/docs", nil))
	require.Equal(t, 404, w.Code)
}

func TestSecurityHeaders(t *testing.T) {
	s := serve(t, httptool.Options{})
	for _, line := range []string{"GET /v1/whoami", "GET /nowhere", "GET /docs", "GET /healthz"} {
		h := send(t, s, ask{line: line}).header
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), line)
		require.Equal(t, "DENY", h.Get("X-Frame-Options"), line)
		require.Equal(t, "no-store", h.Get("Cache-Control"), line)
		require.NotEmpty(t, h.Get("X-Request-Id"), line)
	}
}

func TestMount(t *testing.T) {
	var log lines
	s := serve(t, httptool.Options{Log: log.log(), Mount: map[string]http.Handler{
		"/mcp": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, err := io.ReadAll(r.Body)
			if err != nil {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, r.URL.Path+" "+string(data))
		}),
	}})
	require.Equal(t, "/mcp x", send(t, s, ask{line: "POST /mcp", body: "x"}).body)
	require.Equal(t, "/mcp/x/all x", send(t, s, ask{line: "POST /mcp/x/all", body: "x"}).body)
	require.Equal(t, 404, send(t, s, ask{line: "POST /mcpx", body: "x"}).status)
	require.Equal(t, 403, send(t, s, ask{line: "POST /mcp", header: map[string]string{"Host": "evil.test"}}).status)
	large := strings.Repeat("x", httptool.MaxBody+1)
	require.Equal(t, 413, send(t, s, ask{line: "POST /mcp", body: large}).status)
	require.Contains(t, log.String(), `"route":"/mcp"`)
}

func TestPanics(t *testing.T) {
	var log lines
	s := serve(t, httptool.Options{Log: log.log(), Mount: map[string]http.Handler{
		"/early": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(tooltest.Secret) }),
		"/late": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			panic(tooltest.Secret)
		}),
	}})
	g := send(t, s, ask{line: "GET /early"})
	require.Equal(t, 500, g.status)
	f := g.envelope(t).Error
	require.Equal(t, fault.Internal, f.Code)
	require.Equal(t, g.header.Get("X-Request-Id"), f.RequestID)
	require.NotContains(t, g.body, tooltest.Secret)

	resp, err := s.Client().Get(s.URL + "/late")
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	require.Error(t, err, "an answer that breaks off must not look whole")
	require.NotContains(t, log.String(), tooltest.Secret)
}

// TestLog checks that a call is one line without private data.
func TestLog(t *testing.T) {
	var log lines
	s := serve(t, httptool.Options{Log: log.log()})
	send(t, s, ask{line: "GET /v1/vaults/main/books/swordfish?envelope=true",
		header: map[string]string{"X-Request-Id": "r-1", "Authorization": "Bearer swordfish", "X-Agent-Id": "swordfish"}})
	send(t, s, ask{line: "POST /v1/vaults/spare/books", body: `{"title":"swordfish"}`})
	send(t, s, ask{line: "POST /v1/tools/swordfish", body: `{}`})
	send(t, s, ask{line: "SWORDFISH /swordfish?swordfish"})
	s.Close() // waits until everything is logged

	text := strings.TrimSpace(log.String())
	require.NotContains(t, strings.ToLower(text), "swordfish")
	all := strings.Split(text, "\n")
	require.Len(t, all, 4)
	var first map[string]any
	require.NoError(t, json.Unmarshal([]byte(all[0]), &first))
	delete(first, "time")
	delete(first, "ms")
	require.Equal(t, map[string]any{
		"level": "INFO", "msg": "request", "method": "GET", "status": 404.0, "code": "NOT_FOUND",
		"route": "/v1/vaults/{vault}/books/{id}", "tool": "books_book_get", "request_id": "r-1",
	}, first)
}

// TestAudited checks that a call that the catalogue logs has no log line here, and that every other
// request has one.
func TestAudited(t *testing.T) {
	var log lines
	s := serve(t, httptool.Options{Log: log.log(), Audited: true})
	require.Equal(t, 404, send(t, s, ask{line: "GET /v1/vaults/main/books/none"}).status)
	send(t, s, ask{line: "POST /v1/vaults/spare/books", body: `{"title":"new"}`})
	require.Empty(t, log.String())
	send(t, s, ask{line: "POST /v1/tools/nothing", body: `{}`})
	send(t, s, ask{line: "GET /v1/nowhere"})
	s.Close() // waits until everything is logged
	require.Len(t, strings.Split(strings.TrimSpace(log.String()), "\n"), 2)
}
