package limit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// TestUnknownOutcome checks that a lease whose write failed allows no calls, whether it was
// written, is written later, or never is; that the caller gets UNAVAILABLE; and that at most the
// lease is lost.
func TestUnknownOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		fault tabletest.Fault
		least int // calls that are allowed afterwards
	}{
		"not written":       {tabletest.Before, 120},
		"written":           {tabletest.After, 110},
		"written soon":      {tabletest.LateNext, 110},
		"written very late": {tabletest.Late, 110},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			i := b.instance(0)
			b.plan = tabletest.At(1, c.fault)
			who := ann("a")
			err := i.call(t.Context(), write, who)
			require.True(t, fault.Is(err, fault.Unavailable))
			require.Positive(t, fault.Of(err).RetryAfter)
			require.NotContains(t, err.Error(), tabletest.ErrInjected.Error())
			require.Equal(t, auth.Allowance{}, *who.Allowance, "nothing is known")

			n, _ := i.many(t, write, ann("a"), 5)
			require.Equal(t, 5, n)
			b.table.Deliver(t.Context())
			m, _ := i.many(t, write, ann("a"), 1000)
			require.LessOrEqual(t, n+m, 120)
			require.GreaterOrEqual(t, n+m, c.least)
		})
	}
}

// TestUnavailable checks that only leased calls are allowed while the table fails, and that others
// are allowed when it recovers.
func TestUnavailable(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	require.NoError(t, i.call(t.Context(), write, ann("a")))
	b.plan = func(tabletest.Call) tabletest.Fault { return tabletest.Before }
	for range 9 {
		require.NoError(t, i.call(t.Context(), write, ann("a")))
	}
	for range 3 {
		require.True(t, fault.Is(i.call(t.Context(), write, ann("a")), fault.Unavailable))
	}
	_, err := i.limiter.Usage(t.Context(), "acme")
	require.True(t, fault.Is(err, fault.Unavailable))
	b.plan = nil
	n, _ := i.many(t, write, ann("a"), 1000)
	require.Equal(t, 110, n)
}

// TestCanceled checks that a cancelled call takes nothing and blocks no others.
func TestCanceled(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, fault.Is(i.call(ctx, write, ann("a")), fault.Unavailable))
	n, _ := i.many(t, write, ann("a"), 1000)
	require.Equal(t, 120, n)
}

// TestCrash checks that an instance that exits with leased calls does not raise the limit: they are
// lost, and the bucket fills again.
func TestCrash(t *testing.T) {
	b := newBed(t)
	for range 20 {
		require.NoError(t, b.instance(0).call(t.Context(), write, ann("a")))
	}
	rest, _ := b.instance(0).many(t, write, ann("a"), 1000)
	require.Less(t, rest, 120-20)
	b.clock.on(2 * time.Minute)
	n, _ := b.instance(0).many(t, write, ann("a"), 1000)
	require.Equal(t, 120, n)
}

// TestGone checks that an item that is missing from the table does not give a full bucket to a
// caller that is known to have used it up.
func TestGone(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	n, _ := i.many(t, write, ann("a"), 1000)
	require.Equal(t, 120, n)
	b.remove(t)
	b.clock.on(2 * time.Second)
	n, _ = i.many(t, write, ann("a"), 1000)
	require.Equal(t, 2, n)
}

// items returns the items of a tenant.
func (b *bed) items(t *testing.T) []table.Item {
	var all []table.Item
	for it, err := range table.Sub(b.table, "acme").Query(t.Context(), "~rates", "", "~") {
		require.NoError(t, err)
		all = append(all, it)
	}
	return all
}

func (b *bed) remove(t *testing.T) {
	for _, it := range b.items(t) {
		require.NoError(t, table.Sub(b.table, "acme").Commit(t.Context(), table.Remove(it.Key)))
	}
}

// TestDamaged checks that an invalid item allows no calls at first, and blocks callers for at most
// two minutes.
func TestDamaged(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON":         "x",
		"an early time":   `{"at":-1,"principal":0}`,
		"the last time":   `{"at":9223372036854775807,"principal":0}`,
		"endless debts":   `{"at":1,"principal":9223372036854775807}`,
		"a debt and time": `{"at":1795348800000000000,"principal":9223372036854775807}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			require.NoError(t, b.instance(0).call(t.Context(), write, ann("a")))
			it := b.items(t)[0]
			it.Data = []byte(data)
			require.NoError(t, table.Sub(b.table, "acme").Commit(t.Context(), table.Set(it)))
			i := b.instance(0)
			if name != "endless debts" { // its time is long ago, so the bucket is full by now
				n, refused := i.many(t, write, ann("a"), 1)
				require.Zero(t, n)
				require.Equal(t, "principal", refused.Details["scope"])
			}
			b.clock.on(2 * time.Minute)
			n, _ := i.many(t, write, ann("a"), 1000)
			require.Equal(t, 120, n)
		})
	}
}

// TestItem checks that an item contains no names, contains no agent with a full bucket, and
// expires.
func TestItem(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	for _, agent := range []string{"secret-agent", "other"} {
		require.NoError(t, i.call(t.Context(), write, ann(agent)))
		b.clock.on(time.Minute)
	}
	all := b.items(t)
	require.Len(t, all, 1)
	require.NotContains(t, string(all[0].Data)+all[0].Sort, "ann")
	require.NotContains(t, string(all[0].Data), "secret-agent")
	require.Less(t, len(all[0].Data), 150)
	b.clock.on(8 * 24 * time.Hour)
	require.Empty(t, b.items(t))
}

// TestUsage checks that allowed calls are counted by kind and day, including those that are not
// written yet, and none of another tenant.
func TestUsage(t *testing.T) {
	b := newBed(t)
	i, other := b.instance(0), b.instance(0)
	calls := func(i *instance, which, agent string, n int) {
		tools := map[string]func() int{
			"write": func() int { n, _ := i.many(t, write, ann(agent), n); return n },
			"read":  func() int { n, _ := i.many(t, read, ann(agent), n); return n },
		}
		require.Equal(t, n, tools[which]())
	}
	calls(i, "write", "a", 14)
	calls(i, "read", "a", 25)
	calls(other, "write", "b", 10)
	calls(other, "write", "b", 1)
	abroad := ann("a")
	abroad.Tenant = "globex"
	require.NoError(t, i.call(t.Context(), write, abroad))

	use := func(i *instance) limit.Usage {
		b.table.Reset()
		u, err := i.limiter.Usage(t.Context(), "acme")
		require.NoError(t, err)
		require.Equal(t, tabletest.Counts{Queries: 1, Pages: 1}, b.table.Counts())
		return u
	}
	require.Equal(t, limit.Usage{Today: limit.Calls{Mutations: 24, Reads: 25}}, use(i),
		"the other has not written its last call")
	require.Equal(t, limit.Usage{Today: limit.Calls{Mutations: 21, Reads: 20}}, use(other))

	b.clock.on(12 * time.Hour)
	calls(i, "write", "a", 3)
	calls(other, "write", "b", 2)
	require.Equal(t, limit.Usage{
		Today: limit.Calls{Mutations: 3}, Yesterday: limit.Calls{Mutations: 25, Reads: 25},
	}, use(i))
	b.clock.on(24 * time.Hour)
	require.Equal(t, limit.Calls{Mutations: 3}, use(i).Yesterday)
	require.Zero(t, use(i).Today)

	n, refused := i.many(t, write, ann("a"), 1000)
	require.NotNil(t, refused)
	require.Equal(t, int64(n), use(i).Today.Mutations, "a refused call is not counted")
}

// TestUsageAtMidnight checks that calls count for the day on which they were made, also within one
// lease.
func TestUsageAtMidnight(t *testing.T) {
	b := newBed(t)
	b.clock.on(12*time.Hour - 10*time.Second)
	i := b.instance(0)
	for _, n := range []int{3, 2} {
		done, _ := i.many(t, write, ann("a"), n)
		require.Equal(t, n, done)
		b.clock.on(20 * time.Second)
	}
	u, err := i.limiter.Usage(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, limit.Usage{
		Today: limit.Calls{Mutations: 2}, Yesterday: limit.Calls{Mutations: 3},
	}, u)
}
