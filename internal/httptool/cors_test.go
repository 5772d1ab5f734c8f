package httptool_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/httptool"
)

const guest = "https://app.example.test"

// preflight returns a browser's preflight request for a page of an origin.
func preflight(target, origin string) ask {
	return ask{line: "OPTIONS " + target, header: map[string]string{
		"Origin": origin, "Access-Control-Request-Method": "PATCH",
		"Access-Control-Request-Headers": "authorization,content-type",
	}}
}

// TestCORS checks that pages of listed origins are allowed to call, with a token and without
// credentials of the browser, and that pages of other origins are not.
func TestCORS(t *testing.T) {
	calls := 0
	o := httptool.Options{Origins: []string{guest, "null", "*"}, Resource: public,
		Authenticate: func(r *http.Request) (auth.Caller, error) { calls++; return who(r) },
		Mount: map[string]http.Handler{"/mcp": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.WriteHeader(http.StatusAccepted)
		})}}
	s := hosted(t, o)
	for _, target := range []string{"/v1/whoami", "/v1/vaults/main/books", "/v1/tools/desk_whoami", "/mcp", "/mcp/x/all", "/nowhere"} {
		g := send(t, s, preflight(target, guest))
		require.Equal(t, 204, g.status, target)
		require.Empty(t, g.body)
		require.Equal(t, guest, g.header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "GET, HEAD, POST, PUT, PATCH, DELETE", g.header.Get("Access-Control-Allow-Methods"))
		for _, name := range []string{"Authorization", "If-Match", "Idempotency-Key", "MCP-Protocol-Version", "Mcp-Param-Vault"} {
			require.Contains(t, g.header.Get("Access-Control-Allow-Headers"), name)
		}
		require.NotEmpty(t, g.header.Get("Access-Control-Max-Age"))
	}
	require.Zero(t, calls, "a question of a browser asks nobody and calls nothing")

	for target, token := range map[string]string{"/v1/whoami": "Bearer admin", "/v1/vaults/main/books": "", "/v1/vaults/main/books/none": "Bearer admin"} {
		g := send(t, s, ask{line: "GET " + target, header: map[string]string{"Origin": guest, "Authorization": token}})
		require.Contains(t, []int{200, 401, 404}, g.status)
		require.Equal(t, guest, g.header.Get("Access-Control-Allow-Origin"))
		for _, name := range []string{"ETag", "X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining",
			"RateLimit-Reset", "Retry-After", "X-Warnings", "WWW-Authenticate"} {
			require.Contains(t, g.header.Get("Access-Control-Expose-Headers"), name)
		}
		require.Contains(t, g.header.Values("Vary"), "Origin")
		require.Empty(t, g.header.Get("Access-Control-Allow-Credentials"))
	}
	require.Contains(t, send(t, s, ask{line: "GET /docs"}).header.Values("Vary"), "Origin", "what is kept of it is kept by origin")

	calls = 0
	for _, origin := range []string{"null", "*", "https://evil.test", guest + ".evil.test", guest + "/", "http://app.example.test", guest + ":8443", strings.ToUpper(guest)} {
		for _, a := range []ask{preflight("/v1/whoami", origin), preflight("/mcp", origin),
			{line: "GET /v1/whoami", header: map[string]string{"Origin": origin, "Authorization": "Bearer admin"}}} {
			g := send(t, s, a)
			require.Equal(t, 403, g.status, origin)
			require.Empty(t, g.header.Get("Access-Control-Allow-Origin"), origin)
		}
	}
	require.Zero(t, calls)
}

// TestNoCORS checks that there are no CORS headers without listed origins.
func TestNoCORS(t *testing.T) {
	s := hosted(t, httptool.Options{})
	require.Equal(t, 403, send(t, s, preflight("/v1/whoami", guest)).status)
	own := send(t, s, preflight("/v1/whoami", s.URL))
	require.Equal(t, 405, own.status, "no browser asks before it calls its own origin")
	require.Empty(t, own.header.Get("Access-Control-Allow-Origin"))
	require.NotContains(t, own.header.Values("Vary"), "Origin")
	plain := send(t, hosted(t, httptool.Options{Origins: []string{guest}}), ask{line: "OPTIONS /v1/whoami", header: map[string]string{"Origin": guest}})
	require.Equal(t, 405, plain.status, "it is no question of a browser")
}

// TestMetadataPreflight checks that a page of any origin may request metadata with the protocol
// header, and nothing else.
func TestMetadataPreflight(t *testing.T) {
	s := hosted(t, httptool.Options{Resource: public})
	a := preflight("/.well-known/oauth-protected-resource", "https://elsewhere.test")
	g := send(t, s, a)
	require.Equal(t, 204, g.status)
	require.Equal(t, "*", g.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "GET, HEAD", g.header.Get("Access-Control-Allow-Methods"))
	require.Equal(t, "MCP-Protocol-Version", g.header.Get("Access-Control-Allow-Headers"))
}
