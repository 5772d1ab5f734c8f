package mcptool_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/mcptool"
)

// TestFixesNameListedTools checks that a fix uses the name under which the endpoint lists the tool,
// or the long name if it does not list it, also in a bare answer.
func TestFixesNameListedTools(t *testing.T) {
	url := serve(t, mcptool.Options{})
	for _, c := range []struct{ path, name, fix string }{
		{"/mcp/x/all", "books_book_get", `books_book_list {"vault":"main"}`},
		{"/mcp/x/books", "get_book", `list_books {"vault":"main"}`},
		{"/mcp/x/books,desk", "books_book_get", `books_book_list {"vault":"main"}`},
	} {
		for args, get := range map[string]func(env map[string]any) any{
			`{"vault":"main","id":"none"}`: func(env map[string]any) any {
				return env["error"].(map[string]any)["fixes"]
			},
			`{"vault":"main","id":"none","envelope":false}`: func(env map[string]any) any {
				return env["fixes"]
			},
		} {
			r := call(t, url+c.path, c.name, args)
			require.Equal(t, http.StatusOK, r.status, r.body)
			require.Equal(t, []any{c.fix}, get(r.env), "%s %s", c.path, r.body)
		}
	}
	narrow := resultOf(t, ask(t, url+"/mcp/x/books", "tools/call",
		`"name":"get_book","arguments":{"vault":"main","id":"none"}`, "X-MCP-Tools", "books_book_get",
		"Mcp-Name", "get_book", "Mcp-Param-Vault", "main"))
	require.Contains(t, narrow.body, "books_book_list", "it is not listed here")
}
