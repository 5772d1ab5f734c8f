package limit_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tool"
)

// noon is when the tests begin.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A clock stands still until it is moved. Instances may have clocks that differ from it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) on(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// A bed is a table, and instances that use it.
type bed struct {
	t     testing.TB
	clock *clock
	table *tabletest.Flaky
	plan  func(tabletest.Call) tabletest.Fault
	rates limit.Rates
}

func newBed(t testing.TB) *bed {
	t.Helper()
	b := &bed{t: t, clock: &clock{now: noon}}
	bolt, err := bolttable.Open(filepath.Join(t.TempDir(), "table.db"),
		bolttable.Options{Now: b.clock.read})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bolt.Close()) })
	b.table = tabletest.NewFlaky(bolt, func(c tabletest.Call) tabletest.Fault {
		if b.plan == nil {
			return tabletest.None
		}
		return b.plan(c)
	})
	return b
}

// instance returns another instance, whose clock is ahead by a duration.
func (b *bed) instance(ahead time.Duration) *instance {
	i := &instance{ahead: ahead}
	i.limiter = limit.New(limit.Options{
		Tables: func(_ context.Context, tenant string) (table.Table, error) {
			return table.Sub(b.table, tenant), nil
		},
		Rates: b.rates,
		Now:   func() time.Time { return b.clock.read().Add(i.ahead) },
	})
	i.handle = i.limiter.Intercept(
		func(context.Context, *tool.Call) (tool.Reply, error) { return tool.Reply{}, nil })
	return i
}

// An instance is a limiter as a catalogue uses it.
type instance struct {
	limiter *limit.Limiter
	handle  tool.Handler
	ahead   time.Duration
}

var (
	write = &tool.Tool{Spec: tool.Spec{Name: "w", Kind: tool.Write}}
	read  = &tool.Tool{Spec: tool.Spec{Name: "r", Kind: tool.Read}}
	view  = &tool.Tool{Spec: tool.Spec{Name: "v", Kind: tool.View}}
)

// call makes one call of a tool.
func (i *instance) call(ctx context.Context, which *tool.Tool, c auth.Caller) error {
	_, err := i.handle(ctx, &tool.Call{Tool: which, Caller: c})
	return err
}

// many makes calls until one is refused, at most n. It returns the number of allowed calls and the
// refusal.
func (i *instance) many(t testing.TB, which *tool.Tool, c auth.Caller, n int) (int, *fault.Fault) {
	t.Helper()
	for done := range n {
		if err := i.call(t.Context(), which, c); err != nil {
			require.True(t, fault.Is(err, fault.RateLimited), "%v", err)
			return done, fault.Of(err)
		}
	}
	return n, nil
}

// ann returns a person with an agent.
func ann(agent string) auth.Caller {
	return auth.Caller{
		Tenant: "acme", Principal: auth.User("https://idp.example", "ann"), Agent: agent,
		Allowance: &auth.Allowance{},
	}
}

// TestRates checks the default rates for an agent, for each kind of call, and for all agents of a
// principal; and the content of a refusal.
func TestRates(t *testing.T) {
	for name, c := range map[string]struct {
		tool         *tool.Tool
		agents, most int
		message      string
		details      map[string]any
		wait         time.Duration
	}{
		"mutations of an agent": {write, 1, 120,
			"at most 60 mutations a minute for an agent, 120 of them at once",
			map[string]any{"limit": 60, "window_seconds": 60, "scope": "agent", "kind": "mutations"},
			time.Second},
		"reads of an agent": {read, 1, 1200,
			"at most 600 reads a minute for an agent, 1200 of them at once",
			map[string]any{"limit": 600, "window_seconds": 60, "scope": "agent", "kind": "reads"},
			100 * time.Millisecond},
		"mutations of a principal": {write, 30, 1200,
			"at most 600 mutations a minute for all agents of a principal together, " +
				"1200 of them at once",
			map[string]any{"limit": 600, "window_seconds": 60, "scope": "principal", "kind": "mutations"},
			100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			i := b.instance(0)
			done, agent := 0, 0
			var refused *fault.Fault
			for ; refused == nil; agent++ {
				if err := i.call(t.Context(), c.tool, ann(agentName(agent%c.agents))); err != nil {
					refused = fault.Of(err)
					break
				}
				done++
			}
			require.Equal(t, c.most, done)
			require.Equal(t, fault.RateLimited, refused.Code)
			require.Equal(t, c.message, refused.Message)
			require.Equal(t, c.details, refused.Details)
			require.Equal(t, c.wait, refused.RetryAfter)
		})
	}
}

func agentName(n int) string { return "agent-" + string(rune('a'+n%26)) + strings.Repeat("x", n/26) }

// TestRetryAfter checks that a call succeeds exactly after the time in the refusal, not earlier, on
// the same instance and on another.
func TestRetryAfter(t *testing.T) {
	for name, others := range map[string]bool{"same instance": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			first := b.instance(0)
			then := first
			if others {
				then = b.instance(0)
			}
			for range 20 {
				_, refused := first.many(t, write, ann("a"), 1000)
				require.NotNil(t, refused)
				b.clock.on(refused.RetryAfter - 1)
				done, early := then.many(t, write, ann("a"), 1)
				require.Zero(t, done)
				require.Equal(t, time.Duration(1), early.RetryAfter)
				b.clock.on(early.RetryAfter)
				require.NoError(t, then.call(t.Context(), write, ann("a")))
				b.clock.on(300 * time.Millisecond)
			}
		})
	}
}

// TestWhoIsLimited checks that callers do not use up each other's calls, nor reads those of
// mutations, that changes of view state count as reads, and which callers have no limits.
func TestWhoIsLimited(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	spent := ann("a")
	_, refused := i.many(t, write, spent, 1000)
	require.NotNil(t, refused)
	other := ann("a")
	other.Principal = auth.APIToken("acme_x")
	abroad := ann("a")
	abroad.Tenant = "globex"
	for _, free := range []auth.Caller{ann("b"), other, abroad} {
		require.NoError(t, i.call(t.Context(), write, free))
	}
	require.NoError(t, i.call(t.Context(), read, spent))
	n, _ := i.many(t, view, spent, 10_000)
	require.Equal(t, 1199, n, "a read went before them")

	b.table.Reset()
	n, _ = i.many(t, write, auth.LocalCaller(), 10_000)
	require.Equal(t, 10_000, n)
	require.Zero(t, b.table.Counts())
}

// TestConfigured checks that rates can be configured, and one of them disabled.
func TestConfigured(t *testing.T) {
	b := newBed(t)
	b.rates = limit.Rates{MutationsPerMinute: 7, ReadsPerMinute: -1}
	i := b.instance(0)
	require.Equal(t, b.rates, i.limiter.Rates())
	n, refused := i.many(t, write, ann("a"), 1000)
	require.Equal(t, 14, n)
	require.Contains(t, refused.Message, "at most 7 mutations a minute for an agent")
	b.table.Reset()
	n, _ = i.many(t, read, ann("a"), 10_000)
	require.Equal(t, 10_000, n)
	require.Zero(t, b.table.Counts())

	b.rates = limit.Rates{}
	require.Equal(t, limit.Rates{MutationsPerMinute: 60, ReadsPerMinute: 600},
		b.instance(0).limiter.Rates())
	b.rates = limit.Rates{MutationsPerMinute: 1 << 62, ReadsPerMinute: 1}
	most := b.instance(0)
	require.Equal(t, 1_000_000, most.limiter.Rates().MutationsPerMinute)
	require.NoError(t, most.call(t.Context(), write, ann("b")))
}

// TestAllowance checks that a caller gets its remaining allowance with each call, also a refused
// one, according to the smaller limit.
func TestAllowance(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	c := ann("a")
	for n := range 120 {
		require.NoError(t, i.call(t.Context(), write, c))
		require.Equal(t, auth.Allowance{
			Limit: 120, Remaining: 119 - n, Reset: time.Duration(n+1) * time.Second,
		}, *c.Allowance)
	}
	*c.Allowance = auth.Allowance{}
	require.Error(t, i.call(t.Context(), write, c))
	require.Equal(t, auth.Allowance{Limit: 120, Reset: 2 * time.Minute}, *c.Allowance)

	for n := range 100 {
		_, _ = i.many(t, write, ann(agentName(n)), 11)
	}
	c = ann("fresh")
	require.Error(t, i.call(t.Context(), write, c))
	require.Equal(t, auth.Allowance{Limit: 1200, Reset: 2 * time.Minute}, *c.Allowance)

	c.Allowance = nil
	require.Error(t, i.call(t.Context(), write, c), "nobody asks")
}

// TestWrites checks the cost of calls: one write for ten calls of a caller, or for a single call;
// none for a refusal; one for each ten calls of a burst, as long as the bucket is full enough. The
// first call of an instance reads before it writes.
func TestWrites(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	reads := 1
	cost := func(calls int) int {
		b.table.Reset()
		n, _ := i.many(t, write, ann("a"), calls)
		require.Equal(t, calls, n)
		counts := b.table.Counts()
		require.Equal(t, reads, counts.Gets+counts.Queries)
		reads = 0
		return counts.Commits
	}
	require.Equal(t, 1, cost(1))
	require.Equal(t, 0, cost(9))
	require.Equal(t, 7, cost(70))
	b.clock.on(2 * time.Minute)
	require.Equal(t, 1, cost(1))
	b.clock.on(2 * time.Minute)
	require.Equal(t, 1, cost(10))

	_, refused := i.many(t, write, ann("a"), 1000)
	require.NotNil(t, refused)
	b.table.Reset()
	require.Error(t, i.call(t.Context(), write, ann("a")))
	require.Zero(t, b.table.Counts())
}

// TestWritesOfSeveral checks that agents of one principal that call in turn cost at most two writes
// for ten calls.
func TestWritesOfSeveral(t *testing.T) {
	for _, agents := range []int{2, 5, 10} {
		b := newBed(t)
		i := b.instance(0)
		for n := range 400 {
			require.NoError(t, i.call(t.Context(), read, ann(agentName(n%agents))))
		}
		require.LessOrEqual(t, b.table.Counts().Commits, 80, agents)
	}
}

// TestForgotten checks that the number of cached callers is limited, and that an evicted caller
// loses only its lease.
func TestForgotten(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	require.NoError(t, i.call(t.Context(), write, ann("a")))
	b.strangers(i, 10_000, func() {})
	n, _ := i.many(t, write, ann("a"), 1000)
	require.Equal(t, 110, n)
}

// TestRemembered checks that a caller that calls from time to time is not evicted: it keeps its
// lease and its uncounted calls.
func TestRemembered(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	again := func() { require.NoError(t, i.call(t.Context(), write, ann("a"))) }
	again()
	b.strangers(i, 16_000, again)
	again()
	u, err := i.limiter.Usage(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, int64(10), u.Today.Mutations)
}

// strangers makes calls of n other principals while the table fails, and calls then after each two
// thousand.
func (b *bed) strangers(i *instance, n int, then func()) {
	b.plan = func(tabletest.Call) tabletest.Fault { return tabletest.Before }
	defer func() { b.plan = nil }()
	for n := range n {
		c := ann("a")
		c.Principal = auth.User("https://idp.example", fmt.Sprint(n))
		require.Error(b.t, i.call(b.t.Context(), write, c))
		if n%2000 == 1999 {
			then()
		}
	}
}

// TestManyAgents checks that single calls of many agents do not use up the calls of their principal
// in unused leases, and that the number of agents with a debt is limited.
func TestManyAgents(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	var all sync.WaitGroup
	for n := range 1000 {
		all.Go(func() {
			if err := i.call(t.Context(), read, ann(agentName(n))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.table.Reset()
	c := ann("one too many")
	err := i.call(t.Context(), read, c)
	require.True(t, fault.Is(err, fault.RateLimited))
	require.Zero(t, c.Allowance.Remaining)
	f := fault.Of(err)
	require.Equal(t, "at most 1000 agents of a principal may make reads at a time", f.Message)
	require.Equal(t, map[string]any{
		"limit": 1000, "window_seconds": 60, "scope": "principal", "kind": "reads",
	}, f.Details)
	require.Zero(t, b.table.Counts())
	b.clock.on(f.RetryAfter)
	require.NoError(t, i.call(t.Context(), read, ann("one too many")))
}

// TestScattered checks that a caller within its rate is allowed even if each of its calls reaches
// another instance.
func TestScattered(t *testing.T) {
	b := newBed(t)
	var all []*instance
	for range 40 {
		all = append(all, b.instance(0))
	}
	for n := range 400 {
		require.NoError(t, all[n*7%40].call(t.Context(), write, ann("a")), "call %d", n)
		b.clock.on(1100 * time.Millisecond)
	}
}

// TestOddNames checks that ids may be long and contain any characters.
func TestOddNames(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	for _, id := range []string{"", "~/\x00\xff", strings.Repeat("é", 5000)} {
		c := ann(id)
		c.Principal = auth.Workload(id)
		require.NoError(t, i.call(t.Context(), write, c))
	}
	nobody := ann("a")
	nobody.Tenant = "No Tenant"
	require.True(t, fault.Is(i.call(t.Context(), write, nobody), fault.Unavailable))
}

// TestTables checks the errors if the table of a tenant is not available.
func TestTables(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"a fault":  {fault.New(fault.Unauthenticated, "who?"), fault.Unauthenticated},
		"an error": {errors.New("secret"), fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			l := limit.New(limit.Options{
				Tables: func(context.Context, string) (table.Table, error) { return nil, c.err },
			})
			_, err := l.Intercept(nil)(t.Context(), &tool.Call{Tool: write, Caller: ann("a")})
			require.Equal(t, c.want, fault.Of(err).Code)
			require.NotContains(t, err.Error(), "secret")
			_, err = l.Usage(t.Context(), "acme")
			require.Equal(t, c.want, fault.Of(err).Code)
		})
	}
}
