package httptool_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

var changing = regexp.MustCompile(`"(query_time_ms|request_id)":("[^"]*"|\d+)`)

// TestClientIsTheCatalogue checks that a caller cannot distinguish the client from the catalogue.
func TestClientIsTheCatalogue(t *testing.T) {
	for name, c := range map[string]struct{ tool, args string }{
		"get":           {"books_book_get", `{"vault":"main","id":"ünï/코드"}`},
		"alias":         {"books_book", `{"vault":"main","reference":"a/b c#d%"}`},
		"bare":          {"books_book_get", `{"vault":"main","id":"people/freya","envelope":false}`},
		"only":          {"books_book_list", `{"vault":"main","only":["id"]}`},
		"create":        {"books_book_new", `{"vault":"spare","title":"Edda","field":["pages=1"],"idempotency_key":"k"}`},
		"no arguments":  {"desk_shelf_create", ``},
		"unknown":       {"books_book_get", `{"vault":"main","id":"x","depht":1}`},
		"unknown tool":  {"books_book_gett", `{}`},
		"odd tool":      {"../healthz?x#y", `{}`},
		"no such book":  {"books_book_get", `{"vault":"main","id":"none"}`},
		"bare failure":  {"books_book_get", `{"vault":"main","id":"none","envelope":false}`},
		"fault":         {"desk_fail", `{"how":"fault"}`},
		"several":       {"desk_fail", `{"how":"several"}`},
		"limited":       {"desk_fail", `{"how":"limited"}`},
		"unknown error": {"desk_fail", `{"how":"error"}`},
		"panic":         {"desk_fail", `{"how":"panic"}`},
		"a list":        {"books_book_get", `[]`},
		"no JSON":       {"books_book_get", `{"vault"`},
		"not UTF-8":     {"books_book_get", "{\"vault\":\"\xff\"}"},
		"null":          {"books_book_get", `null`},
		"deep":          {"books_book_get", strings.Repeat("[", 100_000)},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, httptool.Options{})
			client := &httptool.Client{Base: s.URL + "/", HTTP: s.Client()}
			want, wantErr := tooltest.Sample().Invoke(
				auth.WithCaller(t.Context(), auth.LocalCaller()), c.tool, json.RawMessage(c.args))
			answer, err := client.Invoke(t.Context(), c.tool, json.RawMessage(c.args))
			require.Equal(t, changing.ReplaceAllString(string(want), ""),
				changing.ReplaceAllString(string(answer), ""))
			if wantErr == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			expected, f := *fault.Of(wantErr), *fault.Of(err)
			require.Equal(t, expected.Code, f.Code)
			require.Equal(t, expected.Message, f.Message)
			require.Equal(t, expected.Fixes, f.Fixes)
			require.Equal(t, expected.Location, f.Location)
			require.Len(t, f.Errors, len(expected.Errors))
			require.Equal(t, expected.RetryAfter > 0, f.RetryAfter > 0)
		})
	}
}

func TestClientSays(t *testing.T) {
	s := serve(t, httptool.Options{Authenticate: func(r *http.Request) (auth.Caller, error) {
		return auth.Caller{Principal: r.Header.Get("Authorization")}, nil
	}})
	client := &httptool.Client{Base: s.URL, Token: "t", Agent: "a", Session: "s", ReadOnly: true}
	ctx := auth.WithCaller(t.Context(), auth.Caller{RequestID: "r-7"})
	data := func(args string) string {
		answer, err := client.Invoke(ctx, "desk_whoami", json.RawMessage(args))
		require.NoError(t, err)
		return string(answer)
	}
	require.Contains(t, data(`{}`),
		`{"principal":"Bearer t","agent":"a","session":"s","read_only":true,"request_id":"r-7"}`)
	require.Contains(t, data(`{"agent_id":"b","session":"z"}`), `"agent":"b","session":"z"`)
}

func TestClientTooLarge(t *testing.T) {
	args := json.RawMessage(`{"title":"` + strings.Repeat("x", 10<<20) + `"}`)
	client := &httptool.Client{Base: serve(t, httptool.Options{}).URL}
	answer, err := client.Invoke(t.Context(), "books_book_new", args)
	require.True(t, fault.Is(err, fault.BatchTooLarge))
	require.Equal(t, 413, fault.Of(err).HTTP())
	require.Contains(t, string(answer), `"ok":false`)
}

func TestClientWithoutServer(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	breaking := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(breaking.Close)
	for name, c := range map[string]struct {
		base, part, fix string
		code            fault.Code
	}{
		"nobody there": {gone.URL, "no answer from " + gone.URL + " (connection refused)",
			"start a server: rookery serve --listen " + gone.Listener.Addr().String(), fault.Unavailable},
		"broken off":      {breaking.URL, "outcome unknown", "repeat with the same idempotency key", fault.Unavailable},
		"a page":          {answers(200, "<html>"), "status 200", "check the address of the server", fault.Unavailable},
		"a proxy":         {answers(502, "Bad Gateway"), "status 502", "check the address of the server", fault.Unavailable},
		"a gateway":       {answers(413, `{"message":"Request Entity Too Large"}`), "the call is larger than", "send less at once", fault.BatchTooLarge},
		"other JSON":      {answers(404, `{"detail":"Not Found"}`), "status 404", "check the address of the server", fault.Unavailable},
		"a redirection":   {answers(302, ``), "status 302", "check the address of the server", fault.Unavailable},
		"no URL":          {"127.0.0.1", "invalid server URL", "http://127.0.0.1:7780", fault.InvalidParameter},
		"a notes failure": {answers(404, `{"error":"no such note","code":"NOT_FOUND"}`), "no such note", "", fault.NotFound},
		"a tree failure":  {answers(409, `{"code":"CONFLICT","message":"stale"}`), "stale", "", fault.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			client := &httptool.Client{Base: c.base}
			_, err := client.Invoke(t.Context(), "x", nil)
			f := fault.Of(err)
			require.Equal(t, c.code, f.Code)
			require.Equal(t, c.code == fault.BatchTooLarge, f.BodyTooLarge)
			require.Contains(t, f.Message, c.part)
			if c.fix != "" {
				require.Equal(t, []string{c.fix}, f.Fixes)
			}
		})
	}
}

// TestClientSaysWhyNoConnection checks that a failed connection reports the reason, the source of
// the address, and a fix: a server on this machine can be started, another one cannot.
func TestClientSaysWhyNoConnection(t *testing.T) {
	const ask = "check the address, or ask the person who runs the server"
	dial := func(err error) *http.Client {
		return &http.Client{Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
			},
		}}
	}
	for name, c := range map[string]struct {
		base, named string
		err         error
		want, fix   string
	}{
		"refused": {"https://memory.example.test/team/", "", syscall.ECONNREFUSED,
			"no answer from https://memory.example.test/team (connection refused)", ask},
		"of the environment": {"https://memory.example.test", "ROOKERY_SERVER", syscall.ECONNREFUSED,
			"no answer from https://memory.example.test (connection refused); the address is from " +
				"ROOKERY_SERVER", ask},
		"no such host": {"https://memory.example.test", "", &net.DNSError{IsNotFound: true},
			"no answer from https://memory.example.test (no such host)", ask},
		"no name server": {"https://memory.example.test", "", &net.DNSError{IsTimeout: true},
			"no answer from https://memory.example.test (the name of the host could not be looked up)", ask},
		"no route": {"http://10.0.0.7:7780", "", syscall.EHOSTUNREACH,
			"no answer from http://10.0.0.7:7780 (no route to the host)", ask},
		"slow": {"http://10.0.0.7:7780", "", os.ErrDeadlineExceeded,
			"no answer from http://10.0.0.7:7780 (timed out)", ask},
		"TLS": {"https://memory.example.test", "", tls.AlertError(40),
			"no answer from https://memory.example.test (no TLS connection)", ask},
		"this machine": {"http://127.0.0.1:7780", "", syscall.ECONNREFUSED,
			"no answer from http://127.0.0.1:7780 (connection refused)", "start a server: rookery serve"},
		"another port": {"http://localhost:7799", "", syscall.ECONNREFUSED,
			"no answer from http://localhost:7799 (connection refused)",
			"start a server: rookery serve --listen localhost:7799"},
		"TLS of this machine": {"https://127.0.0.1:7780", "", syscall.ECONNREFUSED,
			"no answer from https://127.0.0.1:7780 (connection refused)", ask},
	} {
		t.Run(name, func(t *testing.T) {
			client := &httptool.Client{Base: c.base, Named: c.named, HTTP: dial(c.err)}
			_, err := client.Invoke(t.Context(), "x", nil)
			f := fault.Of(err)
			require.Equal(t, c.want, f.Message)
			require.Equal(t, []string{c.fix}, f.Fixes)
			require.Equal(t, 6, f.Code.Exit())
		})
	}
}

func TestClientGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	_, err := (&httptool.Client{Base: s.URL}).Invoke(ctx, "x", nil)
	require.True(t, fault.Is(err, fault.Unavailable))
	require.ErrorIs(t, err, context.Canceled)
}

func ExampleClient() {
	s := httptest.NewServer(httptool.New(tooltest.Sample(), httptool.Options{}))
	defer s.Close()
	var caller tool.Invoker = &httptool.Client{Base: s.URL}
	answer, err := caller.Invoke(context.Background(), "desk_whoami", json.RawMessage(`{"only":["principal"]}`))
	fmt.Println(strings.HasPrefix(string(answer), `{"ok":true,"data":{"principal":"local"}`), err)
	// Output: true <nil>
}

// canary is the token of the tests. All messages are searched for it.
const canary = "rk_acme_7x.c4nary-0f-a-t0ken"

// TestClientKeepsItsToken checks that a token is sent only over TLS or to loopback and not to the
// target of a redirect, and that an address with a password is refused before anything is sent.
func TestClientKeepsItsToken(t *testing.T) {
	var sent []string
	heard := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		http.Redirect(w, r, "http://localhost:1/v1/tools/x", http.StatusTemporaryRedirect)
	})
	plain, safe := httptest.NewServer(heard), httptest.NewTLSServer(heard)
	t.Cleanup(plain.Close)
	t.Cleanup(safe.Close)
	through := func(s *httptest.Server) *http.Client { // every address leads to the server
		h := *s.Client()
		transport := h.Transport.(*http.Transport).Clone()
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		}
		h.Transport, h.CheckRedirect = transport, nil
		return &h
	}
	for name, c := range map[string]struct {
		base, token string
		server      *httptest.Server
		sent        []string
		code        fault.Code
		part        string
	}{
		"loopback":          {"http://127.0.0.1:7780", canary, plain, []string{"Bearer " + canary}, fault.Unavailable, "status 307"},
		"loopback by name":  {"http://LocalHost", canary, plain, []string{"Bearer " + canary}, fault.Unavailable, "status 307"},
		"loopback of IPv6":  {"http://[::1]:80/", canary, plain, []string{"Bearer " + canary}, fault.Unavailable, "status 307"},
		"TLS":               {"https://example.com/a", canary, safe, []string{"Bearer " + canary}, fault.Unavailable, "status 307"},
		"no TLS":            {"http://example.com", canary, plain, nil, fault.InvalidParameter, "not sent to example.com without TLS"},
		"a near name":       {"http://localhost.example.com", canary, plain, nil, fault.InvalidParameter, "without TLS"},
		"a private address": {"http://10.0.0.7:7780", canary, plain, nil, fault.InvalidParameter, "without TLS"},
		"any address":       {"http://0.0.0.0:7780", canary, plain, nil, fault.InvalidParameter, "without TLS"},
		"no token":          {"http://example.com", "", plain, []string{""}, fault.Unavailable, "status 307"},
		"a password":        {"https://u:" + canary + "@example.com", "", safe, nil, fault.InvalidParameter, "a user name or a password"},
	} {
		t.Run(name, func(t *testing.T) {
			sent = nil
			client := &httptool.Client{Base: c.base, Token: c.token, HTTP: through(c.server)}
			_, err := client.Invoke(t.Context(), "x", nil)
			f := fault.Of(err)
			require.Equal(t, c.code, f.Code, f.Message)
			require.Contains(t, f.Message, c.part)
			require.Equal(t, c.sent, sent)
			require.NotContains(t, fmt.Sprint(f.Message, f.Fixes), canary)
		})
	}
}

// TestClientIsNotKnown checks the message for a caller that the server does not accept: how to log
// in, and whether a token was sent.
func TestClientIsNotKnown(t *testing.T) {
	refuses := func(f *fault.Fault) string {
		s := serve(t, httptool.Options{Authenticate: func(*http.Request) (auth.Caller, error) {
			return auth.Caller{}, f
		}})
		return s.URL
	}
	before := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>Unauthorized", http.StatusUnauthorized)
	}))
	t.Cleanup(before.Close)
	for name, c := range map[string]struct {
		base, token, part string
		code              fault.Code
	}{
		"no token":       {refuses(fault.New(fault.Unauthenticated, "x")), "", "no token was sent", fault.Unauthenticated},
		"refused":        {refuses(fault.New(fault.Unauthenticated, "x")), canary, "does not accept the token", fault.Unauthenticated},
		"expired":        {refuses(fault.New(fault.TokenExpired, "x")), canary, "has expired", fault.TokenExpired},
		"a proxy":        {before.URL, "", "no token was sent", fault.Unauthenticated},
		"a proxy's word": {before.URL, canary, "does not accept the token", fault.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			client := &httptool.Client{Base: c.base + "/", Token: c.token}
			answer, err := client.Invoke(t.Context(), "desk_whoami", nil)
			f := fault.Of(err)
			require.Equal(t, c.code, f.Code)
			require.Contains(t, f.Message, c.part)
			require.Equal(t, []string{"rookery login --server " + c.base + " --token -"}, f.Fixes)
			require.NotContains(t, fmt.Sprint(f.Message, f.Fixes, string(answer)), canary)
			if len(answer) > 0 {
				require.Contains(t, string(answer), c.part, "programs are told the same")
			}
		})
	}
}

// TestClientSaysWhereTheTokenIsFrom checks that the message about a refused token names its source.
func TestClientSaysWhereTheTokenIsFrom(t *testing.T) {
	for _, c := range []struct {
		code fault.Code
		want string
	}{
		{fault.Unauthenticated, "HOST does not accept the token from ROOKERY_TOKEN: it is revoked, or belongs to " +
			"another server"},
		{fault.TokenExpired, "the token from ROOKERY_TOKEN has expired; it was sent to HOST"},
	} {
		s := serve(t, httptool.Options{Authenticate: func(*http.Request) (auth.Caller, error) {
			return auth.Caller{}, fault.New(c.code, "x")
		}})
		client := &httptool.Client{
			Base: s.URL, Token: canary, Shown: "ROOKERY_TOKEN", Renew: "set ROOKERY_TOKEN",
		}
		_, err := client.Invoke(t.Context(), "desk_whoami", nil)
		f := fault.Of(err)
		host := s.Listener.Addr().String()
		require.Equal(t, strings.ReplaceAll(c.want, "HOST", host), f.Message)
		require.Equal(t, []string{
			"set ROOKERY_TOKEN", "rookery login --server " + s.URL + " --token -",
		}, f.Fixes)
	}
}

// TestClientWaits checks that a temporarily refused call is made once and returns when to try
// again, also if a gateway refuses it.
func TestClientWaits(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		after  string
		code   fault.Code
		wait   time.Duration
	}{
		"rate":         {429, "7", fault.RateLimited, 7 * time.Second},
		"unavailable":  {503, "2", fault.Unavailable, 2 * time.Second},
		"for ever":     {429, "999999999999", fault.RateLimited, time.Hour},
		"too long":     {429, "99999999", fault.RateLimited, time.Hour},
		"a date":       {429, "Fri, 31 Dec 2027 23:59:59 GMT", fault.RateLimited, 0},
		"not positive": {503, "-1", fault.Unavailable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.Header().Set("Retry-After", c.after)
				w.WriteHeader(c.status)
			}))
			t.Cleanup(s.Close)
			_, err := (&httptool.Client{Base: s.URL}).Invoke(t.Context(), "x", nil)
			f := fault.Of(err)
			require.Equal(t, c.code, f.Code)
			require.Equal(t, c.wait, f.RetryAfter)
			require.Equal(t, 1, calls)
		})
	}
}

// TestClientDoesNotTrust checks the messages about a server without a valid certificate or without
// TLS.
func TestClientDoesNotTrust(t *testing.T) {
	safe := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(safe.Close)
	safe.Config.ErrorLog = log.New(io.Discard, "", 0)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for base, part := range map[string]string{
		safe.URL: "certificate",
		strings.Replace(plain.URL, "http:", "https:", 1): "does not speak TLS",
	} {
		_, err := (&httptool.Client{Base: base, Token: canary}).Invoke(t.Context(), "x", nil)
		require.True(t, fault.Is(err, fault.Unavailable))
		require.Contains(t, err.Error(), part)
	}
}
