package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An MCPClient calls the tools of an MCP endpoint. It connects with the first call, and again after the
// connection was lost. It is safe for concurrent use.
type MCPClient struct {
	url  string
	http *http.Client

	mu      sync.Mutex
	session *mcp.ClientSession // nil: not connected
}

var _ tool.Invoker = (*MCPClient)(nil)

// NewMCPClient returns a client of the endpoint at a URL. It sends requests through h, which also sets
// the headers that identify the caller; nil means http.DefaultClient.
func NewMCPClient(url string, h *http.Client) *MCPClient { return &MCPClient{url: url, http: h} }

// Invoke calls a tool. It implements tool.Invoker. The answer is, byte for byte, that of the
// catalogue behind the endpoint. If the endpoint itself refused the call, the answer is an envelope
// with that refusal. If there was no response, there is no answer.
func (c *MCPClient) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	r, err := c.call(ctx, &mcp.CallToolParams{Name: name, Arguments: sendable(args)})
	if err != nil {
		return refusal(err)
	}
	if len(r.Content) != 1 {
		return nil, fmt.Errorf("call %s: %d contents in the answer, not one", name, len(r.Content))
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("call %s: the answer is not text", name)
	}
	data := json.RawMessage(text.Text)
	if r.IsError {
		return data, faultIn(data)
	}
	return data, nil
}

// Close closes the connection, if there is one.
func (c *MCPClient) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return nil
	}
	session := c.session
	c.session = nil
	return session.Close()
}

// connected returns the connection and opens it if necessary. It lists the tools once, because the
// SDK learns from the list which arguments it must repeat in headers.
func (c *MCPClient) connected(ctx context.Context) (*mcp.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		return c.session, nil
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "rookery"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{
			Endpoint: c.url, HTTPClient: c.http, DisableStandaloneSSE: true, MaxRetries: -1,
		}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("list tools: %w", err), session.Close())
	}
	c.session = session
	return session, nil
}

// call calls a tool. If the server reports a missing header, its tools have changed since they were
// listed. The call had no effect then, and is repeated over a new connection.
func (c *MCPClient) call(
	ctx context.Context, p *mcp.CallToolParams,
) (r *mcp.CallToolResult, err error) {
	for range 2 {
		var session *mcp.ClientSession
		if session, err = c.connected(ctx); err != nil {
			return nil, err
		}
		if r, err = session.CallTool(ctx, p); err == nil {
			return r, nil
		}
		refused := refusedWith(err)
		outdated := refused != nil && refused.Code == mcp.CodeHeaderMismatch
		if outdated || refused == nil && ctx.Err() == nil {
			c.drop(session)
		}
		if !outdated {
			break
		}
	}
	return nil, err
}

// drop discards a connection, so that the next call opens a new one.
func (c *MCPClient) drop(session *mcp.ClientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == session {
		c.session = nil
		go func() { _ = session.Close() }() // in the background, because it waits for calls of other goroutines
	}
}

// refusal returns the fault with which an endpoint refused a call, and an envelope with it. If
// there was no response, it returns UNAVAILABLE without an answer.
func refusal(err error) (json.RawMessage, error) {
	refused := refusedWith(err)
	if refused == nil {
		return nil, fault.New(fault.Unavailable, "the MCP server cannot be reached").Because(err)
	}
	f := &fault.Fault{}
	if json.Unmarshal(refused.Data, f) != nil || f.Code == "" {
		f = fault.New(fault.InvalidParameter, "the MCP server refused the call: %s", refused.Message)
	}
	f = f.Because(err)
	data, err := tool.Marshal(struct {
		OK       bool           `json:"ok"`
		Error    *fault.Fault   `json:"error"`
		Warnings []tool.Warning `json:"warnings"`
	}{false, f, []tool.Warning{}})
	if err != nil {
		return nil, fmt.Errorf("write a refusal: %w", err)
	}
	return data, f
}

// notDelivered is the code with which the SDK reports that a message did not reach the server. No
// server sends it.
const notDelivered = -32005

// refusedWith returns the error in the server's response, or nil if there was no response.
func refusedWith(err error) *jsonrpc.Error {
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code == notDelivered {
		return nil
	}
	return refused
}

// sendable returns the arguments in a form that can be sent. Invalid JSON is sent as a string,
// which the tool refuses as it would have refused the original.
func sendable(args json.RawMessage) any {
	switch {
	case len(args) == 0:
		return nil
	case json.Valid(args):
		return args
	}
	return string(args)
}

// faultIn returns the fault in the answer of a failed call, enveloped or bare.
func faultIn(data json.RawMessage) error {
	var envelope struct{ Error *fault.Fault }
	if json.Unmarshal(data, &envelope) == nil && envelope.Error != nil {
		return envelope.Error
	}
	var bare fault.Fault
	if err := json.Unmarshal(data, &bare); err != nil || bare.Code == "" {
		return fmt.Errorf("the answer of a failed call contains no error")
	}
	return &bare
}
