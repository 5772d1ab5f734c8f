package job_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// A clock stands still until it is moved. Goroutines that wait on it continue only when wake is
// called.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	waits map[time.Duration][]chan time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.waits[d] = append(c.waits[d], ch)
	return ch
}

// wake waits until a goroutine waits for duration d, and wakes all that do.
func (c *clock) wake(t *testing.T, d time.Duration) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, ch := range c.waits[d] {
			ch <- c.now
		}
		woken := len(c.waits[d]) > 0
		c.waits[d] = nil
		return woken
	}, time.Minute, time.Millisecond)
}

// A bed is a table, and the work of processes that use it.
type bed struct {
	t     *testing.T
	table table.Table
	clock *clock
	sent  []job.Message

	mu   sync.Mutex
	did  []string                                      // completed steps, in order
	hook func(context.Context, *job.Run, string) error // called with each step before it runs
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, clock: &clock{
		now: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), waits: map[time.Duration][]chan time.Time{},
	}}
	tab, err := bolttable.Open(filepath.Join(t.TempDir(), "table.db"),
		bolttable.Options{Now: b.clock.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tab.Close()) })
	b.table = tab
	return b
}

// Send implements job.Queue.
func (b *bed) Send(_ context.Context, m job.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, m)
	return nil
}

// step returns a step that records that it ran.
func (b *bed) step(name string) job.Step {
	return job.Step{Name: name, Do: func(ctx context.Context, r *job.Run) error {
		b.mu.Lock()
		hook := b.hook
		b.mu.Unlock()
		if hook != nil {
			if err := hook(ctx, r, name); err != nil {
				return err
			}
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.did = append(b.did, name)
		var all []string
		if err := r.Result(&all); err != nil {
			return err
		}
		return r.Set(append(all, name))
	}}
}

func (b *bed) kinds() []job.Kind {
	steps := []job.Step{b.step("one"), b.step("two"), b.step("three")}
	return []job.Kind{
		{Name: "plain", Steps: steps}, {Name: "free", Steps: steps, Stops: job.Anytime},
		{Name: "sure", Steps: steps, Stops: job.Never, Endless: true},
	}
}

// process returns the jobs of tenant "a" in another process.
func (b *bed) process(over table.Table, background bool) *job.Jobs {
	j := job.New(job.Options{
		Table: table.Sub(over, "a"), Tenant: "a", Kinds: b.kinds(), Queue: b, Now: b.clock.time,
		After: b.clock.after, Background: background,
	})
	b.t.Cleanup(j.Close)
	return j
}

func request(kind string) job.Request {
	return job.Request{
		Kind: kind, Target: job.Target{Vault: "v", Path: "a.md"}, By: job.By{Principal: "p"},
		Input: map[string]int{"n": 1},
	}
}

func requireDone(t *testing.T, it job.Item) {
	t.Helper()
	require.Equal(t, job.Done, it.State)
	require.JSONEq(t, `["one","two","three"]`, string(it.Result))
	require.Equal(t, job.Progress{Done: 3, Total: 3}, it.Progress)
	require.Nil(t, it.Lease)
	require.Empty(t, it.Input)
}

func TestAJobInItsCall(t *testing.T) {
	b := newBed(t)
	j := b.process(b.table, false)
	it, err := j.Start(t.Context(), request("plain"), nil)
	require.NoError(t, err)
	requireDone(t, it)
	require.Equal(t, 1, it.Attempts)
	require.Len(t, it.ID, 30)
	kept, err := j.Get(t.Context(), it.ID)
	require.NoError(t, err)
	require.Equal(t, it, kept)
	open, err := j.Open(t.Context())
	require.NoError(t, err)
	require.Empty(t, open)
	_, err = j.Start(t.Context(), request("plain"), nil)
	require.NoError(t, err, "the target is free again")
	b.clock.pass(30*24*time.Hour + time.Second)
	_, err = j.Get(t.Context(), it.ID)
	require.True(t, fault.Is(err, fault.NotFound))
}

// TestOneJobOfATarget checks that a second job for a target is refused, and that the error names
// the existing one.
func TestOneJobOfATarget(t *testing.T) {
	b := newBed(t)
	it, err := b.process(b.table, false).Add(t.Context(), request("plain"))
	require.NoError(t, err)
	_, err = b.process(b.table, false).Start(t.Context(), request("plain"), nil)
	require.True(t, fault.Is(err, fault.InProgress))
	require.Equal(t, it.ID, fault.Of(err).Details["job"].(*job.Brief).ID)
	_, err = b.process(b.table, false).Add(t.Context(), request("free"))
	require.NoError(t, err, "another kind")
}

// killed returns a plan in which a process dies at its n-th call of the table, before or after the
// call takes effect.
func killed(n int, at tabletest.Fault) func(tabletest.Call) tabletest.Fault {
	return func(c tabletest.Call) tabletest.Fault {
		switch {
		case c.N < n:
			return tabletest.None
		case c.N == n:
			return at
		}
		return tabletest.Before
	}
}

// TestKilledAnywhere kills the process of a job at each call of its table: before the write, after
// it, or with the write arriving late. It checks that one of two other processes finishes the job,
// that each step is done at least once and in order, and that the progress never decreases.
func TestKilledAnywhere(t *testing.T) {
	for n := 1; ; n++ {
		reached := false
		for name, at := range map[string]tabletest.Fault{
			"before": tabletest.Before, "after": tabletest.After, "late": tabletest.Late,
		} {
			t.Run(fmt.Sprintf("call %d, %s", n, name), func(t *testing.T) {
				b := newBed(t)
				flaky := tabletest.NewFlaky(b.table, killed(n, at))
				it, err := b.process(flaky, false).Start(t.Context(), request("sure"), nil)
				reached = reached || flaky.Calls() >= n
				flaky.Deliver(t.Context())
				b.clock.pass(time.Minute)
				b.finish()
				kept, gone := b.process(b.table, false).Get(t.Context(), it.ID)
				if gone != nil {
					require.Error(t, err, "the call of a job that was never made fails")
					return
				}
				requireDone(t, kept)
				b.requireInOrder("one", "two", "three")
			})
		}
		if !reached {
			require.Greater(t, n, 4)
			return
		}
	}
}

// finish runs two processes until no job is left, and checks that the progress never decreases.
func (b *bed) finish() {
	b.t.Helper()
	done := map[string]int{}
	for range 20 {
		var all sync.WaitGroup
		for range 2 {
			j := b.process(b.table, false)
			all.Go(func() { _, _ = j.Work(b.t.Context()) })
		}
		all.Wait()
		open, err := b.process(b.table, false).Open(b.t.Context())
		require.NoError(b.t, err)
		for _, it := range open {
			require.GreaterOrEqual(b.t, it.Progress.Done, done[it.ID])
			done[it.ID] = it.Progress.Done
		}
		if len(open) == 0 {
			return
		}
		b.clock.pass(10 * time.Minute)
	}
	require.Fail(b.t, "a job does not end")
}

// requireInOrder requires that each step was done, and none before an earlier one.
func (b *bed) requireInOrder(steps ...string) {
	b.t.Helper()
	at := -1
	for _, name := range steps {
		first := slices.Index(b.did, name)
		require.Greater(b.t, first, at, "%v", b.did)
		at = first
	}
}

// TestALeaseLostInAStep checks that a process whose lease another one took during a step writes
// nothing more, and that the context of the step ends.
func TestALeaseLostInAStep(t *testing.T) {
	b := newBed(t)
	entered, ended := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.hook = func(ctx context.Context, _ *job.Run, name string) error {
		if name != "two" {
			return nil
		}
		slow := false
		once.Do(func() { slow = true })
		if !slow {
			return nil
		}
		close(entered)
		<-ctx.Done()
		close(ended)
		return nil // the step ignores the end of its context
	}
	slow := b.process(b.table, true)
	answered := make(chan job.Item)
	go func() {
		it, _ := slow.Start(t.Context(), request("sure"), nil)
		answered <- it
	}()
	<-entered
	b.clock.pass(2 * time.Minute)
	_, err := b.process(b.table, false).Work(t.Context())
	require.NoError(t, err)
	b.clock.wake(t, 15*time.Second)
	<-ended
	it := <-answered
	kept, err := slow.Get(t.Context(), it.ID)
	require.NoError(t, err)
	requireDone(t, kept)
	require.Equal(t, 2, kept.Attempts)
}

// TestTheLeaseIsRenewed checks that the job of a live process is not taken by others.
func TestTheLeaseIsRenewed(t *testing.T) {
	b := newBed(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	b.hook = func(_ context.Context, _ *job.Run, name string) error {
		if name == "one" {
			close(entered)
			<-leave
		}
		return nil
	}
	j := b.process(b.table, true)
	answered := make(chan job.Item)
	go func() {
		it, _ := j.Start(t.Context(), request("plain"), nil)
		answered <- it
	}()
	<-entered
	other := b.process(b.table, false)
	for range 8 {
		until := b.lease(other)
		b.clock.pass(15 * time.Second)
		b.clock.wake(t, 15*time.Second)
		require.Eventually(t, func() bool { return b.lease(other).After(until) }, time.Minute, time.Millisecond)
		_, err := other.Work(t.Context())
		require.NoError(t, err)
	}
	close(leave)
	it := <-answered
	requireDone(t, it)
	require.Equal(t, 1, it.Attempts)
}

// lease returns the end of the lease of the only open job.
func (b *bed) lease(j *job.Jobs) time.Time {
	open, err := j.Open(b.t.Context())
	require.NoError(b.t, err)
	require.Len(b.t, open, 1)
	return open[0].Lease.Until
}

// TestACallLeavesItsJob checks that a call returns after 20 s with an unfinished job, which then
// continues in the background, or is queued if the process has none.
func TestACallLeavesItsJob(t *testing.T) {
	for _, background := range []bool{true, false} {
		t.Run(fmt.Sprint(background), func(t *testing.T) {
			b := newBed(t)
			leave := make(chan struct{})
			b.hook = func(ctx context.Context, _ *job.Run, name string) error {
				if name != "two" {
					return nil
				}
				select {
				case <-leave:
				case <-ctx.Done():
					return ctx.Err()
				}
				return nil
			}
			j := b.process(b.table, background)
			answered := make(chan job.Item)
			go func() {
				it, err := j.Start(t.Context(), request("plain"), nil)
				require.NoError(t, err)
				answered <- it
			}()
			b.clock.wake(t, job.CallWait)
			it := <-answered
			close(leave)
			if background {
				require.Equal(t, job.Running, it.State)
				require.Empty(t, b.sent)
			} else {
				require.Equal(t, job.Queued, it.State)
				require.Equal(t, []job.Message{
					{V: 1, Kind: "plain", Tenant: "a", Vault: "v", Job: it.ID, After: time.Minute}, // in case the process is killed
					{V: 1, Kind: "plain", Tenant: "a", Vault: "v", Job: it.ID},
				}, b.sent)
				require.Equal(t, job.Progress{Step: "two", Done: 1, Total: 3}, it.Progress)
				_, err := b.process(b.table, false).Work(t.Context())
				require.NoError(t, err)
			}
			require.Eventually(t, func() bool {
				it, err := j.Get(t.Context(), it.ID)
				return err == nil && it.State == job.Done
			}, time.Minute, time.Millisecond)
		})
	}
}

// TestRetries checks the retries of a failing step: with growing pauses, for at most a day unless
// the kind is endless. A permanent error fails the job at once.
func TestRetries(t *testing.T) {
	busy := fault.New(fault.Unavailable, "not now")
	t.Run("for a day", func(t *testing.T) {
		b := newBed(t)
		b.hook = func(context.Context, *job.Run, string) error { return busy }
		j := b.process(b.table, false)
		it, err := j.Start(t.Context(), request("plain"), nil)
		require.True(t, fault.Is(err, fault.Unavailable))
		require.Equal(t, it.ID, fault.Of(err).Details["job"].(*job.Brief).ID)
		var pauses []time.Duration
		for it.State == job.Waiting {
			pauses = append(pauses, it.RetryAt.Sub(b.clock.time()))
			b.clock.pass(it.RetryAt.Sub(b.clock.time()) - time.Second)
			next, err := j.Work(t.Context())
			require.NoError(t, err, "it is not due")
			require.Equal(t, it.RetryAt, next)
			b.clock.pass(time.Second)
			_, err = j.Work(t.Context())
			require.Error(t, err)
			it, err = j.Get(t.Context(), it.ID)
			require.NoError(t, err)
		}
		require.Equal(t, []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}, pauses[:3])
		require.Equal(t, 10*time.Minute, slices.Max(pauses))
		require.Equal(t, job.Failed, it.State)
		require.Equal(t, fault.Unavailable, it.Error.Code)
		require.GreaterOrEqual(t, it.Ended.Sub(it.Created), 24*time.Hour)
	})
	t.Run("for ever", func(t *testing.T) {
		b := newBed(t)
		b.hook = func(context.Context, *job.Run, string) error { return fault.New(fault.Conflict, "never") }
		j := b.process(b.table, false)
		it, err := j.Start(t.Context(), request("sure"), nil)
		require.Error(t, err)
		b.clock.pass(100 * time.Hour)
		_, err = j.Work(t.Context())
		require.Error(t, err)
		b.hook = nil
		b.clock.pass(10 * time.Minute)
		_, err = j.Work(t.Context())
		require.NoError(t, err)
		it, err = j.Get(t.Context(), it.ID)
		require.NoError(t, err)
		requireDone(t, it)
	})
	t.Run("never", func(t *testing.T) {
		b := newBed(t)
		b.hook = func(context.Context, *job.Run, string) error { return fault.NoVault("v") }
		it, err := b.process(b.table, false).Start(t.Context(), request("plain"), nil)
		require.True(t, fault.Is(err, fault.NotFound))
		require.Equal(t, job.Failed, it.State)
		require.Equal(t, fault.NotFound, it.Error.Code)
	})
	t.Run("a panic", func(t *testing.T) {
		b := newBed(t)
		b.hook = func(context.Context, *job.Run, string) error { panic("ouch") }
		it, err := b.process(b.table, false).Start(t.Context(), request("plain"), nil)
		require.True(t, fault.Is(err, fault.Internal))
		require.Equal(t, job.Waiting, it.State)
		require.NotContains(t, it.Error.Message, "ouch")
	})
}

// TestLater checks that a step can wait for a time without failing.
func TestLater(t *testing.T) {
	b := newBed(t)
	due := b.clock.time().Add(time.Hour)
	b.hook = func(_ context.Context, r *job.Run, name string) error {
		if name == "three" && b.clock.time().Before(due) {
			return errors.Join(r.Set([]string{"one", "two"}), job.Later(due))
		}
		return nil
	}
	j := b.process(b.table, false)
	it, err := j.Start(t.Context(), request("sure"), nil)
	require.NoError(t, err)
	require.Equal(t, job.Waiting, it.State)
	require.Equal(t, due, it.RetryAt)
	require.Nil(t, it.Error)
	next, err := j.Work(t.Context())
	require.NoError(t, err)
	require.Equal(t, due, next)
	b.clock.pass(time.Hour)
	_, err = j.Work(t.Context())
	require.NoError(t, err)
	it, err = j.Get(t.Context(), it.ID)
	require.NoError(t, err)
	requireDone(t, it)
}

// TestTheFirstStepOfACall checks that a refused call leaves no job, and that its first step is the
// function of the call.
func TestTheFirstStepOfACall(t *testing.T) {
	b := newBed(t)
	j := b.process(b.table, false)
	first := func(err error) func(context.Context, *job.Run) error {
		return func(_ context.Context, r *job.Run) error { return errors.Join(err, r.Set([]string{"one"})) }
	}
	it, err := j.Start(t.Context(), request("plain"), first(fault.New(fault.Conflict, "no")))
	require.True(t, fault.Is(err, fault.Conflict))
	_, err = j.Get(t.Context(), it.ID)
	require.True(t, fault.Is(err, fault.NotFound))
	it, err = j.Start(t.Context(), request("plain"), first(nil))
	require.NoError(t, err)
	requireDone(t, it)
	require.Equal(t, []string{"two", "three"}, b.did)

	it, err = j.Start(t.Context(), request("plain"), first(fault.New(fault.Unavailable, "unknown")))
	require.True(t, fault.Is(err, fault.Unavailable))
	it, err = j.Get(t.Context(), it.ID)
	require.NoError(t, err)
	require.Equal(t, job.Waiting, it.State)
}

// TestForget checks that forgotten data of a job is no longer in the table, while its target stays
// reserved.
func TestForget(t *testing.T) {
	b := newBed(t)
	j := b.process(b.table, false)
	b.hook = func(ctx context.Context, r *job.Run, name string) error {
		if name != "two" {
			return nil
		}
		require.NoError(t, r.Forget(ctx))
		kept, err := j.Get(ctx, r.Item.ID)
		require.NoError(t, err)
		require.Equal(t, job.Target{Vault: "v"}, kept.Target)
		require.Empty(t, kept.Input)
		_, err = j.Add(ctx, request("plain"))
		require.True(t, fault.Is(err, fault.InProgress))
		return nil
	}
	it, err := j.Start(t.Context(), request("plain"), nil)
	require.NoError(t, err)
	requireDone(t, it)
	_, err = j.Add(t.Context(), request("plain"))
	require.NoError(t, err)
}

func TestCancel(t *testing.T) {
	cancelled := func(t *testing.T, j *job.Jobs, id string) {
		t.Helper()
		it, err := j.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, job.Cancelled, it.State)
		_, err = j.Work(t.Context())
		require.NoError(t, err)
		again, err := j.Cancel(t.Context(), id, false)
		require.NoError(t, err)
		require.Equal(t, it, again)
	}
	t.Run("queued", func(t *testing.T) {
		for _, kind := range []string{"plain", "free"} {
			b := newBed(t)
			j := b.process(b.table, false)
			it, err := j.Add(t.Context(), request(kind))
			require.NoError(t, err)
			_, err = j.Cancel(t.Context(), it.ID, false)
			require.NoError(t, err)
			cancelled(t, j, it.ID)
			require.Empty(t, b.did)
		}
		b := newBed(t)
		j := b.process(b.table, false)
		it, err := j.Add(t.Context(), request("sure"))
		require.NoError(t, err)
		_, err = j.Cancel(t.Context(), it.ID, false)
		require.True(t, fault.Is(err, fault.Conflict))
	})
	t.Run("waiting", func(t *testing.T) {
		for kind, may := range map[string]bool{"plain": false, "free": true, "sure": false} {
			b := newBed(t)
			b.hook = func(context.Context, *job.Run, string) error { return fault.New(fault.Unavailable, "no") }
			j := b.process(b.table, false)
			it, err := j.Start(t.Context(), request(kind), nil)
			require.Error(t, err)
			_, err = j.Cancel(t.Context(), it.ID, false)
			if may {
				require.NoError(t, err)
				cancelled(t, j, it.ID)
			} else {
				require.True(t, fault.Is(err, fault.Conflict))
			}
		}
	})
	t.Run("running", func(t *testing.T) {
		for kind, may := range map[string]bool{"plain": false, "free": true, "sure": false} {
			b := newBed(t)
			entered, leave := make(chan struct{}), make(chan struct{})
			var once sync.Once
			b.hook = func(ctx context.Context, _ *job.Run, name string) error {
				if name == "two" {
					once.Do(func() { close(entered) })
					select {
					case <-leave:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return nil
			}
			j := b.process(b.table, true)
			answered := make(chan job.Item)
			go func() {
				it, _ := j.Start(t.Context(), request(kind), nil)
				answered <- it
			}()
			<-entered
			open, err := j.Open(t.Context())
			require.NoError(t, err)
			it, err := b.process(b.table, false).Cancel(t.Context(), open[0].ID, false)
			if may {
				require.NoError(t, err)
				require.True(t, it.Cancel)
				require.Equal(t, job.Running, it.State)
				b.clock.pass(15 * time.Second)
				b.clock.wake(t, 15*time.Second)
				require.Equal(t, job.Cancelled, (<-answered).State)
				cancelled(t, j, it.ID)
				require.Equal(t, []string{"one"}, b.did)
				continue
			}
			require.True(t, fault.Is(err, fault.Conflict))
			close(leave)
			requireDone(t, <-answered)
		}
	})
	t.Run("ended", func(t *testing.T) {
		for state, fails := range map[job.State]error{job.Done: nil, job.Failed: fault.NoVault("v")} {
			b := newBed(t)
			b.hook = func(context.Context, *job.Run, string) error { return fails }
			j := b.process(b.table, false)
			it, _ := j.Start(t.Context(), request("free"), nil)
			require.Equal(t, state, it.State)
			it, err := j.Get(t.Context(), it.ID)
			require.NoError(t, err)
			for _, dry := range []bool{true, false} {
				_, err := j.Cancel(t.Context(), it.ID, dry)
				require.True(t, fault.Is(err, fault.Conflict), "%s: %v", state, err)
			}
			kept, err := j.Get(t.Context(), it.ID)
			require.NoError(t, err)
			require.Equal(t, it, kept)
		}
	})
	t.Run("running in a process that is gone", func(t *testing.T) {
		b := newBed(t)
		flaky := tabletest.NewFlaky(b.table, killed(3, tabletest.Before))
		it, err := b.process(flaky, false).Start(t.Context(), request("free"), nil)
		require.Error(t, err)
		j := b.process(b.table, false)
		_, err = j.Cancel(t.Context(), it.ID, false)
		require.NoError(t, err)
		b.clock.pass(time.Minute)
		_, err = j.Work(t.Context())
		require.NoError(t, err)
		cancelled(t, j, it.ID)
	})
	t.Run("unknown", func(t *testing.T) {
		b := newBed(t)
		for _, id := range []string{"", "job-", job.NewID(b.clock.time()), "open/x"} {
			_, err := b.process(b.table, false).Cancel(t.Context(), id, false)
			require.True(t, fault.Is(err, fault.NotFound))
		}
	})
}

// TestTenantsHaveTheirOwnJobs checks that jobs of another tenant are neither visible nor taken.
func TestTenantsHaveTheirOwnJobs(t *testing.T) {
	b := newBed(t)
	it, err := b.process(b.table, false).Add(t.Context(), request("plain"))
	require.NoError(t, err)
	other := job.New(job.Options{
		Table: table.Sub(b.table, "b"), Tenant: "b", Kinds: b.kinds(), Now: b.clock.time,
	})
	_, err = other.Get(t.Context(), it.ID)
	require.True(t, fault.Is(err, fault.NotFound))
	_, err = other.Cancel(t.Context(), it.ID, false)
	require.True(t, fault.Is(err, fault.NotFound))
	items, more, err := other.List(t.Context(), job.Filter{}, "", 10)
	require.NoError(t, err)
	require.Empty(t, items)
	require.False(t, more)
	_, err = other.Work(t.Context())
	require.NoError(t, err)
	require.Empty(t, b.did)
	_, err = other.Add(t.Context(), request("plain"))
	require.NoError(t, err)
}

// TestList checks that jobs are listed newest first, each on exactly one page, whatever the time
// between them.
func TestList(t *testing.T) {
	b := newBed(t)
	j := b.process(b.table, false)
	var made []string
	for i, gap := range []time.Duration{0, time.Second, time.Minute, 3 * 24 * time.Hour, 0, 0, time.Hour} {
		b.clock.pass(gap)
		r := request([]string{"plain", "free"}[i%2])
		r.Target.Path = fmt.Sprint(i)
		it, err := j.Start(t.Context(), r, nil)
		require.NoError(t, err)
		made = append(made, it.ID)
	}
	slices.Sort(made)
	slices.Reverse(made)
	for limit := 1; limit <= len(made)+1; limit++ {
		var listed []string
		for before, more := "", true; more; {
			var page []job.Item
			var err error
			page, more, err = j.List(t.Context(), job.Filter{}, before, limit)
			require.NoError(t, err)
			require.NotEmpty(t, page)
			for _, it := range page {
				listed = append(listed, it.ID)
			}
			before = listed[len(listed)-1]
		}
		require.Equal(t, made, listed)
	}
	free, _, err := j.List(t.Context(), job.Filter{Kind: "free", State: job.Done}, "", 10)
	require.NoError(t, err)
	require.Len(t, free, 3)
	none, _, err := j.List(t.Context(), job.Filter{State: job.Failed}, "", 10)
	require.NoError(t, err)
	require.Empty(t, none)
	b.clock.pass(365 * 24 * time.Hour)
	none, more, err := j.List(t.Context(), job.Filter{}, "", 10)
	require.NoError(t, err)
	require.Empty(t, none)
	require.False(t, more)
}

// TestALeaseThatCouldNotBeGivenBack checks that a process continues a job at once if its own lease
// remained in the table because a write failed: no attempt of the process has that lease any more.
func TestALeaseThatCouldNotBeGivenBack(t *testing.T) {
	for n := 1; ; n++ {
		reached := false
		for _, at := range []tabletest.Fault{tabletest.Before, tabletest.After, tabletest.Late, tabletest.LateNext} {
			b := newBed(t)
			it, err := b.process(b.table, false).Add(t.Context(), request("sure"))
			require.NoError(t, err)
			flaky := tabletest.NewFlaky(b.table, tabletest.At(n, at))
			j := b.process(flaky, false)
			_, _ = j.Go(t.Context(), it.ID)
			if flaky.Calls() < n {
				continue
			}
			reached = true
			it, err = j.Go(t.Context(), it.ID)
			require.NoError(t, err, "call %d, fault %d", n, at)
			requireDone(t, it)
		}
		if !reached {
			return
		}
	}
}

// TestAnUnsureJobIsResumed checks that a message is sent for every job that a call leaves in the table
// because a write failed, so that it goes on without a restart.
func TestAnUnsureJobIsResumed(t *testing.T) {
	refused := func(context.Context, *job.Run) error { return fault.New(fault.InvalidParameter, "no") }
	for _, first := range []func(context.Context, *job.Run) error{nil, refused} {
		for n, reached := 1, true; reached; n++ {
			reached = false
			for _, at := range []tabletest.Fault{tabletest.Before, tabletest.After} {
				b := newBed(t)
				flaky := tabletest.NewFlaky(b.table, tabletest.At(n, at))
				j, look := b.process(flaky, true), b.process(b.table, true)
				_, _ = j.Start(t.Context(), request("sure"), first)
				reached = reached || flaky.Calls() >= n
				left, err := look.Open(t.Context())
				require.NoError(t, err)
				if len(left) == 0 {
					continue
				}
				require.NotEmpty(t, b.sent, "call %d, fault %d", n, at)
				if left[0].State == job.Waiting {
					b.clock.pass(time.Minute)
				}
				_, err = j.Work(t.Context())
				require.NoError(t, err)
				left, err = look.Open(t.Context())
				require.NoError(t, err)
				require.Empty(t, left, "call %d, fault %d", n, at)
			}
		}
	}
}
