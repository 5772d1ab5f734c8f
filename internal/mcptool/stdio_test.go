package mcptool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/mcptool"
)

// stdio starts a server over two pipes. stop ends it and answers what it returned.
func stdio(
	t *testing.T, ctx context.Context, o mcptool.Options,
) (in *io.PipeWriter, out *io.PipeReader, stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	done := make(chan error, 1)
	o.First = first
	cat := sample(t)
	go func() {
		done <- mcptool.ServeStdio(ctx, cat, o, serverIn, serverOut)
		serverOut.Close()
	}()
	t.Cleanup(cancel)
	return in, out, func() error {
		cancel()
		return <-done
	}
}

func TestStdioRoundTrip(t *testing.T) {
	in, out, stop := stdio(t, t.Context(), mcptool.Options{Version: "1.2.3"})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	exchange := func(message string) map[string]any {
		_, err := io.WriteString(in, message+"\n")
		require.NoError(t, err)
		require.True(t, lines.Scan(), lines.Err())
		var answer map[string]any
		require.NoError(t, json.Unmarshal(lines.Bytes(), &answer))
		return answer
	}
	hello := exchange(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(t, "2025-06-18", hello["result"].(map[string]any)["protocolVersion"])
	_, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	require.NoError(t, err)
	list := exchange(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	require.Len(t, list["result"].(map[string]any)["tools"], 3)
	for _, name := range []string{"books_book_get", "books_book", "get_book"} {
		call := exchange(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + name +
			`","arguments":` + freya + `}}`)
		require.NotContains(t, call["result"], "isError")
	}
	newest := exchange(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{` +
		`"name":"desk_whoami","arguments":{},` + modernMeta + `}}`)
	require.Contains(t, newest["result"], "content")
	unknown := exchange(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nothing"}}`)
	require.EqualValues(t, -32602, unknown["error"].(map[string]any)["code"])
	require.NoError(t, stop())
}

func TestStdioEndsWithItsInput(t *testing.T) {
	var out strings.Builder
	err := mcptool.ServeStdio(t.Context(), sample(t), mcptool.Options{}, strings.NewReader(""), &out)
	require.NoError(t, err)
	require.Empty(t, out.String())
	err = mcptool.ServeStdio(t.Context(), sample(t), mcptool.Options{}, strings.NewReader("no JSON"), &out)
	require.Error(t, err)
}

func TestStdioServesAPathForACaller(t *testing.T) {
	caller := auth.LocalCaller()
	caller.Agent = "a1"
	ctx := auth.WithCaller(t.Context(), caller)
	in, out, stop := stdio(t, ctx, mcptool.Options{StdioPath: "/mcp/readonly/x/all"})
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, nil)
	require.NoError(t, err)
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 6)
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "desk_whoami"})
	require.NoError(t, err)
	require.Contains(t, r.Content[0].(*mcp.TextContent).Text, `"agent":"a1"`)
	r, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "books_book_new",
		Arguments: map[string]any{"vault": "spare", "title": "Edda"}})
	require.NoError(t, err)
	require.True(t, r.IsError)
	require.Contains(t, r.Content[0].(*mcp.TextContent).Text, "READ_ONLY")
	require.NoError(t, session.Close())
	require.NoError(t, stop())

	err = mcptool.ServeStdio(ctx, sample(t), mcptool.Options{StdioPath: "/mcp/x/boks"},
		strings.NewReader(""), io.Discard)
	require.True(t, fault.Is(err, fault.NotFound))
}
