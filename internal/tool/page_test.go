package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

type longIn struct {
	tool.Page
}

type longOut struct {
	tool.Aside `json:"-"`
	Items      []string `json:"items"`
}

// long returns a tool that lists a number of items of a size, and counts its calls.
func long(items, size int, calls *int) *tool.Tool {
	return tool.New(tool.Spec{
		Name: "long", Family: family, Title: "Long", Doc: "long.", Role: auth.Reader,
	}, func(_ context.Context, _ auth.Caller, in longIn) (longOut, error) {
		*calls++
		after, err := in.After(family)
		out, first := longOut{Items: []string{}}, 0
		if after != "" {
			first, err = strconv.Atoi(after)
		}
		last := min(first+in.Limit, items)
		for i := first; i < last; i++ {
			out.Items = append(out.Items, fmt.Sprint(i, strings.Repeat("x", size)))
		}
		out.Paged(len(out.Items), items, last < items, strconv.Itoa(last))
		return out, err
	})
}

// TestPagesFitIntoAnAnswer checks that a list whose items are too large together is answered in
// smaller pages, that no item is lost, that other lists cost one call, and that each page is one
// call for the interceptors.
func TestPagesFitIntoAnAnswer(t *testing.T) {
	for _, c := range []struct{ size, pages int }{
		{1 << 10, 1}, {tool.MaxBody * 2 / 5, 3}, {tool.MaxBody * 2 / 3, 6},
	} {
		const items = 6
		calls, let, seen, pages, token := 0, 0, 0, 0, ""
		counted := func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
				let++
				return next(ctx, c)
			}
		}
		cat, err := tool.NewCatalogue([]*tool.Tool{long(items, c.size, &calls)},
			tool.Options{Interceptors: []tool.Interceptor{counted}})
		require.NoError(t, err)
		for {
			data, err := cat.Invoke(t.Context(), "long",
				fmt.Appendf(nil, `{"limit":60,"page_token":%q}`, token))
			require.NoError(t, err)
			var page struct {
				Data longOut
				Meta struct {
					HasMore bool   `json:"has_more"`
					Next    string `json:"next_page_token"`
					Total   int
				}
			}
			require.NoError(t, json.Unmarshal(data, &page))
			require.Equal(t, items, page.Meta.Total)
			require.LessOrEqual(t, len(data), tool.MaxBody)
			for _, item := range page.Data.Items {
				require.Truef(t, strings.HasPrefix(item, strconv.Itoa(seen)+"x"), "item %d", seen)
				seen++
			}
			pages, token = pages+1, page.Meta.Next
			if !page.Meta.HasMore {
				break
			}
		}
		require.Equal(t, items, seen)
		require.Equal(t, c.pages, pages, c.size)
		require.Equal(t, pages, let)
		require.LessOrEqual(t, calls, 2*pages)
	}
}
