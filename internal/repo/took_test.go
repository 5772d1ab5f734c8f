package repo_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// took returns how long the calls of a vault's commits took, from a commit on.
func took(t *testing.T, v *repo.Vault, from uint64) []time.Duration {
	t.Helper()
	var all []time.Duration
	for c, err := range v.Commits(t.Context(), from) {
		require.NoError(t, err)
		all = append(all, c.Took)
	}
	return all
}

// TestTook checks that a commit records how long its call had taken when it was sealed, in whole
// milliseconds, rounded up, also for a later process and after compaction; and that it records
// nothing if the start of the call is unknown or the clock was put back.
func TestTook(t *testing.T) {
	s := newShelf(t)
	want := []time.Duration{0} // the call that created the vault
	for _, c := range []struct{ waits, runs, want time.Duration }{
		{waits: 40 * time.Millisecond, runs: 2 * time.Millisecond, want: 42 * time.Millisecond},
		{waits: time.Microsecond, want: time.Millisecond},
		{waits: 3*time.Second + 1, want: 3001 * time.Millisecond},
		{},
		{waits: -time.Hour},
	} {
		call := caller()
		call.Key, call.Began = fmt.Sprint(len(want)), s.clock.Now().Add(-c.waits)
		r, err := s.vault.Update(t.Context(), call, func(ctx context.Context, tx *repo.Tx) (any, error) {
			s.clock.Move(c.runs)
			return edits(edit{"a.md", fmt.Sprint(len(want))})(ctx, tx)
		})
		require.NoError(t, err)
		call.Began = s.clock.Now().Add(-time.Minute)
		again, err := s.vault.Update(t.Context(), call, edits(edit{"a.md", "another"}))
		require.NoError(t, err)
		require.Equal(t, r.Seq, again.Seq)
		require.NotNil(t, again.Replayed, "a repetition leaves no commit")
		want = append(want, c.want)
	}
	change(t, s.vault, edit{"b.md", "nobody said when"})
	want = append(want, 0)
	for _, lies := range []func(*testing.T){func(*testing.T) {}, s.empty} {
		lies(t)
		require.Equal(t, want, took(t, s.vault, 1))
		require.Equal(t, want, took(t, s.open(t), 1))
	}
}

// TestTookIsChained checks that the duration is included in the hash of the next header, and that a
// commit without a duration is stored as in earlier releases.
func TestTookIsChained(t *testing.T) {
	e := engine(t)
	clock := repotest.NewClock()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: e.Table, Bucket: e.Bucket, Texts: repo.NewTexts(1 << 20),
		Now: clock.Now,
	})
	require.NoError(t, err)
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	call := caller()
	call.Began = clock.Now().Add(-7 * time.Millisecond)
	_, err = v.Update(t.Context(), call, edits(edit{"a.md", "a"}))
	require.NoError(t, err)
	change(t, v, edit{"b.md", "b"})
	key := table.Key{Part: "v", Sort: "log/000000000002"}
	for _, other := range []string{"log/000000000001", "log/000000000003"} {
		it, err := e.Table.Get(t.Context(), table.Key{Part: "v", Sort: other})
		require.NoError(t, err)
		require.NotContains(t, string(it.Data), "took_ms", other)
	}
	it, err := e.Table.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(it.Data, []byte(`"took_ms":7`)))
	it.Data = bytes.Replace(slices.Clone(it.Data), []byte(`"took_ms":7`), []byte(`"took_ms":1`), 1)
	require.NoError(t, e.Table.Commit(t.Context(), table.Set(it)))
	_, err = v.Verify(t.Context(), nil)
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
}
