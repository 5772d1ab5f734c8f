package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// TestTextsLookUpFilesOnce covers that a file is looked up once if it is used in the order of a Prefetch,
// and that other files are found too.
func TestTextsLookUpFilesOnce(t *testing.T) {
	find := func(path string) (*index.File, bool) { return &index.File{Path: path}, path != "gone.md" }
	ahead := []string{"b.md", "gone.md", "a.md", "d.md", "c.md"}
	for _, c := range []struct {
		used, found []string
		lookUps     int
	}{
		{[]string{"b.md", "a.md", "d.md", "c.md"}, []string{"b.md", "a.md", "d.md", "c.md"}, 5},
		{[]string{"a.md", "c.md"}, []string{"a.md", "c.md"}, 5},
		{[]string{"c.md", "b.md"}, []string{"c.md", "b.md"}, 6},
		{[]string{"gone.md", "d.md", "x.md"}, []string{"d.md", "x.md"}, 7},
	} {
		n, found := state.LookedUp(ahead, c.used, find)
		require.Equal(t, c.found, found)
		require.Equal(t, c.lookUps, n, "%q", c.used)
	}
}
