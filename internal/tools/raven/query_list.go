package raven

import (
	"context"
	_ "embed"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

//go:embed query_list.md
var queryListDoc string

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

// queryList returns the tool raven_query_list, which lists the saved queries in the order of
// raven.yaml.
func (f tools) queryList() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_query_list", Family: Family, Title: "List saved queries", Doc: queryListDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/queries"},
		Commands: []tool.Command{{Words: "query list"}},
		Columns:  []string{"name", "description", "query", "args", "types", "traits", "filters", "tags"},
		Empty: []tool.Empty{{
			Of: "saved queries", Tool: "raven_query_save",
			Args: map[string]string{"name": "overdue", "query": "trait:due .value==past"},
		}},
	}, func(ctx context.Context, v view, in queryListIn) (queryListOut, error) {
		if err := v.Index.ConfigErr(); err != nil {
			return queryListOut{}, err
		}
		all, going := []queryInfo{}, state.KeepGoing(ctx)
		for _, q := range v.Index.Config().Queries {
			if !going() {
				return queryListOut{}, ctx.Err()
			}
			all = append(all, queryInfoOf(q))
		}
		var out queryListOut
		var err error
		name := func(q queryInfo) string { return q.Name }
		out.Items, err = state.PageOf(pager(&out.Aside, in.Page), all, name, func(last string) (int, bool) {
			i := slices.IndexFunc(all, func(q queryInfo) bool { return q.Name == last })
			return i + 1, i >= 0
		})
		return out, err
	})
}
