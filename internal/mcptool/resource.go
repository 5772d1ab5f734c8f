package mcptool

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// listResources returns the documents and then, page by page, the resources of which there is one
// for each value, such as for each vault of the caller. The documents are on the first page. The
// cursor is that of the tool that completes the values.
func (x *exchange) listResources(
	ctx context.Context, r *mcp.ListResourcesRequest,
) (mcp.Result, error) {
	cursor := ""
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	out := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
	for _, d := range x.opt.Documents {
		if cursor == "" {
			out.Resources = append(out.Resources, &mcp.Resource{
				URI: d.URI, Name: d.Name, Title: d.Title, Description: d.Doc, MIMEType: d.MIME,
				Size: int64(len(d.Text)),
			})
		}
	}
	values, err := x.suggest(ctx, tool.CompletionRequest{
		Kind: x.eachOf(), Limit: x.opt.PageSize, PageToken: cursor,
	})
	if err != nil {
		return nil, x.failed(errorCode(err), err)
	}
	for _, value := range values.Items {
		out.Resources = append(out.Resources, x.each(value)...)
	}
	out.NextCursor = values.Next
	private(ctx, r, &out.Cacheable)
	return out, nil
}

// eachOf returns the kind of the values for which there is one resource each, or "". A list can be
// paged by only one kind; New checks that. The view decides, so a request without the tool has no
// such resources.
func (x *exchange) eachOf() string {
	for _, t := range x.view.offered(x.caller) {
		for _, r := range t.Resources {
			if r.Each {
				return kindOf(t, r)
			}
		}
	}
	return ""
}

// kindOf returns the kind of the variable of a resource.
func kindOf(t *tool.Tool, r tool.Resource) string {
	a, _ := t.Arg(r.Vars()[0])
	return a.Complete
}

// each returns the resources of one value, such as the schema and the statistics of a vault, in the
// order of the view.
func (x *exchange) each(value string) []*mcp.Resource {
	var all []*mcp.Resource
	for _, t := range x.view.offered(x.caller) {
		for _, r := range t.Resources {
			if r.Each {
				all = append(all, &mcp.Resource{
					URI:  r.Expand(map[string]string{r.Vars()[0]: value}),
					Name: value + "/" + r.Name, Title: r.Title + " of " + value, Description: r.Doc,
					MIMEType: r.MIME,
				})
			}
		}
	}
	return all
}

// listTemplates returns the templates, on one page: the resources that are not listed one by one,
// because there are too many, such as notes.
func (x *exchange) listTemplates(
	ctx context.Context, r *mcp.ListResourceTemplatesRequest,
) (mcp.Result, error) {
	if r.Params != nil && r.Params.Cursor != "" {
		return nil, x.noCursor()
	}
	out := &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{}}
	for _, t := range x.view.offered(x.caller) {
		for _, r := range t.Resources {
			if !r.Each {
				out.ResourceTemplates = append(out.ResourceTemplates, &mcp.ResourceTemplate{
					URITemplate: r.URI, Name: r.Name, Title: r.Title, Description: r.Doc,
					MIMEType: r.MIME,
				})
			}
		}
	}
	private(ctx, r, &out.Cacheable)
	return out, nil
}

// noCursor returns the error of a cursor for a list with only one page.
func (x *exchange) noCursor() *jsonrpc.Error {
	return x.failed(jsonrpc.CodeInvalidParams,
		fault.New(fault.InvalidParameter, "this list has one page, and no cursor"))
}

// checkEach panics if the tools violate the assumption of eachOf.
func checkEach(tools []*tool.Tool) {
	var kinds []string
	for _, t := range tools {
		for _, r := range t.Resources {
			if r.Each {
				kinds = append(kinds, kindOf(t, r))
			}
		}
	}
	slices.Sort(kinds)
	if kinds = slices.Compact(kinds); len(kinds) > 1 || slices.Contains(kinds, "") {
		panic("mcptool: resources are listed for values of one kind, which a tool completes")
	}
}

// A Document is a text that is the same for all callers, served as a resource: a description of the
// server, for example. Doc is its description in the list.
type Document struct {
	URI, Name, Title, Doc string
	MIME                  string
	Text                  string
}

// codeNotFound is the error code of a missing resource in protocols before 2026-07-28. Later ones
// use jsonrpc.CodeInvalidParams.
const codeNotFound = -32002

// everyURI is a template that matches every resource. The SDK reads only registered resources; find
// decides which exist.
const everyURI = "{+uri}"

// A found is the resource that a URI denotes: a document, or one that a tool reads.
type found struct {
	document *Document
	tool     *tool.Tool
	resource tool.Resource
	values   map[string]string
}

// find returns the resource that a URI denotes in this request's view, or nil. Documents come
// first, then the resources of tools in the order of the view. A URI may be spelled in several
// ways; see found.canonical.
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

// canonical returns the URI in its canonical spelling: that of the document, or the template of the
// resource with the values filled in. Two spellings that differ in percent-encoding have the same
// one.
func (f *found) canonical() string {
	if f.document != nil {
		return f.document.URI
	}
	return f.resource.Expand(f.values)
}

// readResource passes a read to the SDK, which requires the canonical URI, and returns the result
// under the requested URI. A resource that does not exist in this view is an error of the protocol.
func (x *exchange) readResource(
	ctx context.Context, r *mcp.ReadResourceRequest, next mcp.MethodHandler, method string,
) (mcp.Result, error) {
	is := x.find(r.Params.URI)
	if is == nil {
		return nil, x.noResource(r, fault.New(fault.NotFound, "there is no such resource").
			Fix("list them with resources/list and resources/templates/list"))
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

// read returns the text of a resource. For a resource of a tool it makes a normal call.
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

// textOf returns the text and the media type of a resource. For a resource of a tool, the values in
// its URI are the arguments of the call.
func (x *exchange) textOf(ctx context.Context, is *found) (text, mime string, err error) {
	if d := is.document; d != nil {
		return d.Text, d.MIME, nil
	}
	args := map[string]json.RawMessage{}
	for name, value := range is.values {
		if args[name], err = tool.Marshal(value); err != nil {
			return "", "", err
		}
	}
	text, err = x.dataOf(ctx, is.tool, args, is.resource.Key)
	return text, is.resource.MIME, err
}

// dataOf calls a tool and returns the text under a key of its data or, for an empty key, the data
// as JSON. The error is the fault of the call, or that of data in another form.
func (x *exchange) dataOf(
	ctx context.Context, t *tool.Tool, args map[string]json.RawMessage, key string,
) (string, error) {
	a := x.do(ctx, tool.Request{Name: t.Name, Args: args})
	if a.Fault != nil {
		return "", a.Fault
	}
	if key == "" {
		return string(a.Data), nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.Data, &members); err != nil {
		return "", err
	}
	var text string
	return text, json.Unmarshal(members[key], &text)
}

// noResource returns the protocol's error of a resource that cannot be read: for a missing one, the
// code that the version of the protocol requires, and the URI in its data.
func (x *exchange) noResource(r *mcp.ReadResourceRequest, f *fault.Fault) *jsonrpc.Error {
	code := errorCode(f)
	_, modern := r.Params.Meta[mcp.MetaKeyProtocolVersion]
	// An invalid path cannot have a note. In this protocol that is a missing resource.
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

// withURI adds the URI of a missing resource to the data of an error, as the protocol requires.
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

// errorCode returns the protocol's code of a fault: invalid params for an error of the caller,
// internal error for one of the server, or for a call that may succeed later.
func errorCode(f *fault.Fault) int64 {
	switch f.Status() {
	case fault.StatusRateLimited, fault.StatusUnavailable, fault.StatusInternal:
		return jsonrpc.CodeInternalError
	}
	return jsonrpc.CodeInvalidParams
}

// failed returns a fault of this request as an error of the protocol.
func (x *exchange) failed(code int64, f *fault.Fault) *jsonrpc.Error {
	named := *f
	named.RequestID = cmp.Or(named.RequestID, x.caller.RequestID)
	return protocolError(code, &named)
}

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
