package mcptool_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A headers is a transport that sets headers on every request.
type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestClientAnswersAsTheCatalogue makes the same calls both ways, on two equal catalogues.
func TestClientAnswersAsTheCatalogue(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	client := tooltest.NewMCPClient(url, &http.Client{Transport: headers{"X-Request-Id": "r1"}})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	direct := sample(t)
	caller := auth.LocalCaller()
	caller.RequestID = "r1"
	ctx := auth.WithCaller(t.Context(), caller)
	for _, c := range []struct{ name, args string }{
		{"books_book_get", freya},
		{"books_book", freya},
		{"books_book_get", `{"vault":"main","id":"ünï/코드","envelope":false}`},
		{"books_book_get", `{"vault":"main","id":"none"}`},
		{"books_book_get", `{"vault":"main","id":"none","envelope":false}`},
		{"books_book_list", `{"vault":"main","limit":1,"only":["id"]}`},
		{"books_book_new", `{"vault":"spare","title":"A <b> & \u2028 c","fields":{"n":1.50}}`},
		{"books_book_new", `{"vault":"spare","title":"A <b> & \u2028 c"}`},
		{"books_book_set", `{"vault":"main","id":"people/freya","set":["pages=7"]}`},
		{"books_book_set", `{"vault":"main","id":"people/freya","set":{"pages":8},"if_version":"v1"}`},
		{"books_book_delete", `{"vault":"main","id":"people/freya","dry_run":true}`},
		{"desk_whoami", ``}, {"desk_whoami", `{"agent_id":"a","session":"s"}`},
		{"desk_fail", `{"how":"fault"}`}, {"desk_fail", `{"how":"several"}`},
		{"desk_fail", `{"how":"limited"}`}, {"desk_fail", `{"how":"error"}`},
		{"desk_fail", `{"how":"panic"}`}, {"desk_fail", `{"hwo":"panic"}`},
		{"desk_fail", `null`}, {"desk_fail", `[1]`}, {"desk_fail", `{"how":`}, {"desk_fail", `no JSON`},
		{"desk_book_get", `{"text":"\ud800"}`}, {"desk_book_get", "{\"text\":\"\xff\"}"},
		{"desk_book_get", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`},
		{"desk_book_gett", `{}`}, {"nothing", `{}`},
	} {
		want, wantErr := direct.Invoke(ctx, c.name, json.RawMessage(c.args))
		got, err := client.Invoke(t.Context(), c.name, json.RawMessage(c.args))
		require.Equal(t, string(want), string(got), "%s %.80s", c.name, c.args)
		if wantErr == nil {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err)
		require.Equal(t, inJSON(t, fault.Of(wantErr)), inJSON(t, fault.Of(err)))
	}
}

func inJSON(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// TestClientSurvivesARefusal makes another call after the endpoint itself refused one.
func TestClientSurvivesARefusal(t *testing.T) {
	client := tooltest.NewMCPClient(serve(t, mcptool.Options{})+"/mcp/x/all", nil)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 10<<20) + `"}`)
	deep := json.RawMessage(`{"text":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`)
	for _, c := range []struct {
		args json.RawMessage
		code fault.Code
	}{{large, fault.BatchTooLarge}, {deep, fault.InvalidParameter}} {
		answer, err := client.Invoke(t.Context(), "desk_book_get", c.args)
		require.True(t, fault.Is(err, c.code), "%v", err)
		require.Contains(t, string(answer), `"ok":false`)
		answer, err = client.Invoke(t.Context(), "desk_book_get", json.RawMessage(`{"text":"x"}`))
		require.NoError(t, err)
		require.Contains(t, string(answer), `"text":"x"`)
	}
}

func TestClientOfAWrongURL(t *testing.T) {
	url := serve(t, mcptool.Options{})
	answer, err := tooltest.NewMCPClient(url+"/mcp/x/boks", nil).
		Invoke(t.Context(), "books_book_get", nil)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.Contains(t, string(answer), "use /mcp/x/books")

	refuse := mcptool.Options{Authenticate: func(*http.Request) (auth.Caller, error) {
		return auth.Caller{}, fault.New(fault.Unauthenticated, "send a token")
	}}
	_, err = tooltest.NewMCPClient(serve(t, refuse)+"/mcp", nil).Invoke(t.Context(), "desk_whoami", nil)
	require.True(t, fault.Is(err, fault.Unauthenticated), "%v", err)
}

// TestClientConnectsAgain stops the server and starts it again at the same address.
func TestClientConnectsAgain(t *testing.T) {
	h := mcptool.New(sample(t), mcptool.Options{})
	first := httptest.NewServer(h)
	client := tooltest.NewMCPClient(first.URL+"/mcp/x/all", nil)
	_, err := client.Invoke(t.Context(), "desk_whoami", nil)
	require.NoError(t, err)
	first.Close()
	answer, err := client.Invoke(t.Context(), "desk_whoami", nil)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.Nil(t, answer)

	listener, err := net.Listen("tcp", first.Listener.Addr().String())
	require.NoError(t, err)
	second := httptest.NewUnstartedServer(h)
	require.NoError(t, second.Listener.Close())
	second.Listener = listener
	second.Start()
	t.Cleanup(second.Close)
	_, err = client.Invoke(t.Context(), "desk_whoami", nil)
	require.NoError(t, err)
	require.NoError(t, client.Close())
	require.NoError(t, client.Close(), "a closed client may be closed again")
}

// TestClientOfANewerServer calls a tool that was added after the client had connected.
func TestClientOfANewerServer(t *testing.T) {
	older, err := tool.NewCatalogue(tooltest.SampleTools()[9:], tool.Options{})
	require.NoError(t, err)
	var now atomic.Pointer[http.Handler]
	put := func(h http.Handler) { now.Store(&h) }
	put(mcptool.New(older, mcptool.Options{}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*now.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	client := tooltest.NewMCPClient(server.URL+"/mcp/x/all", nil)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	_, err = client.Invoke(t.Context(), "books_book_get", json.RawMessage(freya))
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	put(mcptool.New(sample(t), mcptool.Options{}))
	_, err = client.Invoke(t.Context(), "books_book_get", json.RawMessage(freya))
	require.NoError(t, err)
}

func TestClientGivesUpWithItsContext(t *testing.T) {
	client := tooltest.NewMCPClient(serve(t, mcptool.Options{})+"/mcp/x/all", nil)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	_, err := client.Invoke(t.Context(), "desk_whoami", nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.Invoke(ctx, "desk_whoami", nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = client.Invoke(t.Context(), "desk_whoami", nil)
	require.NoError(t, err)
}

func TestClientFromManyGoroutines(t *testing.T) {
	client := tooltest.NewMCPClient(serve(t, mcptool.Options{})+"/mcp/x/all", nil)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 4 {
				if _, err := client.Invoke(t.Context(), "books_book_get",
					json.RawMessage(freya)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestSDKClient uses the SDK's client, in each version that it supports.
func TestSDKClient(t *testing.T) {
	url := serve(t, mcptool.Options{Version: "1.2.3", Instructions: readFirst}) + "/mcp/x/books"
	for _, version := range []string{"", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		t.Run(version, func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "other", Version: "1"}, nil)
			session, err := client.Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: url},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			require.NoError(t, err)
			defer func() { require.NoError(t, session.Close()) }()
			hello := session.InitializeResult()
			require.Equal(t, "rookery", hello.ServerInfo.Name)
			require.Equal(t, "Read first.", hello.Instructions)
			require.False(t, hello.Capabilities.Resources.ListChanged)
			require.False(t, hello.Capabilities.Resources.Subscribe)
			require.False(t, hello.Capabilities.Prompts.ListChanged)
			can, err := json.Marshal(hello.Capabilities)
			require.NoError(t, err)
			require.NotContains(t, string(can), `"logging"`)
			list, err := session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, list.Tools, 7)
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_book",
				Arguments: map[string]any{"vault": "main", "id": "people/freya"}})
			require.NoError(t, err)
			require.False(t, r.IsError)
			require.Nil(t, r.StructuredContent)
			require.Contains(t, r.Content[0].(*mcp.TextContent).Text, `"ok":true`)
		})
	}
}
