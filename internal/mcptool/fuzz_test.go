package mcptool_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// FuzzMessage checks that no message, whatever its path, protocol and body, causes a panic or a
// status of 500 or above, and that every answer is empty or JSON.
func FuzzMessage(f *testing.F) {
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"books_get","arguments":{"id":"x"}}}`
	for _, seed := range [][3]string{
		{"/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`},
		{"/mcp/x/all", "2025-11-25", call},
		{"/mcp/x/all", "2024-11-05", "[" + call + "," + call + "]"},
		{"/mcp/readonly/x/books", "2026-07-28", `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`},
		{"/mcp/x/", "x", `{"jsonrpc":"2.0","id":{},"id":2,"method":5}`},
		{"/mcpx", "", "[[]]"},
		{"/mcp/x/all", "2025-03-26", `{"jsonrpc":"2.0","id":1,"result":{}}`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, path, version, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
		r.URL = &url.URL{Path: path}
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		}
		if version != "" {
			r.Header.Set("MCP-Protocol-Version", version)
		}
		w := httptest.NewRecorder()
		mcptool.New(tooltest.Sample(), mcptool.Options{}).ServeHTTP(w, r)
		require.Less(t, w.Code, 500, "%s", w.Body)
		if w.Body.Len() > 0 {
			require.True(t, json.Valid(w.Body.Bytes()), "%s", w.Body)
		}
	})
}
