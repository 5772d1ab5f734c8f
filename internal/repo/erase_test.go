package repo_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// canary is a word that occurs only in the erased vault.
const canary = "kestrel"

// trace returns the keys of all stored items and objects that contain the canary.
func (s *shelf) trace(t *testing.T) []string {
	t.Helper()
	var found []string
	for it, err := range s.Table.Query(t.Context(), "v", "", "~") {
		require.NoError(t, err)
		if len(it.Data) > 1 && it.Sort != "log/~" || bytes.Contains(it.Data, []byte(canary)) {
			found = append(found, it.Sort)
		}
	}
	return append(found, s.objects(t, "")...)
}

// requireGone requires that every read of a vault fails.
func requireGone(t *testing.T, v *repo.Vault) {
	t.Helper()
	ctx := t.Context()
	_, err := v.Read(ctx)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = v.Update(ctx, caller(), edits(edit{"late.md", "late"}))
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.True(t, fault.Is(v.SetStatus(ctx, caller(), eventlog.Active), fault.NotFound))
	_, err = v.At(ctx, 2)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = v.Searchable(ctx)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = v.Commit(ctx, 2)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = v.Rebuild(ctx, true)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	for _, err := range v.Commits(ctx, 1) {
		require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	}
	err = v.Change(ctx, func(c *repo.Control) bool { c.Low++; return true })
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.NoError(t, v.Compact(ctx, eventlog.Compaction{All: true}), "folding does nothing")
}

// TestErase checks that nothing of a vault is left, wherever its log is, that all processes that
// have it open get NOT_FOUND, and that the receipt counts the deleted data.
func TestErase(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *shelf){
		"in the table":     func(*testing.T, *shelf) {},
		"in segments":      func(t *testing.T, s *shelf) { s.fold(t) },
		"out of the table": func(t *testing.T, s *shelf) { s.empty(t) },
		"in the trash": func(t *testing.T, s *shelf) {
			require.NoError(t, s.vault.SetStatus(t.Context(), caller(), eventlog.Trashed))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.write(t, 9)
			keyed := caller()
			keyed.Key = "k"
			_, err := s.vault.Update(t.Context(), keyed, edits(edit{"a.md", canary}))
			require.NoError(t, err)
			change(t, s.vault, edit{"big.md", canary + noise(60<<10)})
			warm := s.open(t)
			idx, err := warm.Read(t.Context())
			require.NoError(t, err)
			f, ok := idx.File("a.md")
			require.True(t, ok)
			_, err = warm.Text(t.Context(), f.Body)
			require.NoError(t, err)
			_, err = warm.At(t.Context(), 11)
			require.NoError(t, err)
			prepare(t, s)

			dry := caller()
			dry.DryRun = true
			would, err := s.vault.Erase(t.Context(), dry)
			require.NoError(t, err)
			items := len(s.items(t))
			objects := len(s.objects(t, ""))
			require.NotEmpty(t, s.trace(t), "a dry run erases nothing")
			gone, err := s.vault.Erase(t.Context(), caller())
			require.NoError(t, err)
			require.Equal(t, objects, gone.Objects)
			require.Equal(t, would.Objects, gone.Objects)
			require.Equal(t, items+1, gone.Items, "the seal is one more")
			require.Positive(t, gone.Bytes)
			require.Len(t, gone.Expires, 1)
			require.True(t, gone.Expires[0].Until.Equal(s.clock.Now().Add(24*time.Hour)))
			require.Empty(t, s.trace(t))

			_, err = warm.Update(t.Context(), keyed, edits(edit{"a.md", canary}))
			require.True(t, fault.Is(err, fault.NotFound), "nor is the answer of a key: %v", err)
			requireGone(t, warm)
			_, err = warm.Text(t.Context(), f.Body)
			require.True(t, fault.Is(err, fault.NotFound), "%v", err)
			requireGone(t, s.vault)
			requireGone(t, s.open(t))
			require.ErrorIs(t, s.open(t).Create(t.Context(), caller(), nil), eventlog.ErrLogExists)

			again, err := s.open(t).Erase(t.Context(), caller())
			require.NoError(t, err)
			require.Zero(t, again.Items+again.Objects)
			s.clock.Move(25 * time.Hour)
			requireGone(t, s.vault)
			requireGone(t, s.open(t))
		})
	}
}

// TestEraseLate checks that the second erasure deletes data that arrived late: an object, and an
// item with a new key.
func TestEraseLate(t *testing.T) {
	s := newShelf(t)
	s.write(t, 3)
	_, err := s.vault.Erase(t.Context(), caller())
	require.NoError(t, err)
	for _, key := range []string{"payload/000000000009-LATE.zst", "segment/000000000001"} {
		_, err := s.Bucket.Put(t.Context(), key, []byte(canary), blob.Always)
		require.NoError(t, err)
	}
	require.NoError(t, s.Table.Commit(t.Context(), table.Create(table.Item{
		Key: table.Key{Part: "v", Sort: "log/000000000099"}, Data: []byte(canary),
	})))
	s.clock.Move(eventlog.SweepAgain)
	gone, err := s.open(t).Erase(t.Context(), caller())
	require.NoError(t, err)
	require.Equal(t, 2, gone.Objects)
	require.Equal(t, 1, gone.Items)
	require.Empty(t, s.trace(t))
}

// TestEraseDamaged checks that a damaged log can be erased, and that a process that had read it
// before the damage cannot write to it.
func TestEraseDamaged(t *testing.T) {
	s := newShelf(t)
	s.write(t, 3)
	for _, sort := range []string{"log/000000000002", "log/000000000004"} {
		warm := s.open(t)
		_, _ = warm.Read(t.Context())
		require.NoError(t, s.Table.Commit(t.Context(), table.Set(table.Item{
			Key: table.Key{Part: "v", Sort: sort}, Data: []byte(strings.Repeat(canary, 9)),
		})))
	}
	warm := s.vault
	_, err := s.open(t).Read(t.Context())
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
	_, err = s.open(t).Erase(t.Context(), caller())
	require.NoError(t, err)
	require.Empty(t, s.trace(t))
	requireGone(t, warm)
	requireGone(t, s.open(t))
}

// TestSealIsACommit checks that of the writers queued with an erasure, those before it are in the
// log and those after it are refused.
func TestSealIsACommit(t *testing.T) {
	e := engine(t)
	newVault(t, e)
	g := repotest.NewGate(e.Table)
	v := openVault(t, repotest.Engine{Table: g, Bucket: e.Bucket}, repo.Limits{})
	outcomes := make([]error, 3)
	var done []chan struct{}
	for i, do := range []func() error{
		func() error {
			_, err := v.Update(t.Context(), caller(), edits(edit{"a.md", "a"}))
			return err
		},
		func() error { return v.Seal(t.Context(), caller()) },
		func() error {
			_, err := v.Update(t.Context(), caller(), edits(edit{"b.md", "b"}))
			return err
		},
	} {
		ended := make(chan struct{})
		done = append(done, ended)
		go func() {
			defer close(ended)
			outcomes[i] = do()
		}()
		if i == 0 {
			<-g.Entered
		} else {
			repotest.Queued(t, v, i)
		}
	}
	g.Open()
	for _, ended := range done {
		<-ended
	}
	require.NoError(t, outcomes[0])
	require.NoError(t, outcomes[1])
	require.True(t, fault.Is(outcomes[2], fault.NotFound), "%v", outcomes[2])
	_, err := openVault(t, e, repo.Limits{}).Read(t.Context())
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}
