package tenant_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// TestAnUncertainClock checks that a process whose clock is not known to be right deletes nothing
// because of its age: no folded commits of a vault's log or of the tenant's log, and nothing in the
// second sweep of an erasure.
func TestAnUncertainClock(t *testing.T) {
	ctx := t.Context()
	d := deploy(t)
	var known atomic.Bool
	var passes atomic.Int64
	o := d.options(d.table, false)
	o.Compact, o.Parts = d.table.(*bolttable.Table).Compact, []string{refused}
	o.CheckClock = func() func() bool {
		passes.Add(1)
		return known.Load
	}
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	a, err := teams.Tenant(ctx, "a")
	require.NoError(t, err)
	for _, name := range []string{"v", "w"} {
		_, err = create(ctx, a, callOf(name), name)
		require.NoError(t, err)
	}
	v, err := a.Vault(ctx, "v")
	require.NoError(t, err)
	require.NoError(t, put(ctx, a, "v", "a.md", "one\n"))
	_, err = a.Erase(ctx, callOf("erase"), "w")
	require.NoError(t, err)
	require.NoError(t, v.Compact(ctx, eventlog.Compaction{All: true}))
	require.NoError(t, a.Log().Compact(ctx, eventlog.Compaction{All: true}))
	items := func() (all []string) {
		for _, part := range []string{"v/1", ""} {
			for it, err := range table.Sub(d.table, "a").Query(ctx, part, "log/0", "log/9") {
				require.NoError(t, err)
				all = append(all, it.Part+" "+it.Sort)
			}
		}
		return all
	}
	pass := func() {
		require.NoError(t, a.CompactVault(ctx, "v"))
		require.NoError(t, a.CompactTenant(ctx))
		_, err := teams.WorkOf(ctx, "a")
		require.NoError(t, err)
	}
	before := items()
	require.NotEmpty(t, before)
	d.clock.pass(2 * time.Hour)
	for range 2 {
		begun := passes.Load()
		pass()
		require.Equal(t, begun+3, passes.Load(), "each pass begins anew to find out")
		d.clock.pass(2 * time.Minute)
	}
	require.Equal(t, before, items())
	_, err = create(ctx, a, callOf("next"), "w")
	is(t, fault.DuplicateID, err)

	known.Store(true)
	pass()
	for _, it := range before {
		require.NotContains(t, items(), it)
	}
	_, err = create(ctx, a, callOf("next"), "w")
	require.NoError(t, err)
}

// TestAnUncertainClockOfATenant checks the same for the second sweep of a tenant's erasure.
func TestAnUncertainClockOfATenant(t *testing.T) {
	ctx := t.Context()
	d := deploy(t)
	var known atomic.Bool
	o := d.options(d.table, false)
	o.Compact, o.Parts = d.table.(*bolttable.Table).Compact, []string{refused}
	o.CheckClock = func() func() bool { return known.Load }
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	_, err := teams.Erase(ctx, erasing(), "a")
	require.NoError(t, err)
	d.clock.pass(2 * time.Hour)
	next, err := teams.WorkOf(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, d.clock.time().Add(time.Minute), next)
	known.Store(true)
	d.clock.pass(time.Minute)
	next, err = teams.WorkOf(ctx, "a")
	require.NoError(t, err)
	require.Zero(t, next)
}
