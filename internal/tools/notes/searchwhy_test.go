package notes_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// explained are the results of a search that explains them.
func (p *place) explained(t testing.TB, query string) (all []struct {
	Path        string
	Score       float64
	Duplicates  []string
	Explanation struct {
		Match            string
		Coverage         float64
		Matched, Missing []string
		Parts            map[string]float64
		Confidence       float64
		Fit              string
	}
}) {
	t.Helper()
	out := struct{ Results any }{&all}
	require.NoError(t, json.Unmarshal([]byte(p.bare(t, "notes_search", args{"query": query, "explain": true})), &out))
	return all
}

func TestANoteOfTheNameComesFirst(t *testing.T) {
	p := open(t, map[string]string{
		"log.md":       "# Harbour log log log\n\nHarbour plan. Harbour plan.\n",
		"plan.md":      "---\naliases: [Winter scheme]\n---\nNothing but one word.\n",
		"harbour-a.md": "# Harbour\n\nThe plan of the winter scheme, the whole winter scheme.\n",
	})
	for query, first := range map[string]string{
		"plan": "plan.md", "Winter Scheme": "plan.md", "harbour": "harbour-a.md", "harbour-a": "harbour-a.md",
	} {
		all := p.explained(t, query)
		require.Equal(t, first, all[0].Path, query)
		require.Equal(t, "exact", all[0].Explanation.Match)
		require.Positive(t, all[0].Explanation.Parts["name"])
		require.Greater(t, all[0].Score, all[1].Score)
	}
	all := p.explained(t, "the unknown harbour plan")
	require.Equal(t, []string{"harbour", "plan"}, all[0].Explanation.Matched)
	require.Equal(t, []string{"unknown"}, all[0].Explanation.Missing)
	require.Equal(t, "fuzzy", all[0].Explanation.Match)
	require.Less(t, all[0].Explanation.Coverage, 1.)
	require.NotEmpty(t, all[0].Explanation.Fit)
}

func TestNotesWithOneTextAreOneResult(t *testing.T) {
	p := open(t, map[string]string{
		"a.md": "# Ferry\n\nIt leaves at nine.\n", "b/copy.md": "# Ferry\n\nIt leaves at nine.\n", "c.md": "# Ferry\n\nIt stays.\n",
	})
	all := p.explained(t, "ferry")
	require.Len(t, all, 2)
	for _, r := range all {
		if r.Path == "c.md" {
			require.Empty(t, r.Duplicates)
			continue
		}
		require.Len(t, r.Duplicates, 1)
		require.ElementsMatch(t, []string{"a.md", "b/copy.md"}, append(r.Duplicates, r.Path))
	}
}
