package mcptool

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// complete returns completion suggestions for an argument of a prompt or a variable of a template.
// The protocol's completion has no other arguments than those of prompts and templates; tools are
// completed by the command line only.
func (x *exchange) complete(ctx context.Context, r *mcp.CompleteRequest) (mcp.Result, error) {
	if r.Params == nil || r.Params.Ref == nil {
		return nil, x.failed(jsonrpc.CodeInvalidParams,
			fault.New(fault.InvalidParameter, "name the completed prompt or resource in ref"))
	}
	a, err := x.completedArg(r.Params.Ref, r.Params.Argument.Name)
	if err != nil {
		return nil, err
	}
	values, f := x.valuesOf(ctx, a, r.Params)
	if f != nil {
		return nil, x.failed(errorCode(f), f)
	}
	return &mcp.CompleteResult{Completion: values}, nil
}

// completedArg returns the argument that a reference and a name denote, in the view of the request.
// An argument that does not exist is an error with the available names.
func (x *exchange) completedArg(ref *mcp.CompleteReference, name string) (tool.Arg, error) {
	var t *tool.Tool
	var names []string
	switch ref.Type {
	case "ref/prompt":
		if t = x.prompt(ref.Name); t == nil {
			return tool.Arg{}, x.noPrompt(ref.Name)
		}
		for _, a := range t.Args {
			names = append(names, a.Name)
		}
	case "ref/resource":
		if t, names = x.template(ref.URI); t == nil {
			return tool.Arg{}, x.failed(jsonrpc.CodeInvalidParams,
				fault.New(fault.NotFound, "there is no such resource template"))
		}
	default:
		return tool.Arg{}, x.failed(jsonrpc.CodeInvalidParams,
			fault.New(fault.InvalidParameter, "ref is of type ref/prompt or ref/resource"))
	}
	a, ok := t.Arg(name)
	if !ok || !slices.Contains(names, a.Name) {
		return tool.Arg{}, x.failed(jsonrpc.CodeInvalidParams,
			fault.New(fault.InvalidParameter, "there is no such argument").With("available", names))
	}
	return a, nil
}

// template returns the tool of a template and the names of its variables, or nil. uri is the
// template itself, as it is listed, and not a URI that matches it.
func (x *exchange) template(uri string) (*tool.Tool, []string) {
	for _, t := range x.view.offered(x.caller) {
		for _, r := range t.Resources {
			if r.URI == uri {
				return t, r.Vars()
			}
		}
	}
	return nil, nil
}

// valuesOf returns the suggestions for an argument: the values of its enumeration, or those of the
// tool that completes its kind, in the vault that is given with the request. HasMore is set if the
// tool has more pages; the protocol has no cursor for them, so a client asks again with a longer
// prefix.
func (x *exchange) valuesOf(
	ctx context.Context, a tool.Arg, p *mcp.CompleteParams,
) (mcp.CompletionResultDetails, *fault.Fault) {
	out := mcp.CompletionResultDetails{Values: a.Options(p.Argument.Value)}
	if len(a.Schema().Enum) > 0 || a.Complete == "" {
		return out, nil
	}
	u := tool.CompletionRequest{Kind: a.Complete, Prefix: p.Argument.Value}
	if p.Context != nil {
		u.Vault = p.Context.Arguments[vaultArg]
	}
	values, f := x.suggest(ctx, u)
	out.Values, out.HasMore = append(out.Values, values.Items...), values.Next != ""
	return out, f
}

// suggest calls the tool that completes a kind of value. It returns no suggestions instead of a
// fault if the caller is not allowed to see the values, or if the arguments given so far are not
// sufficient: a person who is typing must not get an error. An invalid cursor is an error.
func (x *exchange) suggest(
	ctx context.Context, u tool.CompletionRequest,
) (tool.CompletionPage, *fault.Fault) {
	values, err := tool.Complete(ctx, x, x.cat.Tools(), u)
	if err == nil {
		return values, nil
	}
	switch f := fault.Of(err); f.Status() {
	case fault.StatusNotFound, fault.StatusForbidden:
		return tool.CompletionPage{}, nil
	case fault.StatusInvalidArgument:
		if u.PageToken == "" {
			return tool.CompletionPage{}, nil
		}
		return tool.CompletionPage{}, f
	default:
		return tool.CompletionPage{}, f
	}
}
