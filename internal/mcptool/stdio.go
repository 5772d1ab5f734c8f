package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rookery/internal/auth"
	"rookery/internal/tool"
)

// ServeStdio serves a catalogue over a pair of streams, one message a line, until `in` ends or the
// context does. The calls are those of the context's caller; without one, of auth.LocalCaller.
func ServeStdio(
	ctx context.Context, cat *tool.Catalogue, o Options, in io.Reader, out io.Writer,
) error {
	e := newEndpoint(cat, o)
	path := o.StdioPath
	if path == "" {
		path = Path
	}
	v, f := e.atPath(path)
	if f != nil {
		return f
	}
	caller := auth.CallerOf(ctx)
	if caller.Principal == "" {
		caller = auth.LocalCaller()
	}
	caller.ReadOnly = caller.ReadOnly || v.readOnly
	x := &exchange{endpoint: e, view: v, caller: caller}
	server := x.server()
	x.offer(server, v.names())
	err := server.Run(ctx, &mcp.IOTransport{
		Reader: io.NopCloser(in), Writer: keptOpen{out},
	})
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("serve MCP over stdio: %w", err)
	}
	return nil
}

// keptOpen is a writer that is not ours to close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }
