package raven_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
)

// largeCommit has a vault whose second version is a commit of many notes, and a small one behind it.
func largeCommit(t testing.TB) *place {
	t.Helper()
	p := open(t, batchVault)
	many := map[string]string{}
	for i := range 300 {
		many[fmt.Sprintf("notes/n%d.md", i)] = fmt.Sprintf("# N %d\n\n- @due(2026-03-0%d) one\n- @due two\n- @priority(high) three\n", i, 1+i%9)
	}
	p.write(t, many)
	p.must(t, "raven_new", args{"type": "page", "path": "notes/last"}, nil)
	return p
}

// remembered reports whether the entries of a commit are in the cache.
func remembered(t testing.TB, p *place, seq uint64) bool {
	t.Helper()
	_, _, ok := p.vault(t).Derivations().Of(seq)
	return ok
}

// TestLogOfLargeCommit covers that pages within a large commit have the same entries when these are remembered, and
// that nothing is remembered of what was erased.
func TestLogOfLargeCommit(t *testing.T) {
	t.Parallel()
	p := largeCommit(t)
	large := p.version(t) - 1
	want := same(naive(t, p))
	require.Greater(t, len(want), 900)
	require.False(t, remembered(t, p, large))
	for _, limit := range []int{50, 7, 128, 200} {
		require.Equal(t, want, same(pages(t, p, limit, args{"all": true})), "limit %d", limit)
		require.True(t, remembered(t, p, large))
	}
	filter := args{"all": true, "op": "create", "path": "notes/n7", "entity": "trait"}
	found := same(pages(t, p, 2, filter))
	require.Len(t, found, 2)
	p.serve(t)
	require.Equal(t, found, same(pages(t, p, 200, filter)), "decoded anew")

	require.Equal(t, want, same(pages(t, p, 50, args{"all": true})))
	p.must(t, "raven_delete", args{"id": "notes/n7", "erase": true}, nil)
	require.False(t, remembered(t, p, large))
	want = same(naive(t, p))
	for range 2 {
		all := pages(t, p, 50, args{"all": true})
		require.Equal(t, want, same(all))
		for _, e := range all {
			require.NotEqual(t, "notes/n7", e["id"], "%v", e)
		}
	}
	_, err := p.vault(t).Rebuild(t.Context(), true)
	require.NoError(t, err)
	require.NoError(t, p.vault(t).Compact(t.Context(), eventlog.Compaction{All: true}))
	p.serve(t)
	require.Equal(t, want, same(pages(t, p, 50, args{"all": true})), "from segments and an image")
}
