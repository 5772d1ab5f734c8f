package raven_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSearchSaysWhy(t *testing.T) {
	p := open(t, map[string]string{
		"ferry.md": "One word.\n", "log.md": "# Ferry ferry\n\nThe ferry, the ferry.\n", "copy.md": "# Ferry ferry\n\nThe ferry, the ferry.\n",
	})
	var out struct {
		Items []struct {
			ID          string
			Duplicates  []string
			Explanation *struct {
				Match            string
				Matched, Missing []string
				Fit              string
			}
		}
	}
	p.must(t, "raven_search", args{"query": "Ferry", "explain": true}, &out)
	require.Len(t, out.Items, 2, "notes with one text are one item")
	require.Equal(t, "ferry", out.Items[0].ID, "its name is the query")
	require.Equal(t, "exact", out.Items[0].Explanation.Match)
	require.Equal(t, []string{"ferry"}, out.Items[0].Explanation.Matched)
	require.Equal(t, "notes-2", out.Items[0].Explanation.Fit)
	require.Len(t, out.Items[1].Duplicates, 1)
	out.Items = nil
	p.must(t, "raven_search", args{"query": "Ferry"}, &out)
	require.Nil(t, out.Items[0].Explanation)
}
