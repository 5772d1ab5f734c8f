package httptool_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// overTLS runs a server with TLS and a mounted MCP endpoint.
func overTLS(t *testing.T, o httptool.Options) *httptest.Server {
	t.Helper()
	cat := tooltest.Sample()
	o.Mount = map[string]http.Handler{mcptool.Path: mcptool.New(cat, mcptool.Options{Authenticate: o.Authenticate})}
	s := httptest.NewUnstartedServer(httptool.New(cat, o))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// dial opens an HTTP/1.1 connection to a server with TLS.
func dial(t *testing.T, s *httptest.Server) *tls.Conn {
	t.Helper()
	config := s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = nil
	conn, err := tls.Dial("tcp", s.Listener.Addr().String(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

const (
	byREST = "/v1/vaults/spare/books"
	byMCP  = "/mcp"
)

// head returns the beginning of a request to a server.
func head(s *httptest.Server, path string, header ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%s\r\n\r\n",
		path, s.Listener.Addr(), strings.Join(header, "\r\n"))
}

// TestLargeBodiesAreAnswered checks that a client gets the answer even if it sends all of a body
// that is too large before it reads: with TLS, closing the connection earlier would reset it.
func TestLargeBodiesAreAnswered(t *testing.T) {
	s := overTLS(t, httptool.Options{})
	const size = 14 << 20
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
	for name, request := range map[string]string{
		"declared":  fmt.Sprintf("Content-Length: %d", size),
		"in chunks": "Transfer-Encoding: chunked",
	} {
		body := strings.Repeat("x", size)
		if name == "in chunks" {
			body = strings.Repeat(chunk, size>>20) + "0\r\n\r\n"
		}
		for _, path := range []string{byREST, byMCP} {
			for range 3 {
				conn := dial(t, s)
				_, err := io.WriteString(conn, head(s, path, request)+body)
				require.NoError(t, err, "%s %s", path, name)
				in := bufio.NewReader(conn)
				require.Contains(t, tooLarge(t, in), `"limit":4194304`)
				_, err = io.WriteString(conn, head(s, byREST, "Content-Length: 2")+"{}")
				require.NoError(t, err)
				require.Equal(t, 400, next(t, in).StatusCode, "the connection goes on")
			}
		}
	}
}

// next reads the next response on a connection.
func next(t *testing.T, in *bufio.Reader) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}

// tooLarge returns the text of the next response, which must say that the body was too large.
func tooLarge(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode, string(text))
	require.Contains(t, string(text), fault.BatchTooLarge)
	return string(text)
}

// A spaces is a body of blanks.
type spaces struct{ left, read int64 }

func (s *spaces) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), s.left))
	copy(p, strings.Repeat(" ", n))
	s.left -= int64(n)
	s.read += int64(n)
	return n, nil
}

// TestLargeBodiesOverHTTP2 checks that over HTTP/2 a whole body is read before it is refused,
// because otherwise the stream is reset.
func TestLargeBodiesOverHTTP2(t *testing.T) {
	s := overTLS(t, httptool.Options{})
	for _, path := range []string{byREST, byMCP} {
		for _, declared := range []int64{14 << 20, -1} {
			body := &spaces{left: 14 << 20}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, body)
			require.NoError(t, err)
			r.ContentLength = declared
			r.Header.Set("Content-Type", "application/json")
			resp, err := s.Client().Do(r)
			require.NoError(t, err)
			require.Equal(t, 2, resp.ProtoMajor)
			require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
			require.NoError(t, resp.Body.Close())
			require.Zero(t, body.left, path)
		}
	}
}

// TestEndlessBodiesEnd checks that only a part of a body without end is read, and that its sender
// gets an answer.
func TestEndlessBodiesEnd(t *testing.T) {
	for _, path := range []string{byREST, byMCP} {
		for _, declared := range []int64{1 << 40, -1} {
			body := &spaces{left: 1 << 40}
			r := httptest.NewRequest(http.MethodPost, path, body)
			r.ContentLength = declared
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			overTLS(t, httptool.Options{Hosts: []string{"localhost"}}).Config.Handler.ServeHTTP(w, r)
			require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
			require.Equal(t, "close", w.Header().Get("Connection"))
			require.LessOrEqual(t, body.read, int64(6*tool.MaxBody))
		}
	}
}

// TestWhoAsksIsAnsweredFirst checks that a client that asks with Expect whether to send a body that
// is too large is answered at once, and sends none of it.
func TestWhoAsksIsAnsweredFirst(t *testing.T) {
	s := overTLS(t, httptool.Options{})
	for _, path := range []string{byREST, byMCP} {
		conn := dial(t, s)
		_, err := io.WriteString(conn, head(s, path, "Content-Length: 10485760", "Expect: 100-continue"))
		require.NoError(t, err)
		tooLarge(t, bufio.NewReader(conn))
	}
}

// TestStrangersBodiesAreNotRead checks that the body of a client that is not allowed to call is not
// read.
func TestStrangersBodiesAreNotRead(t *testing.T) {
	o := httptool.Options{Hosts: []string{"localhost"}, Authenticate: func(*http.Request) (auth.Caller, error) {
		return auth.Caller{}, fault.New(fault.Unauthenticated, "who are you")
	}}
	for path, most := range map[string]int64{byREST: 0, byMCP: 64 << 10} {
		body := &spaces{left: 1 << 40}
		r := httptest.NewRequest(http.MethodPost, path, body)
		r.Host = "localhost"
		r.ContentLength = 1 << 40
		w := httptest.NewRecorder()
		overTLS(t, o).Config.Handler.ServeHTTP(w, r)
		require.Equal(t, http.StatusUnauthorized, w.Code)
		require.LessOrEqual(t, body.read, most)
	}
}

// TestStrangersShareConnections checks that refusing a request over HTTP/2 with an incomplete body
// does not close a connection that other requests share.
func TestStrangersShareConnections(t *testing.T) {
	s := overTLS(t, httptool.Options{Authenticate: func(*http.Request) (auth.Caller, error) {
		return auth.Caller{}, fault.New(fault.Unauthenticated, "who are you")
	}})
	reused := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if c.Reused {
			reused++
		}
	}})
	paths := []string{byREST, byMCP, byREST, byMCP}
	for _, path := range paths {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, &spaces{left: 8 << 20})
		require.NoError(t, err)
		resp, err := s.Client().Do(r)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 401, resp.StatusCode)
	}
	require.Equal(t, len(paths)-1, reused)
}
