package mcptool_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/httptool"
)

// TestEveryVersion checks in all versions of the protocol that a caller sees the tools that its
// role, its scopes, the path and the headers permit, consistently and privately.
func TestEveryVersion(t *testing.T) {
	reads := []string{"books_book_get", "books_book_list", "books_export", "desk_book_get", "desk_fail",
		"desk_whoami"}
	writes := []string{"books_book_delete", "books_book_get", "books_book_list", "books_book_new",
		"books_book_set", "books_export", "books_import", "desk_book_get", "desk_fail", "desk_shelf_create",
		"desk_whoami"}
	onlyReads := slices.DeleteFunc(slices.Clone(reads), func(name string) bool { return name == "desk_fail" })
	url := hosted(t, sample(t), httptool.Options{})
	for name, c := range map[string]struct {
		path, token string
		header      []string
		want        []string
	}{
		"admin":              {"/mcp/x/all", "Bearer admin", nil, writes},
		"reader":             {"/mcp/x/all", "Bearer reader", nil, reads},
		"scopes of a reader": {"/mcp/x/all", "Bearer scoped", nil, reads},
		"a reader, first":    {"/mcp", "Bearer reader", nil, []string{"desk_whoami", "books_book_get"}},
		"readonly path":      {"/mcp/readonly/x/all", "Bearer admin", nil, onlyReads},
		"readonly header":    {"/mcp/x/all", "Bearer admin", []string{"X-MCP-Readonly", "true"}, onlyReads},
		"readonly call":      {"/mcp/x/all", "Bearer admin", []string{"X-Readonly", "1"}, onlyReads},
		"set header":         {"/mcp/x/all", "Bearer reader", []string{"X-MCP-Toolsets", "desk"}, []string{"get_book", "desk_fail", "desk_whoami"}},
		"tools header":       {"/mcp/x/all", "Bearer reader", []string{"X-MCP-Tools", "books_book_new,desk_fail"}, []string{"desk_fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			header := append([]string{"Authorization", c.token}, c.header...)
			for version, r := range spoken(t, url+c.path, "tools/list", "", header...) {
				require.Equal(t, c.want, names(t, r.reply), version)
				require.Contains(t, r.body, `"cacheScope":"private"`, version)
				require.Empty(t, r.header.Get("Mcp-Session-Id"), version)
				require.Equal(t, "no-store", r.header.Get("Cache-Control"), version)
			}
		})
	}
}

// TestEveryListIsPrivate checks that no version allows an answer to be shared between callers.
func TestEveryListIsPrivate(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		for version, r := range spoken(t, url+"/mcp", method, "", "Authorization", "Bearer reader") {
			var got struct{ Result struct{ CacheScope string } }
			require.NoError(t, json.Unmarshal([]byte(r.body), &got), r.body)
			require.Equal(t, "private", got.Result.CacheScope, version+method)
		}
	}
}

// TestListenInEveryVersion checks that a subscription is answered at once without promising
// notifications; it hangs if the stream is kept open. Without a token it is refused like any
// request.
func TestListenInEveryVersion(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{}) + "/mcp"
	const wanted = `"notifications":{"toolsListChanged":true}`
	for version, send := range map[string]func(header ...string) reply{
		modern: func(header ...string) reply { return ask(t, url, "subscriptions/listen", wanted, header...) },
		"2025-06-18": func(header ...string) reply {
			return post(t, url, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{`+wanted+`}}`,
				append(header, "MCP-Protocol-Version", "2025-06-18")...)
		},
	} {
		r := send("Authorization", "Bearer reader")
		require.Equal(t, 200, r.status, version)
		require.Equal(t, 2, strings.Count(r.body, "data: "), r.body)
		require.NotContains(t, r.body, "toolsListChanged", version)
		require.Equal(t, "no-store", r.header.Get("Cache-Control"), version)
		require.Equal(t, 401, send().status, version)
	}
}

// TestOldHandshake checks that `initialize`, in versions that have it, needs a token, and reveals
// nothing about the server without one.
func TestOldHandshake(t *testing.T) {
	url := hosted(t, sample(t), httptool.Options{})
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	refused := post(t, url+"/mcp", body)
	require.Equal(t, 401, refused.status)
	require.NotContains(t, refused.body, "serverInfo")
	require.Equal(t, 200, post(t, url+"/mcp", body, "Authorization", "Bearer reader").status)
	require.Equal(t, 401, ask(t, url+"/mcp", "server/discover", "").status)
	require.Equal(t, 200, ask(t, url+"/mcp", "server/discover", "", "Authorization", "Bearer reader").status)
}
