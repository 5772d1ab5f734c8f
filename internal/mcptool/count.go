package mcptool

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rookeryhq/rookery/internal/auth"
)

// count counts a message that does not call a tool. It returns an error if the caller has made too
// many requests. The remaining allowance is recorded for the headers of the response.
func (x *exchange) count(ctx context.Context) error {
	x.counted.Store(true)
	caller := x.caller
	caller.Allowance = new(auth.Allowance)
	err := x.opt.Count(ctx, caller)
	x.spend(*caller.Allowance)
	return err
}

// calls reports whether a message calls a tool. Such a message is counted by the call, and must not
// be counted twice. Reading a resource, getting a prompt, listing resources for each value, and
// completing may be calls.
func (x *exchange) calls(r mcp.Request) bool {
	switch r := r.(type) {
	case *mcp.CallToolRequest:
		t, _ := x.view.find(r.Params.Name)
		return t != nil
	case *mcp.ReadResourceRequest:
		is := x.find(r.Params.URI)
		return is != nil && is.tool != nil
	case *mcp.GetPromptRequest:
		return x.prompt(r.Params.Name) != nil
	case *mcp.ListResourcesRequest:
		return x.eachOf() != ""
	case *mcp.CompleteRequest:
		if r.Params == nil || r.Params.Ref == nil {
			return false
		}
		a, err := x.completedArg(r.Params.Ref, r.Params.Argument.Name)
		return err == nil && a.Complete != "" && len(a.Schema().Enum) == 0
	}
	return false
}
