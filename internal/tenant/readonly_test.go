package tenant_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// readOnly makes a vault read-only, or writable again.
func readOnly(ctx context.Context, a *tenant.Tenant, name string, on bool) error {
	_, err := a.Set(ctx, eventlog.Call{}, tenant.Setting{Name: name, ReadOnly: &on},
		func(tenant.Entry, bool) any { return "set" })
	return err
}

// entryOf returns the entry of a vault.
func entryOf(t *testing.T, a *tenant.Tenant, name string) tenant.Entry {
	t.Helper()
	e, ok := stateOf(t, a).Vault(name)
	require.True(t, ok)
	return e
}

// TestAppendLosesToReadOnly checks that no write of any process follows the commit that makes a
// vault read-only, whatever the process knew when the write began (log.md §2.8).
func TestAppendLosesToReadOnly(t *testing.T) {
	d := deploy(t)
	here, there := d.team(t, false), d.team(t, false)
	_, err := create(t.Context(), here, callOf("1"), "v")
	require.NoError(t, err)
	for round := range 5 {
		require.NoError(t, put(t.Context(), there, "v", "warm.md", fmt.Sprintf("%d\n", round)))
		var wg sync.WaitGroup
		wrote := make([]error, 8)
		for i := range wrote {
			wg.Go(func() {
				path := fmt.Sprintf("n/%d-%d.md", round, i)
				wrote[i] = put(context.Background(), there, "v", path, "x\n")
			})
		}
		wg.Go(func() {
			if err := readOnly(context.Background(), here, "v", true); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		at := indexOf(t, here, "v").Version()
		is(t, fault.ReadOnly, put(t.Context(), there, "v", "late.md", "x\n"))
		is(t, fault.ReadOnly, put(t.Context(), here, "v", "late.md", "x\n"))
		require.Equal(t, at, indexOf(t, there, "v").Version(), "nothing came behind it")
		paths := notes(t, here, "v")
		for i, err := range wrote {
			path := fmt.Sprintf("n/%d-%d.md", round, i)
			if err != nil {
				is(t, fault.ReadOnly, err)
				require.NotContains(t, paths, path)
			} else {
				require.Contains(t, paths, path)
			}
		}
		require.NoError(t, readOnly(t.Context(), there, "v", false))
	}
}

// TestReadOnlyThroughTheTrash checks that a read-only vault is still read-only after it is restored
// from the trash, that its settings cannot be changed while it is there, and that a new vault with
// the same name starts without them.
func TestReadOnlyThroughTheTrash(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "a.md", "one\n"))
	secrets := tenant.Refuse
	_, err = a.Set(t.Context(), eventlog.Call{}, tenant.Setting{Name: "v", Secrets: &secrets},
		func(tenant.Entry, bool) any { return "set" })
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "a.md", "two\n"), "the other setting does not matter")
	require.NoError(t, readOnly(t.Context(), a, "v", true))
	trash(t, a, "v")
	is(t, fault.NotFound, readOnly(t.Context(), a, "v", false))
	_, err = a.Restore(t.Context(), eventlog.Call{}, "v", toldChange)
	require.NoError(t, err)
	for _, process := range []*tenant.Tenant{a, d.team(t, false)} {
		is(t, fault.ReadOnly, put(t.Context(), process, "v", "a.md", "three\n"))
		e := entryOf(t, process, "v")
		require.Equal(t, []any{true, tenant.Refuse}, []any{e.ReadOnly, e.Secrets})
		require.Equal(t, []string{"a.md"}, notes(t, process, "v"))
	}
	trash(t, a, "v")
	d.clock.pass(tenant.TrashLife)
	_, err = create(t.Context(), a, callOf("2"), "v")
	require.NoError(t, err)
	e := entryOf(t, a, "v")
	require.Equal(t, []any{2, false, tenant.Secrets("")}, []any{e.Incarnation, e.ReadOnly, e.Secrets})
	require.NoError(t, put(t.Context(), a, "v", "a.md", "of the second\n"))
}

// TestEraseOfAReadOnlyVault checks that a read-only vault is erased like any other, that its
// settings cannot be changed afterwards, and that the next vault with its name is writable.
func TestEraseOfAReadOnlyVault(t *testing.T) {
	d := deploy(t)
	a := d.eraser(t, d.table, false)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", canary+".md", canary))
	require.NoError(t, readOnly(t.Context(), a, "v", true))
	_, err = a.Erase(t.Context(), callOf("erase"), "v")
	require.NoError(t, err)
	require.Empty(t, d.traces(t))
	is(t, fault.NotFound, readOnly(t.Context(), a, "v", false))
	d.clock.pass(eventlog.SweepAgain)
	works(t, a)
	is(t, fault.NotFound, readOnly(t.Context(), a, "v", true))
	_, err = create(t.Context(), a, callOf("2"), "v")
	require.NoError(t, err)
	require.False(t, entryOf(t, a, "v").ReadOnly)
	require.NoError(t, put(t.Context(), a, "v", "a.md", "new\n"))
}

// TestRebuildOfAReadOnlyVault checks that a vault that is rebuilt after the loss of the database is
// read-only exactly if it was before.
func TestRebuildOfAReadOnlyVault(t *testing.T) {
	d := deploy(t)
	a := d.team(t, true)
	for _, name := range []string{"open", "shut"} {
		_, err := create(t.Context(), a, callOf(name), name)
		require.NoError(t, err)
		require.NoError(t, put(t.Context(), a, name, "a.md", "one\n"))
	}
	require.NoError(t, readOnly(t.Context(), a, "shut", true))
	fold(t, a, "open")
	fold(t, a, "shut")
	a.Close()
	d.clock.pass(time.Hour)
	b := d.afterTheLoss(t).team(t, true)
	made, err := b.Rebuild(t.Context(), callOf("rebuild"))
	require.NoError(t, err)
	require.Len(t, made, 2)
	require.False(t, entryOf(t, b, "open").ReadOnly)
	require.True(t, entryOf(t, b, "shut").ReadOnly)
	require.NoError(t, put(t.Context(), b, "open", "a.md", "two\n"))
	is(t, fault.ReadOnly, put(t.Context(), b, "shut", "a.md", "two\n"))
	require.NoError(t, readOnly(t.Context(), b, "shut", false))
	require.NoError(t, put(t.Context(), b, "shut", "a.md", "two\n"))
}

// TestRebuildOfATrashedVault checks that a vault in the trash that is rebuilt after the loss of the
// database is read-only exactly if it was before, however often that setting had changed.
func TestRebuildOfATrashedVault(t *testing.T) {
	d := deploy(t)
	a := d.team(t, true)
	for name, shut := range map[string][]bool{
		"never": nil, "shut": {true}, "opened": {true, false}, "again": {true, false, true},
	} {
		_, err := create(t.Context(), a, callOf(name), name)
		require.NoError(t, err)
		for _, on := range shut {
			require.NoError(t, readOnly(t.Context(), a, name, on))
			if !on {
				require.NoError(t, put(t.Context(), a, name, "a.md", "open\n"))
			}
		}
		trash(t, a, name)
		_, err = a.Restore(t.Context(), eventlog.Call{}, name, toldChange)
		require.NoError(t, err)
		fold(t, a, name)
		v, err := a.Vault(t.Context(), name)
		require.NoError(t, err)
		trash(t, a, name)
		require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	}
	a.Close()
	d.clock.pass(time.Hour)
	b := d.afterTheLoss(t).team(t, true)
	made, err := b.Rebuild(t.Context(), callOf("rebuild"))
	require.NoError(t, err)
	require.Len(t, made, 4)
	for name, shut := range map[string]bool{"never": false, "shut": true, "opened": false, "again": true} {
		e := entryOf(t, b, name)
		require.Equal(t, eventlog.Trashed, e.Status, name)
		require.Equal(t, shut, e.ReadOnly, name)
		_, err := b.Restore(t.Context(), eventlog.Call{}, name, toldChange)
		require.NoError(t, err)
		require.Equal(t, shut, entryOf(t, b, name).ReadOnly, name)
		err = put(t.Context(), b, name, "b.md", "two\n")
		if shut {
			is(t, fault.ReadOnly, err)
			require.NoError(t, readOnly(t.Context(), b, name, false))
			err = put(t.Context(), b, name, "b.md", "two\n")
		}
		require.NoError(t, err, name)
	}
}

// TestReadOnlyCrashes checks that a vault whose change to read-only was interrupted can be made
// read-only, and writable again.
func TestReadOnlyCrashes(t *testing.T) {
	prepare := func(t *testing.T, d *deployment) {
		a := d.team(t, false)
		_, err := create(t.Context(), a, callOf("1"), "v")
		require.NoError(t, err)
	}
	shut := func(ctx context.Context, a *tenant.Tenant) error { return readOnly(ctx, a, "v", true) }
	tries := 0
	everyCall(t, prepare, shut, func(t *testing.T, d *deployment, acked bool, deliver func()) {
		deliver()
		a := d.team(t, false)
		if acked {
			require.True(t, entryOf(t, a, "v").ReadOnly)
			is(t, fault.ReadOnly, put(t.Context(), a, "v", "a.md", "x\n"))
		}
		if tries++; tries%2 == 0 {
			require.NoError(t, shut(t.Context(), a))
			require.True(t, entryOf(t, a, "v").ReadOnly)
			is(t, fault.ReadOnly, put(t.Context(), d.team(t, false), "v", "a.md", "x\n"))
		}
		require.NoError(t, readOnly(t.Context(), a, "v", false))
		require.False(t, entryOf(t, a, "v").ReadOnly)
		require.NoError(t, put(t.Context(), d.team(t, false), "v", "a.md", "x\n"))
	})
}
