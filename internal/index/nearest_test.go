package index_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

// TestNearest covers the ids that are offered for one that names nothing.
func TestNearest(t *testing.T) {
	x := index.Build(slices.Values([]index.Commit{
		commit(1, "schema.yaml", "traits: {due: date, due-by: date}\n"),
		commit(2, "people/freya.md", "---\nalias: the lady\n---\n# Freya\n\n## Tasks\n\n- @due(2026-01-01) a\n",
			"people/freyr.md", "# Freyr\n", "people/Loki.md", "x\n", "projects/weir.md", "# The Weir\n",
			"people/frigg.md", "x\n", "notes/deep/freya-and-frigg.md", "x\n", ".trash/people/freja.md", "x\n"),
	}))
	for id, want := range map[string][]string{
		"people/freja":        {"people/freya", "people/freyr"},
		"PEOPLE/FREYA.md":     {"people/freya", "people/freyr"},
		"persons/freya":       {"people/freya", "people/freyr"},
		"people/loki":         {"people/Loki"},
		"projects/the lady":   {"people/freya"},
		"projects/wier":       {"projects/weir"},
		"people/freya-and":    {"notes/deep/freya-and-frigg"},
		"people/freya#taks":   {"people/freya#tasks"},
		"people/freia#tasks":  {"people/freya#tasks", "people/freyr"},
		"people/freya#hammer": nil,
		"people/odin":         nil,
		"":                    nil,
		"people/":             nil,
		"#tasks":              nil,
		"x":                   nil,
	} {
		near := x.Nearest(id)
		if len(near) > len(want) && len(want) > 0 {
			near = near[:len(want)]
		}
		require.Equal(t, want, near, id)
	}
	require.Nil(t, x.Nearest(strings.Repeat("x", 5000)))
	n, _ := x.ByID("people/freya")
	id := n.TraitIDs()[0]
	require.Equal(t, []string{id}, x.NearestTraits(id[:len(id)-1]+"x"))
	require.Nil(t, x.NearestTraits("due-by-00000000"))
	require.Nil(t, x.NearestTraits("nothing"))
}
