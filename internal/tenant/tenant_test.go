package tenant_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// is requires that an error is a fault with the given code, and returns the fault.
func is(t *testing.T, code fault.Code, err error) *fault.Fault {
	t.Helper()
	require.Error(t, err)
	f := fault.Of(err)
	require.Equal(t, code, f.Code, "%v", err)
	return f
}

// TestLifeOfAVault follows one name: the vault is made, moved to the trash and restored, and after
// 30 days in the trash another vault gets the name.
func TestLifeOfAVault(t *testing.T) {
	d := deploy(t)
	a := d.team(t, true)
	e, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.Equal(t, tenant.Entry{
		Name: "v", Incarnation: 1, Status: eventlog.Active, Created: d.clock.time(),
	}, e)
	require.NoError(t, put(t.Context(), a, "v", "a.md", "one\n"))
	_, err = create(t.Context(), a, callOf("2"), "v")
	require.Equal(t, "v", is(t, fault.DuplicateID, err).Details["id"])
	_, err = create(t.Context(), a, callOf("3"), "No Name")
	require.Error(t, err)

	trash(t, a, "v")
	_, err = a.Vault(t.Context(), "v")
	is(t, fault.NotFound, err)
	_, err = a.Folder(t.Context(), "v")
	is(t, fault.NotFound, err)
	_, err = a.Trash(t.Context(), eventlog.Call{}, "v", told)
	is(t, fault.NotFound, err)
	_, err = create(t.Context(), a, callOf("4"), "v")
	require.Contains(t, is(t, fault.DuplicateID, err).Fixes, `team_vault_restore {"name":"v"}`)
	_, err = a.Restore(t.Context(), eventlog.Call{}, "v", toldChange)
	require.NoError(t, err)
	require.Equal(t, []string{"a.md"}, notes(t, a, "v"))
	require.NoError(t, put(t.Context(), a, "v", "a.md", "two\n"))
	r, err := a.Restore(t.Context(), eventlog.Call{}, "v", toldChange)
	require.NoError(t, err, "what is not in the trash stays as it is")
	require.False(t, r.Changed)

	trash(t, a, "v")
	d.clock.pass(tenant.TrashLife - time.Second)
	_, err = create(t.Context(), a, callOf("5"), "v")
	is(t, fault.DuplicateID, err)
	d.clock.pass(time.Second)
	_, err = a.Restore(t.Context(), eventlog.Call{}, "v", toldChange)
	is(t, fault.NotFound, err)
	e, err = create(t.Context(), a, callOf("6"), "v")
	require.NoError(t, err)
	require.Equal(t, 2, e.Incarnation)
	require.Empty(t, notes(t, a, "v"), "the new one begins empty")
	_, err = a.Restore(t.Context(), eventlog.Call{}, "none", toldChange)
	is(t, fault.NotFound, err)
}

// TestTrashOfAnotherProcess checks that a process that does not yet know that a vault is in the
// trash answers every call with the same text as the process that moved it there.
func TestTrashOfAnotherProcess(t *testing.T) {
	d := deploy(t)
	a, warm := d.team(t, false), d.team(t, false)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "a.md", "one\n"))
	require.Equal(t, []string{"a.md"}, notes(t, warm, "v"))
	trash(t, a, "v")
	_, err = a.Vault(t.Context(), "v")
	want := is(t, fault.NotFound, err)
	v, err := warm.Vault(t.Context(), "v")
	require.NoError(t, err, "it was there less than a minute ago")
	for what, err := range map[string]error{
		"a read":      second(v.Read(t.Context())),
		"a search":    second(v.Searchable(t.Context())),
		"as of v1":    second(v.At(t.Context(), 1)),
		"a write":     put(t.Context(), warm, "v", "b.md", "two\n"),
		"an erasure":  second(warm.EraseNote(t.Context(), callOf("2"), "v", "a.md")),
		"a dry run":   second(v.EraseNote(t.Context(), eventlog.Call{DryRun: true}, "a.md")),
		"the control": third(v.ReadControl(t.Context())),
	} {
		got := is(t, fault.NotFound, err)
		require.Equal(t, want.Message, got.Message, what)
		require.Equal(t, want.Fixes, got.Fixes, what)
		require.True(t, fault.LacksVault(err), what)
	}
}

// TestRestoredUntilTheEnd checks that a vault can be restored up to the last second of the 30 days.
func TestRestoredUntilTheEnd(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "a.md", "one\n"))
	trash(t, a, "v")
	d.clock.pass(tenant.TrashLife - time.Second)
	_, err = a.Restore(t.Context(), eventlog.Call{}, "v", toldChange)
	require.NoError(t, err)
	require.Equal(t, []string{"a.md"}, notes(t, a, "v"))
}

// TestFilesOfTheVaultBefore checks that a new vault with an old name does not adopt the files of
// the vault before, and does not lose the changes that a person made in them.
func TestFilesOfTheVaultBefore(t *testing.T) {
	for name, restarted := range map[string]bool{"same process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			a := d.team(t, true)
			_, err := create(t.Context(), a, callOf("1"), "v")
			require.NoError(t, err)
			for _, path := range []string{"same.md", "deep/edited.md", "old.md"} {
				require.NoError(t, put(t.Context(), a, "v", path, "of the first\n"))
			}
			const folder = "tenants/a/vaults/v/notes"
			edited := filepath.Join(d.dir, folder, "deep/edited.md")
			require.NoError(t, os.WriteFile(edited, []byte("by hand\n"), 0o600))
			trash(t, a, "v")
			d.clock.pass(tenant.TrashLife)
			if restarted {
				a.Close()
				a = d.team(t, true)
			}

			dry := callOf("dry")
			dry.DryRun = true
			before := d.files(t, folder)
			_, err = create(t.Context(), a, dry, "v")
			require.NoError(t, err)
			require.Subset(t, d.files(t, folder), before, "a dry run removes nothing")

			e, err := create(t.Context(), a, callOf("2"), "v")
			require.NoError(t, err)
			require.Equal(t, []string{"deep/edited.md"}, e.Left)
			require.Equal(t, map[string]string{"deep/edited.md": "by hand\n"}, d.files(t, folder))
			kept, err := a.Folder(t.Context(), "v")
			require.NoError(t, err)
			require.NoError(t, kept.Ready(t.Context()))
			require.NoError(t, put(t.Context(), a, "v", "same.md", "of the second\n"))
			require.Equal(t, []string{"deep/edited.md", "same.md"}, notes(t, a, "v"))
			a.Close()
			found := d.files(t, folder)
			require.Equal(t, 1, countLines(repotest.TakeAudit(found)), "its audit log is its own")
			require.Equal(t, map[string]string{
				"deep/edited.md": "by hand\n", "same.md": "of the second\n",
			}, found)
			again := d.team(t, true)
			require.Equal(t, []string{"deep/edited.md", "same.md"}, notes(t, again, "v"))
		})
	}
}

func countLines(s string) int {
	n := 0
	for _, r := range s {
		if r == '\n' {
			n++
		}
	}
	return n
}

func TestDryRunMakesNothing(t *testing.T) {
	d := deploy(t)
	a := d.team(t, true)
	c := callOf("1")
	c.DryRun = true
	e, err := create(t.Context(), a, c, "v")
	require.NoError(t, err)
	require.Equal(t, 1, e.Incarnation)
	require.False(t, d.has(t, "v/1"))
	s, seq, err := a.State(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Vaults())
	require.Zero(t, seq)
	require.Empty(t, d.files(t, "tenants"))

	_, err = create(t.Context(), a, callOf("2"), "v")
	require.NoError(t, err)
	_, err = a.Trash(t.Context(), c, "v", told)
	require.NoError(t, err)
	require.Empty(t, notes(t, a, "v"), "it is not in the trash")
}

func TestCreators(t *testing.T) {
	for name, processes := range map[string]int{"one process": 1, "three processes": 3} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			var teams []*tenant.Tenant
			for range processes {
				teams = append(teams, d.team(t, false))
			}
			const creators = 24
			failed := make([]error, creators)
			var wait sync.WaitGroup
			for i := range creators {
				wait.Go(func() {
					a := teams[i%processes]
					_, failed[i] = create(t.Context(), a, callOf(fmt.Sprint(i)), "v")
				})
			}
			wait.Wait()
			won := 0
			for _, err := range failed {
				if err == nil {
					won++
				} else {
					is(t, fault.DuplicateID, err)
				}
			}
			require.Equal(t, 1, won)
			for _, a := range teams {
				require.NoError(t, put(t.Context(), a, "v", "a.md", "one\n"))
				require.Equal(t, []string{"a.md"}, notes(t, a, "v"))
			}
		})
	}
}

func TestQuota(t *testing.T) {
	a := deploy(t).team(t, false)
	for i := range tenant.MaxVaults {
		_, err := create(t.Context(), a, callOf(fmt.Sprint(i)), fmt.Sprint("v", i))
		require.NoError(t, err)
	}
	_, err := create(t.Context(), a, callOf("over"), "over")
	is(t, fault.QuotaExceeded, err)
}

// TestYesMayBeOld counts the reads that finding a vault costs: a call that is allowed may rely on a
// state up to a minute old, a refusal always relies on the newest state (reference/log.md §6).
func TestYesMayBeOld(t *testing.T) {
	d := deploy(t)
	flaky := tabletest.NewFlaky(d.table, nil)
	a, err := d.teams(t, flaky, false).Tenant(t.Context(), "a")
	require.NoError(t, err)
	_, err = create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	cost := func(name string) int {
		flaky.Reset()
		_, err := a.Vault(t.Context(), name)
		if name == "v" {
			require.NoError(t, err)
		} else {
			is(t, fault.NotFound, err)
		}
		return flaky.Counts().Queries
	}
	cost("v")
	require.Equal(t, 0, cost("v"))
	require.Equal(t, 1, cost("none"))
	require.Equal(t, 1, cost("none"))
	d.clock.pass(59 * time.Second)
	require.Equal(t, 0, cost("v"))
	d.clock.pass(2 * time.Minute)
	require.Equal(t, 1, cost("v"))
	require.Equal(t, 0, cost("v"))

	other := d.team(t, false)
	_, err = create(t.Context(), other, callOf("2"), "w")
	require.NoError(t, err)
	_, err = a.Vault(t.Context(), "w")
	require.NoError(t, err, "what another process just made works at once")
	trash(t, other, "v")
	v, err := a.Vault(t.Context(), "v")
	require.NoError(t, err, "a yes may be old")
	_, err = v.Read(t.Context())
	is(t, fault.NotFound, err)
	is(t, fault.NotFound, put(t.Context(), a, "v", "a.md", "one\n"))
	d.clock.pass(time.Minute)
	_, err = a.Vault(t.Context(), "v")
	is(t, fault.NotFound, err)
}

// TestTenants checks that two tenants that share one table and one folder see nothing of each
// other.
func TestTenants(t *testing.T) {
	d := deploy(t)
	teams := d.teams(t, d.table, true)
	a, err := teams.Tenant(t.Context(), "a")
	require.NoError(t, err)
	b, err := teams.Tenant(t.Context(), "b")
	require.NoError(t, err)
	_, err = create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "secret.md", "of a\n"))
	_, err = b.Vault(t.Context(), "v")
	is(t, fault.NotFound, err)
	s, _, err := b.State(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Vaults())
	_, err = b.Trash(t.Context(), eventlog.Call{}, "v", told)
	is(t, fault.NotFound, err)
	_, err = create(t.Context(), b, callOf("1"), "v")
	require.NoError(t, err, "a name, and a key, are a tenant's own")
	require.Empty(t, notes(t, b, "v"))
	require.NoError(t, put(t.Context(), b, "v", "b.md", "of b\n"))
	trash(t, b, "v")
	require.Equal(t, []string{"secret.md"}, notes(t, a, "v"))
	require.Contains(t, d.files(t, "tenants/a/vaults/v/notes"), "secret.md")
	require.NotContains(t, d.files(t, "tenants/b/vaults/v/notes"), "secret.md")

	_, err = teams.Tenant(t.Context(), "nobody")
	is(t, fault.Unauthenticated, err)
	_, err = teams.Tenant(t.Context(), "~tenants")
	require.Error(t, err)
	require.Error(t, teams.Make(t.Context(), "~tenants"))
	require.Error(t, teams.Make(t.Context(), "a/b"))
}

// TestClosed checks that a closed Tenant opens no more vaults, and that Close waits for those that
// are being opened.
func TestClosed(t *testing.T) {
	d := deploy(t)
	a := d.team(t, true)
	for _, name := range []string{"v", "w", "x", "y"} {
		_, err := create(t.Context(), a, callOf(name), name)
		require.NoError(t, err)
	}
	var wait sync.WaitGroup
	for _, name := range []string{"v", "w", "x"} {
		wait.Go(func() {
			if _, err := a.Folder(t.Context(), name); err != nil {
				require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
			}
		})
	}
	a.Close()
	wait.Wait()
	_, err := a.Vault(t.Context(), "y")
	is(t, fault.Unavailable, err)
}
