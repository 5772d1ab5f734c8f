package repo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestFollowerThatKnows checks that a follower gets all commits after the one that it knows, each
// with the index before and after it, wherever that commit is in a run.
func TestFollowerThatKnows(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	for i := range 4 {
		change(t, v, edit{"a.md", fmt.Sprintf("text %d", i)})
	}
	told := []string{"1 0>1", "2 1>2", "3 2>3", "4 3>4", "5 4>5"}
	for from := range uint64(7) {
		f, late := &follower{}, openVault(t, e, repo.Limits{})
		late.Follow(f, from)
		idx, err := late.Read(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 5, idx.Version())
		require.Equal(t, append([]string(nil), told[min(from, 5):]...), f.told)
		file, ok := idx.File("a.md")
		require.True(t, ok)
		text, err := late.Text(t.Context(), file.Body)
		require.NoError(t, err)
		require.Equal(t, "text 3", string(text))
	}
}

// TestBegunFromTheLog checks that a process that reads the log in bulk knows its idempotency keys,
// and continues from its end.
func TestBegunFromTheLog(t *testing.T) {
	e := engine(t)
	v, call := newVault(t, e), caller()
	call.Key = "key"
	_, err := v.Update(t.Context(), call, edits(edit{"a.md", "a"}))
	require.NoError(t, err)

	late := openVault(t, e, repo.Limits{})
	_, err = late.Read(t.Context())
	require.NoError(t, err)
	again, err := late.Update(t.Context(), call, edits(edit{"b.md", "b"}))
	require.NoError(t, err)
	require.NotNil(t, again.Replayed)
	require.EqualValues(t, 3, change(t, late, edit{"c.md", "c"}).Seq)
	require.Equal(t, map[string]string{"a.md": "a", "c.md": "c"}, files(t, e))
}

// A broken table ends one Query with an error after some items.
type broken struct {
	table.Table
	after int
}

var errBroken = errors.New("broken on purpose")

func (b *broken) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		left := b.after
		for it, err := range b.Table.Query(ctx, part, from, to) {
			if left == 0 {
				b.after = -1
				yield(table.Item{}, errBroken)
				return
			}
			if left--; !yield(it, err) {
				return
			}
		}
	}
}

// TestBegunInPieces checks that a read that fails is continued where it ended, and that runs read
// twice are applied once.
func TestBegunInPieces(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	for _, name := range []string{"a", "b", "c"} {
		change(t, v, edit{name + ".md", name})
	}
	for after := range 5 {
		b := &broken{e.Table, after}
		late := openVault(t, repotest.Engine{Table: b, Bucket: e.Bucket}, repo.Limits{})
		idx, err := late.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, -1, b.after, "it broke")
		require.EqualValues(t, 4, idx.Version())
		require.Equal(t, 3, idx.Totals().Notes)
	}
}
