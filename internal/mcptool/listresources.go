package mcptool

import (
	"context"
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
