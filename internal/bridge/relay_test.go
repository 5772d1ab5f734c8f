package bridge_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bridge"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
)

// TestServerIsAway holds that each message has its error while there is no server, and that the
// session works when there is one.
func TestServerIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	s := run(t, bridge.Options{Server: &fixed{url: "http://" + address}})
	for _, message := range []string{hello, ping(0), call("0", "books_book_new", `{"vault":"main","title":"Edda"}`)} {
		o := outcomeOf(t, s.ask(message))
		require.Equal(t, "0", string(o.ID))
		require.Equal(t, -32603, o.Error.Code)
		require.Equal(t, fault.Unavailable, o.Error.Data.Code)
		require.Contains(t, o.Error.Message, "no answer from")
	}
	batch := s.ask(`[` + ping(1) + `,{"jsonrpc":"2.0","method":"x"},` + ping(2) + `]`)
	require.Equal(t, 2, strings.Count(batch, "UNAVAILABLE"))
	require.Contains(t, batch, `{"jsonrpc":"2.0","id":2,"error"`)

	again, err := net.Listen("tcp", address)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(endpoint(t, mcptool.Options{}))
	require.NoError(t, server.Listener.Close())
	server.Listener = again
	server.Start()
	t.Cleanup(server.Close)
	require.Contains(t, s.ask(ping(3)), `"result"`)
	require.Empty(t, s.end())
}

// TestToken holds that a token which is refused is renewed once, and that a message whose token is
// refused again has the fault, with what to do.
func TestToken(t *testing.T) {
	url := listen(t, endpoint(t, mcptool.Options{Authenticate: func(r *http.Request) (auth.Caller, error) {
		if r.Header.Get("Authorization") != "Bearer good" {
			return auth.Caller{}, auth.Refused()
		}
		return auth.LocalCaller(), nil
	}}))
	s := run(t, bridge.Options{Server: &fixed{url: url, tokens: []string{"old", "good"}}})
	require.Contains(t, s.ask(call("1", "books_book_new", `{"vault":"main","title":"Edda"}`)), "created")
	require.Contains(t, s.ask(ping(2)), `"result"`)

	for name, tokens := range map[string][]string{
		"one": {"old"}, "the same again": {"old", "old"}, "none": nil, "others": {"a", "b", "good"},
	} {
		server := &fixed{url: url, tokens: tokens}
		s := run(t, bridge.Options{Server: server})
		o := outcomeOf(t, s.ask(ping(3)))
		require.Equal(t, "3", string(o.ID), name)
		require.Equal(t, fault.Unauthenticated, o.Error.Data.Code, name)
		require.Contains(t, o.Error.Data.Fixes[0], "rookery login --server "+url, name)
		require.Equal(t, 1, server.failed, name)
		require.Empty(t, s.end())
	}
}

// cutting cuts the connections of the first requests, after it has passed them on.
type cutting struct {
	next http.Handler
	left atomic.Int32
	came atomic.Int32
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.came.Add(1)
	if c.left.Add(-1) < 0 {
		c.next.ServeHTTP(w, r)
		return
	}
	c.next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// TestAnswerIsLost holds what becomes of a message whose answer does not come: a read is sent
// again, and so is a change with an idempotency key; of any other change the outcome is unknown.
func TestAnswerIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		times   int32
		code    fault.Code
	}{
		"read":    {call("1", "books_book_get", `{"vault":"main","id":"people/freya"}`), 2, ""},
		"listing": {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 2, ""},
		"change":  {call("1", "books_book_new", `{"vault":"main","title":"Edda"}`), 1, fault.Unavailable},
		"with a key": {call("1", "books_book_new", `{"vault":"main","title":"Edda","idempotency_key":"k"}`),
			2, ""},
		"not known": {call("1", "new_tool", `{}`), 1, fault.Unavailable},
		"batch": {`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"books_book_new",` +
			`"arguments":{"vault":"main","title":"Edda"}}}]`, 1, fault.Unavailable},
	} {
		cut := &cutting{next: endpoint(t, mcptool.Options{})}
		cut.left.Store(1)
		s := run(t, bridge.Options{Server: &fixed{url: listen(t, cut)}})
		answer := strings.Trim(s.ask(c.message), "[]")
		require.Equal(t, c.times, cut.came.Load(), name)
		if o := outcomeOf(t, answer); c.code != "" {
			require.Equal(t, c.code, o.Error.Data.Code, name)
			require.Contains(t, o.Error.Message, "outcome unknown", name)
			require.Equal(t, []string{"repeat with the same idempotency key"}, o.Error.Data.Fixes, name)
		} else {
			require.Contains(t, answer, `"result"`, name)
		}
		require.Empty(t, s.end())
	}
}

// TestLostTwice holds that a read is not sent for ever to a server that has no other place.
func TestLostTwice(t *testing.T) {
	cut := &cutting{next: endpoint(t, mcptool.Options{})}
	cut.left.Store(100)
	s := run(t, bridge.Options{Server: &fixed{url: listen(t, cut)}})
	require.Equal(t, fault.Unavailable, outcomeOf(t, s.ask(ping(1))).Error.Data.Code)
	require.EqualValues(t, 2, cut.came.Load())
	require.Empty(t, s.end())
}

// handed is a server that a second one replaces when the first has failed as often as left says.
type handed struct {
	first, second *httptool.Client
	left          int
}

func (*handed) Patience() time.Duration { return time.Minute }

func (h *handed) Find(_ context.Context, failed *httptool.Client) (*httptool.Client, error) {
	if failed == h.first {
		h.left--
	}
	if h.left > 0 {
		return h.first, nil
	}
	return h.second, nil
}

// TestServerIsKilled covers a process that accepts connections after it lost a change, as one that was killed
// does until its listener is closed. It loses no second change, which goes to the next process.
func TestServerIsKilled(t *testing.T) {
	dying := &cutting{next: http.NotFoundHandler()}
	dying.left.Store(1 << 30)
	next := &cutting{next: endpoint(t, mcptool.Options{})}
	s := run(t, bridge.Options{Server: &handed{
		&httptool.Client{Base: listen(t, dying)}, &httptool.Client{Base: listen(t, next)}, 3,
	}})
	change := func(id string) string {
		return call(id, "books_book_new", `{"vault":"main","title":"Edda `+id+`"}`)
	}
	require.Contains(t, outcomeOf(t, s.ask(change("1"))).Error.Message, "outcome unknown")
	require.Contains(t, s.ask(change("2")), "created")
	require.EqualValues(t, 1, next.came.Load())
	require.Empty(t, s.end())
}

// TestAnswersOfOthers holds that each message has one line for an answer, whatever answers.
func TestAnswersOfOthers(t *testing.T) {
	var status int
	var kind, body string
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	s := run(t, bridge.Options{Server: &fixed{url: url}})
	const js = "application/json"
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       string
	}{
		"a page":        {502, "text/html", "<html>\n</html>", "UNAVAILABLE"},
		"nothing":       {200, js, "", "UNAVAILABLE"},
		"no message":    {403, js, `{"message":"Forbidden"}`, "UNAVAILABLE"},
		"no token":      {401, js, `{"message":"Unauthorized"}`, "UNAUTHENTICATED"},
		"too many":      {429, "text/plain", "later", "RATE_LIMITED"},
		"several lines": {200, js, "{\n \"jsonrpc\": \"2.0\",\r\n \"id\": 1, \"result\": {}\n}\n", `"result":{}`},
		"another id":    {400, js, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}`, `"id":1`},
		"events": {200, "text/event-stream; charset=utf-8", "event: message\r\nid: 4\r\ndata: {\"jsonrpc\":\"2.0\",\r\n" +
			"data: \"id\":1,\"result\":{}}\r\n\r\n: note\r\n\r\n", `"result":{}`},
	} {
		status, kind, body = c.status, c.kind, c.body
		answer := s.ask(ping(1))
		require.Contains(t, answer, c.want, name)
		require.Equal(t, "1", string(outcomeOf(t, answer).ID), name)
		require.NotContains(t, answer, "<", name)
	}
	status, kind, body = 400, js, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`
	require.JSONEq(t, `[{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"x"}},`+
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"x"}}]`,
		s.ask(`[`+ping(1)+`,`+ping(2)+`]`))
	require.Empty(t, s.end())
}

// TestCheck holds that options which the endpoint refuses are told, and that nothing is known of
// one that does not answer.
func TestCheck(t *testing.T) {
	url := listen(t, endpoint(t, mcptool.Options{}))
	for name, c := range map[string]struct {
		o    bridge.Options
		code fault.Code
	}{
		"sound":        {bridge.Options{Path: "/mcp/x/books", Tools: "get_book"}, ""},
		"unknown set":  {bridge.Options{Path: "/mcp/x/boks"}, fault.NotFound},
		"unknown path": {bridge.Options{Path: "/mcp/y"}, fault.NotFound},
		"unknown tool": {bridge.Options{Tools: "books_bok_get"}, fault.InvalidParameter},
	} {
		c.o.Server = &fixed{url: url}
		err := bridge.Check(t.Context(), c.o)
		require.Equal(t, c.code != "", err != nil, name)
		require.True(t, err == nil || fault.Is(err, c.code), name)
	}
	require.NoError(t, bridge.Check(t.Context(), bridge.Options{
		Path: "/mcp/x/boks", Server: &fixed{url: "http://127.0.0.1:1"},
	}))
}
