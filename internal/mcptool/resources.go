package mcptool

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// listResources answers the documents, and then, page by page, what there is one each of, such as
// of each vault that the caller sees.
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
	values, err := x.completed(ctx, tool.Unfinished{
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

// eachOf is the kind of values of which there is a resource each; empty if there is none. One list
// can be paged by one kind only, which New sees to.
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

func kindOf(t *tool.Tool, r tool.Resource) string {
	a, _ := t.Arg(r.Vars()[0])
	return a.Complete
}

// each are the resources that there are of one value.
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

// listTemplates answers the templates, on one page.
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

// noCursor is the error of a cursor for a list that has one page.
func (x *exchange) noCursor() *jsonrpc.Error {
	return x.failed(jsonrpc.CodeInvalidParams,
		fault.New(fault.InvalidParameter, "this list has one page, and no cursor"))
}

// checkEach requires what eachOf relies on.
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
