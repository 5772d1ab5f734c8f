package repo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// TestIDsStay checks that the ids in the index of a Tx do not change when more is staged: another
// text of the note, many other notes, or a record, after which the whole commit is applied again.
func TestIDsStay(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{"schema.yaml", "traits:\n  due: {type: date}\n"})
	var want []string
	_, err := v.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		put := func(path, text string) {
			require.NoError(t, tx.Put(ctx, vault.Path(path), []byte(text)))
		}
		ids := func() []string {
			n, ok := tx.Index().Note("a.md")
			require.True(t, ok)
			all := n.TraitIDs()
			for _, u := range n.NodeIDs() {
				all = append(all, u.String())
			}
			return all
		}
		put("a.md", "# A\n\n- @due(2026-03-01) one\n\n## B\n\nText.\n")
		want = ids()
		require.Len(t, want, 3)
		put("a.md", "# A\n\n- @due(2026-03-01) two\n\n## C\n\nText.\n")
		require.Equal(t, want, ids())
		for i := range 40 {
			put(fmt.Sprintf("n%d.md", i), "- @due(2026-03-01) one\n")
		}
		require.Equal(t, want, ids())
		require.NoError(t, tx.Record("vault", "x", 1))
		require.Equal(t, want, ids())
		return nil, nil
	})
	require.NoError(t, err)
	for range 2 {
		idx, err := v.Rebuild(t.Context(), true)
		require.NoError(t, err)
		n, _ := idx.Note("a.md")
		require.Equal(t, want[:1], n.TraitIDs())
		require.Equal(t, want[2], n.NodeIDs()[1].String())
	}
}
