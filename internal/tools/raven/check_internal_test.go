package raven

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// TestCheckOfOneIssue checks that a check for one kind of issue leaves out the parts that cannot find
// it, and that the names of references are compared once for each name.
func TestCheckOfOneIssue(t *testing.T) {
	const notes = 100
	c := index.Commit{Seq: 1, Time: time.Unix(1, 0)}
	for i := range notes {
		c.Changes = append(c.Changes, index.Change{
			Path: fmt.Sprintf("a/Note %d.md", i),
			Text: []byte("---\nalias: A\n---\n- @mood x [[a/NOTE 1]] " + strings.Repeat("[[NOTE 2]] ", 20)),
		})
	}
	idx := index.Empty().With(c)
	clock := vault.Clock{Now: time.Unix(1, 0)}
	allocations := func(issues ...string) float64 {
		return testing.AllocsPerRun(3, func() {
			check, err := newVaultCheck(t.Context(), idx, clock, checkFilter{Issues: issues})
			require.NoError(t, err)
			require.True(t, check.run(context.Background()))
		})
	}
	for issue, most := range map[string]float64{
		"unused_type": 5, "missing_required_field": 20, "invalid_trait_value": 40, "stale_fragment": 60, "id_collision": 40,
	} {
		require.Less(t, allocations(issue)/notes, most, issue)
	}
	require.Greater(t, allocations()/notes, 120.0)
}
