package tenant_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// afterTheLoss returns the deployment with the same folder and an empty database.
func (d *deployment) afterTheLoss(t *testing.T) *deployment {
	t.Helper()
	empty, err := bolttable.Open(filepath.Join(t.TempDir(), "new.db"),
		bolttable.Options{Now: d.clock.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, empty.Close()) })
	after := &deployment{dir: d.dir, table: empty, bucket: d.bucket, clock: d.clock}
	require.NoError(t, after.teams(t, empty, false).Make(t.Context(), "a"))
	return after
}

// fold folds all commits of a vault.
func fold(t *testing.T, a *tenant.Tenant, name string) {
	t.Helper()
	v, err := a.Vault(t.Context(), name)
	require.NoError(t, err)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
}

// indexOf returns the newest index of a vault.
func indexOf(t *testing.T, a *tenant.Tenant, name string) *index.Index {
	t.Helper()
	v, err := a.Vault(t.Context(), name)
	require.NoError(t, err)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	return idx
}

// textOf returns the text of a note.
func textOf(t *testing.T, a *tenant.Tenant, name, path string) string {
	t.Helper()
	f, ok := indexOf(t, a, name).File(path)
	require.True(t, ok, path)
	v, err := a.Vault(t.Context(), name)
	require.NoError(t, err)
	text, err := v.Text(t.Context(), f.Body)
	require.NoError(t, err)
	return string(text)
}

// noteAt returns the text of a note with a trait whose id does not follow from the text.
func noteAt(n int) string { return fmt.Sprintf("# Note\n\n- @due(2026-12-0%d) thing %d\n", n%9+1, n) }

// TestRebuildFromSegments checks that a vault that is rebuilt after the loss of its database equals
// the old one byte for byte up to the last version in its segments, and has the texts, ids and
// times of the later changes.
func TestRebuildFromSegments(t *testing.T) {
	d := deploy(t)
	a := d.team(t, true)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "schema.yaml", "traits:\n  due:\n    type: date\n"))
	for i := range 30 {
		d.clock.pass(time.Minute)
		require.NoError(t, put(t.Context(), a, "v", fmt.Sprintf("n%d.md", i%5), noteAt(i)))
	}
	fold(t, a, "v")
	folded := indexOf(t, a, "v")
	d.clock.pass(time.Hour)
	require.NoError(t, put(t.Context(), a, "v", "n1.md", noteAt(26)+"\nmore\n"))
	require.NoError(t, put(t.Context(), a, "v", "late.md", noteAt(7)))
	live := indexOf(t, a, "v")
	a.Close()
	before := d.files(t, "tenants/a/vaults/v/notes")

	d.clock.pass(24 * time.Hour)
	after := d.afterTheLoss(t)
	b := after.team(t, true)
	lost, err := b.Lost(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"v"}, lost)
	_, err = create(t.Context(), b, callOf("9"), "w")
	require.NoError(t, err)
	made, err := b.Rebuild(t.Context(), callOf("rebuild"))
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.Equal(t, eventlog.Version(folded.Version()), made[0].FromSegments)
	require.Equal(t, []string{"n1.md"}, made[0].Replaced)
	require.Equal(t, []string{"late.md"}, made[0].Created)
	require.Empty(t, made[0].Left)

	v, err := b.Vault(t.Context(), "v")
	require.NoError(t, err)
	was, err := v.At(t.Context(), folded.Version())
	require.NoError(t, err)
	require.Equal(t, folded.AppendImage(nil), was.AppendImage(nil))
	now := indexOf(t, b, "v")
	for n := range live.Notes("") {
		again, ok := now.Note(n.Path)
		require.True(t, ok, n.Path)
		require.Equal(t, n.Digest, again.Digest, n.Path)
		require.Equal(t, n.TraitIDs(), again.TraitIDs(), n.Path)
		require.Equal(t, n.Created, again.Created, n.Path)
	}
	require.Equal(t, live.Totals(), now.Totals())
	late, _ := now.Note("late.md")
	wasLate, _ := live.Note("late.md")
	require.Equal(t, wasLate.Modified, late.Modified, "as the audit log tells")

	require.NoError(t, put(t.Context(), b, "v", "n2.md", "goes on\n"))
	again, err := b.Rebuild(t.Context(), callOf("rebuild"))
	require.NoError(t, err)
	require.Empty(t, again)
	b.Close()
	end := d.files(t, "tenants/a/vaults/v/notes")
	require.True(t, strings.HasPrefix(repotest.TakeAudit(end), repotest.TakeAudit(before)),
		"what the audit log told it tells")
	before["n2.md"] = "goes on\n"
	require.Equal(t, before, end)
}

// TestRebuildFromNotes checks that a vault without segments is rebuilt from its notes, with the ids
// and times in its audit log.
func TestRebuildFromNotes(t *testing.T) {
	d := deploy(t)
	a := d.team(t, true)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "schema.yaml", "traits:\n  due:\n    type: date\n"))
	require.NoError(t, put(t.Context(), a, "v", "deep/n.md", noteAt(1)))
	d.clock.pass(time.Hour)
	require.NoError(t, put(t.Context(), a, "v", "deep/n.md", noteAt(1)+"\nmore\n"))
	live := indexOf(t, a, "v")
	a.Close()
	folder := filepath.Join(d.dir, "tenants/a/vaults/v/notes")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "picture.png"), []byte("png"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "latin.md"), []byte("caf\xe9"), 0o600))

	b := d.afterTheLoss(t).team(t, true)
	made, err := b.Rebuild(t.Context(), callOf("rebuild"))
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.Empty(t, made[0].FromSegments)
	require.Equal(t, []string{"schema.yaml", "deep/n.md"}, made[0].Created)
	require.Equal(t, []string{"latin.md"}, made[0].Left)
	now := indexOf(t, b, "v")
	was, _ := live.Note("deep/n.md")
	n, ok := now.Note("deep/n.md")
	require.True(t, ok)
	require.Equal(t, was.TraitIDs(), n.TraitIDs())
	require.Equal(t, was.Created, n.Created)
	require.Equal(t, was.Modified, n.Modified)
	require.Equal(t, noteAt(1)+"\nmore\n", textOf(t, b, "v", "deep/n.md"))
}

// TestNewVaultBesideALostOne checks that a new vault does not overwrite the segments of a lost
// vault with the same name.
func TestNewVaultBesideALostOne(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "a.md", "of the first\n"))
	fold(t, a, "v")
	a.Close()
	b := d.afterTheLoss(t).team(t, false)
	e, err := create(t.Context(), b, callOf("2"), "v")
	require.NoError(t, err)
	require.Equal(t, 2, e.Incarnation)
	require.Empty(t, notes(t, b, "v"))
	require.NoError(t, put(t.Context(), b, "v", "b.md", "of the second\n"))
	fold(t, b, "v")
	require.Equal(t, []string{"b.md"}, notes(t, b, "v"))
}
