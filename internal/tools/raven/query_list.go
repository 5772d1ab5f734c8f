package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A queryListIn is the input of raven_query_list.
type queryListIn struct {
	tool.Vault
	tool.AsOf
	tool.Page
}

// A queryListOut is the output of raven_query_list.
type queryListOut struct {
	tool.Aside `json:"-"`
	Items      []queryInfo `json:"items"`
}

// page implements listOut.
func (o *queryListOut) page() (*tool.Aside, *[]queryInfo) { return &o.Aside, &o.Items }

// queryList returns the tool raven_query_list, which lists the saved queries in the order of
// raven.yaml.
func (f tools) queryList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_query_list", Family: Family, Title: "List saved queries",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/queries"},
		Commands: []tool.Command{{Words: "query list"}},
		Columns:  []string{"name", "description", "query", "args", "types", "traits", "filters", "tags"},
		Empty: []tool.Empty{{
			Of: "saved queries", Tool: "raven_query_save",
			Args: map[string]string{"name": "overdue", "query": "trait:due .value==past"},
		}},
	}, func(ctx context.Context, v view, _ queryListIn, _ *queryListOut) (listing[queryInfo], error) {
		if err := v.Index.ConfigErr(); err != nil {
			return nil, err
		}
		all, going := []queryInfo{}, state.KeepGoing(ctx)
		for _, q := range v.Index.Config().Queries {
			if !going() {
				return nil, ctx.Err()
			}
			all = append(all, queryInfoOf(q))
		}
		return whole(all, func(q queryInfo) string { return q.Name }), nil
	})
}
