package repo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// nodesAt returns the UIDs of a note's nodes at a version; 0 is the newest.
func nodesAt(t *testing.T, v *repo.Vault, version uint64, path string) []index.UID {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	if version > 0 {
		idx, err = v.At(t.Context(), version)
		require.NoError(t, err)
	}
	f, ok := idx.File(path)
	require.True(t, ok, path)
	return f.NodeIDs()
}

// drafted makes one commit with a function.
func drafted(t *testing.T, v *repo.Vault, draft func(context.Context, *repo.Tx) error) {
	t.Helper()
	_, err := v.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, draft(ctx, tx)
	})
	require.NoError(t, err)
}

// TestNodesKeepTheirUIDs covers edits, moves, deletions, undo, earlier versions, restarts, images
// and a replay of the whole log.
func TestNodesKeepTheirUIDs(t *testing.T) {
	s := newShelf(t)
	change(t, s.vault, edit{"a.md", "# T\n\n## I\n\nx\n\n## I\n\ny\n"}, edit{"p/_folder.md", "---\ntitle: P\n---\n"})
	first := nodesAt(t, s.vault, 0, "a.md")
	require.Len(t, first, 3)
	folder := nodesAt(t, s.vault, 0, "p/_folder.md")
	change(t, s.vault, edit{"a.md", "# T\n\n## I\n\nx\n\n## I\n\ny\n\n## New\n"})
	grown := nodesAt(t, s.vault, 0, "a.md")
	require.Equal(t, first, grown[:3])

	drafted(t, s.vault, func(ctx context.Context, tx *repo.Tx) error { // which no text contains
		swapped := []index.UID{grown[0], grown[2], grown[1], grown[3], {}}
		return tx.PutNodes(ctx, "a.md", []byte("# T\n\n## I\n\ny\n\n## I\n\nx\n\n## New\n\n## Newer\n"), nil, swapped)
	})
	swapped := nodesAt(t, s.vault, 0, "a.md")
	require.Equal(t, []index.UID{grown[0], grown[2], grown[1], grown[3]}, swapped[:4])
	require.NotZero(t, swapped[4])

	drafted(t, s.vault, func(ctx context.Context, tx *repo.Tx) error {
		text, _, err := tx.Text(ctx, "a.md")
		if err != nil {
			return err
		}
		return tx.Move(ctx, "a.md", "b.md", text)
	})
	require.Equal(t, swapped, nodesAt(t, s.vault, 0, "b.md"))
	change(t, s.vault, edit{"b.md", ""}, edit{"p/_folder.md", ""})
	gone := s.vault.Known().Version()
	change(t, s.vault, edit{"a.md", "# T\n"})
	require.NotContains(t, swapped, nodesAt(t, s.vault, 0, "a.md")[0], "a new note under an old name")
	undo(t, s.vault, gone)
	require.Equal(t, swapped, nodesAt(t, s.vault, 0, "b.md"))
	require.Equal(t, folder, nodesAt(t, s.vault, 0, "p/_folder.md"))

	last := s.vault.Known().Version()
	image := string(s.vault.Known().AppendImage(nil))
	requireSame := func(v *repo.Vault) {
		t.Helper()
		require.Equal(t, swapped, nodesAt(t, v, 0, "b.md"))
		require.Equal(t, first, nodesAt(t, v, 2, "a.md"))
		require.Equal(t, grown, nodesAt(t, v, 3, "a.md"))
		require.Equal(t, last, v.Known().Version())
		require.Equal(t, image, string(v.Known().AppendImage(nil)))
	}
	requireSame(s.open(t))
	s.fold(t)
	requireSame(s.open(t))
}

// TestUndoLeavesUIDsOfOthers checks that an undo does not restore the UID of a node that is in
// another note by now.
func TestUndoLeavesUIDsOfOthers(t *testing.T) {
	s := newShelf(t)
	change(t, s.vault, edit{"a.md", "## A\n\na\n"}, edit{"b.md", "b\n"})
	ids := nodesAt(t, s.vault, 0, "a.md")
	change(t, s.vault, edit{"a.md", "text\n"})
	cut := s.vault.Known().Version()
	drafted(t, s.vault, func(ctx context.Context, tx *repo.Tx) error {
		return tx.PutNodes(ctx, "b.md", []byte("b\n\n## A\n\na\n"), nil,
			[]index.UID{nodesAt(t, s.vault, 0, "b.md")[0], ids[1]})
	})
	undo(t, s.vault, cut)
	require.Equal(t, ids[0], nodesAt(t, s.vault, 0, "a.md")[0])
	require.NotEqual(t, ids[1], nodesAt(t, s.vault, 0, "a.md")[1])
	require.Equal(t, ids[1], nodesAt(t, s.vault, 0, "b.md")[1])
}

// TestVaultsThatTakeNoWritesRefuseSessions covers data that is stored beside the log.
func TestVaultsThatTakeNoWritesRefuseSessions(t *testing.T) {
	s := newShelf(t)
	_, err := s.vault.ReadWritable(t.Context())
	require.NoError(t, err)
	for _, status := range []eventlog.Status{eventlog.ReadOnly, eventlog.Trashed} {
		require.NoError(t, s.vault.SetStatus(t.Context(), caller(), status))
		_, err := s.vault.ReadWritable(t.Context())
		require.Error(t, err, status)
	}
}
