package httptool_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/metric"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

var _ httptool.Meter = (*metric.Metrics)(nil)

// A counts is a Meter that records its calls.
type counts struct {
	mu       sync.Mutex
	routes   []string
	requests []string
	panics   int
	refused  []access.Reason
}

func (c *counts) Routes(patterns ...string) { c.routes = patterns }

func (c *counts) Request(route, method string, status int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if took < 0 {
		route = "before it began"
	}
	c.requests = append(c.requests, fmt.Sprint(method, " ", route, " ", status))
}

func (c *counts) Panic() { c.panics++ }

func (c *counts) Refused(why access.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = append(c.refused, why)
}

// TestMeter checks what is counted: requests by route, panics, and refused requests by reason.
func TestMeter(t *testing.T) {
	var m counts
	o := httptool.Options{Meter: &m, Resource: public, Origins: []string{guest}, Mount: map[string]http.Handler{
		"/mcp": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(tooltest.Secret) }),
	}, Peer: func(r *http.Request) *fault.Fault {
		if r.Header.Get("X-Plain") != "" {
			return fault.New(fault.PermissionDenied, "plain")
		}
		return nil
	}}
	s := hosted(t, o)
	for _, a := range []ask{
		{line: "GET /v1/vaults/main/books?limit=1"},
		{line: "GET /v1/vaults/main/books/swordfish", header: map[string]string{"Authorization": "Bearer swordfish"}},
		{line: "GET /v1/whoami", header: map[string]string{"Authorization": "Bearer expired"}},
		{line: "GET /v1/whoami", header: map[string]string{"Authorization": "Bearer admin"}},
		{line: "GET /v1/whoami", header: map[string]string{"Host": "swordfish.test"}},
		{line: "GET /v1/whoami", header: map[string]string{"Origin": "https://swordfish.test"}},
		{line: "GET /v1/whoami", header: map[string]string{"X-Plain": "1"}},
		{line: "GET /swordfish"},
		{line: "POST /mcp/x/swordfish"},
		{line: "GET " + access.WellKnown},
		preflight("/v1/whoami", guest),
	} {
		send(t, s, a)
	}
	s.Close()
	require.Equal(t, []string{
		"GET /v1/vaults/{vault}/books 401", "GET /v1/vaults/{vault}/books/{id} 401", "GET /v1/whoami 401",
		"GET /v1/whoami 200", "GET  403", "GET  403", "GET  403", "GET  404", "POST /mcp 500",
		"GET /.well-known/oauth-protected-resource 200", "OPTIONS preflight 204",
	}, m.requests)
	require.Equal(t, []access.Reason{access.NoToken, access.Invalid, access.Expired, access.Host,
		access.Origin, access.Plain}, m.refused)
	require.Equal(t, 1, m.panics)
	for _, line := range m.requests {
		route := strings.Split(line, " ")[1]
		require.True(t, route == "" || slices.Contains(m.routes, route), "%s is a route that was told", route)
	}
}

// TestPeer checks that Options.Peer is called before anything else, and not for health checks,
// which send no token.
func TestPeer(t *testing.T) {
	o := httptool.Options{Resource: public, Peer: func(*http.Request) *fault.Fault {
		return fault.New(fault.PermissionDenied, "plain HTTP is not accepted here")
	}, Authenticate: func(*http.Request) (auth.Caller, error) { panic("nobody is asked") }}
	s := hosted(t, o)
	for _, line := range []string{"GET /v1/whoami", "POST /v1/tools/desk_whoami", "GET /docs", "GET /nowhere",
		"GET " + access.WellKnown, "POST /mcp"} {
		g := send(t, s, ask{line: line, header: map[string]string{"Authorization": "Bearer admin", "Host": "evil.test"}})
		require.Equal(t, 403, g.status, line)
		require.Contains(t, g.body, "plain HTTP")
	}
	require.Equal(t, 200, send(t, s, ask{line: "GET /healthz"}).status)
	require.Equal(t, 200, send(t, s, ask{line: "GET /readyz"}).status)
}

// TestHSTS checks that browsers are told to use https only if there is an https address.
func TestHSTS(t *testing.T) {
	for url, want := range map[string]string{
		"https://notes.example.test": "max-age=31536000", "http://notes.example.test": "", "": "",
	} {
		s := hosted(t, httptool.Options{Resource: access.Resource{PublicURL: url}})
		for _, line := range []string{"GET /docs", "GET /v1/whoami", "GET /nowhere", "GET /healthz"} {
			require.Equal(t, want, send(t, s, ask{line: line}).header.Get("Strict-Transport-Security"), url+line)
		}
	}
}

// TestRequestsOfAnAddress checks that a request above the limit is told to try again, over every
// protocol and before authentication, that health checks pass, and that a request frees its place
// when it has ended or panicked.
func TestRequestsOfAnAddress(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	asked := 0
	var m counts
	s := hosted(t, httptool.Options{Meter: &m, Requests: forwarded.NewAddressLimiter(8, forwarded.Proxies{}),
		Authenticate: func(r *http.Request) (auth.Caller, error) { asked++; return who(r) },
		Mount: map[string]http.Handler{
			"/slow": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				began <- struct{}{}
				<-end
			}),
			"/panic": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("x") }),
			"/mcp":   http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		}})
	for range 3 {
		require.Equal(t, 500, send(t, s, ask{line: "GET /panic"}).status)
	}
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if resp, err := s.Client().Get(s.URL + "/slow"); err == nil {
				_ = resp.Body.Close()
			}
		})
		<-began
	}
	for _, line := range []string{"GET /v1/whoami", "POST /mcp", "GET /docs", "GET /slow"} {
		g := send(t, s, ask{line: line, header: map[string]string{"Authorization": "Bearer admin"}})
		require.Equal(t, 503, g.status, line)
		require.Equal(t, "1", g.header.Get("Retry-After"))
		require.Equal(t, fault.Unavailable, g.envelope(t).Error.Code)
	}
	require.Zero(t, asked)
	require.Equal(t, slices.Repeat([]access.Reason{access.Overload}, 4), m.refused)
	require.Equal(t, 200, send(t, s, ask{line: "GET /healthz"}).status)
	require.Equal(t, 200, send(t, s, ask{line: "GET /readyz"}).status)
	close(end)
	wait.Wait()
	require.Equal(t, 200, send(t, s, ask{line: "GET /v1/whoami", header: map[string]string{"Authorization": "Bearer admin"}}).status)
}

// An endless is a body without end that counts the bytes read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return copy(p, strings.Repeat("x", len(p))), nil
}

// TestNothingIsReadFirst checks that the body of a refused request is not read.
func TestNothingIsReadFirst(t *testing.T) {
	o := httptool.Options{Hosts: []string{"example.com"}, Authenticate: who, Docs: []byte(docsPage),
		Requests: forwarded.NewAddressLimiter(1, forwarded.Proxies{})}
	h := httptool.New(tooltest.Sample(), o)
	for target, status := range map[string]int{
		"/v1/tools/desk_whoami": 401, "/v1/vaults/main/books": 401, "/nowhere": 404, "/docs": 405,
		"http://evil.test/v1/tools/desk_whoami": 403,
	} {
		body := &endless{}
		r := httptest.NewRequest(http.MethodPost, target, body)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, target)
		require.Zero(t, body.read, target)
	}
}

// TestSlowBodies checks that a client that is not allowed to call is answered while it is still
// sending its body.
func TestSlowBodies(t *testing.T) {
	s := hosted(t, httptool.Options{Resource: public})
	host := s.Listener.Addr().String()
	for _, line := range []string{"POST /v1/tools/desk_whoami", "PATCH /v1/vaults/main/books/x", "POST /nowhere", "PUT /docs"} {
		for _, size := range []string{"Content-Length: 1000", "Content-Length: 4000000", "Transfer-Encoding: chunked"} {
			conn, err := net.Dial("tcp", host)
			require.NoError(t, err)
			_, err = io.WriteString(conn, line+" HTTP/1.1\r\nHost: "+host+"\r\nContent-Type: application/json\r\n"+size+"\r\n\r\n")
			require.NoError(t, err)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			require.Contains(t, []int{401, 404, 405}, resp.StatusCode)
			require.NoError(t, resp.Body.Close())
			require.NoError(t, conn.Close())
		}
	}
}

// TestOneReadOnlyHeader checks that a repeated read-only header is refused.
func TestOneReadOnlyHeader(t *testing.T) {
	s := hosted(t, httptool.Options{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/whoami", nil)
	require.NoError(t, err)
	r.Header = http.Header{"Authorization": {"Bearer admin"}, "X-Readonly": {"0", "1"}}
	resp, err := s.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
}
