package team_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/repo"
	"rookery/internal/tabletest"
	"rookery/internal/team"
)

// crashes are the ways in which the n-th call of a process fails: that call alone, or it and each
// that follows, for then the process dies.
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

// everyCall runs a test without a crash, and then with each crash at each call that do made, on a fake clock.
func everyCall(
	t *testing.T, prepare func(*testing.T, *deployment),
	do func(context.Context, *team.Team) error,
	check func(t *testing.T, d *deployment, acked bool, deliver func()),
) {
	t.Helper()
	crash := func(t *testing.T, plan func(tabletest.Call) tabletest.Fault) (calls int) {
		d := deploy(t)
		prepare(t, d)
		ctx, plan := givesUp(t, plan)
		flaky := tabletest.NewFlaky(d.table, plan)
		a, err := d.teams(t, flaky, false).Team(ctx, "a")
		if err == nil {
			err = do(ctx, a)
		}
		calls = flaky.Calls()
		check(t, d, err == nil, func() { flaky.Deliver(t.Context()) })
		return calls
	}
	calls := crash(t, nil) // on the real clock, which makes what all processes of the test share
	require.Greater(t, calls, 3, "the plan would meet no call")
	for n := range calls {
		for name, plan := range crashes(n + 1) {
			inBubble(t, fmt.Sprintf("call %d, %s", n+1, name), func(t *testing.T) { crash(t, plan) })
		}
	}
}

// inBubble runs a test on a fake clock, which moves when all goroutines of the test wait: a retry that goes
// on for the whole patience of a call takes no time. At the end it waits for those that go on without a
// caller.
func inBubble(t *testing.T, name string, do func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(time.Minute)
			do(t)
		})
	})
}

// givesUp is a plan, and a context that ends a moment after its first fault, however long it took to get
// there: who gets no answer then does not try for ever.
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

// TestCreateCrashes holds that a call that is repeated with its key makes exactly one vault,
// wherever the first attempt ended: also between the vault's log and the tenant's commit
// (reference/log.md §6).
func TestCreateCrashes(t *testing.T) {
	for name, early := range map[string]bool{
		"what is late comes before": true, "what is late comes after": false,
	} {
		t.Run(name, func(t *testing.T) {
			everyCall(t, func(*testing.T, *deployment) {},
				func(ctx context.Context, a *team.Team) error {
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

// requireOne requires that tenant "a" has one vault, which works, and nothing beside it.
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

// TestTrashCrashes holds that a vault that was half put in the trash can be put there, and taken
// out.
func TestTrashCrashes(t *testing.T) {
	prepare := func(t *testing.T, d *deployment) {
		a := d.team(t, false)
		_, err := create(t.Context(), a, callOf("1"), "v")
		require.NoError(t, err)
		require.NoError(t, put(t.Context(), a, "v", "a.md", "one\n"))
	}
	throw := func(ctx context.Context, a *team.Team) error {
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
	_, err := a.Restore(t.Context(), repo.Call{}, "v", toldChange)
	require.NoError(t, err)
	require.Equal(t, []string{"a.md"}, notes(t, a, "v"))
	require.NoError(t, put(t.Context(), a, "v", "a.md", "two\n"))
}
