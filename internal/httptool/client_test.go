package httptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/httptool"
	"rookery/internal/tool"
	"rookery/internal/tooltest"
)

var changing = regexp.MustCompile(`"(query_time_ms|request_id)":("[^"]*"|\d+)`)

// TestClientIsTheCatalogue covers that a caller cannot tell the client from the catalogue.
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
		"nobody there":    {gone.URL, "no server answers", "rookery serve", fault.Unavailable},
		"broken off":      {breaking.URL, "outcome unknown", "repeat with the same idempotency key", fault.Unavailable},
		"a page":          {answers(200, "<html>"), "status 200", "check the address of the server", fault.Unavailable},
		"a proxy":         {answers(502, "Bad Gateway"), "status 502", "check the address of the server", fault.Unavailable},
		"other JSON":      {answers(404, `{"detail":"Not Found"}`), "status 404", "check the address of the server", fault.Unavailable},
		"a redirection":   {answers(302, ``), "status 302", "check the address of the server", fault.Unavailable},
		"no URL":          {"127.0.0.1", "no URL", "http://127.0.0.1:7780", fault.InvalidParameter},
		"a notes failure": {answers(404, `{"error":"no such note","code":"NOT_FOUND"}`), "no such note", "", fault.NotFound},
		"a tree failure":  {answers(409, `{"code":"CONFLICT","message":"stale"}`), "stale", "", fault.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			client := &httptool.Client{Base: c.base}
			_, err := client.Invoke(t.Context(), "x", nil)
			f := fault.Of(err)
			require.Equal(t, c.code, f.Code)
			require.Contains(t, f.Message, c.part)
			if c.fix != "" {
				require.Equal(t, []string{c.fix}, f.Fixes)
			}
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
