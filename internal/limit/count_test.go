package limit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// usage returns the usage of a tenant, as an instance reports it.
func (i *instance) usage(t *testing.T, tenant string) limit.Usage {
	t.Helper()
	u, err := i.limiter.Usage(t.Context(), tenant)
	require.NoError(t, err)
	return u
}

// TestCallsWithoutARate checks that calls on loopback are counted and never refused, that this
// costs one write a minute, and that a closed instance has stored its counts.
func TestCallsWithoutARate(t *testing.T) {
	b := newBed(t)
	i, local := b.instance(0), auth.LocalCaller()
	for range 2000 {
		require.NoError(t, i.call(t.Context(), read, local))
		require.NoError(t, i.call(t.Context(), write, local))
	}
	require.Zero(t, b.table.Counts().Commits)
	require.Equal(t, limit.Calls{Mutations: 2000, Reads: 2000}, i.usage(t, auth.Local).Today)

	b.clock.on(limit.Window)
	for range 100 {
		require.NoError(t, i.call(t.Context(), read, local))
	}
	require.Equal(t, 1, b.table.Counts().Commits)
	require.Equal(t, limit.Calls{Reads: 2000}, b.instance(0).usage(t, auth.Local).Today)

	i.limiter.Close()
	want := limit.Calls{Mutations: 2000, Reads: 2100}
	require.Equal(t, want, b.instance(0).usage(t, auth.Local).Today)
	b.table.Reset()
	i.limiter.Close()
	require.Zero(t, b.table.Counts().Commits, "there is nothing to write")

	b.clock.on(24 * time.Hour)
	next := b.instance(0)
	require.NoError(t, next.call(t.Context(), read, local))
	u := next.usage(t, auth.Local)
	require.Equal(t, limit.Usage{Today: limit.Calls{Reads: 1}, Yesterday: want}, u)
}

// TestRatesThatAreNotKept checks that calls are counted if the configuration sets no limit.
func TestRatesThatAreNotKept(t *testing.T) {
	b := newBed(t)
	b.rates = limit.Rates{MutationsPerMinute: -1, ReadsPerMinute: -1}
	i := b.instance(0)
	for n := range 3000 {
		require.NoError(t, i.call(t.Context(), write, ann(agentName(n%3))))
	}
	require.Equal(t, int64(3000), i.usage(t, "acme").Today.Mutations)
	require.Zero(t, i.usage(t, "other").Today)
}

// TestCountOverMidnight checks that calls of yesterday are counted for yesterday, even if they were
// not written yet, and that a failing table blocks no call.
func TestCountOverMidnight(t *testing.T) {
	b := newBed(t)
	b.clock.on(12*time.Hour - time.Second)
	i, local := b.instance(0), auth.LocalCaller()
	require.NoError(t, i.call(t.Context(), read, local))
	b.clock.on(2 * time.Second)
	require.NoError(t, i.call(t.Context(), read, local))
	one := limit.Calls{Reads: 1}
	require.Equal(t, limit.Usage{Today: one, Yesterday: one}, i.usage(t, auth.Local))

	b.plan = func(tabletest.Call) tabletest.Fault { return tabletest.Before }
	b.clock.on(24 * time.Hour)
	for range 3 {
		require.NoError(t, i.call(t.Context(), read, local))
	}
	b.plan = nil
	require.Equal(t, limit.Calls{Reads: 3}, i.usage(t, auth.Local).Today)
}
