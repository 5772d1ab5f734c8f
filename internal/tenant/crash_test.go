package tenant_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// crashes returns, by name, the ways in which the n-th call of a process to the table can fail:
// that call alone, or that call and every later one, as when the process dies.
func crashes(n int) map[string]func(tabletest.Call) tabletest.Fault {
	dead := func(first tabletest.Fault) func(tabletest.Call) tabletest.Fault {
		return func(c tabletest.Call) tabletest.Fault {
			switch {
			case c.N < n:
				return tabletest.None
			case c.N == n:
				return first
			}
			return tabletest.Before
		}
	}
	return map[string]func(tabletest.Call) tabletest.Fault{
		"error before": tabletest.At(n, tabletest.Before),
		"error after":  tabletest.At(n, tabletest.After),
		"late":         tabletest.At(n, tabletest.Late),
		"late at next": tabletest.At(n, tabletest.LateNext),
		"dead before":  dead(tabletest.Before),
		"dead after":   dead(tabletest.After),
		"dead, late":   dead(tabletest.Late),
	}
}

// everyCall runs a test once without a fault, and then, on a fake clock, with each way to fail at
// each call to the table that do made. acked tells check whether do succeeded; deliver applies the
// writes that are still delayed.
func everyCall(
	t *testing.T, prepare func(*testing.T, *deployment),
	do func(context.Context, *tenant.Tenant) error,
	check func(t *testing.T, d *deployment, acked bool, deliver func()),
) {
	t.Helper()
	crash := func(t *testing.T, plan func(tabletest.Call) tabletest.Fault) (calls int) {
		d := deploy(t)
		prepare(t, d)
		ctx, plan := givesUp(t, plan)
		flaky := tabletest.NewFlaky(d.table, plan)
		a, err := d.teams(t, flaky, false).Tenant(ctx, "a")
		if err == nil {
			err = do(ctx, a)
		}
		calls = flaky.Calls()
		check(t, d, err == nil, func() { flaky.Deliver(t.Context()) })
		return calls
	}
	calls := crash(t, nil) // on the real clock, which makes the values that all processes of the test share
	require.Greater(t, calls, 3, "the plan would meet no call")
	for n := range calls {
		for name, plan := range crashes(n + 1) {
			inBubble(t, fmt.Sprintf("call %d, %s", n+1, name), func(t *testing.T) { crash(t, plan) })
		}
	}
}

// inBubble runs a test on a fake clock, which advances when all goroutines of the test wait, so
// that a call that retries until its time is over takes no real time. At the end it waits for the
// goroutines that continue without a caller.
func inBubble(t *testing.T, name string, do func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(time.Minute)
			do(t)
		})
	})
}

// givesUp returns a context and the given plan of faults. The context is canceled 40 ms after the
// first fault, so that a call that gets no answer does not retry for ever.
func givesUp(
	t *testing.T, plan func(tabletest.Call) tabletest.Fault,
) (context.Context, func(tabletest.Call) tabletest.Fault) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	failed := sync.OnceFunc(func() { time.AfterFunc(40*time.Millisecond, cancel) })
	return ctx, func(c tabletest.Call) tabletest.Fault {
		if plan == nil {
			return tabletest.None
		}
		f := plan(c)
		if f != tabletest.None {
			failed()
		}
		return f
	}
}

// TestCreateCrashes checks that a call to Create that is repeated with its key makes exactly one
// vault, at whatever call the first attempt failed, also between the commit of the vault's log and
// that of the tenant's log (reference/log.md §6).
func TestCreateCrashes(t *testing.T) {
	for name, early := range map[string]bool{
		"what is late comes before": true, "what is late comes after": false,
	} {
		t.Run(name, func(t *testing.T) {
			everyCall(t, func(*testing.T, *deployment) {},
				func(ctx context.Context, a *tenant.Tenant) error {
					_, err := create(ctx, a, callOf("1"), "v")
					return err
				},
				func(t *testing.T, d *deployment, _ bool, deliver func()) {
					if early {
						deliver()
					}
					a := d.team(t, false)
					_, err := create(t.Context(), a, callOf("1"), "v")
					require.NoError(t, err, "the repetition")
					deliver()
					requireOne(t, d)
				})
		})
	}
}

// requireOne requires that tenant "a" has exactly one vault, that it works, and that there is no
// second log.
func requireOne(t *testing.T, d *deployment) {
	t.Helper()
	a := d.team(t, false)
	s, _, err := a.State(t.Context())
	require.NoError(t, err)
	require.Len(t, s.Vaults(), 1)
	require.Equal(t, 1, s.Vaults()[0].Incarnation)
	require.False(t, d.has(t, "v/2"), "a second log was made")
	require.Empty(t, notes(t, a, "v"))
	require.NoError(t, put(t.Context(), a, "v", "a.md", "one\n"))
	require.Equal(t, []string{"a.md"}, notes(t, a, "v"))
}

// TestTrashCrashes checks that a vault whose move to the trash was interrupted can be moved to the
// trash, and can be restored.
func TestTrashCrashes(t *testing.T) {
	prepare := func(t *testing.T, d *deployment) {
		a := d.team(t, false)
		_, err := create(t.Context(), a, callOf("1"), "v")
		require.NoError(t, err)
		require.NoError(t, put(t.Context(), a, "v", "a.md", "one\n"))
	}
	throw := func(ctx context.Context, a *tenant.Tenant) error {
		_, err := a.Trash(ctx, callOf("2"), "v", told)
		return err
	}
	t.Run("repeated", func(t *testing.T) {
		everyCall(t, prepare, throw, func(t *testing.T, d *deployment, _ bool, deliver func()) {
			deliver()
			require.NoError(t, throw(t.Context(), d.team(t, false)))
			_, err := d.team(t, false).Vault(t.Context(), "v")
			require.Error(t, err)
			requireBack(t, d)
		})
	})
	t.Run("restored", func(t *testing.T) {
		everyCall(t, prepare, throw, func(t *testing.T, d *deployment, acked bool, deliver func()) {
			deliver()
			if acked {
				_, err := d.team(t, false).Vault(t.Context(), "v")
				require.Error(t, err)
			}
			requireBack(t, d)
		})
	})
}

// requireBack restores the vault "v" and requires that it works.
func requireBack(t *testing.T, d *deployment) {
	t.Helper()
	a := d.team(t, false)
	_, err := a.Restore(t.Context(), eventlog.Call{}, "v", toldChange)
	require.NoError(t, err)
	require.Equal(t, []string{"a.md"}, notes(t, a, "v"))
	require.NoError(t, put(t.Context(), a, "v", "a.md", "two\n"))
}
