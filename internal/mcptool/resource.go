package mcptool

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// A Document is a text that is the same for everybody, served as a resource.
type Document struct {
	URI, Name, Title, Doc string
	MIME                  string
	Text                  string
}

// codeNotFound is what the protocols before 2026-07-28 say of a resource that is not there; since
// then it is jsonrpc.CodeInvalidParams.
const codeNotFound = -32002

// everyURI matches all that a resource's Expand makes. The SDK reads a resource only if it has been
// told of one; which there are is up to find.
const everyURI = "{+uri}"

// A found is a resource that a URI means: a document, or one that a tool reads.
type found struct {
	document *Document
	tool     *tool.Tool
	resource tool.Resource
	values   map[string]string
}

// find is what a URI means to a request, nil if it means nothing.
func (x *exchange) find(uri string) *found {
	for i, d := range x.opt.Documents {
		if d.URI == uri {
			return &found{document: &x.opt.Documents[i]}
		}
	}
	for _, t := range x.view.offered(x.caller) {
		for _, r := range t.Resources {
			if values, ok := r.Match(uri); ok {
				return &found{tool: t, resource: r, values: values}
			}
		}
	}
	return nil
}

// canonical is the one spelling of the URI.
func (f *found) canonical() string {
	if f.document != nil {
		return f.document.URI
	}
	return f.resource.Expand(f.values)
}

// readResource leaves a read to the SDK, which wants the URI spelled in one way, and answers it
// under the URI that was asked for.
func (x *exchange) readResource(
	ctx context.Context, r *mcp.ReadResourceRequest, next mcp.MethodHandler, method string,
) (mcp.Result, error) {
	is := x.find(r.Params.URI)
	if is == nil {
		return nil, x.noResource(r, fault.New(fault.NotFound, "there is no such resource").
			Fix("resources/list and resources/templates/list say which there are"))
	}
	plain, params := *r, *r.Params
	params.URI = is.canonical()
	plain.Params = &params
	out, err := next(ctx, method, &plain)
	if read, ok := out.(*mcp.ReadResourceResult); ok && err == nil {
		for _, c := range read.Contents {
			c.URI = r.Params.URI
		}
	}
	return out, err
}

// read is the text of a resource. That of a tool is a call as any other.
func (x *exchange) read(
	ctx context.Context, r *mcp.ReadResourceRequest,
) (*mcp.ReadResourceResult, error) {
	is := x.find(r.Params.URI)
	if is == nil {
		return nil, x.noResource(r, fault.New(fault.NotFound, "there is no such resource"))
	}
	text, mime, err := x.textOf(ctx, is)
	if err != nil {
		return nil, x.noResource(r, fault.Of(err))
	}
	return &mcp.ReadResourceResult{
		Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: mime, Text: text}},
	}, nil
}

func (x *exchange) textOf(ctx context.Context, is *found) (text, mime string, err error) {
	if d := is.document; d != nil {
		return d.Text, d.MIME, nil
	}
	args, err := tool.Marshal(is.values)
	if err != nil {
		return "", "", err
	}
	text, err = x.dataOf(ctx, is.tool, args, is.resource.Key)
	return text, is.resource.MIME, err
}

// dataOf calls a tool, and answers one text of its data; without a key, the data as JSON.
func (x *exchange) dataOf(
	ctx context.Context, t *tool.Tool, args json.RawMessage, key string,
) (string, error) {
	answer, err := x.Invoke(ctx, t.Name, args)
	if err != nil {
		return "", err
	}
	var e struct{ Data json.RawMessage }
	if err := json.Unmarshal(answer, &e); err != nil || key == "" {
		return string(e.Data), err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &members); err != nil {
		return "", err
	}
	var text string
	return text, json.Unmarshal(members[key], &text)
}

// noResource is the protocol's error of a resource that cannot be read.
func (x *exchange) noResource(r *mcp.ReadResourceRequest, f *fault.Fault) *jsonrpc.Error {
	code := errorCode(f)
	_, modern := r.Params.Meta[mcp.MetaKeyProtocolVersion]
	// No note can be at a path that is none: to this protocol, it is a resource that is not there.
	absent := f.Status() == fault.StatusNotFound || f.Code == fault.InvalidPath
	if absent && !modern {
		code = codeNotFound
	}
	e := x.failed(code, f)
	if absent {
		e.Data = withURI(e.Data, r.Params.URI)
	}
	return e
}

// withURI adds to the data of an error which resource is not found, as the protocol wants it.
func withURI(data json.RawMessage, uri string) json.RawMessage {
	members := map[string]any{}
	if json.Unmarshal(data, &members) != nil {
		return data
	}
	members["uri"] = uri
	with, err := tool.Marshal(members)
	if err != nil {
		return data
	}
	return with
}

// errorCode is the protocol's code of a fault: that of a caller, or ours.
func errorCode(f *fault.Fault) int64 {
	switch f.Status() {
	case fault.StatusRateLimited, fault.StatusUnavailable, fault.StatusInternal:
		return jsonrpc.CodeInternalError
	}
	return jsonrpc.CodeInvalidParams
}

// failed is a fault of this request as an error of the protocol.
func (x *exchange) failed(code int64, f *fault.Fault) *jsonrpc.Error {
	named := *f
	named.RequestID = cmp.Or(named.RequestID, x.caller.RequestID)
	return protocolError(code, &named)
}
